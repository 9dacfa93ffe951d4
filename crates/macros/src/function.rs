//! The head of a function, as far as its name, its result and the place of its body.

use proc_macro::{Delimiter, Group, Ident, TokenTree};

use crate::cursor::{Angles, Cursor, braces, is_punct};
use crate::error::{Error, Result};
use crate::items::Head;

/// A function, or the declaration of one in a trait.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) head: Head,
    /// From `fn` to before the body, or to the end.
    pub(crate) tokens: Vec<TokenTree>,
    pub(crate) name: Ident,
    /// What it returns, empty for nothing.
    pub(crate) output: Vec<TokenTree>,
    pub(crate) body: Option<Group>,
}

impl Function {
    /// From `fn` on.
    pub(crate) fn parse(head: Head, cursor: &mut Cursor) -> Result<Self> {
        let span = cursor.span();
        let wrong = || Error::new(span, "expected a function");
        let mut tokens: Vec<TokenTree> = cursor.take().into_iter().collect();
        let name = cursor.take_ident().ok_or_else(wrong)?;
        tokens.push(name.clone().into());
        cursor.take_angles(&mut tokens);
        tokens.push(cursor.take_group(Delimiter::Parenthesis).ok_or_else(wrong)?.into());
        let (mut output, mut is_output) = (Vec::new(), false);
        if cursor.is_punct('-') {
            // `->`
            tokens.extend(cursor.take());
            tokens.extend(cursor.take());
            is_output = true;
        }
        let mut angles = Angles::default();
        while let Some(token) = cursor.take_raw() {
            let body = braces(&token).filter(|_| angles.is_closed());
            if body.is_some() {
                return Ok(Self { head, tokens, name, output, body });
            }
            if is_punct(&token, ';') {
                tokens.push(token);
                return Ok(Self { head, tokens, name, output, body: None });
            }
            is_output &= !matches!(&token, TokenTree::Ident(ident) if ident.to_string() == "where");
            if is_output {
                output.push(token.clone());
            }
            angles.pass(&token);
            tokens.push(token);
        }
        Err(wrong())
    }
}
