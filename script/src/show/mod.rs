//! Values as people see them: text, HTML, tables, pictures.

pub(crate) mod columns;
pub(crate) mod display;
pub(crate) mod format;
pub(crate) mod forms;
pub(crate) mod host_arrays;
pub(crate) mod html;
pub(crate) mod markup;
pub(crate) mod outcome;
pub(crate) mod plot;
pub(crate) mod print_options;
pub(crate) mod program_text;
pub(crate) mod table;
pub(crate) mod visible;
pub(crate) mod whos;
pub(crate) mod wrap;
pub(crate) mod writer;
