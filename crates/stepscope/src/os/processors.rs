//! What the processors do that this process may use: the CPU time of all processes on them, and that of this one. Read now and
//! then, and far from the program's own threads.

use crate::os::proc_file::ProcFile;
use crate::os::sys;

/// Room for the lines of 1,024 processors: with fewer bytes of them than that the figure would be that of a part.
const MOST_BYTES: usize = 128 << 10;

/// Of the figures of a processor those that are CPU time: user, nice, system, irq, softirq. The others are idle time, that of a
/// disk, that of other machines, and what is in the first two.
const CPU_TIME: [usize; 5] = [0, 1, 2, 5, 6];

/// CPU time so far, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CpuTime {
    /// Of all processes, since the machine started.
    pub host_ns: Option<u64>,
    /// Of this process.
    pub process_ns: Option<u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ProcessorReader {
    file: ProcFile,
    buffer: Vec<u8>,
}

impl ProcessorReader {
    pub(crate) fn read(&mut self) -> CpuTime {
        self.buffer.resize(MOST_BYTES, 0);
        let ticks_a_second = sys::ticks_a_second();
        let text = self.file.read("/proc/stat", &mut self.buffer);
        let host_ns = text.zip(ticks_a_second).and_then(|(text, ticks_a_second)| {
            let ticks = ticks(text, &sys::usable_processors()?)?;
            ticks.checked_mul(1_000_000_000 / ticks_a_second)
        });
        CpuTime { host_ns, process_ns: sys::process_cpu_ns() }
    }
}

/// CPU time in ticks of these processors; `None` where the text is not that of all processors.
fn ticks(text: &str, usable: &[bool]) -> Option<u64> {
    let (mut ticks, mut found) = (0_u64, false);
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("cpu") else { return found.then_some(ticks) };
        let (number, figures) = rest.split_once(' ')?;
        // The first line is that of all.
        let Ok(number) = number.parse::<usize>() else { continue };
        if usable.get(number).copied().unwrap_or(false) {
            let figures: Vec<u64> =
                figures.split_ascii_whitespace().map_while(|text| text.parse().ok()).collect();
            for column in CPU_TIME {
                ticks = ticks.checked_add(*figures.get(column)?)?;
            }
            found = true;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  30 3 60 5 6 30 300 7 8 9\n\
        cpu0 1 2 4 100 200 8 16 400 800 1\n\
        cpu1 10 20 40 100 200 80 160 400 800 1\n\
        cpu10 100 200 400 1 2 800 1600 4 8 1\n\
        intr 12 0 0\n";

    #[test]
    fn cpu_time_is_that_of_the_processors_that_may_be_used() {
        let usable = |numbers: &[usize]| (0..16).map(|number| numbers.contains(&number)).collect::<Vec<_>>();
        assert_eq!(ticks(STAT, &usable(&[0])), Some(31));
        assert_eq!(ticks(STAT, &usable(&[0, 10])), Some(31 + 3_100));
        assert_eq!(ticks(STAT, &usable(&[5])), None);
        let cut = STAT.split_once("intr").unwrap().0;
        assert_eq!(ticks(cut, &usable(&[0])), None, "more may follow");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn cpu_time_grows_by_what_a_process_takes() {
        let mut reader = ProcessorReader::default();
        let before = reader.read();
        let Some(begun_ns) = before.process_ns else { panic!("{before:?}") };
        let after = loop {
            std::hint::black_box(
                (0..1_000_000_u64).fold(0, |sum, number| std::hint::black_box(sum ^ number)),
            );
            let now = reader.read();
            if now.process_ns.is_some_and(|ns| ns > begun_ns + 100_000_000) {
                break now;
            }
        };
        // In ticks of 10 ms, each processor's apart.
        let grown = before.host_ns.zip(after.host_ns).map(|(before, after)| after - before);
        assert!(grown.is_none_or(|ns| ns >= 50_000_000), "{before:?} {after:?}");
    }
}
