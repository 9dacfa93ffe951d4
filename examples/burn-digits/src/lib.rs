//! What both programs of this example train: a small convolutional network in burn, and its batches. The loops are
//! in `bin/`: `burn-digits` has its own, `burn-digits-learner` leaves it to burn-train.

pub mod batches;
pub mod network;
