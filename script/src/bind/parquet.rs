//! Files of Parquet and Arrow as maps of columns, and the way back.

use super::registry::Registry;

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "read_parquet",
        "(path, options)",
        "The columns of a Parquet file as a map, as read_csv gives them, but of the file's own types: Int8C to UInt64C, \
         Float16C, FloatC, Float64C, MaskC; lists of text; categories (dictionaries of text) as a list of their names and \
         the number of the name of each row. Dates, times and durations are seconds, dates since 1970, see format_date; \
         decimals are Float64C, lists of 1 to 4 numbers vectors, the columns of a structure s are s.x, s.y. Missing \
         numbers are nan; integers and masks with some are Float64C. Options: #{columns: [\"a\", \"b\"] (only these), \
         masks: true (integers and masks stay what they are, and t[\"x.missing\"] is a mask of what is missing in a column \
         x)}. Other columns (lists of any length, bytes) are an error unless they are left out.\n\n\
         >> write_parquet(\"t.parquet\", #{a: Int32C([1, 2]), b: [0.5, nan]}); read_parquet(\"t.parquet\")\n\
         #{a: [1, 2], b: [0.5, nan]}",
    );
    registry.doc(
        "write_parquet",
        "(path, columns, options)",
        "Writes a map of arrays or lists of equal length (or 1) as a Parquet file, which pandas.read_parquet and others \
         read. Lanes keep their types; vectors become a column a component, as in write_csv; a category, a list of names and \
         their numbers, one of texts. Third comes a list of names, the order of the columns (without one as write_csv has them), or options: #{order: [\"y\", \
         \"x\"], compression: \"zstd\" (snappy without it; gzip, lz4, none)}. Evaluates.\n\n\
         >> write_parquet(\"t.parquet\", #{x: FloatC([1, 2]), y: true}, [\"y\", \"x\"]); type_of(read_parquet(\"t.parquet\").x)\n\
         FloatC",
    );
    registry.doc(
        "read_arrow",
        "(path, options)",
        "The columns of an Arrow IPC file (.arrow, .feather) or stream as a map; types and options as of \
         read_parquet.\n\n\
         >> write_arrow(\"t.arrow\", #{a: UInt8C([1, 255])}); read_arrow(\"t.arrow\", #{columns: [\"a\"]}).a\n[1, 255]",
    );
    registry.doc(
        "write_arrow",
        "(path, columns, options)",
        "Writes a map of arrays or lists as an Arrow IPC file, which pandas.read_feather, polars.read_ipc and others read; \
         arguments and options as of write_parquet. It is compressed with lz4, or zstd or none. Evaluates.\n\n\
         >> write_arrow(\"t.arrow\", #{v: Vector2fC([1, 2], 3)}, #{compression: \"none\"}); read_arrow(\"t.arrow\")\n\
         #{v.x: [1, 2], v.y: [3, 3]}",
    );
    work::register(registry);
}

#[cfg(feature = "parquet")]
mod work {
    use bytes::Bytes;
    use rhai::{Dynamic, Map};

    use crate::bind::csv::{
        Source, category, category_of, check_rows, column_order, known_order, list, number_of,
        sources_of,
    };
    use crate::bind::files::{contents, map, path, store};
    use crate::bind::registry::Registry;
    use crate::context::Context;
    use crate::fault::{IntoFault, Result, check_interrupt, fault};
    use crate::value::arrow::{
        Choice, Column, Compression, Values, Written, read_arrow, read_parquet, write_arrow,
        write_parquet,
    };
    use crate::value::{ArrayRef, scalar, type_name};

    pub(super) fn register(registry: &mut Registry<'_>) {
        for arity in [1, 2] {
            registry
                .any("read_parquet", arity, |context, _, args| read(context, "read_parquet", args));
            registry.any("read_arrow", arity, |context, _, args| read(context, "read_arrow", args));
        }
        for arity in [2, 3] {
            registry.any("write_parquet", arity, |context, _, args| {
                write(context, "write_parquet", Compression::Snappy, args)
            });
            registry.any("write_arrow", arity, |context, _, args| {
                write(context, "write_arrow", Compression::Lz4, args)
            });
        }
    }

    fn read(context: &Context, op: &str, args: &[&mut Dynamic]) -> Result<Map> {
        let path = path(op, args[0])?;
        let options = args.get(1).map(|it| map(op, "a map of options second", it)).transpose()?;
        let choice = choice(op, options.unwrap_or_default())?;
        let bytes = Bytes::from_owner(contents(context, op, &path)?);
        let session = &context.session;
        let table = match op {
            "read_parquet" => read_parquet(session, &bytes, &choice),
            _ => read_arrow(session, bytes, &choice),
        };
        let (mut columns, mut names) = (Map::new(), Vec::new());
        for (name, column) in table.map_err(|trouble| trouble.fault(&format!("{op}: {path}")))? {
            check_interrupt()?;
            let Column { values, missing } = column;
            let missing = missing.map(|mask| (format!("{name}.missing"), ArrayRef::leaf(mask)));
            let missing = missing.map(|(name, mask)| (name, Dynamic::from(mask)));
            for (name, value) in [(name, value(context, values)?)].into_iter().chain(missing) {
                if columns.insert(name.as_str().into(), value).is_some() {
                    return Err(fault(format!("{op}: {path}: two columns are named {name}")));
                }
                names.push(name);
            }
        }
        context.print.borrow().columns.remember_table(names.iter().map(String::as_str), &columns);
        Ok(columns)
    }

    fn choice(op: &str, options: Map) -> Result<Choice> {
        let mut choice = Choice::default();
        for (key, value) in options {
            let bad = |expected: &str| {
                let got = type_name(&value);
                fault(format!("{op}: option {key}: got {got}, expected {expected}"))
            };
            match key.as_str() {
                "columns" => {
                    let list = value.read_lock::<rhai::Array>();
                    let list = list.ok_or_else(|| bad("a list of names"))?;
                    choice.columns = Some(list.iter().map(ToString::to_string).collect());
                }
                "masks" => choice.masks = value.as_bool().map_err(|_| bad("true or false"))?,
                _ => return Err(fault(format!("{op}: no option {key} (options: columns, masks)"))),
            }
        }
        Ok(choice)
    }

    /// What a script gets of a column.
    fn value(context: &Context, values: Values) -> Result<Dynamic> {
        Ok(match values {
            Values::Lanes(array) => Dynamic::from(ArrayRef::leaf(array)),
            Values::Vector(arrays) => {
                let components = arrays.into_iter().map(ArrayRef::leaf).collect();
                Dynamic::from(ArrayRef::vector(components))
            }
            Values::Texts(texts) => list(texts).into(),
            Values::Category(texts) => category(context, texts)?,
        })
    }

    fn write(context: &Context, op: &str, usual: Compression, args: &[&mut Dynamic]) -> Result<()> {
        let path = path(op, args[0])?;
        let columns = map(op, "a map of columns second: #{x: a}", args[1])?;
        let (mut order, mut compression) = (None, usual);
        let options = match args.get(2) {
            Some(order) if order.is_array() => Map::from([("order".into(), (*order).clone())]),
            Some(options) => map(op, "a list of names or a map of options third", options)?,
            None => Map::new(),
        };
        for (key, value) in options {
            match key.as_str() {
                "order" => order = Some(column_order(&columns, &value)?),
                "compression" => {
                    let name = value.to_string();
                    let named = Compression::NAMES.iter().find(|(it, _)| *it == name);
                    let names = Compression::NAMES.map(|(name, _)| name).join(", ");
                    let unknown = || fault(format!("{op}: no compression {name} ({names})"));
                    compression = named.ok_or_else(unknown)?.1;
                }
                _ => {
                    return Err(fault(format!(
                        "{op}: no option {key} (options: order, compression)"
                    )));
                }
            }
        }
        let order = order.unwrap_or_else(|| known_order(context, &columns));
        let mut written = Vec::new();
        for name in order {
            let Some(value) = columns.get(name.as_str()) else { continue };
            check_interrupt()?;
            for (suffix, column) in written_of(op, &name, value)? {
                written.push((format!("{name}{suffix}"), column));
            }
        }
        if written.is_empty() {
            return Err(fault(format!("{op}: got no columns, expected one or more: #{{x: a}}")));
        }
        let n_rows = check_rows(written.iter().map(|(name, column)| (name.as_str(), column.n())))?;
        let n_rows = usize::try_from(n_rows).unwrap_or(usize::MAX);
        let bytes = match op {
            "write_parquet" => write_parquet(written, n_rows, compression),
            _ => write_arrow(written, n_rows, compression),
        };
        let bytes = bytes.map_err(|trouble| trouble.fault(&format!("{op}: {path}")))?;
        store(context, op, &path, &bytes)
    }

    /// The columns that a value becomes, with what is added to its name.
    fn written_of(op: &str, name: &str, value: &Dynamic) -> Result<Vec<(String, Written)>> {
        if !value.is::<ArrayRef>() && category_of(value).is_none() {
            return Ok(vec![(String::new(), written_list(op, name, value)?)]);
        }
        let written = |(suffix, source)| match source {
            Source::Array(array) => Ok((suffix, Written::Lanes(array))),
            Source::List(texts) => Ok((suffix, Written::Texts(texts))),
            Source::Category(names, codes) => {
                let number = |code| {
                    let number = number_of(code).filter(|&number| number < names.len());
                    number.and_then(|number| i32::try_from(number).ok()).ok_or_else(|| {
                        let n = names.len();
                        fault(format!("{op}: number {code} of a category that has {n} names"))
                    })
                };
                let codes = codes.read(0..codes.size()).or_fault()?.into_iter().map(number);
                let codes = codes.collect::<Result<_>>()?;
                let names = names.iter().map(ToString::to_string).collect();
                Ok((suffix, Written::Category(names, codes)))
            }
        };
        sources_of(name, value)?.into_iter().map(written).collect()
    }

    /// A list of numbers or texts, or one of them.
    fn written_list(op: &str, name: &str, value: &Dynamic) -> Result<Written> {
        let list = value.read_lock::<rhai::Array>();
        let items = list.as_ref().map_or(std::slice::from_ref(value), |list| &list[..]);
        if let Some(truths) = all(items, |item| item.as_bool().ok()) {
            return Ok(Written::Truths(truths));
        }
        if let Some(integers) = all(items, |item| item.as_int().ok()) {
            return Ok(Written::Integers(integers));
        }
        if let Some(texts) = all(items, |item| item.clone().into_string().ok()) {
            return Ok(Written::Texts(texts));
        }
        let float = |item: &Dynamic| match scalar(item) {
            Some(number) if !item.is_bool() => Ok(number.to_f64()),
            _ => {
                let got = type_name(item);
                Err(fault(format!(
                    "{op}: column {name}: got {got}, expected only numbers or only texts"
                )))
            }
        };
        items.iter().map(float).collect::<Result<_>>().map(Written::Floats)
    }

    /// What all items are, if they are and there is one.
    fn all<T>(items: &[Dynamic], of: impl Fn(&Dynamic) -> Option<T>) -> Option<Vec<T>> {
        items.iter().map(of).collect::<Option<Vec<T>>>().filter(|all| !all.is_empty())
    }
}

/// A build without these files.
#[cfg(not(feature = "parquet"))]
mod work {
    use crate::bind::registry::Registry;
    use crate::fault::{Result, fault_with_hint};

    pub(super) fn register(registry: &mut Registry<'_>) {
        for (name, arities) in [
            ("read_parquet", [1, 2]),
            ("read_arrow", [1, 2]),
            ("write_parquet", [2, 3]),
            ("write_arrow", [2, 3]),
        ] {
            for arity in arities {
                registry.any(name, arity, move |_, _, _| -> Result<()> {
                    Err(fault_with_hint(
                        format!("{name}: this build has no files of Parquet and Arrow"),
                        "a build with the cargo feature parquet has; read_csv and read_npz are in each",
                    ))
                });
            }
        }
    }
}
