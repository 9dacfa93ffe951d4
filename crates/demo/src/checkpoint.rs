//! Checkpoint files: weights, velocities and position of a run, enough to continue it to the bit.
//!
//! Layout, little-endian: magic `ssdemo\x00\x01`, seed u64, steps done u64, number of matrices u32; for each
//! matrix rows u32, columns u32, values f32; at the end the CRC-32 of everything before it.

use std::fs;
use std::path::{Path, PathBuf};

use ndarray::Array2;

use crate::error::DemoError;
use crate::net::{Network, PARAMETERS};
use crate::optimizer::Sgd;

const MAGIC: [u8; 8] = *b"ssdemo\x00\x01";
const CRC_BYTES: usize = 4;

/// Where a run stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) seed: u64,
    /// Steps done since the start of training.
    pub(crate) steps: u64,
}

/// Writes the checkpoint of an epoch into `directory` and returns its path. A reader sees the whole file or
/// none: it is written beside its place and renamed. It is not forced to the disk: a demo's checkpoint has to
/// survive the program, not the machine.
#[tracing::instrument(skip_all, fields(epoch = epoch, stepscope.phase = "checkpoint"))]
pub(crate) fn save_checkpoint(
    directory: &Path,
    epoch: u64,
    position: Position,
    network: &Network,
    optimizer: &Sgd,
) -> Result<PathBuf, DemoError> {
    let path = directory.join(format!("epoch-{epoch:04}.ckpt"));
    let unfinished = path.with_extension("ckpt.part");
    let bytes = encode(position, network, optimizer);
    fs::write(&unfinished, bytes)
        .and_then(|()| fs::rename(&unfinished, &path))
        .map_err(|error| DemoError::checkpoint_io("cannot write the checkpoint", &path, error))?;
    Ok(path)
}

/// Reads a checkpoint into `network` and `optimizer`, which stay as they are when it is damaged.
pub(crate) fn load_checkpoint(
    path: &Path,
    network: &mut Network,
    optimizer: &mut Sgd,
) -> Result<Position, DemoError> {
    let bytes = fs::read(path)
        .map_err(|error| DemoError::checkpoint_io("cannot read the checkpoint", path, error))?;
    let (position, values, velocities) =
        decode(&bytes, network).map_err(|what| DemoError::checkpoint(what, path))?;
    for (parameter, value) in network.parameters_mut().into_iter().zip(values) {
        parameter.value = value;
    }
    for (velocity, value) in optimizer.velocities.iter_mut().zip(velocities) {
        *velocity = value;
    }
    Ok(position)
}

fn encode(position: Position, network: &Network, optimizer: &Sgd) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(position.seed.to_le_bytes());
    bytes.extend(position.steps.to_le_bytes());
    bytes.extend((2 * PARAMETERS as u32).to_le_bytes());
    let values = network.parameters().map(|parameter| &parameter.value);
    for matrix in values.into_iter().chain(&optimizer.velocities) {
        bytes.extend((matrix.nrows() as u32).to_le_bytes());
        bytes.extend((matrix.ncols() as u32).to_le_bytes());
        bytes.extend(matrix.iter().flat_map(|value| value.to_le_bytes()));
    }
    bytes.extend(crc32(&bytes).to_le_bytes());
    bytes
}

type Matrices = Vec<Array2<f32>>;

/// Position, values and velocities; the shapes are those of `network`.
fn decode(bytes: &[u8], network: &Network) -> Result<(Position, Matrices, Matrices), &'static str> {
    const DAMAGED: &str = "the checkpoint is damaged";
    const FOREIGN: &str = "the checkpoint is not of this program or version";
    if !bytes.starts_with(&MAGIC) {
        return Err(FOREIGN);
    }
    let (body, crc) = bytes.split_last_chunk::<CRC_BYTES>().ok_or(DAMAGED)?;
    if u32::from_le_bytes(*crc) != crc32(body) {
        return Err(DAMAGED);
    }
    let mut rest = body.get(MAGIC.len()..).ok_or(DAMAGED)?;
    let position = Position {
        seed: u64::from_le_bytes(*take(&mut rest).ok_or(DAMAGED)?),
        steps: u64::from_le_bytes(*take(&mut rest).ok_or(DAMAGED)?),
    };
    let count = u32::from_le_bytes(*take(&mut rest).ok_or(DAMAGED)?);
    if count != 2 * PARAMETERS as u32 {
        return Err(FOREIGN);
    }
    let mut read = || {
        let shapes = network.parameters().map(|parameter| parameter.value.dim());
        shapes.into_iter().map(|shape| matrix(&mut rest, shape)).collect::<Option<Matrices>>()
    };
    let (Some(values), Some(velocities)) = (read(), read()) else { return Err(FOREIGN) };
    if rest.is_empty() { Ok((position, values, velocities)) } else { Err(FOREIGN) }
}

fn matrix(rest: &mut &[u8], shape: (usize, usize)) -> Option<Array2<f32>> {
    let rows = u32::from_le_bytes(*take(rest)?) as usize;
    let columns = u32::from_le_bytes(*take(rest)?) as usize;
    if (rows, columns) != shape {
        return None;
    }
    let values =
        (0..rows * columns).map(|_| take(rest).copied().map(f32::from_le_bytes)).collect::<Option<_>>()?;
    Array2::from_shape_vec(shape, values).ok()
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(head)
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSITION: Position = Position { seed: 9, steps: 66 };

    fn fresh(seed: u64) -> (Network, Sgd) {
        let network = Network::new(seed);
        let mut optimizer = Sgd::new(&network.parameters());
        optimizer.velocities[2].fill(seed as f32 + 0.25);
        (network, optimizer)
    }

    #[test]
    fn what_was_saved_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let (network, optimizer) = fresh(1);
        let path = save_checkpoint(directory.path(), 2, POSITION, &network, &optimizer).unwrap();
        assert_eq!(path, directory.path().join("epoch-0002.ckpt"));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no unfinished file stays");

        let (mut read, mut read_optimizer) = fresh(2);
        assert_eq!(load_checkpoint(&path, &mut read, &mut read_optimizer).unwrap(), POSITION);
        assert_eq!(read.parameters(), network.parameters());
        assert_eq!(read_optimizer, optimizer);
    }

    #[test]
    fn damaged_and_foreign_files_are_told_apart_and_change_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("some.ckpt");
        let (network, optimizer) = fresh(1);
        let whole = encode(POSITION, &network, &optimizer);
        let mut flipped = whole.clone();
        flipped[100] ^= 1;
        let cases: [(&[u8], &str); 5] = [
            (b"", "not of this program"),
            (b"GIF89a", "not of this program"),
            (&whole[..whole.len() - 1], "damaged"),
            (&whole[..MAGIC.len()], "damaged"),
            (&flipped, "damaged"),
        ];
        for (bytes, expected) in cases {
            fs::write(&path, bytes).unwrap();
            let (mut read, mut read_optimizer) = fresh(2);
            let error = load_checkpoint(&path, &mut read, &mut read_optimizer).unwrap_err();
            assert!(error.is_checkpoint());
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(read.parameters(), fresh(2).0.parameters());
        }
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error_with_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let (network, optimizer) = fresh(1);
        let missing = directory.path().join("missing");
        let error = save_checkpoint(&missing, 0, POSITION, &network, &optimizer).unwrap_err();
        assert!(error.to_string().contains("missing/epoch-0000.ckpt"), "{error}");
    }
}
