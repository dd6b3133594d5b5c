//! Colours: of one layer after the other, and maps from numbers to colours.

use std::str::FromStr;

/// Red, green, blue.
pub(crate) type Rgb = [u8; 3];

/// Colours of one layer after the other.
pub(super) const LAYERS: [Rgb; 10] = [
    [31, 119, 180],
    [255, 127, 14],
    [44, 160, 44],
    [214, 39, 40],
    [148, 103, 189],
    [140, 86, 75],
    [227, 119, 194],
    [127, 127, 127],
    [188, 189, 34],
    [23, 190, 207],
];
/// Behind everything.
pub(super) const PAPER: Rgb = [255; 3];
/// Axes and text.
pub(super) const INK: Rgb = [0; 3];
/// Of numbers that are none.
const NONE: Rgb = [255; 3];

/// From numbers to colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Map {
    #[default]
    Viridis,
    Plasma,
    Magma,
    Coolwarm,
    Grey,
}

/// The maps by name, with colours at equal distances; those of matplotlib.
const MAPS: [(&str, Map, &[u32]); 5] = [
    (
        "viridis",
        Map::Viridis,
        &[
            0x440154, 0x48186a, 0x472d7b, 0x424086, 0x3b528b, 0x33638d, 0x2c728e, 0x26828e,
            0x21918c, 0x1fa088, 0x28ae80, 0x3fbc73, 0x5ec962, 0x84d44b, 0xaddc30, 0xd8e219,
            0xfde725,
        ],
    ),
    (
        "plasma",
        Map::Plasma,
        &[
            0x0d0887, 0x310597, 0x4c02a1, 0x6600a7, 0x7e03a8, 0x9511a1, 0xaa2395, 0xbc3587,
            0xcc4778, 0xda5a6a, 0xe66c5c, 0xf0804e, 0xf89540, 0xfdac33, 0xfdc527, 0xf8df25,
            0xf0f921,
        ],
    ),
    (
        "magma",
        Map::Magma,
        &[
            0x000004, 0x0a0822, 0x1d1147, 0x36106b, 0x51127c, 0x6a1c81, 0x832681, 0x9c2e7f,
            0xb73779, 0xd0416f, 0xe75263, 0xf56b5c, 0xfc8961, 0xfea772, 0xfec488, 0xfde2a3,
            0xfcfdbf,
        ],
    ),
    (
        "coolwarm",
        Map::Coolwarm,
        &[
            0x3b4cc0, 0x4e68d8, 0x6282ea, 0x779af7, 0x8db0fe, 0xa3c2fe, 0xb9d0f9, 0xccd9ed,
            0xdddcdc, 0xecd3c5, 0xf5c4ac, 0xf7b093, 0xf4987a, 0xeb7d62, 0xdd5f4b, 0xca3b37,
            0xb40426,
        ],
    ),
    ("grey", Map::Grey, &[0x000000, 0xffffff]),
];

impl FromStr for Map {
    /// The names that there are.
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = MAPS.iter().find(|(known, ..)| *known == name).map(|(_, map, _)| *map);
        known.ok_or_else(|| MAPS.map(|(name, ..)| name).join(", "))
    }
}

impl Map {
    /// The colour of a part from 0 to 1; white if it is none.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "places in a short list, means of bytes"
    )]
    pub(crate) fn colour(self, part: f64) -> Rgb {
        let colours = MAPS.iter().find(|(_, map, _)| *map == self).map_or(&[][..], |row| row.2);
        if part.is_nan() || colours.is_empty() {
            return NONE;
        }
        let place = part.clamp(0.0, 1.0) * (colours.len() - 1) as f64;
        let low = (place as usize).min(colours.len() - 2);
        let share = place - low as f64;
        let [_, before @ ..] = colours[low].to_be_bytes();
        let [_, after @ ..] = colours[low + 1].to_be_bytes();
        std::array::from_fn(|i| {
            (f64::from(before[i]) * (1.0 - share) + f64::from(after[i]) * share).round() as u8
        })
    }
}

/// Where a number stands in a range, 0 to 1; infinities stand at its ends, and NaN has no place.
pub(crate) fn part(x: f64, range: &std::ops::Range<f64>) -> f64 {
    let (low, high) = (range.start / 2.0, range.end / 2.0);
    if x.is_infinite() {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    if high > low || x.is_nan() { (x / 2.0 - low) / (high - low) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_have_their_ends() {
        assert_eq!(Map::Viridis.colour(0.0), [0x44, 0x01, 0x54]);
        assert_eq!(Map::Viridis.colour(1.0), [0xfd, 0xe7, 0x25]);
        assert_eq!(Map::Grey.colour(0.5), [128; 3]);
        assert_eq!(Map::Grey.colour(part(f64::NAN, &(0.0..2.0))), NONE);
        for range in [0.0..2.0, 1.0..1.0, f64::INFINITY..f64::NEG_INFINITY] {
            let ends = [f64::NEG_INFINITY, f64::INFINITY].map(|x| part(x, &range));
            assert_eq!(ends, [0.0, 1.0], "{range:?}");
        }
        assert_eq!("plasma".parse(), Ok(Map::Plasma));
        assert!("jet".parse::<Map>().unwrap_err().contains("viridis, plasma"));
    }
}
