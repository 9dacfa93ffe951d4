//! What is known of the steps and stands in their plot: warm-up, periodic steps, changes. The script draws the same.

use super::axis::{BOTTOM, HEIGHT};
use crate::document::{MarkedChange as Change, Marks};

/// Periodic steps that are marked one by one; more of them nobody tells apart, and one line stands for all.
pub(super) const SINGLY: u64 = 120;

/// Rows of words above the plot, and pixels that a letter of them takes, that they are from their line, and apart.
const ROWS: usize = 2;
const LETTER: f64 = 7.5;
const BESIDE: f64 = 4.0;
const APART: f64 = 6.0;

/// Pixels that a plot has which no script measures; where a page is narrower, its style leaves the words away.
const WIDTH: f64 = 600.0;

/// Where the words of changes stand, so that none lie over others or beyond the plot: each its row, where there is room for it, and
/// whether they are before its line. `lefts` are the places of the lines, per cent.
fn places_of_words(changes: &[Change], lefts: &[f64]) -> Vec<(Option<usize>, bool)> {
    let mut ends = [f64::NEG_INFINITY; ROWS];
    let place = |(change, &left): (&Change, &f64)| {
        let line = left / 100.0 * WIDTH;
        let wide = change.words.chars().count() as f64 * LETTER;
        let is_before = line + BESIDE + wide > WIDTH;
        let begin = if is_before { line - BESIDE - wide } else { line + BESIDE };
        let row = ends.iter().position(|end| begin >= 0.0 && end + APART <= begin);
        if let Some(end) = row.and_then(|row| ends.get_mut(row)) {
            *end = begin + wide;
        }
        (row, is_before)
    };
    changes.iter().zip(lefts).map(place).collect()
}

/// Whether words stand above the plot.
pub(super) fn have_words(marks: &Marks) -> bool {
    !marks.changes.is_empty()
}

/// What lies below the lines, shares of the width given by step: warm-up, periodic steps.
pub(super) fn draw_below(marks: &Marks, share: &dyn Fn(u64) -> f64, top: f64, out: &mut String) {
    if let Some(steady) = marks.steady {
        out.push_str(&format!(
            "<rect class=\"warm\" x=\"0\" width=\"{:.2}%\" y=\"{top:.0}\" height=\"{:.0}\"><title>warm-up</title></rect>\n",
            100.0 * share(steady).clamp(0.0, 1.0),
            HEIGHT - top - BOTTOM
        ));
    }
}

/// What lies above them: changes, with their words, and periodic steps along the axis.
pub(super) fn draw_above(marks: &Marks, share: &dyn Fn(u64) -> f64, top: f64, out: &mut String) {
    for period in &marks.periods {
        let place = |n: u64| share(period.first.saturating_add(n.saturating_mul(period.every)));
        let (low, high) = (HEIGHT - BOTTOM - 1.0, HEIGHT - BOTTOM - 9.0);
        let mut beat = |from: f64, to: f64, y1: f64, y2: f64| {
            out.push_str(&format!(
                "<line class=\"beat\" x1=\"{:.2}%\" x2=\"{:.2}%\" y1=\"{y1:.0}\" y2=\"{y2:.0}\"><title>{}</title></line>\n",
                100.0 * from,
                100.0 * to,
                period.words,
            ));
        };
        if place(SINGLY) <= 1.0 {
            beat(place(0), 1.0, low, low);
            continue;
        }
        for at in (0..SINGLY).map(place).take_while(|share| *share <= 1.0) {
            beat(at, at, low, high);
        }
    }
    let lefts: Vec<f64> = marks.changes.iter().map(|change| 100.0 * share(change.from)).collect();
    let places = places_of_words(&marks.changes, &lefts);
    for ((change, &from), (row, is_before)) in marks.changes.iter().zip(&lefts).zip(places) {
        let to = 100.0 * share(change.to);
        if to > from {
            out.push_str(&format!(
                "<rect class=\"shift\" x=\"{from:.2}%\" width=\"{:.2}%\" y=\"{:.0}\" height=\"4\"/>\n",
                to - from,
                top - 4.0
            ));
        }
        let (words, low) = (&change.words, HEIGHT - BOTTOM);
        let begin = row.map_or(top - 4.0, |row| 4.0 + 14.0 * row as f64);
        out.push_str(&format!(
            "<line class=\"mark\" x1=\"{from:.2}%\" x2=\"{from:.2}%\" y1=\"{begin:.0}\" y2=\"{low:.0}\"><title>{words}</title></line>\n"
        ));
        if row.is_some() {
            let (anchor, shift) = if is_before { ("end", -BESIDE) } else { ("start", BESIDE) };
            let y = begin + 10.0;
            out.push_str(&format!(
                "<text class=\"tick change unmeasured\" x=\"{from:.2}%\" dx=\"{shift:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{words}</text>\n"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::MarkedPeriod as Period;

    #[test]
    fn words_of_changes_lie_beside_each_other_or_are_left_to_the_line() {
        let change = |from| Change { from, to: from, words: "100 % slower, with its input".into() };
        let places = |steps: &[u64]| {
            let changes: Vec<Change> = steps.iter().copied().map(change).collect();
            let lefts: Vec<f64> = steps.iter().map(|&step| step as f64).collect();
            places_of_words(&changes, &lefts).into_iter().map(|(row, _)| row).collect::<Vec<_>>()
        };
        assert_eq!(places(&[5, 45]), [Some(0), Some(0)]);
        assert_eq!(places(&[5, 10, 15, 50]), [Some(0), Some(1), None, Some(0)]);
        // Words that would go beyond the plot are before their line, where they reach back to those of others.
        assert_eq!(places(&[50, 65, 70, 98]), [Some(0), Some(1), None, None]);
        assert_eq!(places(&[10, 66, 100]), [Some(0), Some(1), Some(0)]);
        let marks = Marks { changes: [5, 10, 15].map(change).into(), ..Marks::default() };
        let mut out = String::new();
        draw_above(&marks, &|step| step as f64 / 100.0, 38.0, &mut out);
        let count = |what: &str| out.matches(what).count();
        assert_eq!((count("class=\"mark\""), count("<title>100 %"), count("tick change")), (3, 3, 2));
    }

    #[test]
    fn periodic_steps_are_marked_one_by_one_or_by_one_line_to_the_end() {
        let drawn = |every: u64, steps: u64| {
            let period = Period { every, first: every - 1, words: "often".into() };
            let marks = Marks { periods: vec![period], ..Marks::default() };
            let mut out = String::new();
            draw_above(&marks, &|step| step as f64 / (steps - 1) as f64, 20.0, &mut out);
            out
        };
        let (few, many) = (drawn(25, 300), drawn(4, 2_000));
        assert_eq!((few.matches("class=\"beat\"").count(), many.matches("class=\"beat\"").count()), (12, 1));
        assert!(many.contains("x1=\"0.15%\" x2=\"100.00%\""), "{many}");
        // As many as are marked singly.
        assert_eq!(drawn(4, 480).matches("class=\"beat\"").count(), 120);
    }
}
