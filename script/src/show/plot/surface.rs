//! What marks are drawn on, in its own pixels, y downwards.

use super::colours::Rgb;
use super::raster::Raster;

/// A place in pixels.
pub(super) type Spot = (f64, f64);

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    /// Whether a spot lies inside, or next to it.
    pub(super) fn has(&self, (x, y): Spot) -> bool {
        let near = |x: f64, low: f64, high: f64| (low - 0.5..=high + 0.5).contains(&x);
        near(x, self.left, self.right) && near(y, self.top, self.bottom)
    }

    /// The part of a line that lies inside.
    pub(super) fn cut(&self, (x0, y0): Spot, (x1, y1): Spot) -> Option<(Spot, Spot)> {
        let (mut from, mut to) = (0.0, 1.0);
        for (start, way, low, high) in
            [(x0, x1 - x0, self.left, self.right), (y0, y1 - y0, self.top, self.bottom)]
        {
            if way == 0.0 {
                if !(low - 0.5..=high + 0.5).contains(&start) {
                    return None;
                }
                continue;
            }
            let (a, b) = ((low - start) / way, (high - start) / way);
            from = a.min(b).max(from);
            to = a.max(b).min(to);
        }
        let at = |part: f64| (x0 + (x1 - x0) * part, y0 + (y1 - y0) * part);
        let end = if to == 1.0 { (x1, y1) } else { at(to) };
        (from <= to).then(|| (at(from), end))
    }

    /// The corners, one after the other.
    pub(super) fn corners(&self) -> [Spot; 4] {
        let Self { left, top, right, bottom } = *self;
        [(left, top), (right, top), (right, bottom), (left, bottom)]
    }
}

/// How lines look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pen {
    pub(super) colour: Rgb,
    pub(super) width: f64,
    /// Which pattern of dashes, 0 for none.
    pub(super) dashes: usize,
}

/// Where a text stands beside its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks: its middle line lies at its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lettering {
    pub(super) size: f64,
    pub(super) anchor: Anchor,
    /// Whether it runs upwards.
    pub(super) is_vertical: bool,
}

/// What marks are drawn on.
pub(super) trait Surface {
    /// Lines from spot to spot.
    fn line(&mut self, spots: &[Spot], pen: Pen);

    /// A filled polygon, as opaque as that from 0 to 1.
    fn fill(&mut self, spots: &[Spot], colour: Rgb, opacity: f64);

    /// A filled circle.
    fn circle(&mut self, centre: Spot, radius: f64, colour: Rgb);

    /// A text.
    fn text(&mut self, at: Spot, text: &str, lettering: Lettering);

    /// Pixels, each a rectangle of the area.
    fn image(&mut self, area: Area, raster: &Raster) -> crate::fault::Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_the_edge() {
        let area = Area { left: 0.0, top: 0.0, right: 10.0, bottom: 10.0 };
        assert_eq!(area.cut((-10.0, 5.0), (20.0, 5.0)), Some(((0.0, 5.0), (10.0, 5.0))));
        assert_eq!(area.cut((2.0, 2.0), (3.0, 3.0)), Some(((2.0, 2.0), (3.0, 3.0))));
        assert_eq!(area.cut((-5.0, 2.0), (2.0, -5.1)), None);
        assert_eq!(area.cut((12.0, 2.0), (12.0, 5.0)), None);
    }
}
