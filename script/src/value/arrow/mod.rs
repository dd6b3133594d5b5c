//! Files of Parquet and Arrow as columns, and the way back.
//!
//! Both hold Arrow's arrays in batches of rows: a [`column::Builder`] makes lanes of ours from those of a column. Groups
//! of columns are read side by side.
//!
//! No header is believed. What it says that memory is taken for is compared with what there is before the libraries
//! see it; where they still panic, the file is damaged.

mod column;
mod ipc;
mod pages;
mod parquet;
mod quiet;
mod reading;
mod thrift;
mod trouble;
mod write;

pub(crate) use column::{Column, Values};
pub(crate) use ipc::read as read_arrow;
pub(crate) use parquet::read as read_parquet;
pub(crate) use reading::Choice;
pub(crate) use write::{Compression, Written, arrow as write_arrow, parquet as write_parquet};
