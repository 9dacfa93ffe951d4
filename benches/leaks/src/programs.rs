//! Small real programs, leaking and healthy: a step of each. Series are written by a process of its own, one a run.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::mpsc;

use crate::random::Random;

/// What happens in a step: its number and the share of the run that is done.
type Step = Box<dyn FnMut(usize, f64)>;

/// A program: its name, whether it leaks, and how it is set up.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) leaks: bool,
    pub(crate) start: fn(&mut Random) -> (Step, Option<f64>),
}

/// Numbers as a tensor holds them; touched, so that they are resident.
fn tensor(bytes: usize) -> Vec<u8> {
    vec![1; bytes]
}

/// Bytes that a program handles at once.
fn size(random: &mut Random) -> usize {
    random.scale(2e4, 4e5) as usize
}

struct Node {
    other: RefCell<Option<Rc<Node>>>,
    _held: Vec<u8>,
}

fn log_of_tensors(random: &mut Random) -> (Step, Option<f64>) {
    let (each, mut log) = (size(random), Vec::new());
    (Box::new(move |_, _| log.push(tensor(each))), Some(each as f64))
}

fn cycle(random: &mut Random) -> (Step, Option<f64>) {
    let each = size(random);
    let step = move |_: usize, _: f64| {
        let node = Rc::new(Node { other: RefCell::new(None), _held: tensor(each) });
        *node.other.borrow_mut() = Some(Rc::clone(&node));
    };
    (Box::new(step), Some(each as f64))
}

fn channel(random: &mut Random) -> (Step, Option<f64>) {
    let each = size(random);
    let (sender, receiver) = mpsc::sync_channel(1_000_000);
    let step = move |_: usize, _: f64| {
        (0..2).for_each(|_| sender.send(tensor(each)).unwrap_or(()));
        drop(receiver.recv());
    };
    (Box::new(step), Some(each as f64))
}

fn threads(random: &mut Random) -> (Step, Option<f64>) {
    let each = size(random);
    let step = move |at: usize, _: f64| {
        let held = tensor(each);
        let wait = move || loop {
            std::thread::park();
            std::hint::black_box(&held);
        };
        if at % 4 == 0 {
            drop(std::thread::Builder::new().stack_size(65_536).spawn(wait));
        }
    };
    (Box::new(step), Some(each as f64 / 4.0))
}

fn cache_without_bound(random: &mut Random) -> (Step, Option<f64>) {
    let (each, mut cache) = (size(random), HashMap::new());
    let mut own = Random(random.0);
    let step = move |at: usize, _: f64| {
        cache.insert(at, tensor((each as f64 * own.between(0.2, 1.8)) as usize));
    };
    (Box::new(step), Some(each as f64))
}

fn history_beside_epochs(random: &mut Random) -> (Step, Option<f64>) {
    let (each, every) = (size(random), random.whole(10, 25));
    let (mut kept, mut epoch) = (Vec::new(), Vec::new());
    let step = move |at: usize, _: f64| {
        kept.push(tensor(each));
        epoch.push(tensor(each / 2));
        if at % every == every - 1 {
            epoch.clear();
        }
    };
    (Box::new(step), Some(each as f64))
}

/// A cache that is full before the middle of the run, beside a log that is not cleared.
fn leak_beside_cache(random: &mut Random) -> (Step, Option<f64>) {
    let (each, full) = (size(random), random.between(0.15, 0.5));
    let (mut log, mut held, mut most) = (Vec::new(), VecDeque::new(), None);
    let step = move |at: usize, share: f64| {
        log.push(tensor(each / 4));
        held.push_back(tensor(each));
        if share >= full {
            let most = *most.get_or_insert(at);
            while held.len() > most {
                held.pop_front();
            }
        }
    };
    (Box::new(step), Some((each / 4) as f64))
}

/// One vector, whose room doubles.
fn vector(random: &mut Random) -> (Step, Option<f64>) {
    let (each, mut history) = (size(random) / 8, Vec::new());
    (Box::new(move |at, _| history.extend(std::iter::repeat_n(at as f64, each))), Some(8.0 * each as f64))
}

fn trains(random: &mut Random) -> (Step, Option<f64>) {
    let (each, mut own) = (size(random), Random(random.0));
    let mut batch = Vec::new();
    let step = move |_: usize, _: f64| {
        drop(std::hint::black_box(std::mem::replace(
            &mut batch,
            tensor((each as f64 * own.between(0.9, 1.1)) as usize),
        )));
    };
    (Box::new(step), None)
}

fn cache(random: &mut Random) -> (Step, Option<f64>) {
    let (each, full) = (size(random), random.between(0.2, 0.85));
    let (mut held, mut most) = (VecDeque::new(), None);
    let step = move |at: usize, share: f64| {
        held.push_back(tensor(each));
        if share >= full {
            let most = *most.get_or_insert(at);
            while held.len() > most {
                held.pop_front();
            }
        }
    };
    (Box::new(step), None)
}

fn curriculum(random: &mut Random) -> (Step, Option<f64>) {
    let (each, stages, mut own) = (size(random), random.whole(2, 5), Random(random.0));
    let mut batch = Vec::new();
    let step = move |_: usize, share: f64| {
        let stage = 1 + (share * stages as f64) as usize;
        drop(std::hint::black_box(std::mem::replace(
            &mut batch,
            tensor((each as f64 * stage as f64 * own.between(0.97, 1.03)) as usize * 4),
        )));
    };
    (Box::new(step), None)
}

fn epochs(random: &mut Random) -> (Step, Option<f64>) {
    let (each, every, mut epoch) = (size(random), random.whole(5, 20), Vec::new());
    let step = move |at: usize, _: f64| {
        epoch.push(tensor(each));
        if at % every == every - 1 {
            epoch = Vec::new();
        }
    };
    (Box::new(step), None)
}

fn fragments(random: &mut Random) -> (Step, Option<f64>) {
    let (each, mut own) = (size(random) / 20, Random(random.0));
    let mut pieces: Vec<Vec<u8>> = (0..400).map(|_| tensor(each)).collect();
    let step = move |_: usize, _: f64| {
        for _ in 0..20 {
            let at = own.whole(0, pieces.len() - 1);
            pieces[at] = tensor((each as f64 * own.scale(0.2, 3.0)) as usize);
        }
    };
    (Box::new(step), None)
}

fn loader(random: &mut Random) -> (Step, Option<f64>) {
    let (each, depth) = (size(random), random.whole(4, 30));
    let (sender, receiver) = mpsc::sync_channel(depth);
    drop(std::thread::Builder::new().spawn(move || while sender.send(tensor(each)).is_ok() {}));
    (Box::new(move |_, _| drop(receiver.recv())), None)
}

fn flushes(random: &mut Random) -> (Step, Option<f64>) {
    let (each, most, mut own) = (size(random), random.whole(6, 25), Random(random.0));
    let mut held = Vec::new();
    let step = move |_: usize, _: f64| {
        held.push(tensor((each as f64 * own.between(0.5, 1.5)) as usize));
        if held.len() > most || own.is(0.02) {
            held.clear();
        }
    };
    (Box::new(step), None)
}

fn optimizer(random: &mut Random) -> (Step, Option<f64>) {
    let (each, mut state, mut batch) = (size(random), Vec::new(), Vec::new());
    let step = move |at: usize, _: f64| {
        if at < 3 {
            state.push(tensor(10 * each));
        }
        batch.clear();
        batch.push(tensor(each));
    };
    (Box::new(step), None)
}

fn notes(random: &mut Random) -> (Step, Option<f64>) {
    let (each, mut losses, mut batch) = (size(random), Vec::new(), Vec::new());
    let step = move |at: usize, _: f64| {
        losses.push(at as f32);
        drop(std::hint::black_box(std::mem::replace(&mut batch, tensor(each))));
        std::hint::black_box(&losses);
    };
    (Box::new(step), None)
}

const fn leak(name: &'static str, start: fn(&mut Random) -> (Step, Option<f64>)) -> Program {
    Program { name, leaks: true, start }
}

const fn healthy(name: &'static str, start: fn(&mut Random) -> (Step, Option<f64>)) -> Program {
    Program { name, leaks: false, start }
}

/// All of them.
pub(crate) const PROGRAMS: &[Program] = &[
    leak("log of tensors", log_of_tensors),
    leak("cycle of Rc", cycle),
    leak("channel that grows", channel),
    leak("detached threads", threads),
    leak("cache without bound", cache_without_bound),
    leak("history beside epochs", history_beside_epochs),
    leak("leak beside a full cache", leak_beside_cache),
    leak("vector that doubles", vector),
    healthy("training", trains),
    healthy("cache", cache),
    healthy("curriculum", curriculum),
    healthy("epochs", epochs),
    healthy("fragmentation", fragments),
    healthy("loader", loader),
    healthy("flushed buffer", flushes),
    healthy("optimizer state", optimizer),
    healthy("list of losses", notes),
];
