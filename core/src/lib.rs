//! A tracing array JIT: operations on arrays are recorded, not run; looking at a value fuses all it needs
//! into kernels, compiles them at once and launches them on a device.
//!
//! # A tour
//!
//! A [`Session`] owns a table of *variables*. Every operation on an [`Array`] checks its operands,
//! promotes and broadcasts them, and adds a variable; nothing is computed. Reading contents
//! asks the session to evaluate: the scheduler walks from the wanted variables to what is in
//! memory, cuts the graph into *stages* and groups of equal size, and makes a *kernel*
//! of each; a backend compiles kernels, once per structure, and runs them.
//!
//! ```
//! use porcini_core::{DType, Scalar, Session};
//!
//! # fn main() -> porcini_core::Result<()> {
//! let session = Session::new()?;
//! let x = session.linspace(DType::F32, 0, 1, 5)?;
//! let y = 2.0 * &x + 1.0;                       // recorded
//! assert_eq!(session.history().len(), 0);       // nothing ran
//! assert_eq!(y.to_vec::<f32>()?, [1.0, 1.5, 2.0, 2.5, 3.0]);
//! assert_eq!(session.history().len(), 1);       // one fused kernel
//! assert_eq!(y.hsum()?.item(0)?, Scalar::Float(10.0));
//! # Ok(())
//! # }
//! ```
//!
//! # What is here
//!
//! | module | has |
//! |---|---|
//! | [`session`] | [`Session`], which records and evaluates; its [`builder`], [`flags`] and [`runtime`]; what it did: [`inspect`]; what derivatives are made of: [`tape`] |
//! | [`array`](mod@array) | [`Array`], lanes of one type: operators, functions, slices, gathers and scatters, derivatives |
//! | [`value`] | [`Value`]: arrays, vectors, complex numbers, quaternions, matrices, tensors; how they broadcast and print |
//! | [`tensor`] | [`tensor::Tensor`], lanes with a shape: views, axes, products, factorisations, transforms |
//! | [`catalogue`] | every function of whole arrays as a row: what help, completion and front ends read |
//! | [`control`] | loops and branches of arrays |
//! | [`random`] | [`random::Pcg32`], a generator a lane |
//! | [`text_kernel`] | kernels that users write as text |
//! | [`cuda_module`] | modules of CUDA C++ that users write |
//! | [`engine`] | operators and types of users, batched |
//! | [`interop`] | memory of others: [`view`], [`dlpack`], [`foreign`], [`evcxr`] |
//! | [`device`] | devices, instruction sets, what memory is left |
//! | [`dtype`], [`half`], [`error`], [`log`] | types of lanes and [`Scalar`], [`F16`], [`Error`], the session's log |
//! | [`interrupt`] | how work is stopped from outside |
//!
//! # Glossary
//!
//! | word | means |
//! |---|---|
//! | variable (`r12` in dumps) | one recorded value in single-assignment form, perhaps unevaluated |
//! | trace, record | append to the variable table without computing |
//! | operand | input of a variable |
//! | lane, size | one element of an array; number of lanes (1 broadcasts) |
//! | literal, constant | a number the user wrote; a number our own code recorded |
//! | evaluated | backed by memory |
//! | stage | part of the graph whose values need nothing that the same part completes in memory |
//! | kernel, launch | one compiled fused program; one run of it |
//! | gather, scatter | indexed read, indexed write |
//! | reduce | all lanes to one |
//! | primitive | whole arrays to a whole array, such as a sort |
//! | uniform | the same in every lane |
//! | device, backend, buffer | where; how; memory |
//!
//! # Promises
//!
//! The same bits on every device, thread count and instruction set; no input panics; a failed evaluation
//! leaves the session as it was. This crate writes nowhere by itself: the log goes to the sink that
//! [`Session::builder`] is given. (Only [`evcxr`] prints, which Rust notebooks ask for.)
//! Take names by name: `use porcini_core::*` would bring the modules [`half`] and [`log`], which hide the crates of these names.
//! Modules that are public but not shown here are for our own front ends and tests, and change without notice.

pub mod array;
#[cfg(feature = "internals")]
pub mod backend;
#[cfg(not(feature = "internals"))]
#[allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "public for tests and benchmarks, which read memory by address"
)]
mod backend;
pub mod catalogue;
pub mod control;
mod convert;
pub mod cuda_module;
pub mod device;
pub mod dtype;
pub mod engine;
pub mod error;
#[doc(hidden)]
pub mod eval;
pub mod half;
pub mod interop;
pub mod interrupt;
#[doc(hidden)]
pub mod ir;
#[doc(hidden)]
pub use porcini_linear as linear;
pub mod log;
#[doc(hidden)]
pub mod memory;
pub mod random;
pub mod session;
#[doc(hidden)]
pub mod spelling;
pub mod tensor;
pub mod text_kernel;
#[doc(hidden)]
pub mod trace;
pub mod value;

pub use array::derivatives::Tracking;
pub use array::isolation::Isolation;
pub use array::rules::{Ask, Told};
pub use array::{Array, Operand};
pub use backend::DeviceChoice;
pub use dtype::{DType, Element, Scalar};
pub use error::{Error, Result, ScriptLine};
pub use half::F16;
pub use interop::gpu_memory::Lent;
pub use interop::view::View;
pub use interop::{dlpack, evcxr, foreign, gpu_memory, view};
pub use ir::op::{Op, ReduceOp, ScatterMode, ScatterOp};
pub use ir::primitive::Order;
pub use session::recorded::Recorded;
pub use session::runtime::Runtime;
pub use session::waiting::{Mark, Owed};
pub use session::{Session, builder, devices, flags, inspect, runtime, tape};
pub use value::Value;
