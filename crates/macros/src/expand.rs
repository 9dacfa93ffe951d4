//! What the attribute makes of an item: the same item, with a section around the bodies.

use proc_macro::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};

use crate::arguments::Arguments;
use crate::cursor::{Angles, Cursor, is_punct};
use crate::error::{Error, Result};
use crate::function::Function;
use crate::items::{Attribute, Block, Item, Member, inner_attributes, members, plain};

/// The item with its sections.
pub(crate) fn item(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let arguments = Arguments::parse(arguments)?;
    if arguments.skip.is_some() {
        return Ok(item);
    }
    let mut cursor = Cursor::new(item);
    let expanded = match Item::parse(&mut cursor)? {
        Item::Function(item) => {
            let name = section_name(None, &item, &arguments);
            function(*item, &name, &arguments)?
        }
        Item::Block(item) => block(*item, &arguments)?,
    };
    Ok(expanded.into_iter().chain(cursor.into_rest()).collect())
}

fn section_name(block: Option<&str>, function: &Function, arguments: &Arguments) -> String {
    match (&arguments.name, block) {
        (Some(name), _) => name.text.clone(),
        (None, None) => plain(&function.name.to_string()),
        (None, Some(block)) => format!("{block}::{}", plain(&function.name.to_string())),
    }
}

fn block(item: Block, arguments: &Arguments) -> Result<TokenStream> {
    if let Some(field) = arguments.fields.first() {
        let message = "`fields` are of one method: write `#[profile(fields(…))]` on it";
        return Err(Error::new(field.key.span(), message));
    }
    let prefix = arguments.name.as_ref().map_or(&item.name, |name| &name.text);
    let (mut body, mut errors) = (TokenStream::new(), TokenStream::new());
    for member in members(&item.body)? {
        match member {
            Member::Other(tokens) => body.extend(tokens),
            Member::Function(mut function) => {
                let own = own_attributes(&mut function, arguments);
                let bare = unchanged(&function);
                match own.and_then(|own| method(*function, prefix, own, arguments)) {
                    Ok(tokens) => body.extend(tokens),
                    Err(error) => {
                        body.extend(bare);
                        errors.extend(error.tokens());
                    }
                }
            }
        }
    }
    let attributes = item.head.attributes.into_iter().flat_map(|attribute| attribute.tokens);
    let head = attributes.chain(item.head.tokens).chain(item.tokens);
    Ok(head.chain([rebuilt(&item.body, body)]).chain(errors).collect())
}

/// Takes a method's own `#[profile(…)]` away and reads it.
fn own_attributes(function: &mut Function, around: &Arguments) -> Result<Option<(Span, Arguments)>> {
    // Under what path the attribute is known is not visible here; a crate that was renamed says that it was.
    let is_ours = |attribute: &Attribute| match attribute.path.strip_suffix("profile") {
        Some("" | "stepscope::" | "::stepscope::") => true,
        Some(before) => around.root.is_some() && before.ends_with("::"),
        None => false,
    };
    let attributes = std::mem::take(&mut function.head.attributes);
    let (mut ours, others): (Vec<_>, Vec<_>) = attributes.into_iter().partition(is_ours);
    function.head.attributes = others;
    match (ours.pop(), ours.pop()) {
        (None, _) => Ok(None),
        (Some(own), None) => Ok(Some((own.span, Arguments::parse(own.arguments)?))),
        (Some(second), Some(_)) => Err(Error::new(second.span, "`profile` is there twice")),
    }
}

fn method(
    function: Function,
    prefix: &str,
    own: Option<(Span, Arguments)>,
    around: &Arguments,
) -> Result<TokenStream> {
    let (span, mut own) = own.map_or((None, Arguments::default()), |(span, own)| (Some(span), own));
    match span {
        Some(span) if function.body.is_none() && own.skip.is_none() => {
            return Err(Error::new(
                span,
                "there is no body to profile: the attribute is for methods with one",
            ));
        }
        _ if function.body.is_none() || own.skip.is_some() => return Ok(unchanged(&function)),
        _ => {}
    }
    let refused = refusal(&function);
    if let Some(error) = refused {
        return Err(error.and("; to leave the method out, write `#[profile(skip)]` on it"));
    }
    own.phase = own.phase.or_else(|| around.phase.clone());
    own.root = own.root.or_else(|| around.root.clone());
    let name = section_name(Some(prefix), &function, &own);
    self::function(function, &name, &own)
}

fn unchanged(function: &Function) -> TokenStream {
    let body = function.body.clone().map(TokenTree::from);
    let attributes = function.head.attributes.iter().flat_map(|attribute| attribute.tokens.clone());
    attributes.chain(function.head.tokens.clone()).chain(function.tokens.clone()).chain(body).collect()
}

/// Why a function cannot be a section, if it cannot.
fn refusal(function: &Function) -> Option<Error> {
    let section = "open one inside with `section!`";
    let reasons = [
        ("const", "a `const fn` cannot be a section: the compiler may run it, and has no clock".to_owned()),
        ("unsafe", format!("an `unsafe fn` cannot be a section, since its body would grow: {section}")),
        (
            "extern",
            format!("an `extern fn` cannot be a section, since callers may jump out of it: {section}"),
        ),
    ];
    reasons.into_iter().find_map(|(word, reason)| {
        function.head.find(word).map(|qualifier| Error::new(qualifier.span(), reason))
    })
}

fn function(function: Function, name: &str, arguments: &Arguments) -> Result<TokenStream> {
    let Some(body) = &function.body else {
        return Err(Error::new(function.name.span(), "there is no body to profile"));
    };
    if let Some(error) = refusal(&function) {
        return Err(error);
    }
    let span = arguments.name.as_ref().map_or(function.name.span(), |name| name.span);
    let mut literal = Literal::string(name);
    literal.set_span(span);
    let code = Code { at: function.name.span(), root: root(arguments) };
    let mut inner = Cursor::new(body.stream());
    let mut content: TokenStream = inner_attributes(&mut inner).into_iter().collect();
    // The body stays a block of its own: items may come first in it, and its values go before the section ends.
    // Its braces are not the user's, who would be told that they are not needed.
    let mut block = rebuilt(body, inner.into_rest().collect());
    block.set_span(body.span().resolved_at(Span::mixed_site()));
    if function.head.find("async").is_some() {
        content.extend(code.future(literal, arguments, &function.output, block));
    } else {
        content.extend(code.section(literal, arguments));
        content.extend([block]);
    }
    let body = rebuilt(body, content);
    let attributes = function.head.attributes.into_iter().flat_map(|attribute| attribute.tokens);
    Ok(attributes.chain(function.head.tokens).chain(function.tokens).chain([body]).collect())
}

/// A block in the place of `body`.
fn rebuilt(body: &Group, content: TokenStream) -> TokenTree {
    let mut block = Group::new(Delimiter::Brace, content);
    block.set_span(body.span());
    block.into()
}

fn root(arguments: &Arguments) -> TokenStream {
    arguments.root.clone().unwrap_or_else(|| "::stepscope".parse().unwrap_or_default())
}

/// Makes the code in bodies.
struct Code {
    /// The place that the sections name as theirs.
    at: Span,
    root: TokenStream,
}

impl Code {
    /// `let … = root::section!(name, phase = …, fields);`
    fn section(&self, name: Literal, arguments: &Arguments) -> TokenStream {
        let mut call = TokenStream::from(TokenTree::from(name));
        if let Some(phase) = &arguments.phase {
            call.extend(self.text(", phase ="));
            call.extend([phase.clone()]);
        }
        call.extend(self.fields(arguments));
        let value = self.invocation("::section!", call);
        self.binding(value)
    }

    /// A span that is entered at each poll of the body.
    fn future(
        &self,
        name: Literal,
        arguments: &Arguments,
        output: &[TokenTree],
        block: TokenTree,
    ) -> TokenStream {
        let mut call = TokenStream::from(TokenTree::from(name));
        if let Some(phase) = &arguments.phase {
            call.extend(self.text(","));
            call.extend([group(Delimiter::Brace, self.rooted("::__private::PHASE"))]);
            call.extend(self.text("="));
            if matches!(phase, TokenTree::Literal(_)) {
                call.extend([phase.clone()]);
            } else {
                call.extend(self.rooted("::Phase::"));
                call.extend([phase.clone()]);
                call.extend(self.text(".as_str()"));
            }
        }
        call.extend(self.fields(arguments));
        let span = self.invocation("::__private::tracing::info_span!", call);

        let mut future = self.result_type(output);
        future.extend([block]);
        let mut instrumented = self.text("async move");
        instrumented.extend([group(Delimiter::Brace, future)]);
        instrumented.extend(self.text(", __stepscope_section"));

        let mut code = self.binding(span);
        code.extend(self.rooted("::__private::instrument"));
        code.extend([group(Delimiter::Parenthesis, instrumented)]);
        code.extend(self.text(".await"));
        code
    }

    /// Tells the compiler what the `async` block returns, which only the function's head says.
    fn result_type(&self, output: &[TokenTree]) -> TokenStream {
        if output.len() == 1 && output.iter().all(|token| is_punct(token, '!')) {
            return TokenStream::new();
        }
        let mut hint = self.text("return");
        hint.extend(self.rooted("::__private::never::<"));
        if output.is_empty() {
            hint.extend(self.text("()"));
        } else {
            hint.extend(inferred(output));
        }
        hint.extend(self.text(">();"));
        let mut code = self.text("if false");
        code.extend([group(Delimiter::Brace, hint)]);
        code
    }

    fn fields(&self, arguments: &Arguments) -> TokenStream {
        let mut fields = TokenStream::new();
        for field in &arguments.fields {
            fields.extend(self.text(","));
            fields.extend([TokenTree::from(field.key.clone())]);
            fields.extend(self.text("="));
            fields.extend(field.value.clone());
        }
        fields
    }

    /// Under a name that nothing in the body can see.
    fn binding(&self, value: TokenStream) -> TokenStream {
        let mut code = self.text("let __stepscope_section =");
        code.extend(value);
        code.extend(self.text(";"));
        code
    }

    /// A macro of the crate, called from where the function is written: its `line!()` is the function's.
    fn invocation(&self, path: &str, content: TokenStream) -> TokenStream {
        let mut call = located(self.rooted(path), self.at);
        let mut content = Group::new(Delimiter::Parenthesis, content);
        content.set_span(self.at);
        call.extend([TokenTree::from(content)]);
        call
    }

    fn rooted(&self, path: &str) -> TokenStream {
        let mut code = self.root.clone();
        code.extend(self.text(path));
        code
    }

    /// Code of ours, with names that are not those of the function's body.
    fn text(&self, code: &str) -> TokenStream {
        located(code.parse().unwrap_or_default(), self.at.resolved_at(Span::mixed_site()))
    }
}

fn group(delimiter: Delimiter, content: TokenStream) -> TokenTree {
    Group::new(delimiter, content).into()
}

fn located(tokens: TokenStream, span: Span) -> TokenStream {
    let place = |mut token: TokenTree| {
        if let TokenTree::Group(group) = &token {
            token = Group::new(group.delimiter(), located(group.stream(), span)).into();
        }
        token.set_span(span);
        token
    };
    tokens.into_iter().map(place).collect()
}

/// A type with `_` for each `impl Trait` in it, which cannot be named.
fn inferred(output: &[TokenTree]) -> TokenStream {
    let mut tokens = Vec::new();
    let mut angles = Angles::default();
    let mut hidden = None;
    for token in output {
        let before = angles.open();
        let after = angles.pass(token);
        if let Some(depth) = hidden {
            let ends = (before == depth && is_punct(token, ',')) || after < depth;
            if !ends {
                continue;
            }
            hidden = None;
        }
        match token {
            TokenTree::Ident(ident) if ident.to_string() == "impl" => {
                hidden = Some(before);
                tokens.push(TokenTree::from(Ident::new("_", ident.span())));
            }
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut group = Group::new(group.delimiter(), inferred(&inner));
                group.set_span(token.span());
                tokens.push(group.into());
            }
            token => tokens.push(token.clone()),
        }
    }
    tokens.into_iter().collect()
}
