//! Chains of traces against a reckoning of whose each nanosecond is; any order and grouping.

use proptest::prelude::*;

use crate::critical_path::linked::*;

fn id(number: u8) -> TraceId {
    [number; 16]
}

fn ids(numbers: &[u8]) -> Vec<TraceId> {
    numbers.iter().copied().map(id).collect()
}

/// A trace whose pieces, each with what it links to, are one after the other until `end_ns`.
fn made(name: u8, start_ns: u64, root: &[u8], pieces: &[(u64, Vec<u8>)]) -> Made {
    let mut at_ns = start_ns;
    let mut made: Vec<Piece> = pieces
        .iter()
        .zip(0..)
        .map(|((length_ns, links), place)| {
            let start_ns = at_ns;
            at_ns += length_ns;
            let path = format!("{name}/{place}").into();
            Piece { start_ns, end_ns: at_ns, path, links: ids(links), must_end: false }
        })
        .collect();
    made.reverse();
    Made { start_ns, end_ns: at_ns, links: ids(root), pieces: made }
}

fn wait(start_ns: u64, end_ns: u64, links: &[u8]) -> Waited {
    Waited { start_ns, end_ns, kind: 0, path: "wait".into(), links: ids(links), must_end: false }
}

type Traces = BTreeMap<u8, (bool, Made)>;

fn fold(traces: &Traces, waits: &[Waited]) -> Linked {
    let mut linked = Linked::default();
    waits.iter().cloned().for_each(|piece| linked.waited(piece));
    for (&number, (is_batch, made)) in traces {
        if *is_batch {
            linked.made(id(number), made.clone())
        } else {
            linked.made_other(id(number), made.clone())
        }
    }
    linked
}

/// Whose a moment of a wait from `start` to `end` is; nobody else's where nothing that it links to says more.
fn owner<'a>(
    traces: &'a Traces,
    (links, must_end): (&[TraceId], bool),
    (start, end): (u64, u64),
    moment: u64,
    behind: &[u8],
) -> Option<&'a str> {
    let numbers = links.iter().map(|link| link[0]).filter(|number| !behind.contains(number));
    let read = numbers.filter_map(|number| Some((number, &traces.get(&number)?.1)));
    let read = read.filter(|(_, made)| !must_end || (start < made.end_ns && made.end_ns <= end));
    let (in_time, late): (Vec<_>, Vec<_>) = read.partition(|(_, made)| made.end_ns <= end);
    let of = if in_time.is_empty() { late } else { in_time };
    let (number, made) = of.into_iter().max_by_key(|(number, made)| (made.end_ns, *number))?;
    let behind: Vec<u8> = behind.iter().copied().chain([number]).collect();
    if moment < made.start_ns {
        return owner(traces, (&made.links, false), (start, end.min(made.start_ns)), moment, &behind);
    }
    let piece = made.pieces.iter().find(|piece| (piece.start_ns..piece.end_ns).contains(&moment))?;
    let within = (piece.start_ns.max(start), piece.end_ns.min(end));
    Some(owner(traces, (&piece.links, piece.must_end), within, moment, &behind).unwrap_or(&piece.path))
}

fn expected(traces: &Traces, wait: &Waited) -> BTreeMap<String, u128> {
    let mut sums = BTreeMap::new();
    for moment in wait.start_ns..wait.end_ns {
        let links = (&*wait.links, wait.must_end);
        if let Some(path) = owner(traces, links, (wait.start_ns, wait.end_ns), moment, &[]) {
            *sums.entry(path.to_owned()).or_default() += 1;
        }
    }
    sums
}

fn making(linked: &Linked) -> BTreeMap<String, u128> {
    let through = linked.through(0);
    through.making.into_iter().map(|((_, path), (ns, _))| (path.into(), ns)).collect()
}

fn any_links() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::btree_set(1u8..=5, 0..3).prop_map(|links| links.into_iter().collect())
}

/// Whether it is a batch, its start, the links of its root, and its pieces.
type AnyMade = (bool, u64, Vec<u8>, Vec<(u64, Vec<u8>)>);

fn any_made() -> impl Strategy<Value = AnyMade> {
    (any::<bool>(), 0u64..40, any_links(), prop::collection::vec((1u64..20, any_links()), 1..4))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn each_moment_of_a_wait_goes_to_the_stage_that_was_at_work(
        made_ in prop::collection::vec(any_made(), 1..5),
        start_ns in 0u64..40,
        length_ns in 1u64..60,
        must_end in any::<bool>(),
        links in any_links().prop_filter("a wait links to something", |links| !links.is_empty()),
    ) {
        let traces: Traces = (1..)
            .zip(&made_)
            .map(|(number, (is_batch, start, root, pieces))| (number, (*is_batch, made(number, *start, root, pieces))))
            .collect();
        let wait = Waited { must_end, ..wait(start_ns, start_ns + length_ns, &links) };
        let at_once = fold(&traces, std::slice::from_ref(&wait));
        prop_assert_eq!(making(&at_once), expected(&traces, &wait));
        prop_assert_eq!(at_once.through(0).kept_ns["wait"], u128::from(length_ns));
        // In two parts, put together either way.
        let half = |is_odd: bool| -> Traces {
            traces.iter().filter(|(number, _)| (*number % 2 == 1) == is_odd).map(|(n, made)| (*n, made.clone())).collect()
        };
        let (mut one, mut other) = (fold(&half(true), &[]), fold(&half(false), std::slice::from_ref(&wait)));
        let before = one.clone();
        one.merge(&other);
        other.merge(&before);
        prop_assert_eq!(&one, &at_once);
        prop_assert_eq!(&other, &at_once);
    }
}

#[test]
fn the_path_goes_on_into_batches_and_other_traces() {
    for (is_batch, is_before_batch) in [(true, false), (false, true), (true, true)] {
        // Made from 40 on by what was made from 10 to 30.
        let last = (1, (is_batch, made(1, 40, &[2], &[(50, vec![])])));
        let first = (2, (is_before_batch, made(2, 10, &[], &[(20, vec![])])));
        let linked = fold(&Traces::from([last, first]), &[wait(0, 100, &[1])]);
        let through: Vec<_> =
            linked.through(0).making.into_iter().map(|((_, path), (ns, _))| (path, ns)).collect();
        assert_eq!(through, [("1/0".into(), 50), ("2/0".into(), 20)]);
    }
}

#[test]
fn chains_that_branch_at_every_piece_come_to_an_end() {
    let everything: Vec<u8> = (1..=8).collect();
    let pieces: Vec<(u64, Vec<u8>)> = (0..64).map(|_| (1 << 20, everything.clone())).collect();
    let traces: Traces = (1..=8).map(|number| (number, (true, made(number, 0, &[], &pieces)))).collect();
    let linked = fold(&traces, &[wait(0, 64 << 20, &everything)]);
    let all: u128 = linked.through(0).making.values().map(|(ns, _)| ns).sum();
    assert_eq!(all, 64 << 20);
}

#[test]
fn what_is_out_of_bounds_is_not_taken_over() {
    let mut theirs = Linked::default();
    let many: Vec<(u64, Vec<u8>)> = (0..65).map(|_| (1, vec![])).collect();
    theirs.kept.insert(key(&id(1)), Ends { waits: BTreeSet::new(), made: Some(made(1, 0, &[], &many)) });
    theirs.others.insert(key(&id(2)), made(2, 0, &[1; 9], &many[..1]));
    theirs.waited(wait(0, 9, &[1; 9]));
    let mut mine = Linked::default();
    mine.merge(&theirs);
    assert_eq!(mine, Linked::default());
}
