//! Everything that must pass, in stages, with their times: which of them a call runs, and in which order. Stops at the
//! first that fails and says how to run that one alone. What a stage does is in `stages`, which ones a change needs in `touched`.

mod programs;
mod stages;
mod touched;

use std::time::{Duration, Instant};

use crate::Outcome;
use crate::ahead::Ahead;
pub(crate) use programs::fuzz;
use stages::{ALONE, Length, STAGES, Stage};

/// Runs what the arguments of `cargo xtask test` ask for.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let stages = match arguments {
        [] => of_length(Length::Short),
        ["--full"] => STAGES.iter().collect(),
        ["--changed", base] => {
            let touched = touched::by_change(base)?;
            STAGES
                .iter()
                .filter(|stage| stage.length == Length::Short || touched.contains(&stage.name))
                .collect()
        }
        ["--one-long"] => named(&[touched::one()?])?,
        [option, ..] if option.starts_with('-') => {
            return Err(format!(
                "no option `{option}`: there are --full, --changed BASE and --one-long, or names of stages"
            ));
        }
        names => named(names)?,
    };
    run_all(&with_needs(stages))
}

fn run_all(stages: &[&Stage]) -> Outcome {
    let start = Instant::now();
    let mut times = Vec::new();
    let mut ahead = Ahead::start(&programs::first_ahead(stages)?);
    for (position, stage) in stages.iter().enumerate() {
        if stage.name == "stack" {
            // Its programs wait for each other most of the time.
            ahead = Ahead::start(&programs::second_ahead(stages)?);
        } else if ALONE.contains(&stage.name) {
            ahead.finish();
        }
        eprintln!("\n=== {} of {}: {}: {}", position + 1, stages.len(), stage.name, stage.about);
        let begin = Instant::now();
        let outcome = (stage.run)();
        times.push((stage.name, begin.elapsed()));
        // Whoever ends us later has what was until then.
        eprintln!("\n{} took {:.1} minutes", stage.name, begin.elapsed().as_secs_f64() / 60.0);
        if let Err(problem) = outcome {
            eprintln!("{}", summary(&times, start.elapsed()));
            let name = stage.name;
            return Err(format!(
                "stage `{name}` failed: {problem}\nrun only this stage: cargo xtask test {name}"
            ));
        }
    }
    eprintln!("{}", summary(&times, start.elapsed()));
    eprintln!("passed: {}", stages.iter().map(|stage| stage.name).collect::<Vec<_>>().join(", "));
    Ok(())
}

fn of_length(length: Length) -> Vec<&'static Stage> {
    STAGES.iter().filter(|stage| stage.length == length).collect()
}

fn named(names: &[&str]) -> Outcome<Vec<&'static Stage>> {
    if let Some(unknown) = names.iter().find(|name| STAGES.iter().all(|stage| stage.name != **name)) {
        let known = STAGES.iter().map(|stage| stage.name).collect::<Vec<_>>().join(", ");
        return Err(format!("no stage called `{unknown}`; there are {known}"));
    }
    Ok(STAGES.iter().filter(|stage| names.contains(&stage.name)).collect())
}

/// The stages and those that must have run before them, in their order.
fn with_needs(stages: Vec<&'static Stage>) -> Vec<&'static Stage> {
    let is_wanted = |stage: &Stage| {
        stages.iter().any(|wanted| wanted.name == stage.name || wanted.needs.contains(&stage.name))
    };
    STAGES.iter().filter(|stage| is_wanted(stage)).collect()
}

fn summary(times: &[(&str, Duration)], total: Duration) -> String {
    let mut text = String::from("\nminutes by stage");
    for (name, time) in times.iter().copied().chain([("total", total)]) {
        text.push_str(&format!("\n  {:>5.1}  {name}", time.as_secs_f64() / 60.0));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(stages: Vec<&'static Stage>) -> Vec<&'static str> {
        with_needs(stages).iter().map(|stage| stage.name).collect()
    }

    #[test]
    fn a_stage_brings_what_it_needs() {
        assert_eq!(names(named(&["timed"]).unwrap()), ["release", "timed"]);
        assert_eq!(names(named(&["stack", "timed"]).unwrap()), ["release", "foreign", "stack", "timed"]);
        assert_eq!(names(named(&["unit", "budgets"]).unwrap()), ["budgets", "unit"]);
        assert!(named(&["nothing"]).err().unwrap().contains("e2e"));
    }

    #[test]
    fn what_is_short_needs_nothing_long() {
        assert_eq!(with_needs(of_length(Length::Short)).len(), of_length(Length::Short).len());
    }

    #[test]
    fn needs_come_earlier() {
        for (position, stage) in STAGES.iter().enumerate() {
            for need in stage.needs {
                assert!(STAGES[..position].iter().any(|earlier| earlier.name == *need), "{}", stage.name);
            }
        }
    }
}
