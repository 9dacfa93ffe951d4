//! Reads the body of a request piece by piece, within its time, and hands on what comes. After a refusal the rest is
//! read and thrown away, so that a client that sends everything before it listens gets the answer.

use std::fmt::Display;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::time::{Instant, timeout_at};

use crate::limits::Limits;
use crate::refusal::{Kind, Refusal};

/// Times the size of a message that a body may have on the wire.
const WIRE_FACTOR: usize = 4;

/// Hands every piece of `body` to `take` until the end.
///
/// # Errors
/// The first refusal: `take`'s, or that the body broke off, came too slowly, or would not end.
pub(crate) async fn feed<B>(
    mut body: B,
    limits: &Limits,
    mut take: impl FnMut(&[u8]) -> Result<(), Refusal>,
) -> Result<(), Refusal>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Display,
{
    let deadline = Instant::now() + limits.body;
    let mut wire_left = limits.message_bytes.saturating_mul(WIRE_FACTOR);
    let mut refused = None;
    let end = loop {
        let frame = match timeout_at(deadline, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break Ok(()),
            Ok(Some(Err(error))) => {
                break Err(Refusal::new(Kind::Invalid, format!("the body broke off: {error}")));
            }
            Err(_) => {
                let reason = format!("the body did not come within {} s", limits.body.as_secs_f32());
                break Err(Refusal::new(Kind::TooSlow, reason));
            }
        };
        let Some(data) = frame.data_ref() else { continue };
        if data.len() > wire_left {
            break Err(Refusal::new(Kind::TooLarge, "the body does not end"));
        }
        wire_left -= data.len();
        if refused.is_none() {
            refused = take(data).err();
        }
    };
    refused.map_or(end, Err)
}
