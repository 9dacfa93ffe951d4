//! Figures as a table for people.

use std::fmt;

use stepscope_core::Mode;

use super::{Figures, SectionFigures};

/// Rows of a table that is to be read.
const ROWS: usize = 20;

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:.1} s", self.elapsed().as_secs_f64())?;
        for &mode in Mode::ALL {
            let work = self.steps(mode);
            if work.steps == 0 {
                continue;
            }
            write!(f, "{mode}: {} steps in {:.1} s", work.steps, work.total_ns as f64 / 1e9)?;
            for (rate, unit) in [(work.samples_per_second(), "samples"), (work.tokens_per_second(), "tokens")]
            {
                if let Some(rate) = rate {
                    write!(f, ", {rate:.1} {unit}/s")?;
                }
            }
            writeln!(f)?;
        }
        let memory = self.memory();
        for (bytes, what) in [
            (memory.rss_bytes, "resident"),
            (memory.peak_rss_bytes, "resident at most"),
            (memory.live_bytes, "allocated"),
        ] {
            if let Some(bytes) = bytes {
                writeln!(f, "{:.1} MiB {what}", bytes as f64 / f64::from(1 << 20))?;
            }
        }
        let rows: Vec<&SectionFigures> = self.slowest(ROWS);
        writeln!(
            f,
            "{:>10} {:>11} {:>11} {:>11} {:>11} {:>11}  section",
            "calls", "self ms", "total ms", "mean ms", "p50 ms", "p95 ms"
        )?;
        for row in &rows {
            let [own, total, p50, p95] =
                [row.self_busy_ns, row.total_ns, row.p50_ns, row.p95_ns].map(|ns| ns as f64 / 1e6);
            let (count, mean) = (row.count, row.mean_ns / 1e6);
            let path = &row.path;
            writeln!(
                f,
                "{count:>10} {own:>11.3} {total:>11.3} {mean:>11.3} {p50:>11.3} {p95:>11.3}  {path}"
            )?;
        }
        let parts = self.sections().iter().filter(|section| section.is_part()).count();
        if parts > rows.len() {
            writeln!(f, "and {} more", parts - rows.len())?;
        }
        Ok(())
    }
}
