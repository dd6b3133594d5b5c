//! What charts are drawn on: pixels, in a window's cells of 2 × 4 dots each, or as they are.

use std::convert::Infallible;

use font8x8::UnicodeFonts as _;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

use super::raster::Raster;

/// Dots of a cell: a Braille character.
pub(super) const DOTS: (u32, u32) = (2, 4);
/// Pixels of a character of the bitmap font.
const GLYPH: (u32, u32) = (8, 8);
/// Background.
const PAPER: [u8; 3] = [255; 3];
/// Lightness below which a dot is set.
const DARK: u8 = 190;

type Result<T> = std::result::Result<T, DrawingErrorKind<Infallible>>;

/// Pixels that plotters draws on.
pub(super) struct Canvas {
    raster: Raster,
    /// Size of a character.
    glyph: (u32, u32),
    /// Characters that stand in place of dots, by column and row; of cells only.
    letters: Option<Vec<(usize, usize, char)>>,
}

impl Canvas {
    /// A canvas of pixels.
    pub(super) fn pixels(width: u32, height: u32) -> Self {
        let (width, height) = (width as usize, height as usize);
        let raster = Raster { width, height, pixels: vec![PAPER; width * height] };
        Self { raster, glyph: GLYPH, letters: None }
    }

    /// A canvas whose dots become text.
    pub(super) fn cells(width: u32, height: u32) -> Self {
        Self { glyph: DOTS, letters: Some(Vec::new()), ..Self::pixels(width, height) }
    }

    /// The pixels.
    pub(super) fn raster(&self) -> &Raster {
        &self.raster
    }

    /// The dots as Braille characters, letters over them.
    pub(super) fn text(&self) -> String {
        let (columns, rows) =
            (self.raster.width / DOTS.0 as usize, self.raster.height / DOTS.1 as usize);
        let mut lines = vec![vec![' '; columns]; rows];
        for (row, line) in lines.iter_mut().enumerate() {
            for (column, cell) in line.iter_mut().enumerate() {
                *cell = self.braille(column, row);
            }
        }
        for &(column, row, letter) in self.letters.iter().flatten() {
            if let Some(cell) = lines.get_mut(row).and_then(|line| line.get_mut(column)) {
                *cell = letter;
            }
        }
        let line = |line: &Vec<char>| line.iter().collect::<String>().trim_end().to_string();
        lines.iter().map(line).collect::<Vec<_>>().join("\n").trim_end().into()
    }

    fn braille(&self, column: usize, row: usize) -> char {
        // The order of the dots in a Braille character.
        const BITS: [(usize, usize); 8] =
            [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
        let mut code = 0x2800;
        for (bit, (x, y)) in BITS.into_iter().enumerate() {
            let at = (row * 4 + y) * self.raster.width + column * 2 + x;
            let [red, green, blue] = self.raster.pixels[at];
            if red.min(green).min(blue) < DARK {
                code |= 1 << bit;
            }
        }
        if code == 0x2800 { ' ' } else { char::from_u32(code).unwrap_or(' ') }
    }

    fn draw_glyph(&mut self, letter: char, x: i32, y: i32, color: BackendColor) -> Result<()> {
        let glyph = font8x8::BASIC_FONTS.get(letter).unwrap_or_default();
        for (row, bits) in (0..).zip(glyph) {
            for column in (0..8).filter(|column| bits >> column & 1 == 1) {
                self.draw_pixel((x + column, y + row), color)?;
            }
        }
        Ok(())
    }
}

impl DrawingBackend for &mut Canvas {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        (size(self.raster.width), size(self.raster.height))
    }

    fn ensure_prepared(&mut self) -> Result<()> {
        Ok(())
    }

    fn present(&mut self) -> Result<()> {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Result<()> {
        Canvas::draw_pixel(self, (x, y), color)
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Result<()> {
        let (width, height) = self.estimate_text_size(text, style)?;
        let signed = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        let (width, height) = (signed(width), signed(height));
        let anchor = style.anchor();
        let x = match anchor.h_pos {
            HPos::Left => x,
            HPos::Center => x - width / 2,
            HPos::Right => x - width,
        };
        let y = match anchor.v_pos {
            VPos::Top => y,
            VPos::Center => y - height / 2,
            VPos::Bottom => y - height,
        };
        let glyph = signed(self.glyph.0);
        for (i, letter) in (0..).zip(text.chars()) {
            let x = x + i * glyph;
            // The row in which a label's middle lies.
            let cell = |at: i32, size: u32| usize::try_from(at).map(|at| at / size as usize);
            match (&mut self.letters, cell(x, DOTS.0), cell(y + 2, DOTS.1)) {
                (Some(letters), Ok(column), Ok(row)) => letters.push((column, row, letter)),
                (Some(_), ..) => {}
                (None, ..) => self.draw_glyph(letter, x, y, style.color())?,
            }
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(&self, text: &str, _: &S) -> Result<(u32, u32)> {
        let n = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        Ok((n.saturating_mul(self.glyph.0), self.glyph.1))
    }
}

impl Canvas {
    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Result<()> {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { return Ok(()) };
        if x < self.raster.width && y < self.raster.height {
            let pixel = &mut self.raster.pixels[y * self.raster.width + x];
            let (red, green, blue) = color.rgb;
            for (old, new) in pixel.iter_mut().zip([red, green, blue]) {
                let mixed = f64::from(*old) * (1.0 - color.alpha) + f64::from(new) * color.alpha;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a mean of bytes"
                )]
                {
                    *old = mixed.round() as u8;
                }
            }
        }
        Ok(())
    }
}
