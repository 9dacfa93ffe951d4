//! Where the attribute stands: the heads of functions, `impl` blocks and traits, as far as names and bodies need.

use proc_macro::{Delimiter, Group, Span, TokenStream, TokenTree};

use crate::cursor::{Angles, Cursor, braces, is_punct};
use crate::error::{Error, Result};
use crate::function::Function;

/// What may stand before `fn`, `impl` and `trait`.
const QUALIFIERS: [&str; 8] = ["pub", "const", "async", "unsafe", "safe", "extern", "default", "auto"];

/// `#[…]`.
#[derive(Debug)]
pub(crate) struct Attribute {
    /// Its path without blanks.
    pub(crate) path: String,
    /// What stands in its parentheses.
    pub(crate) arguments: TokenStream,
    pub(crate) span: Span,
    pub(crate) tokens: [TokenTree; 2],
}

/// What stands before the keyword of an item.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) attributes: Vec<Attribute>,
    /// Visibility and qualifiers.
    pub(crate) tokens: Vec<TokenTree>,
}

impl Head {
    pub(crate) fn parse(cursor: &mut Cursor) -> Self {
        let mut head = Self { attributes: attributes(cursor), tokens: Vec::new() };
        loop {
            match cursor.peek() {
                Some(TokenTree::Ident(ident)) if QUALIFIERS.contains(&ident.to_string().as_str()) => {}
                // Of `pub(crate)` and `extern "C"`.
                Some(TokenTree::Group(group))
                    if group.delimiter() == Delimiter::Parenthesis && head.ends_with("pub") => {}
                Some(TokenTree::Literal(_)) if head.ends_with("extern") => {}
                _ => return head,
            }
            head.tokens.extend(cursor.take());
        }
    }

    fn ends_with(&self, word: &str) -> bool {
        self.tokens.last().is_some_and(|last| is_word(last, word))
    }

    /// The qualifier, if it is there.
    pub(crate) fn find(&self, word: &str) -> Option<&TokenTree> {
        self.tokens.iter().find(|token| is_word(token, word))
    }
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}

/// Attributes from here on, documentation among them.
fn attributes(cursor: &mut Cursor) -> Vec<Attribute> {
    let mut attributes = Vec::new();
    while let Some(sign) = cursor.take_punct('#') {
        let Some(group) = cursor.take_group(Delimiter::Bracket) else { break };
        let (mut path, mut arguments) = (String::new(), TokenStream::new());
        for token in group.stream() {
            match token {
                TokenTree::Group(group) => arguments = group.stream(),
                TokenTree::Punct(punct) if punct.as_char() == '=' => break,
                token => path.push_str(&token.to_string()),
            }
        }
        let span = group.span();
        attributes.push(Attribute { path, arguments, span, tokens: [sign, group.into()] });
    }
    attributes
}

/// A block of methods: `impl` or `trait`.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) head: Head,
    /// From the keyword to before the body.
    pub(crate) tokens: Vec<TokenTree>,
    /// Of the type, or of the trait.
    pub(crate) name: String,
    pub(crate) body: Group,
}

/// What the attribute can be on.
#[derive(Debug)]
pub(crate) enum Item {
    Function(Box<Function>),
    Block(Box<Block>),
}

impl Item {
    pub(crate) fn parse(cursor: &mut Cursor) -> Result<Self> {
        let head = Head::parse(cursor);
        if cursor.is_ident("fn") {
            return Ok(Self::Function(Box::new(Function::parse(head, cursor)?)));
        }
        let span = cursor.span();
        let is_impl = cursor.is_ident("impl");
        if !is_impl && !cursor.is_ident("trait") {
            let message = "`profile` is for functions, `impl` blocks and traits";
            return Err(Error::new(span, message));
        }
        let mut tokens: Vec<TokenTree> = cursor.take().into_iter().collect();
        if is_impl {
            cursor.take_angles(&mut tokens);
        }
        let first = tokens.len();
        let mut angles = Angles::default();
        while let Some(token) = cursor.take_raw() {
            if angles.is_closed()
                && let Some(body) = braces(&token)
            {
                let header = tokens.get(first..).unwrap_or_default();
                let name = if is_impl { implementor(header) } else { last_name(header).unwrap_or_default() };
                return Ok(Self::Block(Box::new(Block { head, tokens, name, body })));
            }
            angles.pass(&token);
            tokens.push(token);
        }
        Err(Error::new(span, "expected a block of methods"))
    }
}

/// The type of `impl Type` and `impl Trait for Type`.
fn implementor(header: &[TokenTree]) -> String {
    let mut angles = Angles::default();
    let (mut start, mut end) = (0, header.len());
    for (index, token) in header.iter().enumerate() {
        if angles.is_closed() && is_word(token, "where") {
            end = index;
            break;
        }
        // That of `for<'a>` belongs to a type.
        let is_binder = header.get(index + 1).is_some_and(|next| is_punct(next, '<'));
        if angles.is_closed() && is_word(token, "for") && !is_binder {
            start = index + 1;
        }
        angles.pass(token);
    }
    let implementor = header.get(start..end).unwrap_or_default();
    last_name(implementor).unwrap_or_else(|| implementor.iter().cloned().collect::<TokenStream>().to_string())
}

/// The last name of a path, whatever is around it: `Model` of `&'a mut nn::Model<B>`.
fn last_name(tokens: &[TokenTree]) -> Option<String> {
    let mut angles = Angles::default();
    let mut found = None;
    let mut tokens = tokens.iter().peekable();
    while let Some(token) = tokens.next() {
        let was_closed = angles.is_closed();
        angles.pass(token);
        if !was_closed {
            continue;
        }
        match token {
            TokenTree::Ident(ident) => match ident.to_string().as_str() {
                "mut" | "dyn" | "const" => {}
                "where" => break,
                name => found = Some(plain(name)),
            },
            // A lifetime is a sign and a name.
            TokenTree::Punct(punct) if punct.as_char() == '\'' => drop(tokens.next()),
            TokenTree::Punct(punct) if "&*<>".contains(punct.as_char()) => {}
            // One colon alone begins bounds.
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                if tokens.next_if(|next| is_punct(next, ':')).is_none() {
                    break;
                }
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::None && found.is_none() => {
                return last_name(&group.stream().into_iter().collect::<Vec<_>>());
            }
            _ => break,
        }
    }
    found
}

/// An identifier's name without the sign of a raw one.
pub(crate) fn plain(name: &str) -> String {
    name.strip_prefix("r#").unwrap_or(name).to_owned()
}

/// What a block consists of.
#[derive(Debug)]
pub(crate) enum Member {
    Function(Box<Function>),
    /// Constants, types, macros.
    Other(Vec<TokenTree>),
}

/// The members of a block, in their order.
pub(crate) fn members(body: &Group) -> Result<Vec<Member>> {
    let mut cursor = Cursor::new(body.stream());
    let inner = inner_attributes(&mut cursor);
    let mut members = if inner.is_empty() { Vec::new() } else { vec![Member::Other(inner)] };
    while !cursor.is_at_end() {
        let head = Head::parse(&mut cursor);
        members.push(if cursor.is_ident("fn") {
            Member::Function(Box::new(Function::parse(head, &mut cursor)?))
        } else {
            Member::Other(other(head, &mut cursor))
        });
    }
    Ok(members)
}

/// `#![…]` at the start of a body.
pub(crate) fn inner_attributes(cursor: &mut Cursor) -> Vec<TokenTree> {
    let mut tokens = Vec::new();
    while cursor.is_punct('#') && cursor.peek_second().is_some_and(|second| is_punct(second, '!')) {
        for _ in 0..3 {
            tokens.extend(cursor.take_raw());
        }
    }
    tokens
}

/// A member that is no function: up to `;`, or the braces of a macro's call.
fn other(head: Head, cursor: &mut Cursor) -> Vec<TokenTree> {
    let attributes = head.attributes.into_iter().flat_map(|attribute| attribute.tokens);
    let mut tokens: Vec<TokenTree> = attributes.chain(head.tokens).collect();
    let is_constant = tokens.iter().any(|token| is_word(token, "const")) || cursor.is_ident("type");
    let mut is_call = false;
    while let Some(token) = cursor.take_raw() {
        let is_last = is_punct(&token, ';') || (is_call && !is_constant && braces(&token).is_some());
        is_call = is_punct(&token, '!');
        tokens.push(token);
        if is_last {
            break;
        }
    }
    tokens
}
