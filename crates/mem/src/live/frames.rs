//! The calling thread's stack by frame pointers. Only memory between the present frame and the stack's end is read, and only
//! upwards: where a part of the program has none, the walk ends early. Where all of it has none, no frame is told.
#![expect(unsafe_code, reason = "reads registers and the thread's own stack")]

use crate::live::Context;

/// Return addresses that are kept of a stack.
pub const MAX_FRAMES: usize = 32;

/// What a walk found.
pub(crate) struct Walked<'a> {
    /// Return addresses, innermost first.
    pub frames: &'a [usize],
    /// The outermost frame; 0 without any.
    pub outermost: usize,
    /// Whether there are more than are kept.
    pub is_full: bool,
}

/// The frame pointer of the function that this is inlined into, or whatever the program keeps in that register.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn frame_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mov {}, rbp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
fn frame_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mov {}, x29", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn frame_pointer() -> usize {
    0
}

/// No function is so long of those that [`are_kept`] looks for.
const FUNCTION_BYTES: usize = 1_024;

/// Whether this crate, and with it the program, is built with frame pointers: without, a walk finds the frames of callers that
/// have some, as those of the standard library, in place of the innermost ones. On this stack.
#[inline(never)]
pub(crate) fn are_kept(stack: (usize, usize)) -> bool {
    let here = are_kept as fn((usize, usize)) -> bool as usize;
    caller(stack).is_some_and(|address| (here..here + FUNCTION_BYTES).contains(&address))
}

/// Where this is called from, as a walk finds it.
#[inline(never)]
fn caller(stack: (usize, usize)) -> Option<usize> {
    walk(stack, &mut [0; MAX_FRAMES]).frames.first().copied()
}

/// Walks from the calling function outwards, on the thread's stack: from its first address to the one behind it. A thread that is
/// on another stack, as coroutines are, has no frames.
#[inline(always)]
pub(crate) fn walk((start, end): (usize, usize), buffer: &mut [usize; MAX_FRAMES]) -> Walked<'_> {
    let marker = 0_usize;
    let lowest = std::ptr::from_ref(std::hint::black_box(&marker)) as usize;
    let frame = if lowest >= start { frame_pointer() } else { 0 };
    walk_from(frame, lowest, end, buffer)
}

fn walk_from(
    mut frame: usize,
    mut lowest: usize,
    stack_end: usize,
    buffer: &mut [usize; MAX_FRAMES],
) -> Walked<'_> {
    const WORD: usize = size_of::<usize>();
    let (mut length, mut outermost) = (0, 0);
    let is_full = loop {
        let is_inside = frame >= lowest
            && frame.is_multiple_of(WORD)
            && frame.checked_add(2 * WORD).is_some_and(|end| end <= stack_end);
        if !is_inside {
            break false;
        }
        let pointer = frame as *const usize;
        // SAFETY: two aligned words between a variable of this call and the end of the thread's stack: mapped, and only read.
        // Whatever they hold is a number.
        let (next, address) = unsafe { (pointer.read_volatile(), pointer.add(1).read_volatile()) };
        if address == 0 {
            break false;
        }
        let Some(place) = buffer.get_mut(length) else { break true };
        (*place, outermost) = (address, frame);
        length += 1;
        (lowest, frame) = (frame + 2 * WORD, next);
    };
    Walked { frames: buffer.get(..length).unwrap_or(&[]), outermost, is_full }
}

/// Calls the function that [`set_context`](crate::live::set_context) stored.
pub(crate) fn call_context(function: *mut ()) -> Context {
    // SAFETY: a function of this type, stored by the one function that stores any.
    let context = unsafe { std::mem::transmute::<*mut (), fn() -> Context>(function) };
    context()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found on a stack of so many words in which frames begin at these places, each with its number as address; the last
    /// one's link is `last`, relative to the stack's begin.
    fn walked(words: usize, frames: &[usize], last: usize) -> (Vec<usize>, usize, bool) {
        let mut stack = vec![0_usize; words];
        let start = stack.as_ptr() as usize;
        let links = frames.iter().skip(1).map(|next| start + next * size_of::<usize>());
        for (number, (&at, link)) in frames.iter().zip(links.chain([start.wrapping_add(last)])).enumerate() {
            (stack[at], stack[at + 1]) = (link, number + 1);
        }
        let (lowest, end) = (start, start + words * size_of::<usize>());
        let mut buffer = [0; MAX_FRAMES];
        let walked = walk_from(start + frames[0] * size_of::<usize>(), lowest, end, &mut buffer);
        (walked.frames.to_vec(), (walked.outermost - start) / size_of::<usize>(), walked.is_full)
    }

    #[test]
    fn frames_are_followed_upwards_as_far_as_the_stack_goes() {
        let three = vec![1, 2, 3];
        // To nowhere, behind the end, back, to no word, and to where only half a frame has room.
        for last in [0_usize.wrapping_sub(4_096), 40 * 8, 3 * 8, 25 * 8 + 1, 39 * 8] {
            assert_eq!(walked(40, &[2, 7, 20], last), (three.clone(), 20, false), "{last}");
        }
        assert_eq!(walked(40, &[2, 7, 38], 0), (three, 38, false));
    }

    #[test]
    fn of_a_deep_stack_the_innermost_frames_are_kept() {
        let frames: Vec<usize> = (0..40).map(|number| 2 * number).collect();
        assert_eq!(walked(80, &frames, 0), ((1..=MAX_FRAMES).collect(), 62, true));
    }

    #[test]
    fn without_a_stack_there_are_no_frames() {
        let mut buffer = [0; MAX_FRAMES];
        assert_eq!(walk((usize::MAX, usize::MAX), &mut buffer).frames, [0; 0]);
        assert_eq!(walk((0, 0), &mut buffer).frames, [0; 0]);
    }
}
