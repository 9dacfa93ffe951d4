//! Tells the signals apart by the shape of their items.

use super::validate::{is_frame, is_item};
use super::wire::{LEN, Reader};
use crate::Signal;

/// The signal of a message or of its beginning; `Some(None)` for a valid message without items.
pub(crate) fn detect(bytes: &[u8]) -> Option<Option<Signal>> {
    if bytes.first() != Some(&0x0a) {
        return None;
    }
    match first_item(bytes) {
        Some(item) => of_item(item).map(Some),
        None => is_frame(bytes).then_some(None),
    }
}

/// The first item of the first scope that has one, if it is whole and the frame before it is sound.
fn first_item(bytes: &[u8]) -> Option<Reader<'_>> {
    let mut top = Reader::new(bytes);
    while !top.at_end() {
        let mut resource = (top.tag().ok()? == 0x0a).then(|| top.container().ok())??;
        while !resource.at_end() {
            match resource.tag().ok()? {
                0x12 => {}
                tag => {
                    resource.skip(tag).ok()?;
                    continue;
                }
            }
            let mut scope = resource.container().ok()?;
            while !scope.at_end() {
                match scope.tag().ok()? {
                    0x12 => return scope.message().ok(),
                    tag => scope.skip(tag).ok()?,
                }
            }
        }
    }
    None
}

/// What an item is: it must fit one signal's type and no other, and have what such an item always has.
fn of_item(item: Reader<'_>) -> Option<Signal> {
    let mut fits = [Signal::Traces, Signal::Metrics, Signal::Logs]
        .into_iter()
        .filter(|&signal| has_essentials(item, signal) && is_item(item, signal));
    fits.next().filter(|_| fits.next().is_none())
}

/// Whether the fields are there without which an item of `signal` makes no sense.
fn has_essentials(mut item: Reader<'_>, signal: Signal) -> bool {
    let (mut identity, mut content) = (false, false);
    while !item.at_end() {
        let Ok(tag) = item.tag() else { return false };
        let mut value = item;
        if item.skip(tag).is_err() {
            return false;
        }
        let len = if tag & 7 == LEN { value.bytes().map_or(0, <[u8]>::len) } else { 0 };
        match signal {
            // A trace id and a start time.
            Signal::Traces => {
                identity |= tag == 0x0a && len == 16;
                content |= tag == 0x39;
            }
            // A name and one of the kinds of data.
            Signal::Metrics => {
                identity |= tag == 0x0a && len > 0;
                content |= matches!(tag, 0x2a | 0x3a | 0x4a | 0x52 | 0x5a);
            }
            // A time or an observed time, and a body, a severity, attributes or an event's name.
            Signal::Logs => {
                identity |= matches!(tag, 0x09 | 0x59);
                content |= matches!(tag, 0x10 | 0x1a | 0x2a | 0x32 | 0x62);
            }
        }
    }
    identity && content
}
