//! Arrays on the host as text.

use crate::fault::Result;
use crate::show::numbers::number;
use crate::show::print_options::PrintOptions;
use crate::show::writer::Writer;
use crate::value::host_array::HostRef;

/// Writes the elements as nested lists, then `ndarray f32 [5, 3]`.
pub(crate) fn write(out: &mut Writer, host: &HostRef, options: PrintOptions) -> Result<()> {
    let shape = host.shape();
    write_nested(out, host, &shape, 0, 1, options)?;
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    out.put(&format!("\nndarray {} [{}]", host.dtype(), extents.join(", ")))
}

/// Writes nested lists of the elements from `start`, indented by `depth`.
fn write_nested(
    out: &mut Writer,
    host: &HostRef,
    shape: &[usize],
    start: usize,
    depth: usize,
    options: PrintOptions,
) -> Result<()> {
    let Some((&n, inner)) = shape.split_first() else {
        let text = host.element(start).map_or_else(String::new, |x| number(x, options.digits));
        return out.put(&text);
    };
    let stride: usize = inner.iter().product();
    let separator =
        if inner.is_empty() { ", ".into() } else { format!(",\n{}", " ".repeat(depth)) };
    let edge = usize::try_from(options.edge).unwrap_or(usize::MAX);
    let long = n as u64 > options.threshold && n > edge.saturating_mul(2);
    let skipped = if long { edge..n - edge } else { n..n };
    out.put("[")?;
    for i in (0..skipped.start).chain(skipped.end..n) {
        out.put(if i == 0 { "" } else { &separator })?;
        if long && i == skipped.end {
            out.put(&format!(".. {} skipped ..{separator}", skipped.len()))?;
        }
        write_nested(out, host, inner, start + i * stride, depth + 1, options)?;
    }
    out.put("]")
}
