//! What runs kernels.

pub mod cuda;
