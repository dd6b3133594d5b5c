//! Pictures: `plot`, `hist`, `image` and the like, and files of them.

use std::ops::Range;

use porcini_core::tensor::{AxisIndex, Tensor};
use porcini_core::{Array, DType};
use rhai::{Dynamic, Map};

use super::columns::lanes;
use super::files;
use super::registry::Registry;
use super::types::convert;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::show::plot::{
    Chart, Colours, Grid, Layer, Marks, Picture, Raster, Side, all_points, grid, histogram, pixels,
    points, scattered,
};
use crate::show::visible::visible;
use crate::value::{self, ArrayRef, Node, scalar, type_name};

/// Pixels of an image.
const MOST_PIXELS: i64 = 1 << 26;
/// Bars of a histogram, and levels of contours.
const MOST_BINS: i64 = 10_000;
const MOST_LEVELS: i64 = 100;
/// Lines of a tensor that a picture still shows apart.
const MOST_LINES: u64 = 1000;
const DEFAULT_BINS: usize = 20;
const DEFAULT_LEVELS: usize = 8;
/// Cells of a side of a heatmap that are kept, and of a grid that contours go through.
const MOST_CELLS: usize = 720;
const MOST_CORNERS: usize = 160;

/// Options of all charts, and of those of some.
const COMMON: [&str; 6] = ["title", "xlabel", "ylabel", "xlim", "ylim", "grid"];
const LINES: [&str; 3] = ["labels", "xscale", "yscale"];

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.engine.register_type_with_name::<Picture>("Picture");
    charts(registry);
    fields(registry);
    registry.doc(
        "hist",
        "(x, bins, options)",
        "A histogram of the finite lanes, or of a tensor's entries, as a picture, of 20 bars unless bins says otherwise; options as of plot, except points. \
         Evaluates.\n\n>> str(hist(FloatC([1, 2, 2, 3]), 3)).contains(\"2\")\ntrue",
    );
    for arity in 1..=3 {
        registry.any("hist", arity, |context, _, args| {
            let (options, args) = Options::split("hist", args, &[&COMMON, &LINES])?;
            let x = match args[0].is_array() {
                true => array(context, "hist", args[0])?,
                false => lanes("hist", args[0])?,
            };
            let bins = match args {
                [_] => DEFAULT_BINS,
                [_, bins] => count("hist", "bins", bins, MOST_BINS)?,
                _ => {
                    return Err(fault(
                        "hist: expected hist(x), hist(x, bins) or hist(x, bins, options)",
                    ));
                }
            };
            let (bars, width) = histogram(&x, bins)?;
            options.picture(context, vec![Marks::Bars(bars, width)])
        });
    }
    registry.doc(
        "image",
        "(a, width, height, options)",
        "Lanes as a picture, row by row from the top, or a tensor [rows, columns]: of an array greys from its smallest to its largest number, NaN red, or the \
         colours of #{cmap: \"viridis\"}, see heatmap, where infinities are as the ends; #{range: [0, 255]} says what is darkest and what \
         lightest. Of a vector of three they are red, green and blue, floats from 0 to 1 \
         and integers from 0 to 255, UInt16C to 65535. They are the last axis of a tensor [rows, columns, 3], or 4, the last the opacity, in \
         front of white. Width and height are for arrays. \
         A notebook shows at most 1440 pixels of a side, means where there are more; save_image writes all. \
         Evaluates.\n\n>> str(image(FloatC([0, 1, 2, 3]), 4, 1))\n ░▓█",
    );
    for arity in 1..=4 {
        registry.any("image", arity, |context, _, args| {
            let raster = raster("image", args)?;
            Ok(Picture::image(raster, context.width()))
        });
    }
    to_files(registry);
}

fn charts(registry: &mut Registry<'_>) {
    registry.doc(
        "plot",
        "(x, y, options)",
        "A picture of y against x, or against the lane number if there is no x: lines, which leave gaps where numbers \
         are not finite. A vector, a list of arrays, or a tensor [lines, n] gives several lines. Options: #{title: \"speed\", xlabel: \"t\", \
         ylabel: \"v\", labels: [\"a\", \"b\"] (a legend), xscale: \"log\", yscale: \"log\", xlim: [0, 1], ylim: [0, 1], \
         grid: true, points: true (no lines; [true, false]: measured points and a curve)}. Where numbers lie close \
         together far from 0, what is to be added to the labels stands beside the axis: +1.7e+09. A terminal shows it as text, in \
         colour if it has it, a notebook as SVG; print(plot(y)) shows it from a script. Evaluates.\n\n\
         >> let [t, curve] = [FloatC([0, 1, 2]), FloatC::linspace(0, 2, 50)];\n\
         >> type_of(plot([t, curve], [t ** 2 + 0.1, curve ** 2], #{points: [true, false], labels: [\"data\", \"fit\"]}))\n\
         Picture",
    );
    registry.doc(
        "scatter_plot",
        "(x, y, options)",
        "As plot, of points that no line joins. Of very many one for each place is drawn.\n\n\
         >> type_of(scatter_plot(FloatC([0, 1]), FloatC([1, 3])))\nPicture",
    );
    for (name, own) in [("plot", &["points"][..]), ("scatter_plot", &[])] {
        for arity in 1..=3 {
            registry.any(name, arity, move |context, _, args| {
                let (options, arrays) = Options::split(name, args, &[&COMMON, &LINES, own])?;
                let (x, y) = match arrays {
                    [y] => (None, y),
                    [x, y] => (Some(x), y),
                    _ => {
                        return Err(fault(format!(
                            "{name}: expected {name}(y), {name}(x, y) or {name}(x, y, #{{title: \"..\"}})"
                        )));
                    }
                };
                let y = series_of(context, name, y)?;
                let x = x.map(|x| series_of(context, name, x)).transpose()?.unwrap_or_default();
                if x.len() > 1 && x.len() != y.len() {
                    let (x, y) = (x.len(), y.len());
                    return Err(fault(format!("{name}: got {x} arrays of x and {y} of y, expected 1 or as many")));
                }
                let are_points = match name {
                    "scatter_plot" => vec![true; y.len()],
                    _ => options.each("points", y.len())?,
                };
                let are_log = [options.side('x')?.is_log, options.side('y')?.is_log];
                let marks = y.iter().enumerate().map(|(i, y)| {
                    let x = x.get(i).or(x.first());
                    Ok(if are_points[i] {
                        Marks::Points(scattered(name, x, y, are_log)?)
                    } else {
                        Marks::Line(points(name, x, y)?)
                    })
                });
                options.picture(context, marks.collect::<Result<Vec<_>>>()?)
            });
        }
    }
    registry.doc(
        "errorbar",
        "(x, y, error, options)",
        "Points with bars from y - error to y + error, no error below 0; options as of plot, except points. Evaluates.\n\n\
         >> type_of(errorbar(FloatC([0, 1]), FloatC([1, 3]), FloatC(0.5)))\nPicture",
    );
    for arity in [3, 4] {
        registry.any("errorbar", arity, |context, _, args| {
            let (options, arrays) = Options::split("errorbar", args, &[&COMMON, &LINES])?;
            let [x, y, error] = arrays_of(context, "errorbar(x, y, error)", arrays)?;
            let points = all_points("errorbar", [&x, &y, &error])?;
            if let Some(lane) = points.iter().position(|[.., error]| *error < 0.0) {
                let got = points[lane][2];
                let what =
                    format!("errorbar: got an error of {got} (lane {lane}), expected 0 or more");
                return Err(fault_with_hint(what, "abs(error) is how far a bar reaches"));
            }
            let points = points.into_iter().map(|[x, y, error]| ((x, y), error)).collect();
            options.picture(context, vec![Marks::Errors(points)])
        });
    }
    registry.doc(
        "quiver",
        "(x, y, u, v, options)",
        "Arrows from (x, y) that go so far along both axes: to (x + u, y + v). Options: #{title: \"wind\", \
         xlabel: \"x\", ylabel: \"y\", labels: [\"a\", \"b\"], xlim: [0, 1], ylim: [0, 1], grid: true}. Evaluates.\n\n\
         >> let z = FloatC([0, 1]); type_of(quiver(z, z, z + 1, -z))\nPicture",
    );
    for arity in [4, 5] {
        registry.any("quiver", arity, |context, _, args| {
            let (options, arrays) = Options::split("quiver", args, &[&COMMON, &["labels"]])?;
            let [x, y, u, v] = arrays_of(context, "quiver(x, y, u, v)", arrays)?;
            let arrows = all_points("quiver", [&x, &y, &u, &v])?;
            let arrows = arrows.into_iter().map(|[x, y, u, v]| ((x, y), (u, v))).collect();
            options.picture(context, vec![Marks::Arrows(arrows)])
        });
    }
}

/// Pictures of lanes in rows.
fn fields(registry: &mut Registry<'_>) {
    registry.doc(
        "heatmap",
        "(a, width, height, options)",
        "Lanes as colours between two axes, with a scale of colours, row by row from below, as meshgrid makes them; or a \
         tensor [rows, columns] without width and height. \
         Options: #{title: \"heat\", xlabel: \"x\", ylabel: \"y\", grid: true, extent: [x0, x1, y0, y1] (where the cells lie), \
         cmap: \"viridis\" (or plasma, magma, coolwarm, grey)}. Evaluates.\n\n\
         >> type_of(heatmap(from_fn([2, 3], |i, j| i * j), #{cmap: \"magma\"}))\nPicture",
    );
    registry.doc(
        "contour",
        "(a, width, height, options)",
        "Lines of equal values of lanes in rows, or of a tensor [rows, columns], each row above the one before; the outermost lanes stand at the ends of \
         the axes. Options as of heatmap, and #{levels: 8}, or a list of them. Evaluates.\n\n\
         >> type_of(contour(FloatC::arange(6), 3, 2, #{levels: [1, 2.5]}))\nPicture",
    );
    for (name, own) in [("heatmap", &[][..]), ("contour", &["levels"])] {
        for arity in 1..=4 {
            registry.any(name, arity, move |context, _, args| {
                let known = ["title", "xlabel", "ylabel", "grid", "extent", "cmap"];
                let (options, args) = Options::split(name, args, &[&known, own])?;
                let (a, width, height) = field(context, name, args)?;
                let is_contour = name == "contour";
                let most = if is_contour { MOST_CORNERS } else { MOST_CELLS };
                let mut cells = grid(&a, width, height, most)?;
                if is_contour {
                    // The outermost lanes lie on the ends.
                    (cells.x, cells.y) = (0.0..cells.x.end - 1.0, 0.0..cells.y.end - 1.0);
                    if width.min(height) < 2 {
                        return Err(fault("contour: expected at least 2 x 2 lanes"));
                    }
                }
                cells.colours = options.colours(Colours::Viridis)?;
                if let Some(extent) = options.numbers("extent")? {
                    let [x0, x1, y0, y1] = extent[..] else {
                        return Err(options.unexpected("extent", "[x0, x1, y0, y1]"));
                    };
                    if !(x0 < x1 && y0 < y1) {
                        return Err(options.unexpected("extent", "x0 < x1 and y0 < y1"));
                    }
                    (cells.x, cells.y) = (x0..x1, y0..y1);
                }
                let marks = if is_contour {
                    let levels = options.levels(&cells)?;
                    Marks::Contours(cells, levels)
                } else {
                    Marks::Cells(cells)
                };
                options.picture(context, vec![marks])
            });
        }
    }
}

fn to_files(registry: &mut Registry<'_>) {
    registry.doc(
        "save_plot",
        "(path, picture)",
        "Writes what plot, hist, image or the like gave to a file: .svg, .png or .txt.\n\n\
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
        "(path, a, width, height, options)",
        "Writes lanes, or a tensor, as image(a, width, height, options) shows them to a file: .png, .svg or .txt; options as of \
         image.\n\n\
         >> save_image(\"i.png\", FloatC([0, 1]), 2, 1); \"written\"\nwritten",
    );
    for arity in 2..=5 {
        registry.any("save_image", arity, |context, _, args| {
            let picture = Picture::image(raster("save_image", &args[1..])?, context.width());
            save(context, "save_image", args[0], &picture)
        });
    }
}

/// What stands in the last argument, a map.
struct Options {
    op: &'static str,
    map: Map,
}

impl Options {
    /// The options, of which all must be known, and the arguments before them.
    fn split<'a, 'v>(
        op: &'static str,
        args: &'a [&'v mut Dynamic],
        known: &[&[&str]],
    ) -> Result<(Self, &'a [&'v mut Dynamic])> {
        let (map, rest) = match args.split_last() {
            Some((last, rest)) if last.is::<Map>() && !rest.is_empty() => {
                (last.read_lock::<Map>().map(|map| map.clone()).unwrap_or_default(), rest)
            }
            _ => (Map::new(), args),
        };
        let names: Vec<&str> = known.iter().flat_map(|names| names.iter().copied()).collect();
        // One line has one label.
        let is_known =
            |key: &str| names.contains(&key) || (key == "label" && names.contains(&"labels"));
        match map.keys().find(|key| !is_known(key)) {
            Some(key) => {
                let names = names.join(", ");
                Err(fault(format!("{op}: no option {key} (options: {names})")))
            }
            None => Ok((Self { op, map }, rest)),
        }
    }

    fn unexpected(&self, key: &str, expected: &str) -> Box<rhai::EvalAltResult> {
        let got = self.map.get(key).map_or_else(String::new, value::got);
        fault(format!("{}: option {key}: got {got}, expected {expected}", self.op))
    }

    fn is_set(&self, key: &str) -> Result<bool> {
        let truth = self.map.get(key).map_or(Ok(false), Dynamic::as_bool);
        truth.map_err(|_| self.unexpected(key, "true or false"))
    }

    /// What is set for each of so many layers: for all by a bool, by a list one by one.
    fn each(&self, key: &str, n: usize) -> Result<Vec<bool>> {
        let list = self.map.get(key).and_then(|given| given.read_lock::<rhai::Array>());
        let Some(list) = list else { return Ok(vec![self.is_set(key)?; n]) };
        let truths: Option<Vec<bool>> = list.iter().map(|item| item.as_bool().ok()).collect();
        let unexpected = || self.unexpected(key, &format!("a bool, or a list of {n} bools"));
        truths.filter(|truths| truths.len() == n).ok_or_else(unexpected)
    }

    fn text(&self, key: &str) -> Result<String> {
        let text = self.map.get(key).map(|given| given.clone().into_string());
        let text = text.transpose().map_err(|_| self.unexpected(key, "text"))?;
        Ok(visible(&text.unwrap_or_default()).into())
    }

    fn numbers(&self, key: &str) -> Result<Option<Vec<f64>>> {
        let Some(given) = self.map.get(key) else { return Ok(None) };
        let list = given.read_lock::<rhai::Array>();
        let list = list.ok_or_else(|| self.unexpected(key, "a list of numbers"))?;
        let number = |item: &Dynamic| {
            let number = scalar(item).map(porcini_core::Scalar::to_f64).filter(|x| x.is_finite());
            number.ok_or_else(|| self.unexpected(key, "a list of finite numbers"))
        };
        list.iter().map(number).collect::<Result<_>>().map(Some)
    }

    /// An axis, by its letter.
    fn side(&self, letter: char) -> Result<Side> {
        let [label, scale, limits] =
            ["label", "scale", "lim"].map(|what| format!("{letter}{what}"));
        let is_log = match self.map.get(scale.as_str()).map(ToString::to_string).as_deref() {
            None | Some("linear") => false,
            Some("log") => true,
            Some(_) => return Err(self.unexpected(&scale, "\"linear\" or \"log\"")),
        };
        let range = |ends: Vec<f64>| match ends[..] {
            [low, high] if low < high && (low > 0.0 || !is_log) => Ok(low..high),
            [..] if is_log => Err(self.unexpected(&limits, "[low, high] with 0 < low < high")),
            _ => Err(self.unexpected(&limits, "[low, high] with low < high")),
        };
        let limits: Option<Range<f64>> = self.numbers(&limits)?.map(range).transpose()?;
        Ok(Side { label: self.text(&label)?, is_log, limits, rows: Vec::new() })
    }

    /// The names of so many layers.
    fn labels(&self, n: usize) -> Result<Vec<String>> {
        let key = if self.map.contains_key("label") { "label" } else { "labels" };
        let Some(given) = self.map.get(key) else { return Ok(vec![String::new(); n]) };
        let label = |item: &Dynamic| visible(&item.to_string()).into_owned();
        let labels: Vec<String> = match given.read_lock::<rhai::Array>() {
            Some(list) => list.iter().map(label).collect(),
            None => vec![label(given)],
        };
        if labels.len() == n {
            return Ok(labels);
        }
        let what = format!("{}: option {key}: got {} labels, expected {n}", self.op, labels.len());
        Err(fault(what))
    }

    fn colours(&self, default: Colours) -> Result<Colours> {
        let name = self.map.get("cmap").map(ToString::to_string);
        let colours = name.map_or(Ok(default), |name| name.parse());
        colours.map_err(|known: String| self.unexpected("cmap", &known))
    }

    /// What is darkest and what lightest.
    fn range(&self) -> Result<Option<Range<f64>>> {
        let range = |ends: Vec<f64>| match ends[..] {
            [low, high] if low < high => Ok(low..high),
            _ => Err(self.unexpected("range", "[low, high] with low < high")),
        };
        self.numbers("range")?.map(range).transpose()
    }

    /// The levels of contours: those of a list, or so many inside the range.
    fn levels(&self, cells: &Grid) -> Result<Vec<f64>> {
        let n = match self.map.get("levels") {
            None => DEFAULT_LEVELS,
            Some(levels) if levels.is_array() => {
                let levels = self.numbers("levels")?.unwrap_or_default();
                let few = i64::try_from(levels.len()).is_ok_and(|n| n <= MOST_LEVELS);
                return if few {
                    Ok(levels)
                } else {
                    Err(self.unexpected("levels", "at most 100"))
                };
            }
            Some(levels) => count(self.op, "levels", levels, MOST_LEVELS)?,
        };
        Ok(cells.levels(n))
    }

    /// The picture of layers.
    fn picture(&self, context: &Context, marks: Vec<Marks>) -> Result<Picture> {
        let labels = self.labels(marks.len())?;
        let layer = |(label, marks)| Layer { label, marks };
        let grid = self.map.contains_key("grid").then(|| self.is_set("grid")).transpose()?;
        let layers = labels.into_iter().zip(marks).map(layer).collect();
        let (x, y) = (self.side('x')?, self.side('y')?);
        let chart = Chart { title: self.text("title")?, x, y, grid, layers };
        if let Some(why) = chart.nothing() {
            context.host.eprint(&format!("note: {}: nothing is drawn: {why}", self.op));
        }
        Ok(Picture::chart(chart, context.width()))
    }
}

/// An integer from 1 up to a bound.
fn count(op: &str, what: &str, value: &Dynamic, most: i64) -> Result<usize> {
    match value.as_int() {
        Ok(n) if (1..=most).contains(&n) => Ok(usize::try_from(n).unwrap_or(1)),
        _ => {
            let got = value::got(value);
            Err(fault(format!("{op}: got {got} {what}, expected 1 to {most}")))
        }
    }
}

/// One array a line.
fn series_of(context: &Context, op: &str, value: &Dynamic) -> Result<Vec<Array>> {
    if let Some(list) = value.read_lock::<rhai::Array>()
        && list.iter().any(|item| item.is::<ArrayRef>() || item.is_array())
    {
        let lines = list.iter().map(|item| series_of(context, op, item));
        return Ok(lines.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect());
    }
    if let Some(lines) = lines(op, value)? {
        return Ok(lines);
    }
    match value.read_lock::<ArrayRef>() {
        Some(array) => array.contents(),
        None => Ok(vec![array(context, op, value)?]),
    }
}

/// The rows of a tensor of two axes.
fn lines(op: &str, value: &Dynamic) -> Result<Option<Vec<Array>>> {
    let Some(tensor) = tensor(value) else { return Ok(None) };
    let shape = tensor.shape();
    let &[n, _] = shape.extents() else {
        if shape.rank() < 2 {
            return Ok(None);
        }
        return Err(fault(format!("{op}: got a tensor {shape}, expected [lines, points]")));
    };
    if n > MOST_LINES || tensor.is_complex() {
        let name = tensor.type_name();
        return Err(fault_with_hint(
            format!(
                "{op}: got {name} of shape {shape}, expected at most {MOST_LINES} lines of real numbers"
            ),
            "each row is a line: t.T has a line for each column, z.real and z.imag the parts",
        ));
    }
    let row =
        |i: u64| Ok(tensor.at(&[AxisIndex::Number(i.cast_signed())])?.entries()?.swap_remove(0));
    (0..n).map(row).collect::<porcini_core::Result<_>>().map(Some).or_fault()
}

/// The tensor that a value is.
fn tensor(value: &Dynamic) -> Option<Tensor> {
    match &*value.read_lock::<ArrayRef>()?.node() {
        Node::Tensor(tensor) => Some(tensor.clone()),
        Node::Leaf(_) | Node::Nested(..) => None,
    }
}

/// Lanes in rows, with their numbers of columns and rows: of `(a, width, height)`, or of a tensor of two axes.
fn field(context: &Context, op: &str, args: &[&mut Dynamic]) -> Result<(Array, usize, usize)> {
    let (a, [width, height]) = match args {
        [a] => {
            let shaped = tensor(a).filter(|tensor| tensor.shape().rank() == 2);
            let Some(tensor) = shaped else { return Err(no_field(op, a)) };
            let side = |i: usize| i64::try_from(tensor.shape().extents()[i]).unwrap_or(i64::MAX);
            (a, [side(1), side(0)].map(Dynamic::from))
        }
        [a, width, height] => (a, [(**width).clone(), (**height).clone()]),
        _ => {
            return Err(fault(format!(
                "{op}: expected {op}(a, width, height), or {op}(t) of a tensor"
            )));
        }
    };
    let a = if a.is_array() { array(context, op, a)? } else { lanes(op, a)? };
    let (width, height) =
        (count(op, "columns", &width, MOST_PIXELS)?, count(op, "rows", &height, MOST_PIXELS)?);
    if width as u64 * height as u64 != a.size() {
        let got = a.size();
        return Err(fault(format!("{op}: got {got} lanes, expected {width} x {height}")));
    }
    Ok((a, width, height))
}

fn no_field(op: &str, value: &Dynamic) -> Box<rhai::EvalAltResult> {
    let got = tensor(value).map_or_else(
        || type_name(value),
        |tensor| format!("{} of shape {}", tensor.type_name(), tensor.shape()),
    );
    fault_with_hint(
        format!("{op}: got {got}, expected a tensor [rows, columns]"),
        format!("of an array say its width and height: {op}(a, width, height)"),
    )
}

/// An array, or a list of numbers.
fn array(context: &Context, op: &str, value: &Dynamic) -> Result<Array> {
    if let Some(array) = value.read_lock::<ArrayRef>() {
        return array.array(op);
    }
    if value.is_array() {
        return convert(context, op, DType::F64, value);
    }
    Err(fault(format!("{op}: got {}, expected an array", type_name(value))))
}

/// The arrays of a call that is shown in errors; a number is one for all.
fn arrays_of<const N: usize>(
    context: &Context,
    call: &str,
    args: &[&mut Dynamic],
) -> Result<[Array; N]> {
    let op = call.split('(').next().unwrap_or(call);
    let of = |arg: &&mut Dynamic| match scalar(arg) {
        Some(number) => context.session.full(DType::F64, number, 1).or_fault(),
        None => array(context, op, arg),
    };
    let arrays = args.iter().map(of).collect::<Result<Vec<_>>>()?;
    arrays.try_into().map_err(|_| fault(format!("{op}: expected {call}")))
}

/// Pixels of `(a, width, height, options)`, or of a tensor without width and height.
fn raster(op: &'static str, args: &[&mut Dynamic]) -> Result<Raster> {
    let (options, args) = Options::split(op, args, &[&["cmap", "range"]])?;
    let a = args[0]
        .read_lock::<ArrayRef>()
        .map(|a| a.clone())
        .ok_or_else(|| fault(format!("{op}: got {}, expected an array", type_name(args[0]))))?;
    let (leaves, [width, height]) = match args {
        [a] => channels(op, a)?,
        [_, width, height] => (a.contents()?, sides(op, width, height)?),
        _ => {
            return Err(fault(format!("{op}: expected an array, width and height, then options")));
        }
    };
    let n = leaves.iter().map(Array::size).max().unwrap_or(0);
    let expected = width.saturating_mul(height);
    if expected > MOST_PIXELS {
        let size = format!("{op}: {width} x {height} pixels are too many");
        return Err(fault(format!("{size} (at most {MOST_PIXELS}); show a part of them")));
    }
    if u64::try_from(expected) != Ok(n) || !matches!(leaves.len(), 1 | 3 | 4) {
        return Err(fault(format!(
            "{op}: got {} of {n} lanes, expected {width} x {height} lanes, of an array or a vector of three",
            a.type_name()
        )));
    }
    let pixels = pixels(&leaves, n, options.colours(Colours::Grey)?, options.range()?)?;
    let size = |n: i64| usize::try_from(n).unwrap_or(1);
    Ok(Raster { width: size(width), height: size(height), pixels })
}

/// Width and height of an image.
fn sides(op: &str, width: &Dynamic, height: &Dynamic) -> Result<[i64; 2]> {
    let size = |what: &str, value: &Dynamic| {
        let n = value.as_int().ok().filter(|n| (1..=MOST_PIXELS).contains(n));
        let got = || value::got(value);
        n.ok_or_else(|| fault(format!("{op}: got {what} {}, expected an integer from 1 up", got())))
    };
    Ok([size("width", width)?, size("height", height)?])
}

/// The greys or colours of a tensor, with its width and height.
fn channels(op: &str, value: &Dynamic) -> Result<(Vec<Array>, [i64; 2])> {
    let expected = |got: String| {
        fault_with_hint(
            format!(
                "{op}: got {got}, expected a tensor [rows, columns], or with 3 or 4 colours behind"
            ),
            format!("of an array say its width and height: {op}(a, width, height)"),
        )
    };
    let Some(tensor) = tensor(value) else { return Err(expected(type_name(value))) };
    let (name, shape) = (tensor.type_name(), tensor.shape());
    let (n, colours) = match *shape.extents() {
        [_, _] => (1, false),
        [_, _, n @ (1 | 3 | 4)] => (n, true),
        _ => return Err(expected(format!("{name} of shape {shape}"))),
    };
    if tensor.is_complex() || shape.n_entries() == 0 {
        return Err(expected(format!("{name} of shape {shape}")));
    }
    let all = || AxisIndex::Slice((..).into());
    let channel = |i: u64| {
        let one = match colours {
            true => tensor.at(&[all(), all(), AxisIndex::Number(i.cast_signed())])?,
            false => tensor.clone(),
        };
        Ok(one.entries()?.swap_remove(0))
    };
    let channels = (0..n).map(channel).collect::<porcini_core::Result<_>>().or_fault()?;
    let side = |axis: usize| i64::try_from(shape.extents()[axis]).unwrap_or(i64::MAX);
    Ok((channels, [side(1), side(0)]))
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
