//! Arrays of other libraries and programs: slices and `ndarray` views, DLPack, foreign memory, that of GPUs, Rust notebooks.

pub mod dlpack;
pub mod evcxr;
pub mod foreign;
pub mod gpu_memory;
pub mod view;
