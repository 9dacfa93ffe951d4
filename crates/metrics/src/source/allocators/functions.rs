//! The allocators' own functions, found at run time: a program need not have them. Weak references find those that are
//! linked into the program, `dlsym` those of libraries that are loaded.
#![expect(unsafe_code, reason = "calls of C functions")]

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::snapshot::Allocator;

type MallCtl = unsafe extern "C" fn(*const c_char, *mut c_void, *mut usize, *mut c_void, usize) -> c_int;
type ProcessInfo = unsafe extern "C" fn(
    *mut usize,
    *mut usize,
    *mut usize,
    *mut usize,
    *mut usize,
    *mut usize,
    *mut usize,
    *mut usize,
);
type MallInfo = unsafe extern "C" fn() -> Info;

/// `struct mallinfo2`.
#[repr(C)]
struct Info {
    /// Bytes of arenas.
    arena: usize,
    unused: [usize; 3],
    /// Bytes of blocks that are mapped by themselves, and handed out.
    mapped: usize,
    unused_too: [usize; 2],
    /// Bytes handed out of arenas.
    used: usize,
    free: usize,
    releasable: usize,
}

/// Those that the process has.
#[derive(Debug)]
pub(super) struct Functions {
    mallctl: Option<MallCtl>,
    process_info: Option<ProcessInfo>,
    mallinfo: Option<MallInfo>,
}

impl Functions {
    pub(super) fn find() -> Self {
        let [prefixed, plain, process_info] = weak::addresses();
        let mallctl = or_loaded(prefixed, c"_rjem_mallctl");
        let mallctl = if mallctl.is_null() { or_loaded(plain, c"mallctl") } else { mallctl };
        let process_info = or_loaded(process_info, c"mi_process_info");
        let mallinfo = or_loaded(std::ptr::null(), c"mallinfo2");
        // SAFETY: the functions of these names have these types; a null pointer is `None`.
        unsafe {
            Self {
                mallctl: std::mem::transmute::<*const c_void, Option<MallCtl>>(mallctl),
                process_info: std::mem::transmute::<*const c_void, Option<ProcessInfo>>(process_info),
                mallinfo: std::mem::transmute::<*const c_void, Option<MallInfo>>(mallinfo),
            }
        }
    }

    /// Absent figures where it was built without statistics.
    pub(super) fn jemalloc(&self) -> Option<Allocator> {
        let mallctl = self.mallctl?;
        let mut epoch = 1_u64;
        // Its figures are those of the latest epoch.
        // SAFETY: an epoch is 64 bits wide; nothing is read back.
        let refreshed = unsafe {
            mallctl(
                c"epoch".as_ptr(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                (&raw mut epoch).cast(),
                size_of::<u64>(),
            )
        };
        if refreshed != 0 {
            return None;
        }
        let bytes = |name| control::<usize>(mallctl, name).map(|bytes| bytes as u64);
        Some(Allocator {
            name: "jemalloc",
            live_bytes: bytes(c"stats.allocated"),
            reserved_bytes: bytes(c"stats.resident"),
            arenas: control::<u32>(mallctl, c"arenas.narenas").map(u64::from),
        })
    }

    /// What it has handed out it counts in builds for debugging alone.
    pub(super) fn mimalloc(&self) -> Option<Allocator> {
        let process_info = self.process_info?;
        let mut figures = [0_usize; 8];
        let [elapsed, user, system, resident, peak, committed, peak_committed, faults] =
            figures.each_mut().map(std::ptr::from_mut);
        // SAFETY: all are writable.
        unsafe { process_info(elapsed, user, system, resident, peak, committed, peak_committed, faults) };
        let [.., committed, _, _] = figures;
        Some(Allocator {
            name: "mimalloc",
            live_bytes: None,
            reserved_bytes: u64::try_from(committed).ok(),
            arenas: None,
        })
    }

    /// The sums over all its arenas.
    pub(super) fn glibc(&self) -> Option<Allocator> {
        let mallinfo = self.mallinfo?;
        // SAFETY: no preconditions.
        let info = unsafe { mallinfo() };
        let sum = |one: usize| u64::try_from(one.saturating_add(info.mapped)).ok();
        Some(Allocator {
            name: "glibc",
            live_bytes: sum(info.used),
            reserved_bytes: sum(info.arena),
            arenas: None,
        })
    }
}

/// A figure of jemalloc; `None` where it has none of that name and size.
fn control<T: Copy + Default>(mallctl: MallCtl, name: &CStr) -> Option<T> {
    let (mut value, mut length) = (T::default(), size_of::<T>());
    // SAFETY: `value` is as long as `length` says, and any bits are a number.
    let failed =
        unsafe { mallctl(name.as_ptr(), (&raw mut value).cast(), &raw mut length, std::ptr::null_mut(), 0) };
    (failed == 0 && length == size_of::<T>()).then_some(value)
}

/// The address that is known, or that of the function in a library that is loaded.
#[cfg(target_os = "linux")]
fn or_loaded(known: *const c_void, name: &CStr) -> *const c_void {
    // SAFETY: the name is a text that ends.
    if known.is_null() { unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } } else { known }
}

#[cfg(not(target_os = "linux"))]
fn or_loaded(known: *const c_void, _: &CStr) -> *const c_void {
    known
}

/// Functions that are linked into the program, which `dlsym` does not find there: references that are null where there is no
/// such function.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod weak {
    use std::ffi::c_void;

    std::arch::global_asm!(
        ".weak _rjem_mallctl",
        ".weak mallctl",
        ".weak mi_process_info",
        ".pushsection .data.rel.ro.stepscope_allocators,\"aw\"",
        ".p2align 3",
        ".globl stepscope_metrics_allocators",
        ".hidden stepscope_metrics_allocators",
        "stepscope_metrics_allocators:",
        ".8byte _rjem_mallctl",
        ".8byte mallctl",
        ".8byte mi_process_info",
        ".popsection",
    );

    unsafe extern "C" {
        static stepscope_metrics_allocators: [*const c_void; 3];
    }

    pub(super) fn addresses() -> [*const c_void; 3] {
        // SAFETY: it is the table above, which the linker has filled.
        unsafe { (&raw const stepscope_metrics_allocators).read_volatile() }
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod weak {
    use std::ffi::c_void;

    pub(super) const fn addresses() -> [*const c_void; 3] {
        [std::ptr::null(); 3]
    }
}
