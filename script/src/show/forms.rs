//! What a value looks like: text everywhere, and further forms where a front end can show them.

use rhai::Dynamic;

use crate::fault::Result;
use crate::show::html;
use crate::show::listing::Listing;
use crate::show::markup::HTML;
use crate::show::plot::Picture;
use crate::show::print_options::PrintOptions;

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
pub enum Place<'a> {
    /// Below what was shown before.
    Below,
    /// There too, under a name by which [`Place::Instead`] finds it.
    Named(&'a str),
    /// In place of what was shown under this name.
    Instead(&'a str),
}

/// MIME type of pictures.
const SVG: &str = "image/svg+xml";

impl Shown {
    /// Text without further forms.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), forms: Vec::new() }
    }

    /// Bytes of all forms.
    pub(crate) fn bytes(&self) -> usize {
        self.forms.iter().map(|(_, content)| content.len()).sum::<usize>() + self.text.len()
    }
}

/// The further forms of a value.
pub(crate) fn forms(value: &Dynamic, options: PrintOptions) -> Result<Vec<(&'static str, String)>> {
    if let Some(listing) = value.read_lock::<Listing>() {
        return Ok(vec![listing.form(options.most)?]);
    }
    if let Some(picture) = value.read_lock::<Picture>() {
        return Ok(vec![(SVG, picture.svg()?)]);
    }
    let html = html::table(value, options)?;
    Ok(html.map(|html| (HTML, html)).into_iter().collect())
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
