//! Pictures: what `plot`, `hist`, `image` and the like give. One drawing, several outputs: text, colours and pixels of
//! terminals, SVG, PNG.
//!
//! A picture holds points and pixels in host memory, never arrays: it stays what it was when it was made. What a chart
//! is made of, `chart` says; `marks` draws that between two axes, on a `surface`. `page` and `terminal` put the axes,
//! their labels and a legend around it.

mod axis;
mod canvas;
mod chart;
mod colours;
mod font;
mod marks;
mod page;
mod raster;
mod samples;
mod surface;
mod svg;
mod terminal;
pub(crate) mod tint;

use std::rc::Rc;

use canvas::Canvas;
pub(crate) use chart::{Chart, Grid, Layer, Marks, Side};
pub(crate) use colours::Map as Colours;
pub(crate) use raster::Raster;
pub(crate) use samples::{all_points, grid, histogram, pixels, points, scattered};
use surface::{Area, Surface as _};
use tint::Graphics;

use crate::fault::Result;

/// Pixels of a PNG file for one of a page: windows are finer than they say.
const FINER: u32 = 2;
/// Pixels of a side of an image that a page shows: as many as a chart has.
const MOST_SIDE: usize = (page::SIZE.0 * FINER) as usize;
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

    /// As letters, no wider than the window.
    pub(crate) fn text(&self) -> Result<String> {
        self.shown(Graphics::Letters)
    }

    /// As a terminal shows it.
    pub(crate) fn shown(&self, graphics: Graphics) -> Result<String> {
        let columns = self.columns.saturating_sub(1).clamp(*COLUMNS.start(), *COLUMNS.end());
        match (graphics, &*self.content) {
            (Graphics::Kitty, _) => Ok(tint::kitty(&self.window()?.png()?)),
            (Graphics::Sixel, _) => tint::sixel(&self.window()?),
            (_, Content::Chart(chart)) => terminal::text(chart, columns, graphics.tint()),
            (Graphics::Letters, Content::Image(raster)) => raster.text(columns),
            (_, Content::Image(raster)) => graphics.tint().blocks(raster, columns),
        }
    }

    /// As pixels that fit a window.
    fn window(&self) -> Result<Raster> {
        match &*self.content {
            Content::Chart(chart) => painted(chart, 1),
            Content::Image(raster) => {
                let (width, height) = raster.shown_size();
                let most = page::SIZE.0 as usize;
                let shown = width.min(most);
                raster.resized(shown, (height * shown).div_ceil(width.max(1)))
            }
        }
    }

    /// In words.
    pub(crate) fn about(&self) -> String {
        match &*self.content {
            Content::Chart(chart) => {
                let colon = if chart.title.is_empty() { "" } else { ": " };
                format!("chart: {}{colon}{}", chart.title, chart.description())
            }
            Content::Image(raster) => format!("an image, {} x {}", raster.width, raster.height),
        }
    }

    /// As a page shows it: of a large image the means of neighbours.
    pub(crate) fn for_page(&self) -> Result<Self> {
        let Content::Image(raster) = &*self.content else { return Ok(self.clone()) };
        let side = raster.width.max(raster.height);
        if side <= MOST_SIDE {
            return Ok(self.clone());
        }
        let less = |n: usize| (n * MOST_SIDE / side).max(1);
        let raster = raster.resized(less(raster.width), less(raster.height))?;
        Ok(Self::image(raster, self.columns))
    }

    /// As an SVG document.
    pub(crate) fn svg(&self) -> Result<String> {
        match &*self.content {
            Content::Chart(chart) => {
                let title = if chart.title.is_empty() { "chart" } else { &chart.title };
                let (width, height) = page::SIZE;
                let size = (width as usize, height as usize);
                svg::document(size, title, &chart.description(), |svg| page::paint(chart, svg, 1.0))
            }
            Content::Image(raster) => {
                let (width, height) = raster.shown_size();
                let real = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
                let area = Area { left: 0.0, top: 0.0, right: real(width), bottom: real(height) };
                let description = format!("{} x {} pixels", raster.width, raster.height);
                svg::document((width, height), "image", &description, |svg| svg.image(area, raster))
            }
        }
    }

    /// As a PNG file: an image has its own size, a chart 1440 x 880 pixels.
    pub(crate) fn png(&self) -> Result<Vec<u8>> {
        self.png_of(FINER)
    }

    /// The same as large as a page shows it.
    pub(crate) fn png_for_page(&self) -> Result<Vec<u8>> {
        self.png_of(1)
    }

    fn png_of(&self, times: u32) -> Result<Vec<u8>> {
        match &*self.content {
            Content::Chart(chart) => painted(chart, times)?.png(),
            Content::Image(raster) => raster.png(),
        }
    }
}

/// A chart so many times as large as a page shows it.
fn painted(chart: &Chart, times: u32) -> Result<Raster> {
    let (width, height) = page::SIZE;
    let mut canvas = Canvas::new(width * times, height * times, true)?;
    canvas.clear(colours::PAPER);
    page::paint(chart, &mut canvas, f64::from(times))?;
    Ok(canvas.raster())
}
