//! Tokens from left to right, and the two things that tokens do not say by themselves: groups without delimiters,
//! which `macro_rules` leaves around what it was given, and angle brackets.

use std::collections::VecDeque;

use proc_macro::{Delimiter, Group, Ident, Spacing, Span, TokenStream, TokenTree};

/// Tokens that are still to be read.
#[derive(Debug)]
pub(crate) struct Cursor {
    rest: VecDeque<TokenTree>,
    /// Where the last token read was, for what is missing at the end.
    last: Span,
}

impl Cursor {
    pub(crate) fn new(tokens: TokenStream) -> Self {
        Self { rest: tokens.into_iter().collect(), last: Span::call_site() }
    }

    /// The next token, without what a `macro_rules` fragment puts around it.
    pub(crate) fn peek(&mut self) -> Option<&TokenTree> {
        while let Some(TokenTree::Group(group)) = self.rest.front()
            && group.delimiter() == Delimiter::None
        {
            let inner = group.stream();
            self.rest.pop_front();
            inner.into_iter().collect::<Vec<_>>().into_iter().rev().for_each(|t| self.rest.push_front(t));
        }
        self.rest.front()
    }

    /// As [`Self::peek`], and takes it.
    pub(crate) fn take(&mut self) -> Option<TokenTree> {
        self.peek()?;
        self.take_raw()
    }

    /// The next token as it is: of types and expressions, whose groups hold them together.
    pub(crate) fn take_raw(&mut self) -> Option<TokenTree> {
        let token = self.rest.pop_front()?;
        self.last = token.span();
        Some(token)
    }

    pub(crate) fn peek_raw(&self) -> Option<&TokenTree> {
        self.rest.front()
    }

    pub(crate) fn peek_second(&self) -> Option<&TokenTree> {
        self.rest.get(1)
    }

    pub(crate) fn is_ident(&mut self, text: &str) -> bool {
        matches!(self.peek(), Some(TokenTree::Ident(ident)) if ident.to_string() == text)
    }

    pub(crate) fn is_punct(&mut self, char: char) -> bool {
        matches!(self.peek(), Some(token) if is_punct(token, char))
    }

    /// Takes the next token if it is this one.
    pub(crate) fn take_punct(&mut self, char: char) -> Option<TokenTree> {
        if self.is_punct(char) { self.take() } else { None }
    }

    pub(crate) fn take_ident(&mut self) -> Option<Ident> {
        match self.peek() {
            Some(TokenTree::Ident(ident)) => {
                let ident = ident.clone();
                self.take();
                Some(ident)
            }
            _ => None,
        }
    }

    pub(crate) fn take_group(&mut self, delimiter: Delimiter) -> Option<Group> {
        match self.peek() {
            Some(TokenTree::Group(group)) if group.delimiter() == delimiter => {
                let group = group.clone();
                self.take();
                Some(group)
            }
            _ => None,
        }
    }

    /// Appends `<…>` to `to`, if that is what comes.
    pub(crate) fn take_angles(&mut self, to: &mut Vec<TokenTree>) {
        if !self.is_punct('<') {
            return;
        }
        let mut angles = Angles::default();
        while let Some(token) = self.take_raw() {
            let closed = angles.pass(&token) == 0;
            to.push(token);
            if closed {
                return;
            }
        }
    }

    pub(crate) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Where the next token is, or the last one was.
    pub(crate) fn span(&mut self) -> Span {
        let last = self.last;
        self.peek().map_or(last, TokenTree::span)
    }

    /// What was not read.
    pub(crate) fn into_rest(self) -> impl Iterator<Item = TokenTree> {
        self.rest.into_iter()
    }
}

pub(crate) fn is_punct(token: &TokenTree, char: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == char)
}

/// The group behind a token, through those without delimiters.
pub(crate) fn braces(token: &TokenTree) -> Option<Group> {
    let TokenTree::Group(group) = token else { return None };
    match group.delimiter() {
        Delimiter::Brace => Some(group.clone()),
        Delimiter::None => {
            let mut inner = group.stream().into_iter();
            let only = inner.next()?;
            if inner.next().is_some() { None } else { braces(&only) }
        }
        Delimiter::Parenthesis | Delimiter::Bracket => None,
    }
}

/// How many angle brackets are open in a type; the one of `->` is none.
#[derive(Debug, Default)]
pub(crate) struct Angles {
    open: usize,
    is_arrow: bool,
}

impl Angles {
    /// How many are open behind `token`.
    pub(crate) fn pass(&mut self, token: &TokenTree) -> usize {
        let was_arrow = std::mem::take(&mut self.is_arrow);
        if let TokenTree::Punct(punct) = token {
            match punct.as_char() {
                '<' => self.open += 1,
                '>' if !was_arrow => self.open = self.open.saturating_sub(1),
                '-' | '=' => self.is_arrow = punct.spacing() == Spacing::Joint,
                _ => {}
            }
        }
        self.open
    }

    pub(crate) fn open(&self) -> usize {
        self.open
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.open == 0
    }
}
