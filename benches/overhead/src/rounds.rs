//! Which steps of a row are done with stepscope and which without, in the order without, with, with, without: whatever the
//! machine does meanwhile does it to both. And what those with took more.

/// Steps in a row that are alike. The first of them does not count: the change of level has it ask each callsite anew.
pub(crate) const ALIKE: usize = 4;
/// Steps of a round: four times as many as are alike.
pub(crate) const ROUND: usize = 4 * ALIKE;

/// Whether the step in this place of a row is done without stepscope.
pub(crate) fn is_without(place: usize) -> bool {
    matches!(place / ALIKE % 4, 0 | 3)
}

/// The mean of a figure over the steps of a round that count and are without, and how much more it is over those with.
pub(crate) fn compare<T>(round: &[T; ROUND], figure: impl Fn(&T) -> f64) -> [f64; 2] {
    let of_parts = |parts: [usize; 2]| {
        let counted = parts.map(|part| round.get(part * ALIKE + 1..(part + 1) * ALIKE).unwrap_or_default());
        counted.iter().copied().flatten().map(&figure).sum::<f64>() / (2 * (ALIKE - 1)) as f64
    };
    let without = of_parts([0, 3]);
    [without, of_parts([1, 2]) - without]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_gets_slower_evenly_tells_only_what_those_with_take_more() {
        let steps: Vec<usize> = (0..ROUND).collect();
        let (rounds, rest) = steps.as_chunks::<ROUND>();
        assert!(rest.is_empty());
        // The first of each four is one that does not count.
        let took = |&place: &usize| {
            let first = if place % ALIKE == 0 { 1e6 } else { 0.0 };
            100.0 + place as f64 + first + if is_without(place) { 0.0 } else { 7.0 }
        };
        // Places 1 to 3 and 13 to 15: 8 in the middle.
        assert_eq!(rounds.iter().map(|round| compare(round, took)).collect::<Vec<_>>(), [[108.0, 7.0]]);
    }
}
