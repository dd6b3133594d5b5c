//! How Rust notebooks show arrays. The kernel evcxr calls `evcxr_display` of a cell's last value and takes
//! what it prints between marks, a part a MIME type. No dependency: the marks are all there is to it.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::alloc::Bytes;
use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::session::inspect::Whos;

/// Lanes that are shown; of more, so many at both ends.
const FEW_LANES: u64 = 20;
const EDGE: u64 = 5;

impl Array {
    /// Shows the array in a Rust notebook, as text and as a table: type, size, device and lanes, of more than
    /// 20 the first and last 5.
    ///
    /// **Evaluation**: evaluates the array; an error is shown in place of the lanes.
    pub fn evcxr_display(&self) {
        let text = lanes(self).unwrap_or_else(|error| format!("error: {error}"));
        let facts = [
            ("type", self.dtype().to_string()),
            ("size", self.size().to_string()),
            ("device", self.session().device_name()),
        ];
        let mut html = String::from("<table>");
        for (name, fact) in facts {
            let _ = write!(html, "<tr><th>{name}</th><td>{}</td></tr>", escaped(&fact));
        }
        let _ = write!(html, "</table><pre>{}</pre>", escaped(&text));
        print(&parts(&text, &html));
    }
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

/// The lanes as a list.
fn lanes(array: &Array) -> Result<String> {
    let size = array.size();
    let part = |lanes| -> Result<String> {
        let values = array.read(lanes)?;
        let texts: Vec<String> = values.iter().map(|x| number(*x, array.dtype())).collect();
        Ok(texts.join(", "))
    };
    if size <= FEW_LANES {
        return Ok(format!("[{}]", part(0..size)?));
    }
    let (head, tail) = (part(0..EDGE)?, part(size - EDGE..size)?);
    Ok(format!("[{head}, .. {} skipped .., {tail}]", size - 2 * EDGE))
}

/// A float as short as its type allows.
#[expect(clippy::cast_possible_truncation, reason = "an f32 that was widened")]
fn number(value: Scalar, dtype: DType) -> String {
    match (value, dtype) {
        (Scalar::Float(x), DType::F32) => format!("{}", x as f32),
        (Scalar::Float(x), _) => format!("{x}"),
        _ => value.to_string(),
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
    use crate::session::Session;

    #[test]
    fn lanes_are_short_and_few() {
        let session = Session::new().unwrap();
        let floats = session.array(&[0.1_f32, 2.0]).unwrap();
        assert_eq!(lanes(&floats).unwrap(), "[0.1, 2]");
        let many = session.arange(DType::U32, Scalar::Int(0), Scalar::Int(30), Scalar::Int(1));
        assert_eq!(
            lanes(&many.unwrap()).unwrap(),
            "[0, 1, 2, 3, 4, .. 20 skipped .., 25, 26, 27, 28, 29]"
        );
        assert_eq!(lanes(&session.zeros(DType::Mask, 0).unwrap()).unwrap(), "[]");
        assert!(parts("t", "<b>").contains("text/html\n<b>\nEVCXR_END_CONTENT\n"));
    }
}
