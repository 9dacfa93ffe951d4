//! The attribute `stepscope::profile`, which `stepscope` re-exports. It reads tokens only as far as it must: whatever is
//! not the head of a function or a block of them passes through untouched. What a section is and how it is recorded is
//! not known here.

mod arguments;
mod cursor;
mod error;
mod expand;
mod function;
mod items;

use proc_macro::TokenStream;

/// Makes a section of every call of a function, or of every method of an `impl` block or a trait.
///
/// A function's section is what [`section!`] makes, from the first statement to the end of the body, however the body
/// ends. That of an `async fn` is a `tracing` span of level INFO that is entered at each poll, so that it carries the
/// time between the polls as idle. Both are named after the function; methods of an annotated block `Type::method`, or
/// `Trait::method` where a trait provides them.
///
/// ```
/// use stepscope::profile;
///
/// struct Model {
///     layers: usize,
/// }
///
/// #[profile]
/// impl Model {
///     #[profile(phase = Forward, fields(layers = self.layers, samples = batch.len()))]
///     fn forward(&mut self, batch: &[f32]) -> f32 {
///         batch.iter().sum()
///     }
///
///     #[profile(skip)]
///     fn layers(&self) -> usize {
///         self.layers
///     }
/// }
///
/// #[profile(name = "save checkpoint", phase = Checkpoint)]
/// async fn save(model: &Model) -> Result<usize, std::io::Error> {
///     Ok(model.layers())
/// }
/// # let mut model = Model { layers: 2 };
/// # assert_eq!(model.forward(&[1.0, 2.0]), 3.0);
/// # drop(save(&model));
/// ```
///
/// | argument | on a function or method | on a block |
/// |---|---|---|
/// | `name = "…"` | the section's name | what stands before `::` in the names |
/// | `phase = …` | a variant of `stepscope::Phase`, or a phase of your own in quotes | the phase of methods that name none |
/// | `fields(a = …, b)` | values at the start of the call; `b` is short for `b = b` | |
/// | `skip` | leaves it as it is | |
/// | `crate = "…"` | the path of `stepscope`, if it is not `::stepscope` | the same, for all methods |
///
/// A phase in quotes that `stepscope::Phase` has is that one. A variant that it does not have is an error:
///
/// ```compile_fail,E0599
/// #[stepscope::profile(phase = Sideways)]
/// fn forward() {}
/// ```
/// ```compile_fail,E0599
/// #[stepscope::profile(phase = Sideways)]
/// async fn forward() {}
/// ```
///
/// No argument of the function is recorded unless `fields` names it. Fields are integers, floats, booleans and strings,
/// as those of [`section!`].
///
/// # Errors
///
/// `const`, `unsafe` and `extern` functions are refused: the compiler has no clock, an unsafe body must not grow, and
/// callers in other languages may jump out of a function past the end of its section. Of a function that returns a future
/// without being `async` only the making of the future is timed. Beside an attribute that rewrites `async fn` (such as
/// `async_trait`) this one comes first.
///
/// [`section!`]: https://docs.rs/stepscope/latest/stepscope/macro.section.html
#[proc_macro_attribute]
pub fn profile(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match expand::item(arguments, item.clone()) {
        Ok(expanded) => expanded,
        // The item as it was, so that the only error is ours.
        Err(error) => [item, error.tokens()].into_iter().collect(),
    }
}
