//! The intermediate representation: variables as recorded, kernels as compiled.
//!
//! A *variable* is one recorded value in single-assignment form: an operation on earlier variables, a
//! number, the lane number, or data in memory. Recording a variable computes nothing. A *kernel* is a
//! set of variables of equal size with what it reads and writes, self-contained, hashed and verified;
//! backends see only kernels.
//!
//! Invariants:
//! * a variable never changes its value; a scatter makes a new variable from its target;
//! * operands have the variable's size, or 1 (gather sources, operands of scatters, reductions and
//!   primitives excepted);
//! * the meaning of every operation on a lane is in [`scalar`], once.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod body;
pub mod bytes;
pub(crate) mod call;
pub(crate) mod composite;
pub mod display;
pub mod division;
pub mod kernel;
pub(crate) mod kernel_copy;
pub mod legal;
pub(crate) mod mix;
pub mod op;
pub mod primitive;
pub mod scalar;
pub(crate) mod sections;
pub mod table;
pub mod var;
pub mod verify;
