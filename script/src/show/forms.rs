//! What a value looks like: text everywhere, and further forms where a front end can show them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rhai::Dynamic;

use crate::fault::Result;
use crate::show::html;
use crate::show::markup::{HTML, escaped};
use crate::show::plot::Picture;
use crate::show::print_options::PrintOptions;
use crate::show::program_text::{Listing, Program};
use crate::show::writer::MOST_BYTES;

/// MIME type of pixels.
const PNG: &str = "image/png";
/// Bytes of a drawing: what is longer would stand in a file of a notebook, which keeps all of it.
const MOST_DRAWING: usize = 750_000;
/// Pictures of a list that are shown as such.
const MOST_PICTURES: usize = 100;

/// A value ready to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// What a terminal shows.
    pub text: String,
    /// MIME type and content of further forms, best first; none where the text says it all.
    pub forms: Vec<(&'static str, String)>,
}

/// Where something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisplayTarget<'a> {
    /// Below what was shown before.
    Below,
    /// There too, under a name by which [`DisplayTarget::Instead`] finds it.
    Named(&'a str),
    /// In place of what was shown under this name.
    Instead(&'a str),
}

impl Shown {
    /// Text without further forms.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), forms: Vec::new() }
    }

    /// Lines of the log, folded and coloured.
    pub fn log(lines: &str) -> Self {
        let listing = Listing { program: Program::Log, text: lines.into() };
        // What is too long for a page stays text.
        let forms = listing.form(MOST_BYTES).into_iter().collect();
        Self { text: listing.ends().into(), forms }
    }

    /// Bytes of all forms.
    pub(crate) fn bytes(&self) -> usize {
        self.forms.iter().map(|(_, content)| content.len()).sum::<usize>() + self.text.len()
    }
}

/// Content of some MIME types.
type Forms = Vec<(&'static str, String)>;

/// The further forms of a value.
pub(crate) fn forms(value: &Dynamic, options: &PrintOptions) -> Result<Forms> {
    if let Some(listing) = value.read_lock::<Listing>() {
        return Ok(vec![listing.form(options.most)?]);
    }
    if let Some(picture) = value.read_lock::<Picture>() {
        return forms_of_picture(&picture);
    }
    if let Some(pictures) = pictures(value) {
        return Ok(vec![(HTML, gallery(&pictures)?)]);
    }
    let html = html::table(value, options)?;
    Ok(html.map(|html| (HTML, html)).into_iter().collect())
}

/// A drawing, and pixels for who shows none; where the drawing is long only pixels, as many as are shown.
fn forms_of_picture(picture: &Picture) -> Result<Forms> {
    let shown = picture.for_page()?;
    let svg = shown.svg()?;
    if svg.len() > MOST_DRAWING {
        return Ok(vec![(PNG, STANDARD.encode(shown.png_for_page()?))]);
    }
    let drawn = drawing(&svg, &picture.about());
    Ok(vec![(HTML, drawn), (PNG, STANDARD.encode(shown.png()?))])
}

/// The pictures of a list, or of a map with their names, that has nothing else.
fn pictures(value: &Dynamic) -> Option<Vec<(String, Picture)>> {
    let picture = |item: &Dynamic| item.read_lock::<Picture>().map(|picture| picture.clone());
    let named = |(name, item): (&str, &Dynamic)| Some((name.to_string(), picture(item)?));
    let found = if let Some(list) = value.read_lock::<rhai::Array>() {
        list.iter().map(|item| named(("", item))).collect::<Option<Vec<_>>>()?
    } else {
        let map = value.read_lock::<rhai::Map>()?;
        map.iter().map(|(name, item)| named((name, item))).collect::<Option<Vec<_>>>()?
    };
    Some(found).filter(|found| (1..=MOST_PICTURES).contains(&found.len()))
}

/// Pictures below each other.
fn gallery(pictures: &[(String, Picture)]) -> Result<String> {
    let one = |(name, picture): &(String, Picture)| -> Result<String> {
        let shown = picture.for_page()?;
        let svg = shown.svg()?;
        let drawn = if svg.len() > MOST_DRAWING {
            image_of(PNG, &shown.png_for_page()?, &picture.about())
        } else {
            drawing(&svg, &picture.about())
        };
        Ok(format!("<div>{}</div><div>{drawn}</div>", escaped(name)))
    };
    pictures.iter().map(one).collect()
}

/// An SVG document as a part of a page, with words for those who do not see it. As a form of its own nbconvert would
/// want Inkscape, to print it.
pub fn drawing(svg: &str, about: &str) -> String {
    image_of("image/svg+xml", svg.as_bytes(), about)
}

fn image_of(mime: &str, file: &[u8], about: &str) -> String {
    let (data, about) = (STANDARD.encode(file), escaped(about));
    format!("<img src=\"data:{mime};base64,{data}\" alt=\"{about}\" style=\"max-width: 100%\">")
}

#[cfg(test)]
mod tests {
    use std::any::type_name;

    use super::*;
    use crate::show::plot::Raster;
    use crate::value::generator::RngRef;
    use crate::value::host_array::HostRef;
    use crate::value::own_name;

    /// Values below do not know these types, but their names.
    #[test]
    fn types_of_ours_have_names() {
        for (rust, name) in [
            (type_name::<RngRef>(), "PCG32C"),
            (type_name::<HostRef>(), "ndarray"),
            (type_name::<Picture>(), "a picture"),
            (type_name::<Listing>(), "listing"),
        ] {
            assert_eq!(own_name(rust.rsplit("::").next().unwrap()), name);
        }
    }

    fn image(width: usize, height: usize) -> Picture {
        // Colours that no file makes shorter.
        let noise = |i: usize| {
            let mut mixed = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (mixed ^ (mixed >> 27)).to_be_bytes()
        };
        let pixels = (0..width * height).map(|i| [0, 3, 5].map(|byte| noise(i)[byte])).collect();
        Picture::image(Raster { width, height, pixels }, 80)
    }

    #[test]
    fn a_large_picture_is_pixels_only() {
        let forms_of = |picture| forms(&Dynamic::from(picture), &PrintOptions::default()).unwrap();
        let small = forms_of(image(30, 20));
        assert_eq!(small.iter().map(|form| form.0).collect::<Vec<_>>(), [HTML, PNG]);
        let [(PNG, file)] = &forms_of(image(2000, 1000))[..] else { panic!("other forms") };
        let size = STANDARD.decode(&file[..32]).unwrap();
        assert_eq!(size[16..24], [0, 0, 5, 160, 0, 0, 2, 208]);
    }

    #[test]
    fn lists_of_pictures_are_pictures() {
        let list = vec![Dynamic::from(image(2, 2)), Dynamic::from(image(3, 3))];
        let shown = |value: Dynamic| forms(&value, &PrintOptions::default()).unwrap();
        let [(HTML, html)] = &shown(list.clone().into())[..] else { panic!("other forms") };
        assert_eq!(html.matches("<img ").count(), 2, "{html}");
        let map = rhai::Map::from([("<wave>".into(), list[0].clone())]);
        let [(HTML, html)] = &shown(map.into())[..] else { panic!("other forms") };
        assert!(html.starts_with("<div>&lt;wave&gt;</div><div><img "), "{html}");
        assert!(shown(vec![list[0].clone(), 1.into()].into()).is_empty());
        assert!(shown(rhai::Array::new().into()).is_empty());
    }
}
