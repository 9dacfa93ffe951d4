//! jemalloc below the counting allocator: what it says of itself arrives, and agrees with what was counted.

use stepscope_allocator_tests::{HELD, before_and_held};
use stepscope_mem::Alloc;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOC: Alloc<Jemalloc> = Alloc::new(Jemalloc);

#[test]
fn jemalloc_tells_what_it_has_handed_out_and_what_it_has() {
    let ([before, held], counted) = before_and_held("jemalloc");
    let risen = held.live_bytes.unwrap() - before.live_bytes.unwrap();
    let off = (risen as f64 - counted as f64).abs() / HELD as f64;
    println!(
        "jemalloc says {risen} bytes more, {counted} were counted; reserved {:?}, arenas {:?}",
        held.reserved_bytes, held.arenas
    );
    assert!(counted >= HELD as i64 && off < 0.02, "{risen} {counted}");
    assert!(held.reserved_bytes >= held.live_bytes && held.arenas > Some(0), "{held:?}");
    let fragmentation = held.fragmentation().unwrap();
    assert!((0.0..0.5).contains(&fragmentation), "{fragmentation}");
}
