//! What a terminal can show of pictures: colours of text, or pixels in the protocols of kitty and of sixels.

use std::fmt::Write as _;

use base64::Engine as _;

use super::colours::Rgb;
use super::raster::Raster;
use crate::fault::{Result, check_interrupt};

/// How pictures are shown where text goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Graphics {
    /// As letters without colour.
    #[default]
    Letters,
    /// As letters in 256 colours.
    Colours,
    /// As letters in all colours.
    TrueColours,
    /// As pixels, by the protocol of kitty.
    Kitty,
    /// As pixels, by sixels.
    Sixel,
}

/// The variable that says it in place of what is known of terminals.
const VARIABLE: &str = "PORCINI_GRAPHICS";
/// Bytes of a picture that kitty takes at once.
const PIECE: usize = 4096;
/// Levels of red, green and blue among the 216 colours of sixels.
const LEVELS: u32 = 6;

impl Graphics {
    /// What a terminal that takes colours shows, as its environment says: `PORCINI_GRAPHICS` (`letters`, `colours`,
    /// `truecolour`, `kitty`, `sixel`), else what is known of its name.
    pub fn of_terminal(variable: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name| variable(name).unwrap_or_default();
        match get(VARIABLE).as_str() {
            "letters" => return Self::Letters,
            "colours" | "colors" => return Self::Colours,
            "truecolour" | "truecolor" => return Self::TrueColours,
            "kitty" => return Self::Kitty,
            "sixel" => return Self::Sixel,
            _ => {}
        }
        let (terminal, program) = (get("TERM"), get("TERM_PROGRAM"));
        // Programs that draw the window again, such as tmux, would lose the pixels.
        let is_between = terminal.starts_with("tmux") || terminal.starts_with("screen");
        let kitty = ["xterm-kitty", "xterm-ghostty"].contains(&terminal.as_str())
            || ["ghostty", "WezTerm"].contains(&program.as_str());
        let sixel = ["mlterm", "foot", "yaft"].iter().any(|name| terminal.starts_with(name));
        match get("COLORTERM").as_str() {
            _ if kitty && !is_between => Self::Kitty,
            _ if sixel && !is_between => Self::Sixel,
            "truecolor" | "24bit" => Self::TrueColours,
            _ => Self::Colours,
        }
    }

    pub(super) fn tint(self) -> Tint {
        match self {
            Self::Letters => Tint::None,
            Self::Colours => Tint::Few,
            Self::TrueColours | Self::Kitty | Self::Sixel => Tint::All,
        }
    }
}

/// The colours that letters have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tint {
    None,
    Few,
    All,
}

impl Tint {
    /// The sequence that makes what follows have these colours.
    pub(super) fn switch(self, front: Option<Rgb>, back: Option<Rgb>) -> String {
        if self == Self::None {
            return String::new();
        }
        let colour = |[red, green, blue]: Rgb| match self {
            Self::All => format!("2;{red};{green};{blue}"),
            Self::None | Self::Few => {
                let level = |x: u8| (u16::from(x) * 5 + 127) / 255;
                format!("5;{}", 16 + 36 * level(red) + 6 * level(green) + level(blue))
            }
        };
        let mut codes = vec!["0".to_string()];
        codes.extend(front.map(|front| format!("38;{}", colour(front))));
        codes.extend(back.map(|back| format!("48;{}", colour(back))));
        format!("\x1b[{}m", codes.join(";"))
    }

    /// Pixels as half blocks of at most so many columns.
    pub(super) fn blocks(self, raster: &Raster, columns: usize) -> Result<String> {
        let columns = columns.min(raster.width);
        let rows = (raster.height * columns).div_ceil(raster.width).max(1);
        let mut text = String::new();
        for row in (0..rows).step_by(2) {
            check_interrupt()?;
            for column in 0..columns {
                let upper = raster.mean_colour((column, columns), (row, rows));
                let lower = (row + 1 < rows)
                    .then(|| raster.mean_colour((column, columns), (row + 1, rows)));
                text.push_str(&self.switch(Some(upper), lower));
                text.push('▀');
            }
            text.push_str(&self.switch(None, None));
            text.push('\n');
        }
        text.pop();
        Ok(text)
    }
}

/// A PNG file in the protocol of kitty.
pub(super) fn kitty(png: &[u8]) -> String {
    let data = base64::engine::general_purpose::STANDARD.encode(png);
    let mut text = String::new();
    let mut rest = data.as_str();
    let mut first = "f=100,a=T,";
    loop {
        let (piece, after) = rest.split_at(rest.len().min(PIECE));
        let more = u8::from(!after.is_empty());
        // A String takes all.
        let _ = write!(text, "\x1b_G{first}m={more};{piece}\x1b\\");
        if after.is_empty() {
            return text;
        }
        (rest, first) = (after, "");
    }
}

/// Pixels as sixels: rows of six, a colour after the other.
pub(super) fn sixel(raster: &Raster) -> Result<String> {
    let level = |x: u8| (u32::from(x) * (LEVELS - 1) + 127) / 255;
    let number =
        |[red, green, blue]: Rgb| (level(red) * LEVELS + level(green)) * LEVELS + level(blue);
    let mut text = format!("\x1bPq\"1;1;{};{}", raster.width, raster.height);
    for i in 0..LEVELS.pow(3) {
        let percent = |level: u32| level % LEVELS * 100 / (LEVELS - 1);
        let (red, green) = (percent(i / LEVELS / LEVELS), percent(i / LEVELS));
        let _ = write!(text, "#{i};2;{red};{green};{}", percent(i));
    }
    for rows in raster.pixels.chunks(raster.width.max(1) * 6) {
        check_interrupt()?;
        let numbers: Vec<u32> = rows.iter().map(|&pixel| number(pixel)).collect();
        let mut used = numbers.clone();
        used.sort_unstable();
        used.dedup();
        for colour in used {
            let _ = write!(text, "#{colour}");
            let (mut last, mut n) = ('?', 0);
            let mut flush = |sixel: char, n: usize| match n {
                0 => {}
                1..4 => text.extend(std::iter::repeat_n(sixel, n)),
                _ => {
                    let _ = write!(text, "!{n}{sixel}");
                }
            };
            for x in 0..raster.width {
                let mut bits = 0;
                for (y, row) in numbers.chunks(raster.width).enumerate() {
                    bits |= u8::from(row[x] == colour) << y;
                }
                let sixel = char::from(b'?' + bits);
                if sixel != last {
                    flush(last, n);
                    (last, n) = (sixel, 0);
                }
                n += 1;
            }
            flush(last, n);
            text.push('$');
        }
        text.push('-');
    }
    text.push_str("\x1b\\");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_known_by_name() {
        let of = |pairs: &[(&str, &str)]| {
            let pairs: Vec<(String, String)> =
                pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            Graphics::of_terminal(|name| {
                pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            })
        };
        assert_eq!(of(&[]), Graphics::Colours);
        assert_eq!(of(&[("COLORTERM", "truecolor")]), Graphics::TrueColours);
        assert_eq!(of(&[("TERM", "xterm-kitty")]), Graphics::Kitty);
        assert_eq!(
            of(&[("TERM", "tmux-256color"), ("TERM_PROGRAM", "WezTerm")]),
            Graphics::Colours
        );
        assert_eq!(of(&[("TERM", "foot")]), Graphics::Sixel);
        assert_eq!(of(&[("TERM", "foot"), ("PORCINI_GRAPHICS", "letters")]), Graphics::Letters);
    }

    #[test]
    fn pixels_become_what_terminals_take() {
        let pixels = vec![[255, 0, 0], [0, 0, 255], [255, 0, 0], [0, 0, 255]];
        let raster = Raster { width: 2, height: 2, pixels };
        assert_eq!(
            Tint::All.blocks(&raster, 80).unwrap(),
            "\x1b[0;38;2;255;0;0;48;2;255;0;0m▀\x1b[0;38;2;0;0;255;48;2;0;0;255m▀\x1b[0m"
        );
        assert_eq!(Tint::Few.switch(Some([255, 0, 0]), None), "\x1b[0;38;5;196m");
        let sixels = sixel(&raster).unwrap();
        assert!(sixels.ends_with("#5?B$#180B?$-\x1b\\"), "{sixels:?}");
        let long = kitty(&[0; 4000]);
        assert!(long.starts_with("\x1b_Gf=100,a=T,m=1;AAAA") && long.contains("\x1b_Gm=0;"));
    }
}
