//! Charts as pixels, drawn with tiny-skia.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};

use super::colours::{INK, Rgb};
use super::font::{Font, narrow};
use super::raster::Raster;
use super::surface::{Anchor, Area, Lettering, Pen, Spot, Surface};
use crate::fault::{Result, check_interrupt, fault};

/// Lengths of dashes and of gaps between them, times the width of a line.
const DASHES: [&[f32]; 3] = [&[5.0, 3.0], &[1.0, 2.0], &[6.0, 2.0, 1.0, 2.0]];

/// Pixels that marks are drawn on; nothing is there at first.
pub(super) struct Canvas {
    pixels: Pixmap,
    font: Font,
    /// Whether edges are smooth.
    is_smooth: bool,
    /// Where images lie.
    pub(super) images: Vec<Area>,
    /// Large points of dots, which have letters of their own.
    pub(super) points: Vec<(Spot, Rgb)>,
}

impl Canvas {
    /// A canvas of so many pixels.
    pub(super) fn new(width: u32, height: u32, is_smooth: bool) -> Result<Self> {
        let pixels = Pixmap::new(width, height).ok_or_else(|| fault("no memory for a picture"))?;
        Ok(Self { pixels, font: Font::new(), is_smooth, images: Vec::new(), points: Vec::new() })
    }

    /// Fills it.
    pub(super) fn clear(&mut self, [red, green, blue]: Rgb) {
        self.pixels.fill(Color::from_rgba8(red, green, blue, u8::MAX));
    }

    /// The colour of a pixel, if anything was drawn there.
    pub(super) fn colour(&self, x: usize, y: usize) -> Option<Rgb> {
        let pixel = self.pixels.pixels().get(y * self.pixels.width() as usize + x)?.demultiply();
        (pixel.alpha() > 127).then(|| [pixel.red(), pixel.green(), pixel.blue()])
    }

    /// The pixels.
    pub(super) fn raster(&self) -> Raster {
        let pixels = self.pixels.pixels().iter();
        Raster {
            width: self.pixels.width() as usize,
            height: self.pixels.height() as usize,
            pixels: pixels.map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect(),
        }
    }

    fn paint(&self, [red, green, blue]: Rgb, opacity: f64) -> Paint<'static> {
        let mut paint = Paint::default();
        paint.set_color_rgba8(red, green, blue, u8::MAX);
        paint.shader.apply_opacity(narrow(opacity));
        paint.anti_alias = self.is_smooth;
        paint
    }

    fn fill_path(&mut self, path: &Path, paint: &Paint<'_>, place: Transform) {
        self.pixels.fill_path(path, paint, FillRule::Winding, place, None);
    }
}

fn path_of(spots: &[Spot], is_closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    let (first, rest) = spots.split_first()?;
    path.move_to(narrow(first.0), narrow(first.1));
    rest.iter().for_each(|spot| path.line_to(narrow(spot.0), narrow(spot.1)));
    if is_closed {
        path.close();
    }
    path.finish()
}

impl Surface for Canvas {
    fn line(&mut self, spots: &[Spot], pen: Pen) {
        let Some(path) = path_of(spots, false) else { return };
        let dashes = pen.dashes.checked_sub(1).map(|i| DASHES[i % DASHES.len()]);
        let width = narrow(pen.width);
        let dash = dashes.and_then(|dashes| {
            StrokeDash::new(dashes.iter().map(|length| length * width).collect(), 0.0)
        });
        let (line_cap, line_join) = (LineCap::Butt, LineJoin::Round);
        let stroke = Stroke { width, line_cap, line_join, dash, ..Stroke::default() };
        let paint = self.paint(pen.colour, 1.0);
        self.pixels.stroke_path(&path, &paint, &stroke, Transform::identity(), None);
    }

    fn fill(&mut self, spots: &[Spot], colour: Rgb, opacity: f64) {
        if let Some(path) = path_of(spots, true) {
            let paint = self.paint(colour, opacity);
            self.fill_path(&path, &paint, Transform::identity());
        }
    }

    fn circle(&mut self, (x, y): Spot, radius: f64, colour: Rgb) {
        if !self.is_smooth {
            let (left, top) = (narrow(x.floor()), narrow(y.floor()));
            if radius >= 1.0 {
                self.points.push(((x, y), colour));
            } else if let Some(dot) = Rect::from_xywh(left, top, 1.0, 1.0) {
                let paint = self.paint(colour, 1.0);
                self.pixels.fill_rect(dot, &paint, Transform::identity(), None);
            }
            return;
        }
        let circle = PathBuilder::from_circle(narrow(x), narrow(y), narrow(radius));
        if let Some(path) = circle {
            let paint = self.paint(colour, 1.0);
            self.fill_path(&path, &paint, Transform::identity());
        }
    }

    fn text(&mut self, (x, y): Spot, text: &str, lettering: Lettering) {
        let Some(path) = self.font.outline(text, lettering.size) else { return };
        let width = self.font.width(text, lettering.size);
        let back = match lettering.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        // Half the height of a capital.
        let below = lettering.size * 0.36;
        let place = if lettering.is_vertical {
            Transform::from_row(0.0, -1.0, 1.0, 0.0, narrow(x + below), narrow(y + back))
        } else {
            Transform::from_translate(narrow(x - back), narrow(y + below))
        };
        let paint = self.paint(INK, 1.0);
        self.fill_path(&path, &paint, place);
    }

    fn image(&mut self, area: Area, raster: &Raster) -> Result<()> {
        let (across, down) =
            (area.width() / size(raster.width), area.height() / size(raster.height));
        for (row, line) in raster.pixels.chunks_exact(raster.width.max(1)).enumerate() {
            check_interrupt()?;
            for (column, &colour) in line.iter().enumerate() {
                let (left, top) = (area.left + across * size(column), area.top + down * size(row));
                let cell = Rect::from_ltrb(
                    narrow(left.round()),
                    narrow(top.round()),
                    narrow((left + across).round()),
                    narrow((top + down).round()),
                );
                if let Some(cell) = cell {
                    let paint = self.paint(colour, 1.0);
                    self.pixels.fill_rect(cell, &paint, Transform::identity(), None);
                }
            }
        }
        self.images.push(area);
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "pixels")]
fn size(n: usize) -> f64 {
    n as f64
}
