//! What stands in the parentheses of the attribute.

use proc_macro::{Delimiter, Ident, Literal, Span, TokenStream, TokenTree};

use crate::cursor::{Cursor, is_punct};
use crate::error::{Error, Result};

const KNOWN: &str = "there are `name`, `phase`, `fields`, `skip` and `crate`";

/// The arguments of one attribute.
#[derive(Debug, Default, Clone)]
pub(crate) struct Arguments {
    pub(crate) name: Option<Name>,
    /// A variant of `Phase`, or a string.
    pub(crate) phase: Option<TokenTree>,
    pub(crate) fields: Vec<Field>,
    pub(crate) skip: Option<Span>,
    pub(crate) root: Option<TokenStream>,
}

/// Text and where it is written.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// One of `fields(…)`.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) key: Ident,
    pub(crate) value: TokenStream,
}

impl Arguments {
    pub(crate) fn parse(tokens: TokenStream) -> Result<Self> {
        let mut cursor = Cursor::new(tokens);
        let mut arguments = Self::default();
        let mut seen = Vec::new();
        while !cursor.is_at_end() {
            let span = cursor.span();
            let Some(key) = cursor.take_ident() else {
                return Err(Error::new(span, format!("expected an argument of `profile`: {KNOWN}")));
            };
            let text = key.to_string();
            match text.as_str() {
                "name" => arguments.name = Some(string(&mut cursor, &key)?),
                "phase" => arguments.phase = Some(phase(&mut cursor, &key)?),
                "fields" => arguments.fields = fields(&mut cursor, &key)?,
                "skip" => arguments.skip = Some(key.span()),
                "crate" => arguments.root = Some(path(&mut cursor, &key)?),
                _ => return Err(Error::new(span, format!("`profile` has no argument `{text}`: {KNOWN}"))),
            }
            if seen.contains(&text) {
                return Err(Error::new(span, format!("`{text}` is there twice")));
            }
            seen.push(text);
            if cursor.take_punct(',').is_none() && !cursor.is_at_end() {
                return Err(Error::new(cursor.span(), "expected `,`"));
            }
        }
        match arguments.skip {
            Some(span) if seen.len() > 1 => Err(Error::new(span, "`skip` stands alone")),
            _ => Ok(arguments),
        }
    }
}

fn equals(cursor: &mut Cursor, key: &Ident, example: &str) -> Result<()> {
    match cursor.take_punct('=') {
        Some(_) => Ok(()),
        None => Err(Error::new(key.span(), format!("write `{key} = {example}`"))),
    }
}

/// `= "text"`.
fn string(cursor: &mut Cursor, key: &Ident) -> Result<Name> {
    equals(cursor, key, "\"…\"")?;
    let span = cursor.span();
    let wrong =
        || Error::new(span, format!("`{key}` wants a string in quotes, not empty and without escapes"));
    let Some(TokenTree::Literal(literal)) = cursor.take() else { return Err(wrong()) };
    match plain_string(&literal) {
        Some(text) => Ok(Name { text, span }),
        None => Err(wrong()),
    }
}

fn plain_string(literal: &Literal) -> Option<String> {
    let text = literal.to_string();
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    (!text.is_empty() && !text.contains('\\')).then(|| text.to_owned())
}

/// `= Forward`, and whether there is such a phase is the compiler's to say; or `= "a phase of one's own"`.
fn phase(cursor: &mut Cursor, key: &Ident) -> Result<TokenTree> {
    equals(cursor, key, "Forward")?;
    let span = cursor.span();
    match cursor.take() {
        Some(TokenTree::Ident(variant)) => Ok(variant.into()),
        Some(TokenTree::Literal(text)) if plain_string(&text).is_some() => Ok(text.into()),
        _ => Err(Error::new(
            span,
            "`phase` wants a variant of `stepscope::Phase`, such as `Forward`, or a phase of your own: a string in quotes, \
             not empty and without escapes",
        )),
    }
}

/// `= "path::of::the_crate"`.
fn path(cursor: &mut Cursor, key: &Ident) -> Result<TokenStream> {
    let name = string(cursor, key)?;
    let wrong = |_| Error::new(name.span, "`crate` wants the path of the crate `stepscope`");
    name.text.parse::<TokenStream>().map_err(wrong)
}

/// `(a = expression, b)`.
fn fields(cursor: &mut Cursor, key: &Ident) -> Result<Vec<Field>> {
    let Some(group) = cursor.take_group(Delimiter::Parenthesis) else {
        return Err(Error::new(key.span(), "write `fields(key = value, …)`"));
    };
    let mut cursor = Cursor::new(group.stream());
    let mut fields = Vec::new();
    while !cursor.is_at_end() {
        let span = cursor.span();
        let wrong = || Error::new(span, "expected `key = value`, or the name of a variable");
        let key = cursor.take_ident().ok_or_else(wrong)?;
        let value = if cursor.take_punct('=').is_some() {
            expression(&mut cursor)
        } else {
            TokenTree::from(key.clone()).into()
        };
        if value.is_empty() || (cursor.take_punct(',').is_none() && !cursor.is_at_end()) {
            return Err(wrong());
        }
        fields.push(Field { key, value });
    }
    Ok(fields)
}

/// Up to the next comma that is in no brackets; angle brackets are some behind `::` and at the start.
fn expression(cursor: &mut Cursor) -> TokenStream {
    let mut taken: Vec<TokenTree> = Vec::new();
    while let Some(next) = cursor.peek_raw().filter(|next| !is_punct(next, ',')) {
        let may_open = taken.last().is_none_or(|last| is_punct(last, ':'));
        if may_open && is_punct(next, '<') {
            cursor.take_angles(&mut taken);
        } else {
            taken.extend(cursor.take_raw());
        }
    }
    taken.into_iter().collect()
}
