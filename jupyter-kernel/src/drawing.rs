//! Graphs as pictures.

use std::panic::catch_unwind;

use layout::backends::svg::SVGWriter;
use layout::gv::{DotParser, GraphBuilder};

/// Most lines of a graph that is drawn: a larger one takes long, and nobody can read it.
const MOST_LINES: usize = 400;

/// A graph in the DOT language as SVG; `None` if it is too large or cannot be drawn.
pub(crate) fn graph(dot: &str) -> Option<String> {
    if dot.lines().count() > MOST_LINES {
        return None;
    }
    // The library says little about what it cannot draw.
    let drawn = catch_unwind(|| {
        let graph = DotParser::new(dot).process().ok()?;
        let mut builder = GraphBuilder::new();
        builder.visit_graph(&graph);
        let mut writer = SVGWriter::new();
        builder.get().do_it(false, false, false, &mut writer);
        Some(writer.finalize())
    });
    drawn.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_drawn_or_left() {
        let svg = graph("digraph t { rankdir=BT; a [label=\"x\"]; b -> a; }").unwrap();
        assert!(svg.contains("<svg") && svg.contains(">x</tspan>"), "{svg}");
        assert_eq!(graph("no graph {"), None);
        assert_eq!(graph(&"a;\n".repeat(MOST_LINES + 1)), None);
    }
}
