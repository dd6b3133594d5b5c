//! Pixels in host memory.

use std::io::Write as _;

use crate::fault::{Result, check_interrupt, fault};
use crate::value::growing::Growing;

/// Darkest to lightest, on a dark window.
pub(super) const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
/// Bytes that are packed between two looks whether to go on.
const PIECE: usize = 1 << 18;
/// Images smaller than this are shown larger in a document.
const SMALL: usize = 256;

/// Rows of pixels, each red, green, blue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raster {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pixels: Vec<[u8; 3]>,
}

impl Raster {
    /// As a PNG file.
    pub(crate) fn png(&self) -> Result<Vec<u8>> {
        let mut file = Growing::default();
        let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let mut encoder = png::Encoder::new(&mut file, size(self.width), size(self.height));
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let unwritten =
            |error: png::EncodingError| fault(format!("the image cannot be written: {error}"));
        let mut writer = encoder.write_header().map_err(unwritten)?;
        let mut pixels = writer.stream_writer().map_err(unwritten)?;
        for piece in self.pixels.as_flattened().chunks(PIECE) {
            check_interrupt()?;
            pixels.write_all(piece).map_err(|error| unwritten(error.into()))?;
        }
        pixels.finish().map_err(unwritten)?;
        writer.finish().map_err(unwritten)?;
        Ok(file.into_bytes())
    }

    /// Width and height in a document: small images with larger pixels.
    pub(super) fn shown_size(&self) -> (usize, usize) {
        let scale = (SMALL / self.width.max(self.height).max(1)).max(1);
        (self.width * scale, self.height * scale)
    }

    /// Shades of at most so many columns; a character is twice as high as wide.
    pub(super) fn text(&self, columns: usize) -> Result<String> {
        let columns = columns.min(self.width);
        let rows = (self.height * columns).div_ceil(self.width * 2).max(1);
        let row = |row: usize| -> Result<String> {
            check_interrupt()?;
            let shade = |column: usize| {
                let mean =
                    self.mean(part(column, columns, self.width), part(row, rows, self.height));
                SHADES[usize::from(mean) * SHADES.len() / 256]
            };
            let line: String = (0..columns).map(shade).collect();
            Ok(line.trim_end().into())
        };
        Ok((0..rows).map(row).collect::<Result<Vec<_>>>()?.join("\n"))
    }

    /// The same with other numbers of pixels: the means of blocks, or blocks of each.
    pub(super) fn resized(&self, width: usize, height: usize) -> Result<Self> {
        let mut pixels = Vec::with_capacity(width * height);
        for row in 0..height {
            check_interrupt()?;
            pixels.extend((0..width).map(|x| self.mean_colour((x, width), (row, height))));
        }
        Ok(Self { width, height, pixels })
    }

    /// Mean colour of a block: column and row, each of so many.
    pub(super) fn mean_colour(
        &self,
        (column, columns): (usize, usize),
        (row, rows): (usize, usize),
    ) -> [u8; 3] {
        let columns = part(column, columns, self.width);
        let rows = part(row, rows, self.height);
        let n = columns.len() * rows.len();
        let mut sums = [0; 3];
        for y in rows {
            for pixel in &self.pixels[y * self.width..][columns.clone()] {
                sums.iter_mut().zip(pixel).for_each(|(sum, &x)| *sum += usize::from(x));
            }
        }
        sums.map(|sum| u8::try_from(sum / n.max(1)).unwrap_or(u8::MAX))
    }

    /// Mean lightness of a block.
    fn mean(&self, columns: std::ops::Range<usize>, rows: std::ops::Range<usize>) -> u8 {
        let n = columns.len() * rows.len();
        let lightness = |[red, green, blue]: [u8; 3]| {
            (299 * usize::from(red) + 587 * usize::from(green) + 114 * usize::from(blue)) / 1000
        };
        let line = |y: usize| -> usize {
            columns.clone().map(|x| lightness(self.pixels[y * self.width + x])).sum()
        };
        let sum: usize = rows.map(line).sum();
        u8::try_from(sum / n.max(1)).unwrap_or(u8::MAX)
    }
}

/// Part `i` of `n` of so many pixels, never empty.
fn part(i: usize, n: usize, pixels: usize) -> std::ops::Range<usize> {
    let start = (i * pixels / n).min(pixels - 1);
    start..((i + 1) * pixels / n).clamp(start + 1, pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_follow_lightness() {
        let pixels = (0..8_u8).map(|i| [i * 36; 3]).collect();
        let raster = Raster { width: 8, height: 1, pixels };
        assert_eq!(raster.text(80).unwrap(), "  ░▒▒▓██");
        assert_eq!(raster.text(4).unwrap(), " ░▓█");
        assert_eq!(raster.shown_size(), (256, 32));
        assert_eq!(raster.resized(4, 1).unwrap().pixels, [[18; 3], [90; 3], [162; 3], [234; 3]]);
        assert_eq!(raster.resized(8, 1).unwrap(), raster);
        assert_eq!(&raster.png().unwrap()[1..4], b"PNG");
    }

    #[test]
    fn parts_cover_all() {
        for (n, pixels) in [(3, 10), (10, 3), (1, 1), (7, 7)] {
            assert_eq!(part(0, n, pixels).start, 0);
            assert_eq!(part(n - 1, n, pixels).end, pixels);
            assert!((0..n).all(|i| !part(i, n, pixels).is_empty()));
        }
    }
}
