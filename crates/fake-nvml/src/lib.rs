//! A `libnvidia-ml.so.1` that has no GPUs: it answers what the file `scenario` beside it says (see [`scenario`]). Copied to
//! a folder of its own for each test, it is loaded by path as the real one would be. All of its devices say that they are
//! fake.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod figures;
pub mod scenario;

use std::io;
use std::path::{Path, PathBuf};

/// Puts the library and a scenario for it into `folder`, and gives the library's path. For tests, beside whose program
/// cargo has put the library.
///
/// # Errors
/// Where it is not there, or the folder cannot be written to.
pub fn install(folder: &Path, scenario: &str) -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let name = "libstepscope_fake_nvml.so";
    let places = program
        .ancestors()
        .skip(1)
        .take(2)
        .flat_map(|place| [place.join(name), place.join("deps").join(name)]);
    let built = places.into_iter().find(|path| path.is_file()).ok_or(io::ErrorKind::NotFound)?;
    let path = folder.join("libnvidia-ml.so.1");
    std::fs::copy(built, &path)?;
    std::fs::write(folder.join("scenario"), scenario)?;
    Ok(path)
}
