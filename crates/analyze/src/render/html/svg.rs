//! Small drawings: bars, and bands of smallest, mean and largest over step numbers. Looks come from classes and
//! presentation attributes, since the page's policy drops style attributes. A plot is as wide as the page lets it be:
//! places are shares of its width, so that words keep their size; shapes stretch in a drawing inside. No words of the
//! report.

use super::axis::{Axis, BOTTOM, HEIGHT, short, step_name, steps};
use super::escape::escape;
use super::{marks, shape};
use crate::document::{Bucket, Line, Marks, Range, Scale};
use crate::report::units::{bytes, count, percent};

const TOP: f64 = 10.0;
/// Where there are marks, whose words need room.
const TOP_OF_MARKS: f64 = 38.0;
/// What words about outliers add to it.
const ROOM_OF_WORDS: f64 = 16.0;
/// Width of what stretches, in its own units, and how many of them a pixel is high: places in it are whole numbers.
const INSIDE: f64 = 10_000.0;
const FINE: f64 = 10.0;

/// Parts of a whole in one bar: class, name, size.
pub(super) fn stack(parts: &[(String, String, u64)], whole: u64, out: &mut String) {
    let share = |part: u64| part as f64 / whole.max(1) as f64;
    let said: Vec<String> = parts
        .iter()
        .filter(|part| part.2 > 0)
        .map(|(_, name, part)| format!("{} {}", escape(name), escape(&percent(share(*part)))))
        .collect();
    out.push_str(&format!(
        "<svg class=\"stack\" viewBox=\"0 0 1000 40\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">\n",
        said.join(", ")
    ));
    let mut x = 0.0;
    for (class, name, part) in parts {
        let width = 1_000.0 * share(*part);
        if *part > 0 {
            out.push_str(&format!(
                "<rect class=\"{class}\" x=\"{x:.2}\" width=\"{:.2}\" height=\"40\"><title>{} {}</title></rect>\n",
                (width - 1.0).max(0.5),
                escape(name),
                escape(&percent(share(*part)))
            ));
        }
        x += width;
    }
    out.push_str("</svg>\n");
}

/// Of so many values one may lie beyond the axis; of fewer than [`FEWEST`] none.
const RARE: usize = 50;
const FEWEST: usize = 8;

/// How many times the largest of the others an outlier is, and at how many times that the axis ends.
const OUTLIER: f64 = 4.0;
const ROOM: f64 = 1.5;

/// What the axis reaches to, so that a few outliers do not press all others to the ground. `front/axis.js` does the same.
fn ceiling(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let beyond = (values.len() / RARE).max(1);
    let max = values.last().copied().unwrap_or(0.0);
    let usual = values.len().checked_sub(1 + beyond).and_then(|at| values.get(at)).copied().unwrap_or(0.0);
    let is_flat = values.len() >= FEWEST && usual > 0.0 && max >= OUTLIER * usual;
    if is_flat { ROOM * usual } else { max }
}

/// Opens a plot of a height; a margin of the style is left and right of it.
pub(super) fn open(class: &str, title: &str, height: f64, out: &mut String) {
    out.push_str(&format!(
        "<svg class=\"plot{class}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{}\">\n",
        escape(title)
    ));
}

/// A line across, and its words before it.
pub(super) fn level(y: f64, words: &str, out: &mut String) {
    out.push_str(&format!(
        "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
         <text class=\"tick\" x=\"-6\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
        y + 4.0,
        escape(words)
    ));
}

/// Words below the axis, at a share of its width; every other one is left out where there is little room.
pub(super) fn below(at: usize, share: f64, words: &str, out: &mut String) {
    let anchor = anchor(share);
    let odd = if at % 2 == 1 { " odd" } else { "" };
    out.push_str(&format!(
        "<line class=\"grid\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{:.0}\" y2=\"{:.0}\"/>\
         <text class=\"tick x{odd}\" x=\"{x:.2}%\" y=\"{:.0}\" text-anchor=\"{anchor}\">{}</text>\n",
        HEIGHT - BOTTOM,
        HEIGHT - BOTTOM + 5.0,
        HEIGHT - 8.0,
        escape(words),
        x = 100.0 * share,
    ));
}

/// On which side of a place its words stand, so that they stay inside of the drawing.
pub(super) fn anchor(share: f64) -> &'static str {
    match share {
        share if share < 0.06 => "start",
        share if share > 0.94 => "end",
        _ => "middle",
    }
}

/// Width of an area of a single step.
const COLUMN: f64 = 200.0;

/// Opens what stretches.
fn open_inside(out: &mut String) {
    out.push_str(&format!(
        "<svg class=\"in\" width=\"100%\" height=\"{HEIGHT}\" viewBox=\"0 0 {INSIDE} {}\" preserveAspectRatio=\"none\">\n",
        FINE * HEIGHT
    ));
}

/// Bands over step numbers from zero to the largest value.
pub(super) fn bands(
    title: &str,
    steps: Range,
    lines: &[Line],
    scale: &Scale,
    marks: Option<&Marks>,
    out: &mut String,
) {
    plot(false, title, steps, lines, scale, marks, out);
}

/// The same of opaque areas of means from zero: the later ones cover the earlier.
pub(super) fn areas(title: &str, steps: Range, lines: &[Line], scale: &Scale, out: &mut String) {
    plot(true, title, steps, lines, scale, None, out);
}

fn plot(
    is_area: bool,
    title: &str,
    (first, last): Range,
    lines: &[Line],
    scale: &Scale,
    marks: Option<&Marks>,
    out: &mut String,
) {
    let highest = |line: &Line| {
        let values: Vec<f64> = line.buckets.iter().map(|bucket| bucket.max).collect();
        if scale.clips { ceiling(values) } else { values.into_iter().fold(0.0, f64::max) }
    };
    let highest = lines.iter().map(highest).fold(1.0, f64::max);
    let axis = if scale.is_time { Axis::to_time(highest) } else { Axis::to(highest, 1_024.0) };
    // The first line is the highest.
    let beyond: Vec<&Bucket> =
        lines.iter().take(1).flat_map(|line| &line.buckets).filter(|one| one.max > axis.high()).collect();
    let top = if marks.is_some_and(marks::have_words) { TOP_OF_MARKS } else { TOP };
    let top = if beyond.is_empty() { top } else { top + ROOM_OF_WORDS };
    let place = Place { first, last, top, axis: &axis };
    open("", title, HEIGHT, out);
    if let Some(marks) = marks {
        marks::draw_below(marks, &|step| place.share(step), top, out);
    }
    for tick in &axis.ticks {
        level(place.y(*tick), &short(&(scale.unit)(*tick as u64)), out);
    }
    step_ticks(&place, out);
    open_inside(out);
    for line in lines.iter().filter(|_| is_area) {
        let buckets = place.reaching(&line.buckets);
        let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else { continue };
        // A single one is as wide as can be seen.
        let more = if buckets.len() == 1 { COLUMN } else { 0.0 };
        let end = place.x(last.step) + more;
        let top = buckets.iter().map(|one| place.inside(one.step, one.mean));
        let rest = [(end, FINE * place.y(last.mean)), (end, FINE * place.y(0.0))];
        let begin = place.inside(first.step, 0.0);
        let shape = shape::through(top.chain(rest).chain([begin]));
        out.push_str(&format!(
            "<path class=\"area {}\" d=\"{shape}\"><title>{}</title></path>\n",
            line.class,
            escape(&line.label),
        ));
    }
    lines.iter().filter(|_| !is_area).for_each(|line| band(line, &place, out));
    out.push_str("</svg>\n");
    if let Some(marks) = marks {
        marks::draw_above(marks, &|step| place.share(step), top, out);
    }
    draw_beyond(&beyond, &place, scale, out);
    out.push_str("</svg>\n");
}

/// Marks what lies beyond the axis where it is, and says how far it reaches.
fn draw_beyond(beyond: &[&Bucket], place: &Place<'_>, scale: &Scale, out: &mut String) {
    for bucket in beyond {
        out.push_str(&format!(
            "<text class=\"over\" x=\"{:.2}%\" y=\"{:.0}\" text-anchor=\"middle\">▲<title>step {}: {}</title></text>\n",
            100.0 * place.share(bucket.step),
            place.top + 10.0,
            count(bucket.step),
            escape(&(scale.unit)(bucket.max as u64)),
        ));
    }
    if let Some(most) = beyond.iter().map(|bucket| bucket.max).max_by(f64::total_cmp) {
        out.push_str(&format!(
            "<text class=\"over words\" x=\"0\" y=\"{:.0}\">▲ beyond the axis: up to {}</text>\n",
            place.top - 6.0,
            escape(&(scale.unit)(most as u64)),
        ));
    }
}

/// Where steps and values are.
struct Place<'a> {
    first: u64,
    last: u64,
    top: f64,
    axis: &'a Axis,
}

impl Place<'_> {
    /// A single step is in the middle.
    fn share(&self, step: u64) -> f64 {
        if self.first == self.last {
            return 0.5;
        }
        step.saturating_sub(self.first) as f64 / self.last.saturating_sub(self.first) as f64
    }

    fn x(&self, step: u64) -> f64 {
        INSIDE * self.share(step)
    }

    /// A place in what stretches.
    fn inside(&self, step: u64, value: f64) -> (f64, f64) {
        (self.x(step), FINE * self.y(value))
    }

    /// The same buckets with an end to the last one, which is drawn over all steps that it holds.
    fn reaching(&self, buckets: &[Bucket]) -> Vec<Bucket> {
        let mut buckets = buckets.to_vec();
        let end = buckets.last().map(|last| Bucket { step: last.end.min(self.last), ..*last });
        buckets.extend(end.filter(|end| buckets.last().is_some_and(|last| last.step < end.step)));
        buckets
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.axis.share(value) * (HEIGHT - self.top - BOTTOM)
    }
}

fn step_ticks(place: &Place<'_>, out: &mut String) {
    for (at, step) in steps(place.first, place.last).into_iter().enumerate() {
        below(at, place.share(step), &step_name(at, step), out);
    }
}

fn band(line: &Line, place: &Place<'_>, out: &mut String) {
    let at = |step: u64, value: f64| place.inside(step, value);
    let buckets = place.reaching(&line.buckets);
    let upper = buckets.iter().map(|one| at(one.step, one.max));
    let lower = buckets.iter().rev().map(|one| at(one.step, one.min));
    let mut mean: Vec<(f64, f64)> = buckets.iter().map(|one| at(one.step, one.mean)).collect();
    // A line to itself is a point, where its ends are round.
    let dot = if mean.len() == 1 { " dot" } else { "" };
    mean.extend(mean.first().filter(|_| mean.len() == 1).copied());
    let class = &line.class;
    // A band without a height is not seen.
    if buckets.iter().any(|one| one.min < one.max) {
        let shape = shape::through(upper.chain(lower));
        out.push_str(&format!("<path class=\"band {class}\" d=\"{shape}\"/>\n"));
    }
    out.push_str(&format!(
        "<path class=\"line{dot} {class}\" d=\"{}\"><title>{}</title></path>\n",
        shape::through(mean.into_iter()),
        escape(&line.label),
    ));
}

/// A line of values of any range and unit over step numbers.
pub(super) fn line(title: &str, (first, last): Range, line: &Line, out: &mut String) {
    let buckets = &line.buckets;
    let low = buckets.iter().map(|bucket| bucket.min).fold(f64::INFINITY, f64::min);
    let high = buckets.iter().map(|bucket| bucket.max).fold(f64::NEG_INFINITY, f64::max);
    let axis = Axis::around(low, high);
    let place = Place { first, last, top: TOP, axis: &axis };
    open("", title, HEIGHT, out);
    for tick in &axis.ticks {
        level(place.y(*tick), &axis.plain(*tick), out);
    }
    step_ticks(&place, out);
    open_inside(out);
    band(line, &place, out);
    out.push_str("</svg>\n</svg>\n");
}

/// Lines of bytes that can be missing over step numbers.
pub(super) fn signed(title: &str, (first, last): Range, lines: &[Line], out: &mut String) {
    let all = || lines.iter().flat_map(|line| &line.buckets);
    let low = all().map(|bucket| bucket.min).fold(0.0, f64::min);
    let high = all().map(|bucket| bucket.max).fold(0.0, f64::max);
    let axis = Axis::signed(low, high, 1_024.0);
    let place = Place { first, last, top: TOP, axis: &axis };
    open("", title, HEIGHT, out);
    for tick in &axis.ticks {
        let sign = if *tick < 0.0 { "−" } else { "" };
        level(place.y(*tick), &format!("{sign}{}", short(&bytes(tick.abs() as u64))), out);
    }
    step_ticks(&place, out);
    open_inside(out);
    lines.iter().for_each(|line| band(line, &place, out));
    out.push_str("</svg>\n</svg>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_outliers_are_beyond_the_axis() {
        let run = |usual: usize, outliers: usize, of: f64| {
            let values = std::iter::repeat_n(10.0, usual).chain(std::iter::repeat_n(of, outliers));
            ceiling(values.collect())
        };
        assert_eq!(run(99, 1, 1_000.0), 15.0);
        assert_eq!(run(98, 2, 1_000.0), 15.0);
        // Neither what comes often, nor what is not far away, nor one of a few.
        assert_eq!(run(97, 3, 1_000.0), 1_000.0);
        assert_eq!(run(99, 1, 39.0), 39.0);
        assert_eq!(run(6, 1, 1_000.0), 1_000.0);
        assert_eq!(run(7, 1, 1_000.0), 15.0);
        assert_eq!((run(0, 0, 0.0), run(0, 1, 5.0)), (0.0, 5.0));
        assert_eq!(ceiling([vec![0.0; 99], vec![5.0]].concat()), 5.0);
    }
}
