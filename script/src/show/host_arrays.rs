//! Arrays on the host as text.

use porcini_core::value::show::number;

use crate::fault::Result;
use crate::show::print_options::PrintOptions;
use crate::show::writer::Writer;
use crate::value::host_array::HostRef;

/// Writes the elements as nested lists, then `ndarray f32 [5, 3]`.
pub(crate) fn write(out: &mut Writer, host: &HostRef, options: &PrintOptions) -> Result<()> {
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
    options: &PrintOptions,
) -> Result<()> {
    let Some((&n, inner)) = shape.split_first() else {
        return out.put(&number(host.element(start)?, host.dtype(), options.arrays.digits));
    };
    let stride: usize = inner.iter().product();
    let separator =
        if inner.is_empty() { ", ".into() } else { format!(",\n{}", " ".repeat(depth)) };
    let [head, tail] = options.arrays.ends(n as u64);
    out.put("[")?;
    for i in head.clone().chain(tail.clone()) {
        out.put(if i == 0 { "" } else { &separator })?;
        if i == tail.start {
            out.put(&format!(".. {} skipped ..{separator}", tail.start - head.end))?;
        }
        let i = usize::try_from(i).unwrap_or(usize::MAX);
        write_nested(out, host, inner, start + i * stride, depth + 1, options)?;
    }
    out.put("]")
}
