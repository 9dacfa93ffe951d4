//! What is known of one GPU.

use std::sync::Arc;

/// One GPU, or a part of one that is used as one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gpu {
    /// Identity that it keeps.
    pub uuid: Arc<str>,
    /// `gpu0`; `gpu0.mig1` of a part.
    pub name: Arc<str>,
    /// Model.
    pub model: Arc<str>,
    /// `nvidia`.
    pub vendor: Arc<str>,
    /// `ok`, `degraded`, `failed`; empty before the first reading. Where it failed, nothing else is known.
    pub state: &'static str,
    /// Shares of the time with a kernel, an encoder, a decoder at work.
    pub utilization: [Option<f64>; 3],
    /// Memory in use.
    pub memory_used_bytes: Option<u64>,
    /// Memory.
    pub memory_total_bytes: Option<u64>,
    /// Most memory seen in use.
    pub memory_peak_bytes: Option<u64>,
    /// Memory of the process that is followed, and of all others.
    pub process_bytes: [Option<u64>; 2],
    /// Time with a kernel at work.
    pub busy_s: Option<f64>,
    /// Shares of the time that the multiprocessors, the tensor cores, the memory were at work.
    pub activity: [Option<f64>; 3],
    /// Bytes received, sent over PCIe.
    pub pcie_bytes: [Option<u64>; 2],
    /// Clocks of multiprocessors, of memory.
    pub clock_hz: [Option<u64>; 2],
    /// Whether the clocks are low for want of power, for heat, for a power brake, for nothing to do, for another reason.
    pub throttled: [Option<bool>; 5],
    /// XID errors: code, how often.
    pub xids: Vec<(u64, u64)>,
    /// Errors of memory, corrected and not.
    pub ecc_errors: [Option<u64>; 2],
    /// Temperature.
    pub celsius: Option<f64>,
    /// Power.
    pub watts: Option<f64>,
    /// Energy.
    pub joules: Option<f64>,
}
