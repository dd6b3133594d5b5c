//! What a chart is made of: layers of marks between two axes.

use std::ops::Range;

use super::axis::Axis;

/// Numbers beyond this have no place on an axis.
const LARGEST: f64 = 1e308;

/// Part of a row that a span covers.
pub(super) const SPAN: f64 = 0.7;

pub(crate) type Point = (f64, f64);

/// Layers of marks with the names of the axes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: Side,
    pub(crate) y: Side,
    /// Whether lines stand behind the marks at the ticks; if nobody says, a document has them.
    pub(crate) grid: Option<bool>,
    pub(crate) layers: Vec<Layer>,
}

/// What is said about an axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    pub(crate) label: String,
    pub(crate) is_log: bool,
    pub(crate) limits: Option<Range<f64>>,
    /// If it has rows, the first on top, their names.
    pub(crate) rows: Vec<String>,
}

impl Side {
    /// What stands beside the axis: its label, and what is to be added to the labels of the ticks.
    pub(super) fn name(&self, axis: &Axis) -> String {
        match axis.offset() {
            Some(offset) if self.label.is_empty() => offset,
            Some(offset) => format!("{} ({offset})", self.label),
            None => self.label.clone(),
        }
    }
}

/// Marks of one colour, and their name in the legend.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) label: String,
    pub(crate) marks: Marks,
}

/// What is drawn; numbers that are not finite leave gaps.
#[derive(Clone, Debug)]
pub(crate) enum Marks {
    /// Points joined by lines.
    Line(Vec<Point>),
    /// Points by themselves.
    Points(Vec<Point>),
    /// Left ends and heights of bars of a width.
    Bars(Vec<Point>, f64),
    /// Spans of rows: where each begins, in the middle of its row, and how long it is.
    Spans(Vec<(Point, f64)>),
    /// Points with what may be added and taken away.
    Errors(Vec<(Point, f64)>),
    /// Arrows: where they begin, and how far they go.
    Arrows(Vec<(Point, Point)>),
    /// Colours of the cells of a grid.
    Cells(Grid),
    /// Lines of equal values.
    Contours(Grid, Vec<f64>),
}

/// Numbers in rows, the lowest row first.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) values: Vec<f64>,
    /// Where the grid lies.
    pub(crate) x: Range<f64>,
    pub(crate) y: Range<f64>,
    pub(crate) colours: super::colours::Map,
}

impl Grid {
    /// From the smallest to the largest finite number, widened if they are one; 0 to 1 if there is none.
    pub(super) fn range(&self) -> Range<f64> {
        range(self.values.iter().copied().filter(|x| x.is_finite()), false)
    }

    /// So many levels at equal distances inside the range.
    #[expect(clippy::cast_precision_loss, reason = "few levels")]
    pub(crate) fn levels(&self, n: usize) -> Vec<f64> {
        let range = self.range();
        let level = |i: usize| {
            let part = (i as f64 + 1.0) / (n as f64 + 1.0);
            range.start * (1.0 - part) + range.end * part
        };
        (0..n).map(level).collect()
    }

    /// Whether a level lies between two of the values.
    fn reaches(&self, levels: &[f64]) -> bool {
        let lies = |level: &f64, is_below: bool| {
            self.values.iter().any(|x| x.is_finite() && (x < level) == is_below)
        };
        levels.iter().any(|level| lies(level, true) && lies(level, false))
    }

    pub(super) fn at(&self, column: usize, row: usize) -> f64 {
        self.values[row * self.columns + column]
    }
}

impl Marks {
    /// What the axes must reach.
    pub(super) fn ends(&self) -> Vec<Point> {
        let boxed = |x: &Range<f64>, y: &Range<f64>| vec![(x.start, y.start), (x.end, y.end)];
        match self {
            Self::Line(points) | Self::Points(points) => points.clone(),
            Self::Bars(bars, width) => {
                bars.iter().flat_map(|&(x, y)| [(x, 0.0), (x + width, y)]).collect()
            }
            Self::Spans(spans) => {
                let corners = |&((x, y), length): &(Point, f64)| {
                    [(x, y - SPAN / 2.0), (x + length, y + SPAN / 2.0)]
                };
                spans.iter().flat_map(corners).collect()
            }
            Self::Errors(points) => {
                let ends = |&((x, y), error): &(Point, f64)| {
                    let error = if error.is_finite() { error } else { 0.0 };
                    [(x, y), (x, y - error), (x, y + error)]
                };
                points.iter().flat_map(ends).collect()
            }
            Self::Arrows(arrows) => {
                arrows.iter().flat_map(|&((x, y), (u, v))| [(x, y), (x + u, y + v)]).collect()
            }
            Self::Cells(grid) | Self::Contours(grid, _) => boxed(&grid.x, &grid.y),
        }
    }

    /// Whether the axes end where the marks do.
    fn fills(&self) -> bool {
        matches!(self, Self::Cells(_) | Self::Contours(..))
    }

    /// Whether marks are wider than the points where they stand.
    fn are_wide(&self) -> bool {
        matches!(self, Self::Points(_) | Self::Errors(_) | Self::Arrows(_))
    }

    /// The grid whose values colours stand for.
    pub(super) fn grid(&self) -> Option<&Grid> {
        match self {
            Self::Cells(grid) | Self::Contours(grid, _) => Some(grid),
            _ => None,
        }
    }
}

impl Chart {
    /// What the axes must reach, of all layers.
    fn ends(&self) -> impl Iterator<Item = Point> {
        let takes = |side: &Side, x: f64| x.abs() <= LARGEST && (!side.is_log || x > 0.0);
        let ends = self.layers.iter().flat_map(|layer| layer.marks.ends());
        ends.filter(move |&(x, y)| takes(&self.x, x) && takes(&self.y, y))
    }

    /// Why nothing of it is seen, if nothing is.
    pub(crate) fn nothing(&self) -> Option<&'static str> {
        let is_empty = |layer: &Layer| match &layer.marks {
            Marks::Contours(grid, levels) => !grid.reaches(levels),
            _ => false,
        };
        if !self.layers.is_empty() && self.layers.iter().all(is_empty) {
            return Some("no level lies between two of the values");
        }
        let has_ends = self.layers.iter().any(|layer| !layer.marks.ends().is_empty());
        let is_log = self.x.is_log || self.y.is_log;
        let why = match (has_ends, is_log) {
            (false, _) => "there are no points",
            (true, false) => "no point is finite and of at most 1e308",
            (true, true) => {
                "no point is finite, of at most 1e308, and above 0, where an axis is logarithmic"
            }
        };
        self.ends().next().is_none().then_some(why)
    }

    /// Axes of about so many ticks.
    pub(super) fn axes(&self, n_x: usize, n_y: usize) -> (Axis, Axis) {
        let ends: Vec<Point> = self.ends().collect();
        let is_full = self.layers.iter().any(|layer| layer.marks.fills());
        let are_wide = self.layers.iter().any(|layer| layer.marks.are_wide());
        let axis = |side: &Side, of: fn(&Point) -> f64, n| {
            if !side.rows.is_empty() {
                return Axis::of_rows(&side.rows);
            }
            let data = range(ends.iter().map(of), side.is_log);
            match (&side.limits, is_full) {
                (Some(limits), _) => Axis::exactly(limits.clone(), side.is_log, n),
                (None, true) => Axis::exactly(data, side.is_log, n),
                (None, false) if are_wide && !side.is_log => {
                    let margin = (data.end / 2.0 - data.start / 2.0) * 0.05;
                    Axis::around(data.start - margin..data.end + margin, false, n)
                }
                (None, false) => Axis::around(data, side.is_log, n),
            }
        };
        (axis(&self.x, |point| point.0, n_x), axis(&self.y, |point| point.1, n_y))
    }

    /// Whether a legend says which layer is which.
    pub(super) fn has_legend(&self) -> bool {
        self.layers.iter().any(|layer| !layer.label.is_empty())
    }

    /// What the picture shows, in words.
    pub(super) fn description(&self) -> String {
        let (x, y) = self.axes(6, 6);
        let mut text: Vec<String> = Vec::new();
        for layer in &self.layers {
            let what = match &layer.marks {
                Marks::Line(points) => format!("a line of {} points", points.len()),
                Marks::Points(points) => format!("{} points", points.len()),
                Marks::Bars(bars, _) => format!("{} bars", bars.len()),
                Marks::Spans(spans) => format!("{} spans", spans.len()),
                Marks::Errors(points) => format!("{} points with errors", points.len()),
                Marks::Arrows(arrows) => format!("{} arrows", arrows.len()),
                Marks::Cells(grid) => format!("{} x {} cells", grid.columns, grid.rows),
                Marks::Contours(_, levels) => format!("contours at {} levels", levels.len()),
            };
            let label = &layer.label;
            text.push(if label.is_empty() { what } else { format!("{label}: {what}") });
        }
        let axis = |side: &Side, letter: &str, axis: &Axis| {
            let name = if side.label.is_empty() { letter } else { &side.label };
            if !side.rows.is_empty() {
                return format!("rows {}", side.rows.join(", "));
            }
            format!(
                "{name} from {} to {}",
                axis.whole(axis.ends().start),
                axis.whole(axis.ends().end)
            )
        };
        text.extend([axis(&self.x, "x", &x), axis(&self.y, "y", &y)]);
        text.join("; ")
    }
}

/// From the smallest to the largest, widened where there is nothing between them.
fn range(numbers: impl Iterator<Item = f64>, is_log: bool) -> Range<f64> {
    let (low, high) = numbers
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if low > high {
        return if is_log { 1.0..10.0 } else { 0.0..1.0 };
    }
    // Less than a few units in the last place is the error of what was computed.
    let least = (low.abs().max(high.abs()) * 1e-15).max(1e-290);
    if high - low >= least || is_log {
        return low..high;
    }
    let half = if low == 0.0 { 1.0 } else { (low.abs() / 2.0).max(least) };
    low - half..high + half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_numbers_have_a_place() {
        let of = |y: f64| Chart {
            layers: vec![Layer {
                label: String::new(),
                marks: Marks::Points(vec![(0.0, -y), (1.0, y)]),
            }],
            ..Chart::default()
        };
        let chart = of(1e308);
        let (_, y) = chart.axes(6, 6);
        assert_eq!(chart.nothing(), None);
        let parts = [-1e308, 0.0, 1e308].map(|x| y.part(x).unwrap());
        assert!(
            0.0 <= parts[0] && parts[0] < 0.1 && 0.9 < parts[2] && parts[2] <= 1.0,
            "{parts:?}"
        );
        assert!((parts[1] - 0.5).abs() < 1e-9, "{parts:?}");
        assert!(of(1.5e308).nothing().is_some());
    }

    #[test]
    fn contours_need_levels_between_values() {
        let grid = |values: &[f64]| Grid {
            columns: 2,
            rows: 2,
            values: values.to_vec(),
            x: 0.0..1.0,
            y: 0.0..1.0,
            colours: super::super::colours::Map::default(),
        };
        let of = |values: &[f64]| grid(values).reaches(&grid(values).levels(3));
        assert!(of(&[1.0, 2.0, 2.0, 1.0]));
        assert!(!of(&[7.0; 4]) && !of(&[f64::NAN; 4]));
        assert!(!grid(&[1.0, 2.0, 2.0, 1.0]).reaches(&[1.0, 5.0]));
        assert_eq!(grid(&[7.0; 4]).range(), 3.5..10.5);
    }

    #[test]
    fn ranges_have_a_width() {
        let linear = |numbers: &[f64]| range(numbers.iter().copied(), false);
        assert_eq!(linear(&[1.0, 3.0]), 1.0..3.0);
        assert_eq!(linear(&[0.0]), -1.0..1.0);
        assert_eq!(linear(&[4.0, 4.0]), 2.0..6.0);
        assert_eq!(linear(&[]), 0.0..1.0);
        assert_eq!(linear(&[1e15, 1e15 + 2.0]), 1e15..1e15 + 2.0);
        let tight = linear(&[1e9, 1e9_f64.next_up()]);
        assert!(tight.end - tight.start > 1.0);
    }
}
