//! Draws the marks of layers between two axes.

use super::axis::Axis;
use super::chart::{Chart, Grid, Marks, Point, SPAN};
use super::colours::{LAYERS, Rgb, part};
use super::raster::Raster;
use super::surface::{Area, Pen, Spot, Surface};
use crate::fault::{Result, check_interrupt};

/// Two axes in an area.
pub(super) struct Plane {
    pub(super) area: Area,
    pub(super) x: Axis,
    pub(super) y: Axis,
}

/// Sizes of marks, in pixels.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) line: f64,
    pub(super) radius: f64,
    /// Half the width of the ends of errors, and the length of the heads of arrows.
    pub(super) cap: f64,
    /// Between bars.
    pub(super) gap: f64,
    /// Whether dashes tell lines apart.
    pub(super) has_dashes: bool,
}

impl Plane {
    /// Where a point stands; `None` if it has no place.
    pub(super) fn spot(&self, (x, y): Point) -> Option<Spot> {
        let place = |part: f64, start: f64, length: f64| start + part.clamp(-1e6, 1e6) * length;
        let x = place(self.x.part(x)?, self.area.left, self.area.width());
        let y = place(self.y.part(y)?, self.area.bottom, -self.area.height());
        Some((x, y))
    }

    /// A rectangle between two points, as far as it lies inside.
    fn rectangle(&self, a: Point, b: Point) -> Option<Area> {
        let ((x0, y0), (x1, y1)) = (self.spot(a)?, self.spot(b)?);
        let area = self.area;
        let x = |x: f64| x.clamp(area.left, area.right);
        let y = |y: f64| y.clamp(area.top, area.bottom);
        let cut = Area {
            left: x(x0.min(x1)),
            top: y(y0.min(y1)),
            right: x(x0.max(x1)),
            bottom: y(y0.max(y1)),
        };
        (cut.width() > 0.0).then_some(cut)
    }
}

/// The colour of a layer.
pub(super) fn colour(layer: usize) -> Rgb {
    LAYERS[layer % LAYERS.len()]
}

/// Draws all layers.
pub(super) fn draw(
    chart: &Chart,
    plane: &Plane,
    surface: &mut impl Surface,
    sizes: Sizes,
) -> Result<()> {
    for (i, layer) in chart.layers.iter().enumerate() {
        check_interrupt()?;
        let dashes = if sizes.has_dashes { i } else { 0 };
        let pen = Pen { colour: colour(i), width: sizes.line, dashes };
        match &layer.marks {
            Marks::Line(points) => line(points, plane, surface, pen, sizes.radius),
            Marks::Points(points) => {
                let spots = points.iter().filter_map(|&point| plane.spot(point));
                for spot in spots.filter(|&spot| plane.area.has(spot)) {
                    surface.circle(spot, sizes.radius, pen.colour);
                }
            }
            Marks::Bars(bars, width) => {
                for &(x, y) in bars {
                    // A bar of a logarithmic axis stands on its lower end.
                    let base = if plane.y.part(0.0).is_some() { 0.0 } else { plane.y.ends().start };
                    if let Some(mut bar) = plane.rectangle((x, base), (x + width, y)) {
                        if bar.width() > 4.0 * sizes.gap {
                            bar.right -= sizes.gap;
                        }
                        surface.fill(&bar.corners(), pen.colour, 1.0);
                    }
                }
            }
            Marks::Spans(spans) => {
                for &((x, y), length) in spans {
                    let ends = ((x, y - SPAN / 2.0), (x + length, y + SPAN / 2.0));
                    if let Some(mut span) = plane.rectangle(ends.0, ends.1) {
                        span.right = span.right.max(span.left + sizes.line);
                        surface.fill(&span.corners(), pen.colour, 1.0);
                    }
                }
            }
            Marks::Errors(points) => errors(points, plane, surface, pen, sizes),
            Marks::Arrows(arrows) => {
                for &((x, y), (u, v)) in arrows {
                    let ends = plane.spot((x, y)).zip(plane.spot((x + u, y + v)));
                    if let Some((start, end)) = ends {
                        arrow(start, end, plane.area, surface, pen, sizes.cap);
                    }
                }
            }
            Marks::Cells(grid) => {
                let corners = ((grid.x.start, grid.y.start), (grid.x.end, grid.y.end));
                if let Some(area) = plane.rectangle(corners.0, corners.1) {
                    surface.image(area, &cells(grid))?;
                }
            }
            Marks::Contours(grid, levels) => contours(grid, levels, plane, surface, pen)?,
        }
    }
    Ok(())
}

/// Lines; a point alone is one of its own.
fn line(points: &[Point], plane: &Plane, surface: &mut impl Surface, pen: Pen, radius: f64) {
    let spots: Vec<Option<Spot>> = points.iter().map(|&point| plane.spot(point)).collect();
    for run in spots.split(Option::is_none) {
        let run: Vec<Spot> = run.iter().flatten().copied().collect();
        if let [alone] = run[..] {
            if plane.area.has(alone) {
                surface.circle(alone, radius, pen.colour);
            }
            continue;
        }
        let mut inside: Vec<Spot> = Vec::new();
        for ends in run.windows(2) {
            let Some((start, end)) = plane.area.cut(ends[0], ends[1]) else { continue };
            if inside.last() != Some(&start) {
                surface.line(&inside, pen);
                inside = vec![start];
            }
            inside.push(end);
        }
        surface.line(&inside, pen);
    }
}

fn errors(
    points: &[(Point, f64)],
    plane: &Plane,
    surface: &mut impl Surface,
    pen: Pen,
    sizes: Sizes,
) {
    let pen = Pen { dashes: 0, ..pen };
    for &((x, y), error) in points {
        let Some(spot) = plane.spot((x, y)) else { continue };
        for end in [y - error, y + error] {
            // What a logarithmic axis has no place for lies below its end.
            let end = plane.spot((x, end)).or(Some((spot.0, plane.area.bottom)));
            let Some(end) = end.filter(|_| error.is_finite()) else { continue };
            if let Some((from, to)) = plane.area.cut(spot, end) {
                surface.line(&[from, to], pen);
            }
            if plane.area.has(end) {
                surface.line(&[(end.0 - sizes.cap, end.1), (end.0 + sizes.cap, end.1)], pen);
            }
        }
        if plane.area.has(spot) {
            surface.circle(spot, sizes.radius, pen.colour);
        }
    }
}

fn arrow(start: Spot, end: Spot, area: Area, surface: &mut impl Surface, pen: Pen, head: f64) {
    let pen = Pen { dashes: 0, ..pen };
    let Some((from, to)) = area.cut(start, end) else { return };
    let (x, y) = (end.0 - start.0, end.1 - start.1);
    let length = x.hypot(y);
    surface.line(&[from, to], pen);
    if length == 0.0 || to != end {
        return;
    }
    let (x, y) = (x / length, y / length);
    let head = head.min(length * 0.6);
    let back =
        |side: f64| (end.0 - head * (x + side * y * 0.45), end.1 - head * (y - side * x * 0.45));
    surface.fill(&[end, back(1.0), back(-1.0)], pen.colour, 1.0);
}

/// The cells of a grid as pixels, the highest row first.
fn cells(grid: &Grid) -> Raster {
    let range = grid.range();
    let rows = (0..grid.rows).rev().flat_map(|row| (0..grid.columns).map(move |x| (x, row)));
    let pixels = rows.map(|(x, y)| grid.colours.colour(part(grid.at(x, y), &range))).collect();
    Raster { width: grid.columns, height: grid.rows, pixels }
}

/// Lines of equal values: in each square of four neighbours, straight ones between its sides.
fn contours(
    grid: &Grid,
    levels: &[f64],
    plane: &Plane,
    surface: &mut impl Surface,
    pen: Pen,
) -> Result<()> {
    let range = grid.range();
    let place = |i: f64, n: usize, ends: &std::ops::Range<f64>| {
        #[expect(clippy::cast_precision_loss, reason = "few cells")]
        let part = if n > 1 { i / (n - 1) as f64 } else { 0.5 };
        ends.start + (ends.end - ends.start) * part
    };
    for &level in levels {
        check_interrupt()?;
        let pen = Pen { colour: grid.colours.colour(part(level, &range)), dashes: 0, ..pen };
        for row in 1..grid.rows {
            for column in 1..grid.columns {
                #[expect(clippy::cast_precision_loss, reason = "few cells")]
                let (x, y) = ((column - 1) as f64, (row - 1) as f64);
                // Corners in a circle, and the places where the line crosses the sides between them.
                let corners = [(0, 0), (1, 0), (1, 1), (0, 1)].map(|(i, j): (u8, u8)| {
                    let value = grid.at(column - 1 + usize::from(i), row - 1 + usize::from(j));
                    (x + f64::from(i), y + f64::from(j), value)
                });
                if corners.iter().any(|corner| !corner.2.is_finite()) {
                    continue;
                }
                let mut crossings = [None; 4];
                for i in 0..4 {
                    let ((x0, y0, a), (x1, y1, b)) = (corners[i], corners[(i + 1) % 4]);
                    if (a < level) != (b < level) {
                        let part = (level / 2.0 - a / 2.0) / (b / 2.0 - a / 2.0);
                        let at = (x0 + (x1 - x0) * part, y0 + (y1 - y0) * part);
                        crossings[i] = plane.spot((
                            place(at.0, grid.columns, &grid.x),
                            place(at.1, grid.rows, &grid.y),
                        ));
                    }
                }
                let mut spots: Vec<Spot> = crossings.into_iter().flatten().collect();
                // A saddle: which corners are joined, the mean in the middle says.
                let mean = corners.iter().map(|corner| corner.2 / 4.0).sum::<f64>();
                if spots.len() == 4 && (mean < level) != (corners[0].2 < level) {
                    spots.rotate_left(1);
                }
                for pair in spots.chunks_exact(2) {
                    if let Some((start, end)) = plane.area.cut(pair[0], pair[1]) {
                        surface.line(&[start, end], pen);
                    }
                }
            }
        }
    }
    Ok(())
}
