//! How Rust notebooks show arrays. The kernel evcxr calls `evcxr_display` of a cell's last value and takes
//! what it prints between marks, a part a MIME type. No dependency: the marks are all there is to it.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::array::Array;
use crate::memory::caching_allocator::Bytes;
use crate::session::inspect::Whos;
use crate::value::Value;

impl Array {
    /// Shows the array in a Rust notebook, as text and as a table: type, size, device and lanes, of more than
    /// 20 the first and last 5.
    ///
    /// **Evaluation**: evaluates the array; an error is shown in place of the lanes.
    pub fn evcxr_display(&self) {
        show(&self.dtype().to_string(), &[self], &self.to_string());
    }
}

impl Value {
    /// Shows the value in a Rust notebook, see [`Array::evcxr_display`]; of a nested one a row a lane.
    pub fn evcxr_display(&self) {
        show(&self.type_name(), &self.leaves(), &self.to_string());
    }
}

/// Shows a type, size and device as a table with a text below.
fn show(type_name: &str, leaves: &[&Array], text: &str) {
    let size = leaves.iter().map(|leaf| leaf.size()).max().unwrap_or(0).to_string();
    let device = leaves.first().map_or_else(String::new, |leaf| leaf.session().device_name());
    let mut html = String::from("<table>");
    for (name, fact) in [("type", type_name), ("size", &size), ("device", &device)] {
        let _ = write!(html, "<tr><th>{name}</th><td>{}</td></tr>", escaped(fact));
    }
    let _ = write!(html, "</table><pre>{}</pre>", escaped(text));
    print(&parts(text, &html));
}

impl Whos {
    /// Shows what a session holds in a Rust notebook, as text and as a table.
    pub fn evcxr_display(&self) {
        let mut text = String::new();
        let mut html = String::from(
            "<table><tr><th>ID</th><th>Type</th><th>E/I Refs</th><th>Size</th><th>Memory</th>\
             <th>Ready</th><th>Label</th></tr>",
        );
        for row in &self.rows {
            let cells = [
                row.id.to_string(),
                row.dtype.to_string(),
                format!("{} / {}", row.external, row.internal),
                row.size.to_string(),
                Bytes(row.bytes).to_string(),
                if row.ready { "[x]".into() } else { "[ ]".into() },
                row.label.as_deref().unwrap_or_default().to_string(),
            ];
            let _ = writeln!(text, "{}", cells.join("\t"));
            html.push_str("<tr>");
            for cell in cells {
                let _ = write!(html, "<td>{}</td>", escaped(&cell));
            }
            html.push_str("</tr>");
        }
        html.push_str("</table>");
        print(&parts(&text, &html));
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The form in which evcxr takes text and HTML.
fn parts(text: &str, html: &str) -> String {
    format!(
        "EVCXR_BEGIN_CONTENT text/plain\n{text}\nEVCXR_END_CONTENT\n\
         EVCXR_BEGIN_CONTENT text/html\n{html}\nEVCXR_END_CONTENT\n"
    )
}

/// Standard output is where evcxr listens; without it nobody does.
fn print(parts: &str) {
    drop(std::io::stdout().write_all(parts.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_marks() {
        assert!(parts("t", "<b>").contains("text/html\n<b>\nEVCXR_END_CONTENT\n"));
    }
}
