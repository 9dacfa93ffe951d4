//! The program with jemalloc, whose profiler the environment switches on, for `peers.py`.

#[global_allocator]
static ALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    leaks::run()
}
