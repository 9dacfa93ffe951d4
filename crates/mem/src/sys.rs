//! The few functions of the C library that the standard library links anyway but does not offer: a callback
//! at thread exit, the page size, where a thread's stack lies, and its id. Elsewhere than on Linux and Apple's systems there
//! is no callback, elsewhere than on Linux nothing of the others.
#![expect(unsafe_code, reason = "calls the C library")]

/// What runs when a thread exits.
pub(crate) type Callback = extern "C" fn(*mut std::ffi::c_void);

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod unix {
    use super::Callback;
    use std::ffi::{c_int, c_void};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[cfg(target_os = "linux")]
    type Key = std::ffi::c_uint;
    #[cfg(target_os = "android")]
    type Key = c_int;
    #[cfg(target_vendor = "apple")]
    type Key = std::ffi::c_ulong;

    unsafe extern "C" {
        fn pthread_key_create(key: *mut Key, destructor: Option<Callback>) -> c_int;
        fn pthread_key_delete(key: Key) -> c_int;
        fn pthread_setspecific(key: Key, value: *const c_void) -> c_int;
        safe fn getpagesize() -> c_int;
    }

    const NONE_YET: usize = usize::MAX;
    const UNAVAILABLE: usize = usize::MAX - 1;

    /// The process' one key, for the one callback that there is.
    static KEY: AtomicUsize = AtomicUsize::new(NONE_YET);

    fn key(callback: Callback) -> Option<Key> {
        let mut known = KEY.load(Relaxed);
        if known == NONE_YET {
            let mut key: Key = 0;
            // SAFETY: the pointer is valid for the call.
            let created = unsafe { pthread_key_create(&raw mut key, Some(callback)) } == 0;
            let made = if created { usize::try_from(key).unwrap_or(UNAVAILABLE) } else { UNAVAILABLE };
            known = match KEY.compare_exchange(NONE_YET, made, Relaxed, Relaxed) {
                Ok(_) => made,
                Err(other) => {
                    if created {
                        // SAFETY: created above, and no other thread has seen it.
                        unsafe { pthread_key_delete(key) };
                    }
                    other
                }
            };
        }
        if known == UNAVAILABLE { None } else { Key::try_from(known).ok() }
    }

    pub(crate) fn at_thread_exit(callback: Callback, argument: *const c_void) {
        if let Some(key) = key(callback) {
            // SAFETY: the key exists. The C library does not call the Rust allocator from here.
            unsafe { pthread_setspecific(key, argument) };
        }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn page_size_bytes() -> Option<u64> {
        u64::try_from(getpagesize()).ok().filter(|&size| size > 0)
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod thread {
    use std::ffi::{c_int, c_ulong, c_void};
    use std::ptr;

    /// Room for the C library's description of a thread, of at most 64 bytes on the systems known.
    type Attributes = [u64; 16];

    unsafe extern "C" {
        safe fn pthread_self() -> c_ulong;
        safe fn gettid() -> c_int;
        fn pthread_getattr_np(thread: c_ulong, attributes: *mut Attributes) -> c_int;
        fn pthread_attr_getstack(
            attributes: *const Attributes,
            start: *mut *mut c_void,
            size: *mut usize,
        ) -> c_int;
        fn pthread_attr_destroy(attributes: *mut Attributes) -> c_int;
    }

    /// The first address of the calling thread's stack, and the one behind it; twice 0 where they are not known.
    pub(crate) fn stack_bounds() -> (usize, usize) {
        let mut attributes: Attributes = [0; 16];
        let (mut start, mut size) = (ptr::null_mut(), 0);
        // SAFETY: the pointers are valid for the calls, and the attributes are initialised by the first one.
        let known = unsafe {
            pthread_getattr_np(pthread_self(), &raw mut attributes) == 0 && {
                let known = pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut size) == 0;
                pthread_attr_destroy(&raw mut attributes);
                known
            }
        };
        if known { (start.addr(), start.addr().saturating_add(size)) } else { (0, 0) }
    }

    pub(crate) fn thread_id() -> u32 {
        u32::try_from(gettid()).unwrap_or(0)
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod thread {
    pub(crate) fn stack_bounds() -> (usize, usize) {
        (0, 0)
    }

    pub(crate) fn thread_id() -> u32 {
        0
    }
}

pub(crate) use thread::{stack_bounds, thread_id};

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(crate) use unix::at_thread_exit;
#[cfg(target_os = "linux")]
pub(crate) use unix::page_size_bytes;

/// Elsewhere nothing is called: a thread's block stays with it for ever.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(crate) fn at_thread_exit(_callback: Callback, _argument: *const std::ffi::c_void) {}
