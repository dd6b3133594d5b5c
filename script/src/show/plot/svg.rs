//! Charts as SVG documents.

use std::fmt::Write as _;

use base64::Engine as _;

use super::colours::Rgb;
use super::raster::Raster;
use super::surface::{Anchor, Area, Lettering, Pen, Spot, Surface};
use crate::fault::{Result, fault};

/// Lengths of dashes and of gaps between them.
const DASHES: [&str; 3] = ["8 4", "2 3", "9 3 2 3"];

/// A document in the making.
pub(super) struct Svg {
    text: String,
}

/// The document of a picture of a size, with a title and a description for who does not see it.
pub(super) fn document(
    (width, height): (usize, usize),
    title: &str,
    description: &str,
    draw: impl FnOnce(&mut Svg) -> Result<()>,
) -> Result<String> {
    let (title, description) = (escaped(title), escaped(description));
    let mut svg = Svg { text: String::new() };
    put(
        &mut svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
             {height}\" role=\"img\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n\
             <title>{title}</title>\n<desc>{description}</desc>\n"
        ),
    );
    draw(&mut svg)?;
    svg.text.push_str("</svg>\n");
    Ok(svg.text)
}

fn put(svg: &mut Svg, piece: std::fmt::Arguments<'_>) {
    // A String takes all.
    let _ = svg.text.write_fmt(piece);
}

/// Text between tags.
fn escaped(text: &str) -> String {
    let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A coordinate in hundredths of a pixel.
fn short(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

fn spots_of(spots: &[Spot]) -> String {
    let spots: Vec<String> =
        spots.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect();
    spots.join(" ")
}

impl Surface for Svg {
    fn line(&mut self, spots: &[Spot], pen: Pen) {
        if spots.len() < 2 {
            return;
        }
        let dashes = pen.dashes.checked_sub(1).map_or_else(String::new, |i| {
            format!(" stroke-dasharray=\"{}\"", DASHES[i % DASHES.len()])
        });
        let (spots, colour, width) = (spots_of(spots), hex(pen.colour), short(pen.width));
        put(
            self,
            format_args!(
                "<polyline points=\"{spots}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
                 stroke-linejoin=\"round\"{dashes}/>\n"
            ),
        );
    }

    fn fill(&mut self, spots: &[Spot], colour: Rgb, opacity: f64) {
        let (spots, colour) = (spots_of(spots), hex(colour));
        let opacity =
            if opacity < 1.0 { format!(" fill-opacity=\"{opacity}\"") } else { String::new() };
        put(self, format_args!("<polygon points=\"{spots}\" fill=\"{colour}\"{opacity}/>\n"));
    }

    fn circle(&mut self, (x, y): Spot, radius: f64, colour: Rgb) {
        let (x, y, radius, colour) = (short(x), short(y), short(radius), hex(colour));
        put(
            self,
            format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{colour}\"/>\n"),
        );
    }

    fn text(&mut self, (x, y): Spot, text: &str, lettering: Lettering) {
        let anchor = match lettering.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (size, text) = (short(lettering.size), escaped(text));
        let below = lettering.size * 0.36;
        let place = if lettering.is_vertical {
            format!("transform=\"translate({},{}) rotate(-90)\"", short(x + below), short(y))
        } else {
            format!("x=\"{}\" y=\"{}\"", short(x), short(y + below))
        };
        put(
            self,
            format_args!(
                "<text {place} font-size=\"{size}\" text-anchor=\"{anchor}\">{text}</text>\n"
            ),
        );
    }

    fn image(&mut self, area: Area, raster: &Raster) -> Result<()> {
        let png = raster.png()?;
        let (x, y) = (short(area.left), short(area.top));
        let (width, height) = (short(area.width()), short(area.height()));
        put(
            self,
            format_args!(
                "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" preserveAspectRatio=\"none\" \
                 style=\"image-rendering:pixelated\" href=\"data:image/png;base64,"
            ),
        );
        let letters = base64::encoded_len(png.len(), true).unwrap_or(usize::MAX);
        let refused = |_| fault(format!("out of memory: the picture takes {letters} B as text"));
        self.text.try_reserve(letters).map_err(refused)?;
        base64::engine::general_purpose::STANDARD.encode_string(&png, &mut self.text);
        put(self, format_args!("\"/>\n"));
        Ok(())
    }
}
