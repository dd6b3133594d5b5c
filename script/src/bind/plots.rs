//! Pictures: `plot`, `hist`, `image`, and files of them.

use porcini_core::Array;
use rhai::{Dynamic, Map};

use super::files;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{Result, fault};
use crate::show::plot::{Chart, Picture, Raster, Shape, histogram, pixels, points};
use crate::value::{self, ArrayRef, type_name};

/// Pixels of an image.
const MOST_PIXELS: i64 = 1 << 26;
/// Bars of a histogram.
const MOST_BINS: i64 = 10_000;
const DEFAULT_BINS: usize = 20;

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.engine.register_type_with_name::<Picture>("Picture");
    charts(registry);
    registry.doc(
        "hist",
        "(x, bins)",
        "A histogram of the finite lanes as a picture, of 20 bars unless bins says otherwise. Evaluates.\n\n\
         >> str(hist(FloatC([1, 2, 2, 3]), 3)).contains(\"2\")\ntrue",
    );
    for arity in [1, 2] {
        registry.any("hist", arity, |context, _, args| {
            let x = array("hist", args[0])?.array("hist")?;
            let bins = match args.get(1).map(|bins| bins.as_int()) {
                None => DEFAULT_BINS,
                Some(Ok(bins)) if (1..=MOST_BINS).contains(&bins) => {
                    usize::try_from(bins).unwrap_or(1)
                }
                Some(_) => {
                    let got = value::got(args[1]);
                    return Err(fault(format!("hist: got {got} bins, expected 1 to {MOST_BINS}")));
                }
            };
            let bars = histogram(&x, bins)?;
            picture(context, "hist", Shape::Bars, "", vec![bars])
        });
    }
    registry.doc(
        "image",
        "(a, width, height)",
        "Lanes as a picture, row by row from the top: of an array greys from its smallest to its largest number, of \
         a vector of three red, green and blue from 0 to 1. Evaluates.\n\n\
         >> str(image(FloatC([0, 1, 2, 3]), 4, 1))\n ░▓█",
    );
    registry.any("image", 3, |context, _, args| {
        let raster = raster("image", args)?;
        Ok(Picture::image(raster, context.width()))
    });
    to_files(registry);
}

fn charts(registry: &mut Registry<'_>) {
    registry.doc(
        "plot",
        "(x, y, options)",
        "A picture of y against x, or against the lane number if there is no x: lines, which leave gaps where numbers \
         are not finite. A vector, or a list of arrays, gives several lines. Options: #{title: \"speed\", points: true}. \
         A terminal shows it as text, a notebook as SVG; print(plot(y)) shows it from a script. Evaluates.\n\n\
         >> str(plot(FloatC([0, 1, 4, 9]))).split(\"\\n\").len() > 10\ntrue",
    );
    for arity in 1..=3 {
        registry.any("plot", arity, |context, _, args| {
            let (options, arrays) = match args.split_last() {
                Some((last, rest)) if last.is::<Map>() && !rest.is_empty() => (Some(last), rest),
                _ => (None, args),
            };
            let (x, y) = match arrays {
                [y] => (None, y),
                [x, y] => (Some(array("plot", x)?.array("plot")?), y),
                _ => {
                    return Err(fault(
                        "plot: expected plot(y), plot(x, y) or plot(x, y, #{title: \"..\"})",
                    ));
                }
            };
            let (title, shape) = settings(options.map(|options| &**options))?;
            let series = series_of(y)?;
            let points =
                series.iter().map(|y| points(x.as_ref(), y)).collect::<Result<Vec<_>>>()?;
            picture(context, "plot", shape, &title, points)
        });
    }
}

fn to_files(registry: &mut Registry<'_>) {
    registry.doc(
        "save_plot",
        "(path, picture)",
        "Writes what plot, hist or image gave to a file: .svg, .png or .txt.\n\n\
         >> save_plot(\"p.svg\", plot(FloatC([1, 2]))); \"written\"\nwritten",
    );
    registry.any("save_plot", 2, |context, _, args| {
        let picture = args[1].read_lock::<Picture>().map(|picture| picture.clone());
        let picture = picture.ok_or_else(|| {
            let got = type_name(args[1]);
            fault(format!(
                "save_plot: got {got}, expected a picture: save_plot(\"p.svg\", plot(y))"
            ))
        })?;
        save(context, "save_plot", args[0], &picture)
    });
    registry.doc(
        "save_image",
        "(path, a, width, height)",
        "Writes lanes as image(a, width, height) shows them to a file: .png, .svg or .txt.\n\n\
         >> save_image(\"i.png\", FloatC([0, 1]), 2, 1); \"written\"\nwritten",
    );
    registry.any("save_image", 4, |context, _, args| {
        let picture = Picture::image(raster("save_image", &args[1..])?, context.width());
        save(context, "save_image", args[0], &picture)
    });
}

fn picture(
    context: &Context,
    op: &str,
    shape: Shape,
    title: &str,
    series: Vec<Vec<(f64, f64)>>,
) -> Result<Picture> {
    let chart = Chart { shape, title: title.into(), series };
    if chart.is_blank() {
        return Err(fault(format!("{op}: got no finite number, expected at least one")));
    }
    Ok(Picture::chart(chart, context.width()))
}

fn settings(options: Option<&Dynamic>) -> Result<(String, Shape)> {
    let (mut title, mut shape) = (String::new(), Shape::Lines);
    let options = options.and_then(|options| options.read_lock::<Map>().map(|map| map.clone()));
    for (key, value) in options.unwrap_or_default() {
        match (key.as_str(), value.as_bool()) {
            ("title", _) => title = value.to_string(),
            ("points", Ok(true)) => shape = Shape::Points,
            ("points", Ok(false)) => {}
            ("points", Err(_)) => return Err(fault("plot: option points: expected true or false")),
            _ => return Err(fault(format!("plot: no option {key} (options: title, points)"))),
        }
    }
    Ok((title, shape))
}

/// One array a line.
fn series_of(value: &Dynamic) -> Result<Vec<Array>> {
    if let Some(list) = value.read_lock::<rhai::Array>()
        && list.iter().any(|item| item.is::<ArrayRef>())
    {
        let lines = list.iter().map(series_of).collect::<Result<Vec<_>>>()?;
        return Ok(lines.into_iter().flatten().collect());
    }
    Ok(array("plot", value)?.leaves())
}

fn array(op: &str, value: &Dynamic) -> Result<ArrayRef> {
    value.read_lock::<ArrayRef>().map(|array| array.clone()).ok_or_else(|| {
        let hint = if value.is_array() { "; make one of a list: FloatC([1, 2, 3])" } else { "" };
        fault(format!("{op}: got {}, expected an array{hint}", type_name(value)))
    })
}

/// Pixels of `(a, width, height)`.
fn raster(op: &str, args: &[&mut Dynamic]) -> Result<Raster> {
    let a = array(op, args[0])?;
    let size = |i: usize| {
        let n = args[i].as_int().ok().filter(|n| (1..=MOST_PIXELS).contains(n));
        n.ok_or_else(|| {
            let what = if i == 1 { "width" } else { "height" };
            let got = value::got(args[i]);
            fault(format!("{op}: got {what} {got}, expected an integer from 1 up"))
        })
    };
    let (width, height) = (size(1)?, size(2)?);
    let leaves = a.leaves();
    let n = a.lanes().unwrap_or(0);
    let expected = width.saturating_mul(height);
    if expected > MOST_PIXELS {
        let size = format!("{op}: {width} x {height} pixels are too many");
        return Err(fault(format!("{size} (at most {MOST_PIXELS}); show a part of them")));
    }
    if u64::try_from(expected) != Ok(n) || !matches!(leaves.len(), 1 | 3) {
        return Err(fault(format!(
            "{op}: got {} of {n} lanes, expected {width} x {height} lanes, of an array or a vector of three",
            a.type_name()
        )));
    }
    let pixels = pixels(&leaves, n)?;
    let size = |n: i64| usize::try_from(n).unwrap_or(1);
    Ok(Raster { width: size(width), height: size(height), pixels })
}

fn save(context: &Context, op: &str, path: &Dynamic, picture: &Picture) -> Result<()> {
    let path = files::path(op, path)?;
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let bytes = match ending.to_ascii_lowercase().as_str() {
        "svg" => picture.svg()?.into_bytes(),
        "png" => picture.png()?,
        "txt" => (picture.text()? + "\n").into_bytes(),
        _ => {
            return Err(fault(format!(
                "{op}: {path}: expected a name that ends with .svg, .png or .txt"
            )));
        }
    };
    files::store(context, op, &path, &bytes)
}
