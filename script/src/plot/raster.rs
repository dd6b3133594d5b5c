//! Pixels in host memory.

/// Darkest to lightest, on a dark window.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
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
    pub(crate) fn png(&self) -> Vec<u8> {
        let mut file = Vec::new();
        let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let mut encoder = png::Encoder::new(&mut file, size(self.width), size(self.height));
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        // Writing into memory cannot fail.
        if let Ok(mut writer) = encoder.write_header() {
            drop(writer.write_image_data(self.pixels.as_flattened()));
            drop(writer.finish());
        }
        file
    }

    /// Width and height in a document: small images with larger pixels.
    pub(super) fn shown_size(&self) -> (usize, usize) {
        let scale = (SMALL / self.width.max(self.height).max(1)).max(1);
        (self.width * scale, self.height * scale)
    }

    /// Shades of at most so many columns; a character is twice as high as wide.
    pub(super) fn text(&self, columns: usize) -> String {
        let columns = columns.min(self.width);
        let rows = (self.height * columns).div_ceil(self.width * 2).max(1);
        let row = |row: usize| -> String {
            let shade = |column: usize| {
                let mean =
                    self.mean(part(column, columns, self.width), part(row, rows, self.height));
                SHADES[usize::from(mean) * SHADES.len() / 256]
            };
            let line: String = (0..columns).map(shade).collect();
            line.trim_end().into()
        };
        (0..rows).map(row).collect::<Vec<_>>().join("\n")
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
        assert_eq!(raster.text(80), "  ░▒▒▓██");
        assert_eq!(raster.text(4), " ░▓█");
        assert_eq!(raster.shown_size(), (256, 32));
        assert_eq!(&raster.png()[1..4], b"PNG");
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
