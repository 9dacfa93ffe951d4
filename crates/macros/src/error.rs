//! An error with the place it is about, as the compiler shows it.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// What is wrong, and where.
#[derive(Debug)]
pub(crate) struct Error {
    span: Span,
    message: String,
}

impl Error {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into() }
    }

    /// With more of what can be done.
    pub(crate) fn and(mut self, more: &str) -> Self {
        self.message.push_str(more);
        self
    }

    /// `::core::compile_error! { "message" }`.
    pub(crate) fn tokens(&self) -> TokenStream {
        let punct = |char, spacing| {
            let mut punct = Punct::new(char, spacing);
            punct.set_span(self.span);
            TokenTree::from(punct)
        };
        let mut message = Literal::string(&self.message);
        message.set_span(self.span);
        let mut body = Group::new(Delimiter::Brace, TokenTree::from(message).into());
        body.set_span(self.span);
        TokenStream::from_iter([
            punct(':', Spacing::Joint),
            punct(':', Spacing::Alone),
            Ident::new("core", self.span).into(),
            punct(':', Spacing::Joint),
            punct(':', Spacing::Alone),
            Ident::new("compile_error", self.span).into(),
            punct('!', Spacing::Alone),
            body.into(),
        ])
    }
}
