//! Files of pictures as tensors.

use porcini_core::DType;
use rhai::Dynamic;

use super::files::{contents, map, path};
use super::registry::Registry;
use crate::fault::{IntoFault, Result, advised, fault, placed};
use crate::value::images::{Refusal, read};
use crate::value::{ArrayRef, type_name};

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "read_image",
        "(path, options)",
        "The picture in a file, PNG or JPEG, as a tensor: [rows, columns] of greys, [rows, columns, 3] of red, green and blue, \
         [rows, columns, 4] with the opacity last, also of greys that have one. Its numbers go from 0 to 255, or 65535 where a PNG has 16 bits; \
         greys of fewer bits are spread over them, a palette is its colours. Options: #{float: true} (floats from 0 to 1). \
         Rows and columns stand as they are stored, whatever a camera noted of its orientation, and profiles of colours are not \
         looked at. Of an animated PNG it is the first picture. image shows such a tensor, save_image writes it; both spread \
         greys from the darkest to the lightest, unless their option range says otherwise.\n\n\
         >> save_image(\"i.png\", FloatC([0, 1]), 2, 1); read_image(\"i.png\").shape\n[1, 2, 3]",
    );
    for arity in [1, 2] {
        registry.any("read_image", arity, |context, _, args| {
            let path = path("read_image", args[0])?;
            let is_float = args.get(1).map(|options| is_float(options)).transpose()?;
            let floats = is_float.unwrap_or(false).then_some(DType::F32);
            let bytes = contents(context, "read_image", &path)?;
            let picture = read(&context.session, &bytes, floats);
            picture.map(ArrayRef::tensor).or_else(|refusal| refused(&path, refusal))
        });
    }
}

/// Whether the options ask for floats.
fn is_float(options: &Dynamic) -> Result<bool> {
    let options = map("read_image", "a map of options second: #{float: true}", options)?;
    if let Some(key) = options.keys().find(|key| *key != "float") {
        return Err(fault(format!("read_image: no option {key} (options: float)")));
    }
    let Some(value) = options.get("float") else { return Ok(false) };
    value.as_bool().map_err(|_| {
        let got = type_name(value);
        fault(format!("read_image: option float: got {got}, expected true or false"))
    })
}

fn refused<T>(path: &str, refusal: Refusal) -> Result<T> {
    let (place, remedy) = (format!("read_image: {path}"), refusal.remedy());
    let refused = match refusal {
        Refusal::Core(error) => Err(error).or_fault(),
        refusal => Err(fault(refusal.to_string())),
    };
    let refused = refused.map_err(|error| placed(error, &place));
    refused.map_err(|error| match remedy {
        Some(remedy) => advised(error, remedy),
        None => error,
    })
}
