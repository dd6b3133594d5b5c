//! Pictures: what `plot`, `hist` and `image` give. One drawing, three outputs: Unicode text, SVG, PNG.
//!
//! A picture holds points and pixels in host memory, never arrays: it stays what it was when it was made.

mod canvas;
mod chart;
mod lanes;
mod raster;

use std::rc::Rc;

use base64::Engine as _;
use plotters::prelude::{IntoDrawingArea, SVGBackend};

use canvas::Canvas;
pub(crate) use chart::{Chart, Shape};
use chart::{Look, draw};
pub(crate) use lanes::{histogram, pixels, points};
pub(crate) use raster::Raster;

use crate::fault::Result;

/// Size of a chart as SVG and PNG.
const SIZE: (u32, u32) = (720, 440);
/// Coordinates of plotters are whole numbers: in SVG a pixel has so many of them, so that curves are smooth.
const FINER: u32 = 10;
/// Rows of text that a chart takes.
const ROWS: u32 = 18;
/// Fewest columns that a chart needs, and most that it takes.
const COLUMNS: std::ops::RangeInclusive<usize> = 24..=100;

/// A chart or an image, ready to be shown.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    content: Rc<Content>,
    /// Columns of the window for which it was made.
    columns: usize,
}

#[derive(Debug)]
enum Content {
    Chart(Chart),
    Image(Raster),
}

impl Picture {
    pub(crate) fn chart(chart: Chart, columns: usize) -> Self {
        Self { content: Rc::new(Content::Chart(chart)), columns }
    }

    pub(crate) fn image(raster: Raster, columns: usize) -> Self {
        Self { content: Rc::new(Content::Image(raster)), columns }
    }

    /// As Unicode text, no wider than the window.
    pub(crate) fn text(&self) -> Result<String> {
        let columns = self.columns.saturating_sub(1).clamp(*COLUMNS.start(), *COLUMNS.end());
        match &*self.content {
            Content::Chart(chart) => {
                let width = u32::try_from(columns).unwrap_or(80) * canvas::DOTS.0;
                let mut canvas = Canvas::cells(width, ROWS * canvas::DOTS.1);
                // Drawing into memory cannot fail.
                drop(draw(chart, canvas.into_drawing_area(), &Look::TEXT));
                Ok(canvas.text())
            }
            Content::Image(raster) => raster.text(columns),
        }
    }

    /// In words.
    pub(crate) fn about(&self) -> String {
        match &*self.content {
            Content::Chart(chart) if !chart.title.is_empty() => format!("chart: {}", chart.title),
            Content::Chart(chart) => {
                let points: usize = chart.series.iter().map(Vec::len).sum();
                format!("a chart of {points} points")
            }
            Content::Image(raster) => format!("an image, {} x {}", raster.width, raster.height),
        }
    }

    /// As an SVG document.
    pub(crate) fn svg(&self) -> Result<String> {
        Ok(match &*self.content {
            Content::Chart(chart) => {
                let mut svg = String::new();
                let (width, height) = (SIZE.0 * FINER, SIZE.1 * FINER);
                let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
                drop(draw(chart, area, &Look::PAGE.enlarged(FINER)));
                let size = |width, height| format!("width=\"{width}\" height=\"{height}\"");
                svg.replacen(&size(width, height), &size(SIZE.0, SIZE.1), 1)
            }
            Content::Image(raster) => {
                let data = base64::engine::general_purpose::STANDARD.encode(raster.png()?);
                let (width, height) = raster.shown_size();
                format!(
                    "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
                     xmlns=\"http://www.w3.org/2000/svg\">\n<image width=\"{width}\" height=\"{height}\" \
                     style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{data}\"/>\n</svg>\n"
                )
            }
        })
    }

    /// As a PNG file: an image has its own size, a chart 720 × 440 pixels.
    pub(crate) fn png(&self) -> Result<Vec<u8>> {
        match &*self.content {
            Content::Chart(chart) => {
                let mut canvas = Canvas::pixels(SIZE.0, SIZE.1);
                drop(draw(chart, canvas.into_drawing_area(), &Look::PAGE));
                canvas.raster().png()
            }
            Content::Image(raster) => raster.png(),
        }
    }
}
