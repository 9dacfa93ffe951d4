//! Values in a row in as few bytes as they need, for what there is a great deal of in memory. Written by the encoder of
//! partials, and read by what has written it: nothing here comes from a file.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Values of one type, packed. Equal values in equal order have equal bytes; which of others is less is told by the bytes,
/// and says no more than which of two that were said at once is kept.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Packed<T> {
    bytes: Box<[u8]>,
    of: PhantomData<T>,
}

impl<T: Serialize + DeserializeOwned> Packed<T> {
    /// Packs the values.
    pub(crate) fn new(values: impl Iterator<Item = T>) -> Self {
        let bytes =
            values.fold(Vec::new(), |bytes, value| postcard::to_extend(&value, bytes).unwrap_or_default());
        Self { bytes: bytes.into(), of: PhantomData }
    }

    /// The values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> {
        let mut rest = &*self.bytes;
        std::iter::from_fn(move || {
            let (value, after) = postcard::take_from_bytes(rest).ok()?;
            rest = after;
            Some(value)
        })
    }
}

impl<T> Clone for Packed<T> {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), of: PhantomData }
    }
}

impl<T> Default for Packed<T> {
    fn default() -> Self {
        Self { bytes: Box::default(), of: PhantomData }
    }
}
