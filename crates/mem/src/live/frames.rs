//! The calling thread's stack by frame pointers. Only memory between the present frame and the stack's end is read, and only
//! upwards: in a program without frame pointers the walk ends early or finds nonsense, and does no harm.
#![expect(unsafe_code, reason = "reads registers and the thread's own stack")]

use crate::live::Context;

/// Return addresses that are kept of a stack.
pub const MAX_FRAMES: usize = 32;

/// What a walk found.
pub(crate) struct Walked<'a> {
    /// Return addresses, innermost first.
    pub frames: &'a [usize],
    /// Whether there is more that could not be read.
    pub is_truncated: bool,
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

/// Walks from the calling function outwards, as far as `stack_end`: the address behind the thread's stack.
#[inline(always)]
pub(crate) fn walk(stack_end: usize, buffer: &mut [usize; MAX_FRAMES]) -> Walked<'_> {
    let marker = 0_usize;
    let lowest = std::ptr::from_ref(std::hint::black_box(&marker)) as usize;
    walk_from(frame_pointer(), lowest, stack_end, buffer)
}

fn walk_from(
    mut frame: usize,
    mut lowest: usize,
    stack_end: usize,
    buffer: &mut [usize; MAX_FRAMES],
) -> Walked<'_> {
    const WORD: usize = size_of::<usize>();
    let mut length = 0;
    let is_truncated = loop {
        if frame == 0 {
            break length == 0;
        }
        let is_inside = frame >= lowest
            && frame.is_multiple_of(WORD)
            && frame.checked_add(2 * WORD).is_some_and(|end| end <= stack_end);
        if !is_inside {
            break true;
        }
        let pointer = frame as *const usize;
        // SAFETY: two aligned words between a variable of this call and the end of the thread's stack: mapped, and only read.
        // Whatever they hold is a number.
        let (next, address) = unsafe { (pointer.read_volatile(), pointer.add(1).read_volatile()) };
        if address == 0 {
            break false;
        }
        let Some(place) = buffer.get_mut(length) else { break true };
        *place = address;
        length += 1;
        (lowest, frame) = (frame + 2 * WORD, next);
    };
    Walked { frames: buffer.get(..length).unwrap_or(&[]), is_truncated }
}

/// Calls the function that [`set_context`](crate::live::set_context) stored.
pub(crate) fn call_context(function: *mut ()) -> Context {
    // SAFETY: a function of this type, stored by the one function that stores any.
    let context = unsafe { std::mem::transmute::<*mut (), fn() -> Context>(function) };
    context()
}
