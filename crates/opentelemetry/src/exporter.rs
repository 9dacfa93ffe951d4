//! An exporter of the SDK behind stepscope's door: messages become span data, errors become losses.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::SpanExporter;
use stepscope::{Exported, Exporter};

use crate::spans;

/// An exporter for [`stepscope::Builder::exporter`] that hands everything on to `exporter`, in batches of up to some
/// thousand spans.
///
/// It works on a thread of its own without a runtime, as the SDK's own batch processor does: an exporter that needs tokio
/// must have been made inside of a runtime that goes on. It gets the resource before the first batch. Batches are not
/// tried again; that is the exporter's business. Where one fails, it is not known how many of its spans have arrived, but
/// for one after the exporter's shutdown; they are counted so.
pub fn exporter(exporter: impl SpanExporter + 'static) -> impl Exporter {
    Door { exporter, has_resource: false }
}

#[derive(Debug)]
struct Door<E> {
    exporter: E,
    has_resource: bool,
}

impl<E: SpanExporter + 'static> Exporter for Door<E> {
    fn export(&mut self, request: &[u8], _: u64) -> Exported {
        // What the exporter does is no work of the program's, for its own tracers either.
        let _quiet = opentelemetry::Context::enter_telemetry_suppressed_scope();
        let Some((resource, spans)) = spans::read(request) else {
            return Exported::NotTaken("the spans could not be read".into());
        };
        if !std::mem::replace(&mut self.has_resource, true) {
            self.exporter.set_resource(&resource);
        }
        judge(block_on(self.exporter.export(spans)))
    }

    fn shutdown(&mut self) {
        // It has nothing left to tell that would not have been told before.
        let _ = self.exporter.shutdown();
    }
}

fn judge(result: OTelSdkResult) -> Exported {
    match result {
        Ok(()) => Exported::Taken,
        Err(error @ OTelSdkError::AlreadyShutdown) => Exported::NotTaken(error.to_string()),
        Err(error) => Exported::Unknown(error.to_string()),
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut task = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut task) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn errors_become_losses() {
        assert_eq!(judge(Ok(())), Exported::Taken);
        assert!(matches!(judge(Err(OTelSdkError::AlreadyShutdown)), Exported::NotTaken(_)));
        for error in
            [OTelSdkError::Timeout(Duration::from_secs(1)), OTelSdkError::InternalFailure("no".into())]
        {
            assert!(matches!(judge(Err(error)), Exported::Unknown(_)));
        }
    }

    #[test]
    fn a_future_is_waited_for() {
        let (send, receive) = std::sync::mpsc::sync_channel(4);
        let mut other = None;
        let value = block_on(std::future::poll_fn(|task| {
            if let Ok(value) = receive.try_recv() {
                return Poll::Ready(value);
            }
            if other.is_none() {
                let (send, waker) = (send.clone(), task.waker().clone());
                let work = move || {
                    send.send(7).unwrap();
                    waker.wake();
                };
                other = Some(std::thread::Builder::new().name("waker".into()).spawn(work).unwrap());
            }
            Poll::Pending
        }));
        assert_eq!(value, 7);
    }
}
