//! What sends spans to a receiver: stepscope by its three ways in. All with the settings that a user gets, but where a case
//! says otherwise. Where to and how is in the environment.

use super::{SetUp, sections_3, spans_3};

/// One way to have spans delivered.
#[derive(Clone, Copy)]
pub(crate) struct Sender {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) is_ours: bool,
    /// Is told whether gRPC is spoken.
    pub(crate) set_up: fn(bool) -> SetUp,
    pub(crate) chunk: fn(u64),
}

fn layer(_: bool) -> SetUp {
    SetUp::Recording(stepscope::builder().install())
}

fn root(_: bool) -> SetUp {
    SetUp::Recording(stepscope::builder().install_root())
}

pub(super) const OURS: &[Sender] = &[
    Sender {
        name: "layer_3",
        about: "stepscope's layer on Registry",
        is_ours: true,
        set_up: layer,
        chunk: spans_3,
    },
    Sender {
        name: "root_3",
        about: "stepscope's root subscriber",
        is_ours: true,
        set_up: root,
        chunk: spans_3,
    },
    Sender { name: "section_3", about: "section!", is_ours: true, set_up: layer, chunk: sections_3 },
];
