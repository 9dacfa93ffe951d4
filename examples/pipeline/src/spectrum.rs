//! The work of a step: the power spectrum of every record, on all of rayon's threads.

use rayon::prelude::*;
use tracing::{Span, info_span, instrument};

use crate::recordings::{Recording, VALUES};

/// Frequencies of a spectrum.
pub const FREQUENCIES: usize = VALUES / 2;
/// Records that one thread takes at a time.
const CHUNK: usize = 64;

/// The spectra of all records, one after the other.
#[instrument(skip_all)]
pub fn spectra(recording: &Recording) -> Vec<f32> {
    let (sines, cosines) = waves();
    // Threads of rayon know nothing of the span they work for: it is handed to them.
    let span = Span::current();
    recording
        .values
        .par_chunks(CHUNK * VALUES)
        .flat_map_iter(|records| {
            let _chunk = info_span!(parent: &span, "chunk").entered();
            records.chunks(VALUES).flat_map(|record| power(record, &sines, &cosines)).collect::<Vec<_>>()
        })
        .collect()
}

/// The discrete Fourier transform by its definition: 16,384 multiplications a record.
fn power(record: &[f32], sines: &[f32], cosines: &[f32]) -> Vec<f32> {
    let dot = |wave: &[f32]| record.iter().zip(wave).map(|(value, wave)| value * wave).sum::<f32>();
    let waves = sines.chunks(VALUES).zip(cosines.chunks(VALUES));
    waves.map(|(sine, cosine)| dot(sine).powi(2) + dot(cosine).powi(2)).collect()
}

/// Sines and cosines of every frequency.
#[instrument(skip_all)]
fn waves() -> (Vec<f32>, Vec<f32>) {
    let turn = std::f32::consts::TAU / VALUES as f32;
    let places = || (0..FREQUENCIES * VALUES).map(|place| turn * (place / VALUES * (place % VALUES)) as f32);
    (places().map(f32::sin).collect(), places().map(f32::cos).collect())
}
