//! The kinds of edges that paths follow. The walk through one trace is in the module above, the way from trace to trace in
//! the one beside.

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
    /// A section was begun on another thread by one that went on.
    Begun,
    /// While a section was suspended, another ran on its thread.
    Suspended,
    /// Suspended sections ran in turn, in intervals that are known.
    Polls,
    /// A section waits for the end of one that it links to.
    Link,
    /// It waits for what that one hands over before its own end.
    HandOver,
    /// What is linked to began when what came before it had ended, on its parent or next to it.
    Before,
    /// A wait goes on into the batch that it links to, in a trace of its own.
    Batch,
    /// A wait goes on into another trace that it links to.
    Trace,
    /// What came before a trace is in those that its root links to.
    Stage,
}

impl Edge {
    /// All kinds.
    pub const ALL: [Self; 13] = [
        Self::Child,
        Self::Order,
        Self::Clocks,
        Self::SameThread,
        Self::Begun,
        Self::Suspended,
        Self::Polls,
        Self::Link,
        Self::HandOver,
        Self::Before,
        Self::Batch,
        Self::Trace,
        Self::Stage,
    ];
}
