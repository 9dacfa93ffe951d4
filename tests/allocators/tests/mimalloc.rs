//! mimalloc below the counting allocator: it tells what it has of the system, and not what of that is in use.

use mimalloc::MiMalloc;
use stepscope_allocator_tests::{HELD, before_and_held};
use stepscope_mem::Alloc;

#[global_allocator]
static ALLOC: Alloc<MiMalloc> = Alloc::new(MiMalloc);

#[test]
fn mimalloc_tells_what_it_has_and_no_more() {
    let ([_, held], counted) = before_and_held("mimalloc");
    println!("mimalloc has {:?} bytes, {counted} more were counted", held.reserved_bytes);
    assert!(counted >= HELD as i64 && held.reserved_bytes >= Some(HELD as u64), "{held:?} {counted}");
    assert_eq!((held.live_bytes, held.arenas, held.fragmentation()), (None, None, None));
}
