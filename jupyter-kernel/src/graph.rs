//! Graphs as pictures.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::panic::catch_unwind;

use layout::backends::svg::SVGWriter;
use layout::core::format::{ClipHandle, RenderBackend};
use layout::core::geometry::Point;
use layout::core::style::StyleAttr;
use layout::gv::parser::ast::{Graph, Stmt};
use layout::gv::{DotParser, GraphBuilder};

/// Bytes of a graph that is drawn at most.
const MOST_BYTES: usize = 32 << 10;
/// Nodes of a graph that is drawn at most, with one for each row that an edge passes: the library places those too, in
/// a time that grows with their third power. So many take a tenth of a second, and nobody can read more.
const MOST_NODES: usize = 300;
/// Space right of and below what is drawn: as much as the library leaves left and above.
const MARGIN: f64 = 30.0;

/// Nodes of a graph that is drawn in part: the first of these numbers that can be.
const PARTS: [usize; 5] = [usize::MAX, 200, 100, 50, 25];

/// A graph in the DOT language, a statement a line, as SVG: of a large one what it begins with. `None` if it cannot be
/// drawn.
pub(crate) fn svg(dot: &str) -> Option<String> {
    // The library says little about what it cannot draw.
    let drawn = catch_unwind(|| PARTS.into_iter().find_map(|n| draw(&part(dot, n))));
    drawn.ok().flatten()
}

/// The first so many nodes of a graph, and a further one that says how many are left out.
fn part(dot: &str, most: usize) -> Cow<'_, str> {
    let node = |line: &str| line.trim().split_once(" [label=").map(|(name, _)| name.to_string());
    let n = dot.lines().filter_map(node).count();
    if n <= most {
        return dot.into();
    }
    let kept: HashSet<String> = dot.lines().filter_map(node).take(most).collect();
    let is_kept = |line: &&str| {
        let edge = line.trim().trim_end_matches(';').split_once(" -> ");
        let ends = edge.map(|(from, to)| kept.contains(from) && kept.contains(to));
        ends.or_else(|| node(line).map(|name| kept.contains(&name))).unwrap_or(true)
    };
    let lines: Vec<&str> = dot.lines().filter(is_kept).filter(|line| *line != "}").collect();
    format!("{}\n  rest [label=\"{} more\"];\n}}\n", lines.join("\n"), n - most).into()
}

fn draw(dot: &str) -> Option<String> {
    if dot.len() > MOST_BYTES {
        return None;
    }
    let graph = DotParser::new(dot).process().ok()?;
    if places(&graph)? > MOST_NODES {
        return None;
    }
    let mut builder = GraphBuilder::new();
    builder.visit_graph(&graph);
    let mut sheet = Sheet { writer: SVGWriter::new(), corner: Point::zero() };
    builder.get().do_it(false, false, false, &mut sheet);
    sheet.cut()
}

/// Nodes, and rows that edges pass; `None` if the edges go round.
fn places(graph: &Graph) -> Option<usize> {
    let (mut numbers, mut edges) = (HashMap::new(), Vec::new());
    collect(graph, &mut numbers, &mut edges);
    let mut rows = vec![0_usize; numbers.len()];
    if rows.len() > MOST_NODES {
        return Some(rows.len());
    }
    // A node stands a row behind the last that leads to it; no path has more edges than there are nodes.
    for _ in 0..=rows.len() {
        let mut is_done = true;
        for &(from, to) in &edges {
            is_done &= rows[to] > rows[from];
            rows[to] = rows[to].max(rows[from] + 1);
        }
        if is_done {
            let passed = edges.iter().map(|&(from, to)| rows[to] - rows[from] - 1);
            return Some(rows.len() + passed.sum::<usize>());
        }
    }
    None
}

/// Numbers the nodes of a graph, and finds its edges.
fn collect<'g>(
    graph: &'g Graph,
    numbers: &mut HashMap<&'g str, usize>,
    edges: &mut Vec<(usize, usize)>,
) {
    for statement in &graph.list.list {
        let mut number = |name: &'g str| {
            let next = numbers.len();
            *numbers.entry(name).or_insert(next)
        };
        match statement {
            Stmt::Node(node) => _ = number(&node.id.name),
            Stmt::Edge(edge) => {
                let mut from = number(&edge.from.name);
                for (to, _) in &edge.to {
                    let to = number(&to.name);
                    edges.push((from, to));
                    from = to;
                }
            }
            Stmt::SubGraph(inner) => collect(inner, numbers, edges),
            Stmt::Attribute(_) => {}
        }
    }
}

/// A drawing that knows where it ends: the writer's own measure leaves as much room below a text as beside it.
struct Sheet {
    writer: SVGWriter,
    /// The corner at the lower right.
    corner: Point,
}

impl Sheet {
    fn reach(&mut self, at: Point) {
        self.corner = Point::new(self.corner.x.max(at.x), self.corner.y.max(at.y));
    }

    /// The drawing, as large as it is, and on white: its lines are black under every theme.
    fn cut(&self) -> Option<String> {
        let svg = self.writer.finalize();
        let (_, body) = svg.split_once("<defs>")?;
        let (width, height) = (self.corner.x + MARGIN, self.corner.y + MARGIN);
        Some(format!(
            "<svg width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             style=\"background: white\" xmlns=\"http://www.w3.org/2000/svg\"><defs>{body}"
        ))
    }
}

impl RenderBackend for Sheet {
    fn draw_rect(
        &mut self,
        at: Point,
        size: Point,
        look: &StyleAttr,
        properties: Option<String>,
        clip: Option<ClipHandle>,
    ) {
        self.reach(at.add(size));
        self.writer.draw_rect(at, size, look, properties, clip);
    }

    fn draw_line(&mut self, from: Point, to: Point, look: &StyleAttr, properties: Option<String>) {
        self.reach(from);
        self.reach(to);
        self.writer.draw_line(from, to, look, properties);
    }

    fn draw_circle(
        &mut self,
        at: Point,
        size: Point,
        look: &StyleAttr,
        properties: Option<String>,
    ) {
        self.reach(at.add(size.scale(0.5)));
        self.writer.draw_circle(at, size, look, properties);
    }

    fn draw_text(&mut self, at: Point, text: &str, look: &StyleAttr) {
        self.writer.draw_text(at, text, look);
    }

    fn draw_arrow(
        &mut self,
        path: &[(Point, Point)],
        is_dashed: bool,
        heads: (bool, bool),
        look: &StyleAttr,
        properties: Option<String>,
        text: &str,
    ) {
        for (point, control) in path {
            self.reach(*point);
            self.reach(*control);
        }
        self.writer.draw_arrow(path, is_dashed, heads, look, properties, text);
    }

    fn create_clip(&mut self, at: Point, size: Point, rounded: usize) -> ClipHandle {
        self.writer.create_clip(at, size, rounded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_drawn_or_left() {
        let drawn = svg("digraph t { rankdir=BT; a [label=\"x\"]; b -> a; }").unwrap();
        assert!(drawn.contains("<svg") && drawn.contains(">x</tspan>"), "{drawn}");
        assert_eq!(svg("no graph {"), None);
    }

    #[test]
    fn what_takes_long_is_left() {
        let chain = |n: usize, skips: bool| {
            let skip = |i| if skips { format!(" n{i} -> n0;") } else { String::new() };
            let edge = |i| format!(" n{i} -> n{};{}", i - 1, skip(i));
            format!("digraph t {{ rankdir=BT;{} }}", (1..n).map(edge).collect::<String>())
        };
        assert!(svg(&chain(20, true)).is_some());
        // Three minutes of the library.
        assert_eq!(svg(&chain(130, true)), None);
        assert_eq!(svg(&chain(MOST_NODES + 1, false)), None);
        assert_eq!(svg("digraph t { a -> b; b -> a; }"), None);
        assert_eq!(svg(&format!("digraph t {{ a [label=\"{}\"]; }}", "long".repeat(9000))), None);
    }

    #[test]
    fn of_a_large_graph_a_part_is_drawn() {
        let node = |i: usize| format!("  n{i} [label=\"node {i}\"];\n  n{} -> n{i};\n", i + 1);
        let nodes: String = (0..1000).map(node).collect();
        let dot = format!("digraph t {{\n  rankdir=BT;\n{nodes}}}\n");
        let svg = svg(&dot).unwrap();
        assert!(svg.contains(">node 99</tspan>") && svg.contains(">800 more</tspan>"), "{svg}");
        assert_eq!(part(&dot, 1000), dot);
    }

    #[test]
    fn a_long_label_makes_no_high_drawing() {
        let svg = svg(&format!("digraph t {{ a [label=\"{}\"]; }}", "long".repeat(20))).unwrap();
        let height = svg.split("height=\"").nth(1).and_then(|rest| rest.split('"').next());
        let height: f64 = height.unwrap().parse().unwrap();
        assert!((40.0..150.0).contains(&height), "{svg}");
    }
}
