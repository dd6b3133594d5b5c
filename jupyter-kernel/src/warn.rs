//! What is told to whoever started the kernel.

use std::io::Write as _;

/// Tells whoever started the kernel; notebooks do not see it.
pub(crate) fn warn(text: &str) {
    // Without standard error there is nobody to tell.
    drop(writeln!(std::io::stderr(), "porcini-jupyter: {text}"));
}
