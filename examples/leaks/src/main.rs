//! The program with what the README tells to install.

#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

fn main() -> Result<(), Box<dyn std::error::Error>> {
    leaks::run()
}
