//! Futures on a small executor: some that never finish and hold what they have read, and a channel that fills faster than it
//! empties.

use std::pin::Pin;
use std::sync::mpsc::{self, Receiver, Sender};
use std::task::{Context, Poll, Waker};

use super::Program;
use crate::sizes::Sizes;
use crate::truth::planted;

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Futures that wait for ever, each with what it has read.
pub fn stuck(mut sizes: Sizes) -> Box<dyn Program> {
    let mut tasks: Vec<Task> = Vec::new();
    Box::new(move |_| serve_stuck(&mut tasks, &sizes.step()))
}

#[tracing::instrument(name = "serve", skip_all)]
fn serve_stuck(tasks: &mut Vec<Task>, sizes: &[usize]) {
    for &size in sizes {
        let mut task: Task = Box::pin(async move {
            let request = decode(size).await;
            std::future::pending::<()>().await;
            drop(request);
        });
        // Twice: the first poll ends before anything is read.
        let _ = (poll(&mut task), poll(&mut task));
        tasks.push(task);
    }
}

#[tracing::instrument(skip_all)]
async fn decode(size: usize) -> Vec<u8> {
    pause().await;
    planted!(size, vec![1; size])
}

/// A channel without bound whose reader takes one message a step.
pub fn channel(mut sizes: Sizes) -> Box<dyn Program> {
    let (sender, messages) = mpsc::channel();
    Box::new(move |_| serve_channel(&sender, &messages, &sizes.step()))
}

#[tracing::instrument(name = "serve", skip_all)]
fn serve_channel(sender: &Sender<Vec<u8>>, messages: &Receiver<Vec<u8>>, sizes: &[usize]) {
    let mut task: Task = Box::pin(produce(sender.clone(), sizes.to_vec()));
    while poll(&mut task).is_pending() {}
    drop(messages.try_recv());
}

#[tracing::instrument(skip_all)]
async fn produce(sender: Sender<Vec<u8>>, sizes: Vec<usize>) {
    for size in sizes {
        pause().await;
        let message = planted!(size, vec![1_u8; size]);
        let _ = sender.send(message);
    }
}

fn poll(task: &mut Task) -> Poll<()> {
    task.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Pending once.
async fn pause() {
    let mut is_first = true;
    std::future::poll_fn(move |_| match std::mem::take(&mut is_first) {
        true => Poll::Pending,
        false => Poll::Ready(()),
    })
    .await;
}
