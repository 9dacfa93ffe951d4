//! The kinds of edges that the walk follows. The walk itself is in the module above.

/// Why the path goes from one section on to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// A section waits for its child to end.
    Child,
    /// Of two children of one parent the later one began when the earlier had ended.
    Order,
    /// Of two processes' clocks one is a little ahead: children that seem to overlap followed each other.
    Clocks,
    /// A section waits for its thread, on which another runs.
    SameThread,
    /// While a section was suspended, another ran on its thread.
    Suspended,
    /// A section waits for the end of one that it links to.
    Link,
    /// What is linked to began when what came before it had ended, on its parent or next to it.
    Before,
}

impl Edge {
    /// All kinds.
    pub const ALL: [Self; 7] =
        [Self::Child, Self::Order, Self::Clocks, Self::SameThread, Self::Suspended, Self::Link, Self::Before];
}
