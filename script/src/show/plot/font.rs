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
        shown(text).map(|letter| self.advance(letter, size)).sum()
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

    /// A text as far as it is no wider than that, with dots where it ends.
    pub(super) fn fitted(&self, text: &str, size: f64, width: f64) -> String {
        let fits = |text: &str| self.width(text, size) <= width;
        if fits(text) {
            return text.into();
        }
        let ends = text.char_indices().map(|(end, _)| end).rev();
        let cut = |end: usize| format!("{}..", text[..end].trim_end());
        ends.map(cut).find(|text| fits(text)).unwrap_or_default()
    }

    /// The outlines of a text that begins at 0 and stands on 0, y downwards.
    pub(super) fn outline(&self, text: &str, size: f64) -> Option<tiny_skia::Path> {
        let face = self.face.as_ref()?;
        let mut pen = Outline { path: PathBuilder::new(), x: 0.0, scale: narrow(self.scale(size)) };
        let mut x = 0.0;
        for letter in shown(text) {
            pen.x = narrow(x);
            match face.glyph_index(letter) {
                Some(glyph) => {
                    face.outline_glyph(glyph, &mut pen);
                }
                None => pen.frame(f32::from(face.units_per_em())),
            }
            x += self.advance(letter, size);
        }
        pen.path.finish()
    }
}

/// The letters of a text that take room.
fn shown(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|letter| !letter.is_control())
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

    /// A box in place of a letter that the font has not.
    fn frame(&mut self, em: f32) {
        // What runs the other way around is cut out.
        for (near, far, is_back) in [(0.08, 0.92, false), (0.14, 0.86, true)] {
            let [left, right, low, high] = [near, far, near - 0.1, far - 0.1].map(|x| x * em);
            let mut corners = [(left, low), (right, low), (right, high), (left, high)];
            if is_back {
                corners.reverse();
            }
            self.move_to(corners[0].0, corners[0].1);
            corners[1..].iter().for_each(|&(x, y)| self.line_to(x, y));
            self.close();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_the_font_has_not_are_boxes() {
        let font = Font::new();
        let area = |text: &str| font.outline(text, 10.0).map(|path| path.bounds().width());
        assert!(area("日").is_some_and(|width| (8.0..9.0).contains(&width)), "{:?}", area("日"));
        assert!(area("a日") > area("a"));
        assert_eq!(font.width("a\nb", 10.0), font.width("ab", 10.0));
    }

    #[test]
    fn long_texts_end_in_dots() {
        let font = Font::new();
        assert_eq!(font.fitted("short", 10.0, 100.0), "short");
        let cut = font.fitted(&"long ".repeat(100), 10.0, 100.0);
        assert!(cut.starts_with("long long") && cut.ends_with("..") && cut.len() > 12, "{cut}");
        assert!(font.width(&cut, 10.0) <= 100.0);
    }
}
