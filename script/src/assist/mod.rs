//! What front ends ask beside running cells: completion, help, inspection, commands.

pub(crate) mod candidate;
pub(crate) mod commands;
pub(crate) mod completeness;
pub(crate) mod completion;
mod extremes;
mod gone;
pub(crate) mod help;
mod in_cell;
pub(crate) mod inspection;
mod mistakes;
mod nodes;
pub(crate) mod notes;
mod options;
mod shifts;
pub(crate) mod topics;
