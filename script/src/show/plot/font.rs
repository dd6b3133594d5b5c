//! The letters of PNG files, and how wide texts are: DejaVu Sans, of which the file has Latin and Greek letters and
//! mathematical signs.

use tiny_skia::PathBuilder;
use ttf_parser::{Face, OutlineBuilder};

/// The file, a subset that says so in its name; its licence is in THIRD-PARTY.md.
const FILE: &[u8] = include_bytes!("font/DejaVuSans-subset.ttf");

/// The font, ready to draw.
pub(super) struct Font {
    face: Option<Face<'static>>,
}

impl Font {
    pub(super) fn new() -> Self {
        Self { face: Face::parse(FILE, 0).ok() }
    }

    /// Width of a text of a size.
    pub(super) fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|letter| self.advance(letter, size)).sum()
    }

    fn advance(&self, letter: char, size: f64) -> f64 {
        let face = self.face.as_ref();
        let units = face.and_then(|face| face.glyph_hor_advance(face.glyph_index(letter)?));
        // Of letters that it has not, most are as wide as high.
        units.map_or(size, |units| f64::from(units) * self.scale(size))
    }

    fn scale(&self, size: f64) -> f64 {
        self.face.as_ref().map_or(0.0, |face| size / f64::from(face.units_per_em()))
    }

    /// The outlines of a text that begins at 0 and stands on 0, y downwards.
    pub(super) fn outline(&self, text: &str, size: f64) -> Option<tiny_skia::Path> {
        let face = self.face.as_ref()?;
        let mut pen = Outline { path: PathBuilder::new(), x: 0.0, scale: narrow(self.scale(size)) };
        let mut x = 0.0;
        for letter in text.chars() {
            pen.x = narrow(x);
            let glyph = face.glyph_index(letter).unwrap_or_default();
            face.outline_glyph(glyph, &mut pen);
            x += self.advance(letter, size);
        }
        pen.path.finish()
    }
}

struct Outline {
    path: PathBuilder,
    x: f32,
    scale: f32,
}

impl Outline {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

/// Pixels as the rasterizer counts them.
#[expect(clippy::cast_possible_truncation, reason = "pixels")]
pub(super) fn narrow(x: f64) -> f32 {
    x as f32
}
