//! How a batch, or another root for which somebody may wait, was made: the critical path through its trace.

use stepscope_core::SectionKind;
use stepscope_core::identity::{TraceId, instance_and_sequence};
use stepscope_core::path::join;
use stepscope_model::Trace;

use crate::critical_path::Piece;
use crate::critical_path::linked::{Made, PIECES, Piece as MadePiece};
use crate::critical_path::observe::Walks;
use crate::critical_path::waiting::{is_wait, waits_elsewhere};
use crate::run::Target;
use crate::step_view::group::Group;

/// Keeps it where there is room.
pub(crate) fn observe(group: &Group<'_>, walks: &mut Walks, target: &mut Target<'_>) {
    let Group { view, root, window, anchor, .. } = *group;
    let trace = view.trace;
    let is_batch = root.kind == SectionKind::Batch;
    let is_root = root.parent.is_none() && root.parent_path.is_empty() && !group.is_beside();
    let is_admitted = match is_batch {
        true => target.run.linked.admits(&trace.id),
        false => is_root && target.run.linked.admits_other(&trace.id),
    };
    if !is_admitted {
        return;
    }
    let member = walks.walk(group);
    let tree = target.run.sections.tree();
    let mut pieces: Vec<MadePiece> = Vec::new();
    let (kept, before) = walks.pieces.split_at(walks.pieces.len().min(PIECES - 1));
    let before = before.first().zip(before.last()).map(|(last, first)| Piece {
        member,
        start_ns: first.start_ns,
        end_ns: last.end_ns,
    });
    for Piece { member, start_ns, end_ns } in kept.iter().copied().chain(before) {
        let index = group.members.get(member as usize).copied().unwrap_or(anchor);
        let Some((span, node)) = view.get(index).filter(|(_, node)| !node.is_orphan) else { continue };
        let path: Box<str> = join(tree.names(node.path)).into();
        let waits = waits_elsewhere(view, index, span, node);
        let links = if waits { view.links.traces(span.id) } else { Vec::new() };
        // From the end backwards.
        match pieces.last_mut() {
            Some(last) if (&last.path, &last.links, last.start_ns) == (&path, &links, end_ns) => {
                last.start_ns = start_ns;
            }
            _ => pieces.push(MadePiece { start_ns, end_ns, path, links, must_end: !is_wait(node) }),
        }
    }
    let mut links = view.links.traces(root.id);
    links.retain(|link| !is_run(trace, link));
    let made = Made { start_ns: window.start_ns, end_ns: window.end_ns, links, pieces };
    if is_batch {
        target.run.linked.made(trace.id, made);
    } else {
        target.run.linked.made_other(trace.id, made);
    }
}

/// Whether a trace of our own links to its run's there, as each of its roots does.
fn is_run(trace: &Trace, link: &TraceId) -> bool {
    let (instance, sequence) = instance_and_sequence(link);
    trace.is_ours && sequence == 0 && instance == instance_and_sequence(&trace.id).0
}
