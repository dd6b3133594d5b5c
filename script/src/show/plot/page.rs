//! Charts on a page: a frame with ticks and labels, a legend where there is room, a scale of colours.

use super::axis::Axis;
use super::chart::{Chart, Layer, Marks};
use super::colours::{INK, PAPER, Rgb};
use super::font::Font;
use super::marks::{Plane, Sizes, colour, draw};
use super::raster::Raster;
use super::surface::{Anchor, Area, Lettering, Pen, Spot, Surface};
use crate::fault::Result;

/// Size of a page.
pub(super) const SIZE: (u32, u32) = (720, 440);
const WIDTH: f64 = SIZE.0 as f64;
const HEIGHT: f64 = SIZE.1 as f64;
const LETTERS: f64 = 13.0;
const TITLE: f64 = 15.0;
const MARGIN: f64 = 12.0;
const TICK: f64 = 4.0;
/// Between ticks and their labels, and between other things.
const GAP: f64 = 5.0;
/// About so far stand ticks from each other.
const APART: (f64, f64) = (95.0, 55.0);
const GRID: Rgb = [225; 3];
/// Width of a scale of colours.
const SCALE: f64 = 18.0;
/// Steps of colours that it has.
const SHADES: usize = 256;

/// Draws a chart on a page of which a pixel has `times` pixels of the surface.
pub(super) fn paint(chart: &Chart, surface: &mut impl Surface, times: f64) -> Result<()> {
    let page = Page { chart, font: Font::new(), times };
    let (width, height) = (WIDTH * times, HEIGHT * times);
    let paper = Area { left: 0.0, top: 0.0, right: width, bottom: height };
    surface.fill(&paper.corners(), PAPER, 1.0);
    let plane = page.plane();
    page.grid(&plane, surface);
    let [line, radius, gap] = [1.5 * times, 2.5 * times, times];
    let sizes = Sizes { line, radius, cap: page.cap() * times, gap, has_dashes: false };
    draw(chart, &plane, surface, sizes)?;
    page.frame(&plane, surface);
    page.scale(&plane, surface)?;
    page.legend(&plane, surface, sizes);
    Ok(())
}

struct Page<'c> {
    chart: &'c Chart,
    font: Font,
    times: f64,
}

impl Page<'_> {
    /// Heads of arrows are longer than ends of errors.
    fn cap(&self) -> f64 {
        let arrows = self.chart.layers.iter().any(|layer| matches!(layer.marks, Marks::Arrows(_)));
        if arrows { 7.0 } else { 3.5 }
    }

    fn ink(&self) -> Pen {
        Pen { colour: INK, width: 0.8 * self.times, dashes: 0 }
    }

    fn lettering(&self, anchor: Anchor) -> Lettering {
        Lettering { size: LETTERS * self.times, anchor, is_vertical: false }
    }

    /// The widest label of an axis.
    fn widest(&self, axis: &Axis) -> f64 {
        let widths = axis.ticks().iter().map(|&x| self.font.width(&axis.label(x), LETTERS));
        widths.fold(0.0, f64::max)
    }

    /// The scale of colours, if there is one.
    fn scale_axis(&self) -> Option<(Axis, super::colours::Map)> {
        let grid = self.chart.layers.iter().find_map(|layer| layer.marks.grid())?;
        Some((Axis::in_full(grid.range(), 6), grid.colours))
    }

    /// Where the axes lie.
    fn plane(&self) -> Plane {
        let chart = self.chart;
        let top = MARGIN + if chart.title.is_empty() { 0.0 } else { TITLE + 2.0 * GAP };
        let below = |label: &str| if label.is_empty() { 0.0 } else { LETTERS + 2.0 * GAP };
        // What labels leave out does not depend on the number of ticks.
        let (x, y) = chart.axes(2, 2);
        let (x_name, y_name) = (chart.x.name(&x), chart.y.name(&y));
        let bottom = HEIGHT - MARGIN - below(&x_name) - LETTERS - TICK - GAP;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few ticks")]
        let n = |length: f64, apart: f64| (length / apart).max(2.0) as usize;
        let (_, y) = chart.axes(2, n(bottom - top, APART.1));
        let left = MARGIN + below(&y_name) + self.widest(&y) + GAP + TICK;
        let scale = self.scale_axis();
        let scale = scale.map(|(axis, _)| self.widest(&axis) + SCALE + 5.0 * GAP + TICK);
        let (x, y) = chart.axes(n(WIDTH - left - MARGIN, APART.0), n(bottom - top, APART.1));
        // Half a label hangs over the right end.
        let hangs = x
            .ticks()
            .last()
            .map_or(0.0, |&x_last| self.font.width(&x.label(x_last), LETTERS) / 2.0);
        let right = WIDTH - MARGIN - scale.unwrap_or(hangs);
        let times = self.times;
        let [left, top, right, bottom] = [left, top, right, bottom].map(|x| x.round() * times);
        Plane { area: Area { left, top, right, bottom }, x, y }
    }

    /// Where the ticks of both axes are.
    fn ticks(plane: &Plane) -> [Vec<(f64, String)>; 2] {
        let Area { left, bottom, .. } = plane.area;
        let (width, height) = (plane.area.width(), plane.area.height());
        let of = |axis: &Axis, start: f64, length: f64| {
            let place = |&x: &f64| Some((start + axis.part(x)? * length, axis.label(x)));
            axis.ticks().iter().filter_map(place).collect()
        };
        [of(&plane.x, left, width), of(&plane.y, bottom, -height)]
    }

    fn grid(&self, plane: &Plane, surface: &mut impl Surface) {
        let covered = self.chart.layers.iter().any(|layer| matches!(layer.marks, Marks::Cells(_)));
        if !self.chart.grid.unwrap_or(!covered) {
            return;
        }
        let pen = Pen { colour: GRID, ..self.ink() };
        let Area { left, top, right, bottom } = plane.area;
        let [x, y] = Self::ticks(plane);
        x.iter().for_each(|(x, _)| surface.line(&[(*x, top), (*x, bottom)], pen));
        y.iter().for_each(|(y, _)| surface.line(&[(left, *y), (right, *y)], pen));
    }

    /// The frame with ticks, their labels, the names of the axes and the title.
    fn frame(&self, plane: &Plane, surface: &mut impl Surface) {
        let (chart, times) = (self.chart, self.times);
        let Area { left, top, right, bottom } = plane.area;
        outline(plane.area, self.ink(), surface);
        let [x, y] = Self::ticks(plane);
        let (tick, gap) = (TICK * times, GAP * times);
        let middle = bottom + tick + gap + LETTERS * times / 2.0;
        for (x, label) in x {
            surface.line(&[(x, bottom), (x, bottom + tick)], self.ink());
            surface.text((x, middle), &label, self.lettering(Anchor::Middle));
        }
        for (y, label) in y {
            surface.line(&[(left - tick, y), (left, y)], self.ink());
            surface.text((left - tick - gap, y), &label, self.lettering(Anchor::End));
        }
        let (x_name, y_name) = (chart.x.name(&plane.x), chart.y.name(&plane.y));
        let y = middle + (LETTERS + 2.0 * GAP) * times;
        self.centred((f64::midpoint(left, right), y), &x_name, LETTERS, surface);
        if !y_name.is_empty() {
            let lettering = Lettering { is_vertical: true, ..self.lettering(Anchor::Middle) };
            let place = (MARGIN * times + LETTERS * times / 2.0, f64::midpoint(top, bottom));
            let room = 2.0 * (place.1 / times - MARGIN);
            surface.text(place, &self.font.fitted(&y_name, LETTERS, room), lettering);
        }
        let y = top - GAP * times * 2.0 - TITLE * times / 2.0 + GAP * times;
        self.centred((f64::midpoint(left, right), y), &chart.title, TITLE, surface);
    }

    /// A line of text around a place, but on the page.
    fn centred(&self, (x, y): Spot, text: &str, size: f64, surface: &mut impl Surface) {
        if text.is_empty() {
            return;
        }
        let text = self.font.fitted(text, size, WIDTH - 2.0 * MARGIN);
        let far = MARGIN + self.font.width(&text, size) / 2.0;
        let x = x.clamp(far * self.times, (WIDTH - far).max(far) * self.times);
        let size = size * self.times;
        surface.text((x, y), &text, Lettering { size, ..self.lettering(Anchor::Middle) });
    }

    /// The scale of colours at the right.
    fn scale(&self, plane: &Plane, surface: &mut impl Surface) -> Result<()> {
        let Some((axis, colours)) = self.scale_axis() else { return Ok(()) };
        let times = self.times;
        let left = plane.area.right + 3.0 * GAP * times;
        let area = Area { left, right: left + SCALE * times, ..plane.area };
        #[expect(clippy::cast_precision_loss, reason = "few shades")]
        let shade = |i: usize| colours.colour(1.0 - i as f64 / (SHADES - 1) as f64);
        let pixels = (0..SHADES).map(shade).collect();
        surface.image(area, &Raster { width: 1, height: SHADES, pixels })?;
        outline(area, self.ink(), surface);
        for &x in axis.ticks() {
            let Some(part) = axis.part(x) else { continue };
            let y = area.bottom - part * area.height();
            surface.line(&[(area.right, y), (area.right + TICK * times, y)], self.ink());
            let place = (area.right + (TICK + GAP) * times, y);
            surface.text(place, &axis.label(x), self.lettering(Anchor::Start));
        }
        Ok(())
    }

    /// The legend in the corner where it hides least.
    fn legend(&self, plane: &Plane, surface: &mut impl Surface, sizes: Sizes) {
        if !self.chart.has_legend() {
            return;
        }
        let times = self.times;
        let (sample, row) = (24.0, LETTERS + GAP);
        let named = |(_, layer): &(usize, &Layer)| !layer.label.is_empty();
        let room = plane.area.width() / times / 2.0 - sample;
        let layers = self.chart.layers.iter().enumerate().filter(named);
        let entries = layers.map(|(i, layer)| {
            (Some((i, &layer.marks)), self.font.fitted(&layer.label, LETTERS, room))
        });
        let mut entries: Vec<(Option<(usize, &Marks)>, String)> = entries.collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few rows")]
        let most = ((plane.area.height() / times - 6.0 * GAP) / row).max(1.0) as usize;
        if entries.len() > most {
            let more = format!(".. {} more", entries.len() + 1 - most);
            entries.truncate(most - 1);
            entries.push((None, more));
        }
        let widths = entries.iter().map(|(_, label)| self.font.width(label, LETTERS));
        let width = (widths.fold(0.0, f64::max) + sample + 4.0 * GAP) * times;
        #[expect(clippy::cast_precision_loss, reason = "few layers")]
        let height = (row * entries.len() as f64 + 1.5 * GAP) * times;
        let place = self.roomiest(plane, width, height);
        surface.fill(&place.corners(), PAPER, 0.85);
        outline(place, Pen { colour: [200; 3], ..self.ink() }, surface);
        for (row_number, (layer, label)) in (0_u32..).zip(entries) {
            let y = place.top + (GAP * 0.75 + row * (f64::from(row_number) + 0.5)) * times;
            let start = place.left + GAP * times;
            let end = start + sample * times;
            if let Some((i, marks)) = layer {
                self.sample(marks, colour(i), [start, end, y], surface, sizes);
            }
            let at = (end + GAP * times, y);
            surface.text(at, &label, self.lettering(Anchor::Start));
        }
    }

    /// How the marks of a layer look, from a start to an end.
    fn sample(
        &self,
        marks: &Marks,
        colour: Rgb,
        [start, end, y]: [f64; 3],
        surface: &mut impl Surface,
        sizes: Sizes,
    ) {
        let (middle, pixel) = ((f64::midpoint(start, end), y), self.times);
        let pen = Pen { colour, width: sizes.line, dashes: 0 };
        match marks {
            Marks::Points(_) => surface.circle(middle, sizes.radius, colour),
            Marks::Bars(..) | Marks::Spans(_) => {
                let half = 4.0 * pixel;
                let bar = Area { left: start, right: end, top: y - half, bottom: y + half };
                surface.fill(&bar.corners(), colour, 1.0);
            }
            Marks::Errors(_) => {
                let half = 6.0 * pixel;
                surface.line(&[(middle.0, y - half), (middle.0, y + half)], pen);
                surface.circle(middle, sizes.radius, colour);
            }
            _ => surface.line(&[(start, y), (end, y)], pen),
        }
    }

    /// Of the corners the one with the fewest points behind it.
    fn roomiest(&self, plane: &Plane, width: f64, height: f64) -> Area {
        let gap = 2.0 * GAP * self.times;
        let Area { left, top, right, bottom } = plane.area;
        let places =
            [(right - gap - width, top + gap), (left + gap, top + gap)].into_iter().chain([
                (left + gap, bottom - gap - height),
                (right - gap - width, bottom - gap - height),
            ]);
        let area =
            |(left, top): Spot| Area { left, top, right: left + width, bottom: top + height };
        let layers = self.chart.layers.iter();
        let lines = layers.flat_map(|layer| {
            let spots: Vec<Spot> =
                layer.marks.ends().into_iter().filter_map(|point| plane.spot(point)).collect();
            let are_joined =
                matches!(layer.marks, Marks::Line(_) | Marks::Bars(..) | Marks::Spans(_));
            let joined = usize::from(are_joined);
            let ends = spots.iter().zip(spots.iter().skip(joined));
            ends.map(|(&start, &end)| (start, end)).collect::<Vec<_>>()
        });
        let lines: Vec<(Spot, Spot)> = lines.collect();
        let hidden = |area: &Area| {
            lines.iter().filter(|(start, end)| area.cut(*start, *end).is_some()).count()
        };
        places.map(area).min_by_key(hidden).unwrap_or(plane.area)
    }
}

fn outline(area: Area, pen: Pen, surface: &mut impl Surface) {
    let [a, b, c, d] = area.corners();
    surface.line(&[a, b, c, d, a, b], pen);
}
