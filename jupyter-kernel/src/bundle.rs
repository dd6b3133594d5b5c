//! What is shown, by MIME type.

use porcini_script::{Shown, drawing};
use serde_json::{Value, json};

use crate::graph;

/// Bytes of a graph in the DOT language that a page takes.
const MOST_DOT: usize = 100 << 10;

/// A value as messages carry it.
pub(crate) fn mime_bundle(shown: Shown) -> Value {
    let mut data = json!({"text/plain": shown.text});
    for (mime, content) in shown.forms {
        if mime == "text/vnd.graphviz" {
            if let Some(svg) = graph::svg(&content) {
                data["text/html"] = drawing(&svg, "a trace as a graph").into();
            }
            if content.len() > MOST_DOT {
                continue;
            }
        }
        data[mime] = content.into();
    }
    data
}
