//! What Kineto's names say: of the phase of training that a slice belongs to, where the name as such does not, and which
//! slice is none of the program.

use stepscope_core::Phase;

use super::event::{is_launch, is_on_device};

/// The phase, if the slice's category and name tell.
pub(super) fn phase(category: &str, name: &str) -> Option<Phase> {
    if is_on_device(category) {
        return on_device(name);
    }
    if is_launch(category) {
        return name.contains("Synchronize").then_some(Phase::Synchronization);
    }
    let begins = [
        ("enumerate(DataLoader)", Phase::DataWait),
        ("Optimizer.step#", Phase::Optimizer),
        ("Optimizer.zero_grad#", Phase::Optimizer),
        ("autograd::engine::evaluate_function", Phase::Backward),
        ("torch::autograd::", Phase::Backward),
        ("c10d::", Phase::Communication),
        ("nccl:", Phase::Communication),
        ("gloo:", Phase::Communication),
    ];
    let begun = begins.iter().find(|(begin, _)| name.starts_with(begin)).map(|&(_, phase)| phase);
    begun.or_else(|| is_gradient(name).then_some(Phase::Backward))
}

/// Whether a slice is the recording itself, from its first moment to its last, and so no work: Kineto puts one into each
/// file (`PyTorch Profiler (0)`), of a category of its own and a process that is none, `Spans` or, until 2021, `Traces`.
pub(super) fn is_recording(category: &str, pid: &str) -> bool {
    category == "Trace" && matches!(pid, "Spans" | "Traces")
}

/// Whether autograd names a node of its graph so: after its function and the overload (`AddmmBackward`, `AddBackward0`).
fn is_gradient(name: &str) -> bool {
    let function = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    function.ends_with("Backward")
}

fn on_device(name: &str) -> Option<Phase> {
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("nccl") || lower.starts_with("rccl") {
        Some(Phase::Communication)
    } else if lower.contains("htod") || lower.contains("hosttodevice") {
        Some(Phase::HostToDevice)
    } else if lower.contains("dtoh") || lower.contains("devicetohost") {
        Some(Phase::DeviceToHost)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_ages_are_known() {
        for (category, name, expected) in [
            ("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", Some(Phase::Communication)),
            ("Kernel", "ncclKernel_AllReduce", Some(Phase::Communication)),
            ("kernel", "volta_sgemm_64x64_nn", None),
            ("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", Some(Phase::HostToDevice)),
            ("Memcpy", "Memcpy DtoH (Device -> Pinned)", Some(Phase::DeviceToHost)),
            ("gpu_memcpy", "Memcpy DtoD (Device -> Device)", None),
            ("cuda_runtime", "cudaDeviceSynchronize", Some(Phase::Synchronization)),
            ("Runtime", "cudaLaunchKernel", None),
            (
                "Operator",
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                Some(Phase::DataWait),
            ),
            ("user_annotation", "Optimizer.step#SGD.step", Some(Phase::Optimizer)),
            ("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", Some(Phase::Backward)),
            ("Operator", "AddmmBackward", Some(Phase::Backward)),
            ("cpu_op", "ReluBackward10", Some(Phase::Backward)),
            ("Operator", "torch::autograd::AccumulateGrad", Some(Phase::Backward)),
            ("kernel", "AddBackward0", None),
            ("cpu_op", "aten::add", None),
            ("cpu_op", "BackwardTimer", None),
        ] {
            assert_eq!(phase(category, name), expected, "{name}");
        }
    }
}
