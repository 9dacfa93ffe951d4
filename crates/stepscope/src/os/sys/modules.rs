//! The files that code of this process was loaded from, where they lie in memory, and their build ids: as the dynamic linker has
//! them. For offsets in place of addresses, which mean something elsewhere and later.

/// A file whose code is in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Module {
    /// Where the file was; empty where nobody knows.
    pub path: String,
    /// What is added to the file's addresses.
    pub base: usize,
    /// Where its code lies: from each first number until before the second one.
    pub code: Vec<(usize, usize)>,
    /// The GNU build id in hexadecimal digits; empty where it has none.
    pub build_id: String,
}

/// All of them, the program first.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(crate) fn modules() -> Vec<Module> {
    let mut modules: Vec<Module> = Vec::new();
    // SAFETY: the callback gets the list that it is called with, and the list outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(linux::take), (&raw mut modules).cast()) };
    if let Some(program) = modules.first_mut().filter(|module| module.path.is_empty()) {
        let path = std::fs::read_link("/proc/self/exe");
        program.path = path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    }
    // What is in memory and in no file, as the kernel's own code: nobody could look up its names.
    modules.retain(|module| !module.path.is_empty() && !module.code.is_empty());
    modules
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub(crate) fn modules() -> Vec<Module> {
    Vec::new()
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod linux {
    use super::Module;
    use std::ffi::{CStr, c_int, c_void};
    use std::fmt::Write;

    /// A note of this type with this name is a build id (elf.h).
    const NT_GNU_BUILD_ID: u32 = 3;
    const GNU: &[u8] = b"GNU\0";

    fn word(value: u64) -> usize {
        usize::try_from(value).unwrap_or(0)
    }

    /// Takes one module; 0 asks for the next one.
    pub(super) unsafe extern "C" fn take(
        info: *mut libc::dl_phdr_info,
        _: usize,
        list: *mut c_void,
    ) -> c_int {
        // SAFETY: the linker passes a valid entry, and `modules` the list.
        let (info, list) = unsafe { (&*info, &mut *list.cast::<Vec<Module>>()) };
        let path = if info.dlpi_name.is_null() {
            String::new()
        } else {
            // SAFETY: a string of the linker's own that ends with a zero.
            unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy().into_owned()
        };
        let headers = if info.dlpi_phdr.is_null() {
            &[]
        } else {
            // SAFETY: as many headers as the entry says.
            unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
        };
        let base = word(info.dlpi_addr);
        let mut module = Module { path, base, code: Vec::new(), build_id: String::new() };
        for header in headers {
            let (start, size) = (base.wrapping_add(word(header.p_vaddr)), word(header.p_memsz));
            if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0 {
                module.code.push((start, start.saturating_add(size)));
            }
            // Only notes of a segment that was loaded are in memory.
            let is_loaded = headers.iter().any(|other| {
                let end = other.p_vaddr.saturating_add(other.p_memsz);
                other.p_type == libc::PT_LOAD
                    && other.p_vaddr <= header.p_vaddr
                    && header.p_vaddr.saturating_add(header.p_memsz) <= end
            });
            if header.p_type == libc::PT_NOTE && is_loaded && module.build_id.is_empty() {
                // SAFETY: loaded, as was seen above, and nobody writes there.
                let notes = unsafe { std::slice::from_raw_parts(start as *const u8, size) };
                module.build_id = build_id(notes).unwrap_or_default();
            }
        }
        list.push(module);
        0
    }

    /// The build id among notes: each has lengths of name and contents, a type, and both padded to four bytes.
    pub(super) fn build_id(mut notes: &[u8]) -> Option<String> {
        loop {
            let (head, rest) = notes.split_at_checked(12)?;
            let number = |at: usize| Some(u32::from_ne_bytes(head.get(at..at + 4)?.try_into().ok()?));
            let (name_length, length) = (word(number(0)?.into()), word(number(4)?.into()));
            let (name, rest) = rest.split_at_checked(name_length.checked_next_multiple_of(4)?)?;
            let contents = rest.get(..length)?;
            if number(8)? == NT_GNU_BUILD_ID && name.starts_with(GNU) {
                let mut text = String::new();
                for byte in contents {
                    let _ = write!(text, "{byte:02x}");
                }
                return Some(text);
            }
            notes = rest.get(length.checked_next_multiple_of(4)?..)?;
        }
    }
}

#[cfg(all(test, target_os = "linux", target_pointer_width = "64"))]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_this_program_lies_in_its_first_module() {
        let modules = modules();
        let program = &modules[0];
        assert_eq!(program.path, std::env::current_exe().unwrap().to_str().unwrap());
        let here = a_function_of_this_program_lies_in_its_first_module as fn() as usize;
        let holds = |module: &Module| module.code.iter().any(|&(start, end)| (start..end).contains(&here));
        assert_eq!(modules.iter().position(holds), Some(0));
        // The C library is another one.
        assert!(modules.iter().skip(1).any(|module| module.path.contains("libc")), "{modules:?}");
    }

    #[test]
    fn a_library_that_is_loaded_later_is_a_module_as_long_as_it_is_there() {
        let is_there = || {
            let module = modules().into_iter().find(|module| module.path.contains("libresolv"));
            module.map(|module| (module.code.is_empty(), module.build_id.len()))
        };
        assert_eq!(is_there(), None);
        // SAFETY: a library of the C library's own, whose initialisers do nothing.
        let library = unsafe { libc::dlopen(c"libresolv.so.2".as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null());
        assert_eq!(is_there(), Some((false, 40)));
        // SAFETY: it was opened above, and nothing of it is in use.
        assert_eq!(unsafe { libc::dlclose(library) }, 0);
        assert_eq!(is_there(), None);
    }

    #[test]
    fn a_build_id_is_found_behind_other_notes() {
        let note = |kind: u32, name: &[u8], contents: &[u8]| {
            let mut bytes: Vec<u8> =
                [name.len() as u32, contents.len() as u32, kind].map(u32::to_ne_bytes).concat();
            for part in [name, contents] {
                bytes.extend(part);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            bytes
        };
        let notes =
            [note(1, b"GNU\0", &[9; 16]), note(3, b"Xen\0", &[7; 5]), note(3, b"GNU\0", &[0xAB, 0x01, 0xFF])]
                .concat();
        assert_eq!(linux::build_id(&notes), Some("ab01ff".into()));
        assert_eq!(linux::build_id(&notes[..notes.len() - 2]), None);
    }
}
