//! Charts: lines, points and bars between two axes, drawn with plotters on whatever it can draw on.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::{
    BLACK, ChartBuilder, Circle, Color as _, DrawingArea, DrawingBackend, LineSeries, RGBColor,
    Rectangle, WHITE,
};
use porcini_core::value::show::number;
use porcini_core::{DType, Scalar};

/// Colours of one series after the other.
const COLOURS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 90, 20),
    RGBColor(44, 130, 44),
    RGBColor(190, 40, 45),
    RGBColor(120, 80, 170),
    RGBColor(110, 80, 70),
];
/// Numbers beyond this have no place on an axis.
const LARGEST: f64 = 1e300;
/// Significant digits of labels.
const DIGITS: usize = 7;

/// How the points of a chart are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Joined by lines.
    Lines,
    /// Each by itself.
    Points,
    /// As heights of bars, which stand side by side.
    Bars,
}

/// Series of points; those that are not finite leave gaps.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) shape: Shape,
    pub(crate) title: String,
    pub(crate) series: Vec<Vec<(f64, f64)>>,
}

/// Sizes for one kind of output, in its pixels.
pub(super) struct Look {
    margin: u32,
    /// Height of the labels below, and width of a character of those at the left.
    label: u32,
    character: u32,
    /// Pixels between two labels.
    apart: (u32, u32),
    font: u32,
    grid: bool,
    /// Width of axes and of the grid, and of curves.
    line: u32,
    stroke: u32,
    /// Length of ticks; without it plotters measures them by the area.
    tick: Option<u32>,
    /// Of points.
    radius: u32,
}

impl Look {
    /// Cells of a window.
    pub(super) const TEXT: Self = Self {
        margin: 2,
        label: 8,
        character: 2,
        apart: (24, 16),
        font: 4,
        grid: false,
        line: 1,
        stroke: 1,
        tick: None,
        radius: 0,
    };
    /// A document.
    pub(super) const PAGE: Self = Self {
        margin: 14,
        label: 30,
        character: 8,
        apart: (90, 50),
        font: 14,
        grid: true,
        line: 1,
        stroke: 2,
        tick: Some(5),
        radius: 2,
    };

    /// The same on an area that is so many times as wide and as high.
    pub(super) fn enlarged(self, times: u32) -> Self {
        Self {
            margin: self.margin * times,
            label: self.label * times,
            character: self.character * times,
            apart: (self.apart.0 * times, self.apart.1 * times),
            font: self.font * times,
            grid: self.grid,
            line: self.line * times,
            stroke: self.stroke * times,
            tick: self.tick.map(|tick| tick * times),
            radius: self.radius * times,
        }
    }
}

impl Chart {
    /// Whether there is anything to draw.
    pub(crate) fn is_blank(&self) -> bool {
        self.points().next().is_none()
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.series.iter().flatten().copied().filter(is_drawn)
    }

    fn ranges(&self) -> (Range<f64>, Range<f64>) {
        let x = range(self.points().map(|(x, _)| x));
        let base = (self.shape == Shape::Bars).then_some(0.0);
        let y = range(self.points().map(|(_, y)| y).chain(base));
        let width = match self.shape {
            Shape::Bars => self.bar(),
            Shape::Lines | Shape::Points => 0.0,
        };
        (x.start..x.end + width, y)
    }

    /// Width of a bar.
    fn bar(&self) -> f64 {
        match self.series.first().map(Vec::as_slice) {
            Some([(first, _), (second, _), ..]) => second - first,
            _ => 1.0,
        }
    }
}

fn is_drawn(&(x, y): &(f64, f64)) -> bool {
    x.abs() <= LARGEST && y.abs() <= LARGEST
}

/// From the smallest to the largest, widened where there is nothing between them.
fn range(numbers: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = numbers
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let least = (low.abs().max(high.abs()) * 1e-9).max(1e-290);
    if high - low >= least {
        return low..high;
    }
    let half = if low == 0.0 { 1.0 } else { (low.abs() / 2.0).max(least) };
    low - half..high + half
}

/// An axis with ticks of ours: those of plotters may never end where floats are sparse.
struct Axis {
    range: Range<f64>,
    ticks: Vec<f64>,
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        // Halved, so that the difference of the largest floats is finite.
        let (low, high) = (self.range.start / 2.0, self.range.end / 2.0);
        let part = ((value / 2.0 - low) / (high - low)).clamp(-1.0, 2.0);
        #[expect(clippy::cast_possible_truncation, reason = "pixels")]
        {
            (f64::from(first) + part * f64::from(last - first)).round() as i32
        }
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        label(*value)
    }
}

/// Draws a chart.
pub(super) fn draw<B: DrawingBackend>(
    chart: &Chart,
    area: DrawingArea<B, Shift>,
    look: &Look,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    area.fill(&WHITE)?;
    let (x, y) = chart.ranges();
    let (width, height) = area.dim_in_pixel();
    let ticks_y = ticks(&y, height / look.apart.1);
    let labels: Vec<String> = ticks_y.iter().map(|&y| label(y)).collect();
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let left = (u32::try_from(longest).unwrap_or(8) + 2) * look.character;
    let ticks_x = ticks(&x, width.saturating_sub(left) / look.apart.0);
    let mut builder = ChartBuilder::on(&area);
    builder.margin(look.margin).x_label_area_size(look.label).y_label_area_size(left);
    // Half a label hangs over the right end.
    builder.margin_right(look.margin + 3 * look.character);
    if !chart.title.is_empty() {
        builder.caption(&chart.title, ("sans-serif", look.font));
    }
    let (x, y) = (Axis { range: x, ticks: ticks_x }, Axis { range: y, ticks: ticks_y });
    let mut context = builder.build_cartesian_2d(x, y)?;
    let mut mesh = context.configure_mesh();
    mesh.label_style(("sans-serif", look.font)).axis_style(BLACK.stroke_width(look.line));
    let grid = BLACK.mix(0.12).stroke_width(look.line);
    mesh.light_line_style(WHITE.mix(0.0)).bold_line_style(grid);
    if let Some(tick) = look.tick {
        mesh.set_all_tick_mark_size(tick);
    }
    if !look.grid {
        mesh.disable_mesh();
    }
    mesh.draw()?;
    for (series, colour) in chart.series.iter().zip(COLOURS.iter().cycle()) {
        match chart.shape {
            Shape::Lines => {
                for part in series.split(|point| !is_drawn(point)).filter(|part| !part.is_empty()) {
                    let style = colour.stroke_width(look.stroke);
                    if let [alone] = part {
                        let point = Circle::new(*alone, look.stroke, colour.filled());
                        context.draw_series([point])?;
                    }
                    context.draw_series(LineSeries::new(part.iter().copied(), style))?;
                }
            }
            Shape::Points => {
                let points = series.iter().copied().filter(is_drawn);
                let point = |at| Circle::new(at, look.radius, colour.filled());
                context.draw_series(points.map(point))?;
            }
            Shape::Bars => {
                let bar = chart.bar();
                let bars = series.iter().copied().filter(is_drawn);
                let rectangle = |(x, y): (f64, f64)| {
                    let mut rectangle = Rectangle::new([(x, 0.0), (x + bar, y)], colour.filled());
                    rectangle.set_margin(0, 0, 0, if look.grid { look.line } else { 0 });
                    rectangle
                };
                context.draw_series(bars.map(rectangle))?;
            }
        }
    }
    drop(context);
    area.present()
}

/// About `n` round numbers in a range: 1, 2 or 5 times a power of ten apart.
fn ticks(range: &Range<f64>, n: u32) -> Vec<f64> {
    let rough = (range.end - range.start) / f64::from(n.clamp(2, 12));
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = steps.iter().map(|step| step * power).find(|&step| step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    let first = (range.start / step - 1e-9).ceil();
    let last = (range.end / step + 1e-9).floor();
    let mut ticks = Vec::new();
    let mut at = first;
    // A range of a few steps: the loop is short.
    while at <= last && ticks.len() < 50 {
        ticks.push(at * step);
        at += 1.0;
    }
    ticks
}

fn label(x: f64) -> String {
    number(Scalar::Float(if x.abs() < 1e-280 { 0.0 } else { x }), DType::F64, DIGITS.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(&(0.0..1.0), 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(&(-3.0..17.0), 4), [0.0, 5.0, 10.0, 15.0]);
        assert_eq!(ticks(&(1e9..1e9 + 10.0), 2), [1e9, 1e9 + 5.0, 1e9 + 10.0]);
        for range in [-1e300..1e300, 0.0..1e-289, 1e15..1e15 + 1e7] {
            let n = ticks(&range, 6).len();
            assert!((2..=50).contains(&n), "{range:?}: {n}");
        }
    }

    #[test]
    fn ranges_have_a_width() {
        assert_eq!(range([1.0, 3.0].into_iter()), 1.0..3.0);
        assert_eq!(range([0.0].into_iter()), -1.0..1.0);
        assert_eq!(range([4.0, 4.0].into_iter()), 2.0..6.0);
        let tight = range([1e9, 1e9 + 1e-3].into_iter());
        assert!(tight.end - tight.start > 1.0);
    }
}
