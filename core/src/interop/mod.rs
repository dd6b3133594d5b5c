//! Arrays of other libraries and programs: slices and `ndarray` views, DLPack, foreign memory, Rust notebooks.

pub mod dlpack;
pub mod evcxr;
pub mod foreign;
pub mod view;
