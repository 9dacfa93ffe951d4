//! Every shape of item that the attribute takes, under the strictest lints: that this compiles is the test, and that
//! nothing has changed of what the functions do. What is recorded of them is tested with the layer.
#![deny(warnings, missing_docs, unused_qualifications, clippy::all, clippy::pedantic)]

use std::cell::RefCell;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use stepscope::profile;

/// What a future that never waits gives.
fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

/// Generic over a type, a constant and a lifetime, with a default and bounds that contain an arrow.
#[derive(Debug)]
pub struct Model<'a, B: Fn(u32) -> u32 = fn(u32) -> u32, const N: usize = 2> {
    weights: [u32; N],
    name: &'a str,
    activation: B,
}

/// A shape with a provided method.
pub trait Shape<T = u32> {
    /// A constant.
    const SIDES: T;

    /// An associated type.
    type Unit: Debug;

    /// To be written.
    fn area(&self) -> T;

    /// Provided.
    fn describe(&self) -> String
    where
        T: Display;

    /// Provided, too.
    fn unit(&self) -> Option<Self::Unit> {
        None
    }
}

macro_rules! constant {
    ($name:ident) => {
        const $name: u32 = 7;
    };
}

#[profile(name = "Net", phase = Forward)]
impl<'a, B: Fn(u32) -> u32, const N: usize> Model<'a, B, N>
where
    B: Clone,
{
    /// Left alone, as everything here that is no function.
    pub const LAYERS: [usize; 2] = { [N, N] };

    constant! { SEVEN }

    /// Makes one.
    #[must_use]
    #[inline]
    pub(crate) fn new(name: &'a str, activation: B) -> Self {
        Self { weights: [1; N], name, activation }
    }

    #[profile(skip)]
    const fn size() -> usize {
        N
    }

    #[profile(fields(input, weights = N, doubled = Vec::<(u32, u32)>::from([(input, 2)]).len()))]
    fn forward(&mut self, input: u32) -> u32 {
        #![expect(clippy::cast_possible_truncation, reason = "an attribute inside of the body")]
        const OFFSET: u32 = 1;
        self.weights[0] += input;
        let grown = self.weights.map(|weight| (self.activation)(weight));
        grown.iter().sum::<u32>() + OFFSET - Self::size() as u32 + Self::SEVEN - 7
    }

    fn weights<'b>(&'b self) -> impl Iterator<Item = &'b u32> + use<'a, 'b, B, N> {
        self.weights.iter()
    }

    #[stepscope::profile(name = "early", phase = Backward)]
    fn early(&self, stop: bool) -> Result<&'a str, Box<dyn Error + '_>> {
        if stop {
            return Err(self.name.into());
        }
        let number: u32 = "12".parse()?;
        assert_eq!(number, 12);
        Ok(self.name)
    }

    async fn load(&mut self, mut by: u32) -> &u32 {
        by += 1;
        self.weights[0] = by;
        &self.weights[0]
    }

    fn into_name(self) -> String {
        self.name.to_owned()
    }
}

#[profile]
impl<B: Fn(u32) -> u32, const N: usize> Shape for Model<'_, B, N> {
    const SIDES: u32 = 4;

    type Unit = ();

    fn area(&self) -> u32 {
        self.weights.iter().product()
    }

    fn describe(&self) -> String {
        format!("{} of {}", self.name, Self::SIDES)
    }
}

/// Numbers that can say more of themselves.
#[profile]
pub trait Number: Sized + Copy
where
    Self: Into<f64>,
{
    /// Not provided.
    fn zero() -> Self;

    /// Provided.
    #[profile(fields(value = self.into()))]
    fn halved(self) -> f64 {
        let value: f64 = self.into();
        value / 2.0
    }
}

#[profile]
impl Number for u8 {
    fn zero() -> Self {
        0
    }
}

#[profile]
fn largest<T>(values: &[T]) -> Option<&T>
where
    T: Debug + Ord + Copy,
{
    values.iter().max()
}

#[profile(phase = Io, fields(text, length = text.len()))]
async fn parsed(text: &str) -> Result<impl Display + use<>, Box<dyn Error>> {
    let number: i32 = text.parse()?;
    if number < 0 {
        return Err("negative".into());
    }
    Ok(number)
}

#[profile]
async fn recursive(depth: u32) -> u32 {
    if depth == 0 { 0 } else { 1 + Box::pin(recursive(depth - 1)).await }
}

#[profile]
async fn nothing((left, _): (RefCell<u32>, u32), right: impl Into<u32>) {
    left.replace(right.into());
}

#[profile]
fn boxed<'a>(value: &'a u32) -> Pin<Box<dyn Future<Output = u32> + Send + 'a>> {
    Box::pin(async move { *value })
}

#[profile(phase = "reward_model", fields(number))]
fn of_its_own(number: u32) -> u32 {
    number
}

#[profile(phase = "reward_model", fields(number))]
async fn of_its_own_later(number: u32) -> u32 {
    of_its_own(number)
}

#[profile(skip)]
const fn untouched() -> u32 {
    5
}

/// `r#match` is called `match`.
#[profile]
fn r#match(__stepscope_section: u32) -> u32 {
    __stepscope_section
}

#[rustfmt::skip]
#[profile]
fn on_one_line() -> u32 { 8 }

#[profile]
fn diverging() -> ! {
    panic!("on purpose")
}

#[profile]
async fn diverging_later() -> ! {
    panic!("on purpose")
}

mod renamed {
    //! The crate under another name.

    pub(crate) mod nested {
        pub(crate) use stepscope as profiler;
    }

    pub(crate) struct Unit;

    #[stepscope::profile(crate = "crate::renamed::nested::profiler")]
    impl Unit {
        #[nested::profiler::profile(skip)]
        pub(crate) const fn skipped() -> u32 {
            1
        }

        #[crate::renamed::nested::profiler::profile(phase = Collate, fields(n = 2))]
        pub(crate) async fn counted() -> u32 {
            Self::skipped()
        }
    }
}

macro_rules! through {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($argument:ident: $type:ty) -> $output:ty $body:block, $literal:literal, $value:expr) => {
        $(#[$meta])*
        #[profile(name = $literal, fields(value = $value * 3))]
        $vis fn $name($argument: $type) -> $output $body
    };
}

through!(
    /// Made by a macro.
    #[must_use]
    pub fn made(argument: u32) -> Option<u32> {
        argument.checked_add(1)
    },
    "made by a macro",
    1 + 1
);

#[test]
fn functions_do_what_they_did() {
    let mut model = Model::<_, 2>::new("net", |weight| weight * 2);
    assert_eq!(model.forward(3), 8 + 2 + 1 - 2);
    assert_eq!(model.weights().collect::<Vec<_>>(), [&4, &1]);
    assert_eq!(model.early(false).unwrap(), "net");
    assert_eq!(model.early(true).unwrap_err().to_string(), "net");
    assert_eq!(ready(model.load(8)), &9);
    assert_eq!((model.area(), model.describe(), model.unit()), (9, "net of 4".to_owned(), None));
    assert_eq!(model.into_name(), "net");
    assert_eq!(Model::<'_, fn(u32) -> u32, 3>::LAYERS, [3, 3]);
    assert!((u8::zero().halved() - 0.0).abs() < f64::EPSILON);
    assert_eq!(largest(&[2, 9, 4]), Some(&9));
    assert_eq!(made(4), Some(5));
    assert_eq!((untouched(), r#match(4), on_one_line(), of_its_own(3)), (5, 4, 8, 3));
    assert!(std::panic::catch_unwind(|| diverging()).is_err());
    assert!(std::panic::catch_unwind(|| ready(diverging_later())).is_err());
}

#[test]
fn futures_do_what_they_did() {
    assert_eq!(ready(parsed("31")).map_or_else(|error| error.to_string(), |n| n.to_string()), "31");
    assert_eq!(ready(parsed("-1")).err().map(|error| error.to_string()).as_deref(), Some("negative"));
    assert_eq!(ready(recursive(5)), 5);
    ready(nothing((RefCell::new(1), 2), 3_u8));
    assert_eq!((ready(boxed(&6)), ready(of_its_own_later(7))), (6, 7));
    assert_eq!(ready(renamed::Unit::counted()), 1);
}

#[test]
fn futures_can_still_be_sent() {
    fn sent<T: Send>(value: T) -> T {
        value
    }
    assert_eq!(ready(sent(recursive(1))), 1);
    assert!(ready(sent(parsed("1"))).is_ok());
    assert_eq!(ready(sent(boxed(&1))), 1);
}
