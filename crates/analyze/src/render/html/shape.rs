//! Shapes of many places, as the commands of a path: what plots are made of, and so most of what a drawing weighs.

/// The commands of a line through places, as short as they can be said: whole numbers, each from the place before, and
/// none for places on the way from one to another.
pub(super) fn through(places: impl Iterator<Item = (f64, f64)>) -> String {
    let mut places = places.map(|(x, y)| (x.round() as i64, y.round() as i64));
    let Some((mut left, mut above)) = places.next() else { return String::new() };
    let mut out = format!("M{left} {above}l");
    let mut moves: Vec<(i64, i64)> = Vec::new();
    for (x, y) in places {
        let (across, down) = (x - left, y - above);
        (left, above) = (x, y);
        if (across, down) == (0, 0) && !moves.is_empty() {
            continue;
        }
        match moves.last_mut() {
            Some(last) if is_further(*last, (across, down)) => *last = (last.0 + across, last.1 + down),
            _ => moves.push((across, down)),
        }
    }
    for (at, (across, down)) in moves.into_iter().enumerate() {
        // A sign is between numbers as well.
        let apart = if at == 0 || across < 0 { "" } else { " " };
        let between = if down < 0 { "" } else { " " };
        out.push_str(&format!("{apart}{across}{between}{down}"));
    }
    out
}

/// Whether a move goes on in the direction of another one.
fn is_further((across, down): (i64, i64), (more_across, more_down): (i64, i64)) -> bool {
    across * more_down == down * more_across && across * more_across + down * more_down > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_told_from_the_one_before() {
        let places = [(0.0, 10.2), (25.0, 7.0), (50.0, 12.6), (40.0, 12.6)];
        assert_eq!(through(places.into_iter()), "M0 10l25-3 25 6-10 0");
        assert_eq!(through(std::iter::empty()), "");
    }

    #[test]
    fn places_on_the_way_are_left_out() {
        let level = (0..400).map(|n| (f64::from(n) * 25.0, 5.0));
        assert_eq!(through(level), "M0 5l9975 0");
        // There and back is no way on, and a point is two places at one.
        assert_eq!(through([(0.0, 0.0), (0.0, 9.0), (0.0, 3.0)].into_iter()), "M0 0l0 9 0-6");
        assert_eq!(through([(4.0, 4.0); 2].into_iter()), "M4 4l0 0");
        assert_eq!(through([(4.0, 4.0), (9.0, 4.0), (9.0, 4.0), (9.0, 4.2)].into_iter()), "M4 4l5 0");
    }
}
