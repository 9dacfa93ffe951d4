//! The program with the system's allocator, for `peers.py`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    leaks::run()
}
