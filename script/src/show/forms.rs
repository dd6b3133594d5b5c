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

/// The further forms of a value.
pub(crate) fn forms(
    value: &Dynamic,
    options: &PrintOptions,
) -> Result<Vec<(&'static str, String)>> {
    if let Some(listing) = value.read_lock::<Listing>() {
        return Ok(vec![listing.form(options.most)?]);
    }
    if let Some(picture) = value.read_lock::<Picture>() {
        let drawn = drawing(&picture.svg()?, &picture.about());
        return Ok(vec![(HTML, drawn), ("image/png", STANDARD.encode(picture.png()?))]);
    }
    let html = html::table(value, options)?;
    Ok(html.map(|html| (HTML, html)).into_iter().collect())
}

/// An SVG document as a part of a page, with words for those who do not see it. As a form of its own nbconvert would
/// want Inkscape, to print it.
pub fn drawing(svg: &str, about: &str) -> String {
    let (data, about) = (STANDARD.encode(svg), escaped(about));
    format!(
        "<img src=\"data:image/svg+xml;base64,{data}\" alt=\"{about}\" style=\"max-width: 100%\">"
    )
}

#[cfg(test)]
mod tests {
    use std::any::type_name;

    use super::*;
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
}
