//! Reductions and scans that users write as text: what a lane becomes, how two such states combine, what the last one means.

use std::sync::Arc;
use std::time::Instant;

use super::fold::{Folder, Rows};
use super::item::Item;
use super::parse;
use super::part::known;
use super::parts::{Parts, in_order};
use super::program::{Program, Surroundings, TextKernel};
use super::record::Recorder;
use super::recordings::Recordings;
use super::sample::{sampled, samples};
use super::stats::Stats;
use super::tree::{Header, Parameter};
use super::trouble::Trouble;
use super::types::{Letters, TypeName, accumulation};
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp};
use crate::session::Session;
use crate::tensor::Tensor;
use crate::value::{Argument, Value};

/// What results are over.
#[derive(Clone, Debug, Default)]
pub struct Over<'a> {
    /// Axes of a tensor; all entries without.
    pub axes: Option<Vec<i64>>,
    /// Whether axes that are reduced remain with one entry.
    pub keepdims: bool,
    /// Where segments of lanes begin, and the last one ends.
    pub offsets: Option<&'a Array>,
}

/// A reduction, or a scan. Cloning names the same one.
#[derive(Clone, Debug)]
pub struct TextReduction {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    header: String,
    /// The header, and the texts of its parts.
    source: String,
    name: String,
    parameters: Vec<Parameter>,
    /// Types of the results.
    results: Vec<TypeName>,
    maps: Vec<TextKernel>,
    reduce: Vec<Arc<Program>>,
    post: Vec<Arc<Program>>,
    /// Without those: which parts of the state the results are.
    order: Vec<usize>,
    identity: Vec<Arc<Program>>,
    /// The reduction that does the same.
    known: Option<ReduceOp>,
    is_scan: bool,
    recordings: Recordings,
}

impl Session {
    /// Reads a reduction from text: `reduction("T l2(T x)", …)`.
    ///
    /// # Errors
    /// `Kernel`, with the part, line and column.
    pub fn reduction(&self, header: &str, parts: &Parts) -> Result<TextReduction> {
        TextReduction::new(header, parts, false, &())
    }
}

impl TextReduction {
    /// Reads a reduction, or a scan, whose texts may use what `around` knows by name.
    ///
    /// # Errors
    /// `Kernel`, with the part, line and column.
    pub fn new(
        header: &str,
        parts: &Parts,
        is_scan: bool,
        around: &dyn Surroundings,
    ) -> Result<Self> {
        let told = |(name, trouble): (String, Trouble)| trouble.told(&name, header, "");
        let Header { name, result, parameters } = parse::header(header, around).map_err(told)?;
        let wrong =
            |what: String| Error::Kernel { what: format!("kernel `{name}`: {what}"), remedy: None };
        let outs = parameters.iter().filter(|parameter| parameter.is_out);
        let (outs, mut results): (Vec<&str>, Vec<TypeName>) =
            outs.map(|out| (out.name.as_str(), out.type_name.clone())).unzip();
        results.extend(result);
        if parameters.iter().any(|parameter| parameter.is_raw) {
            return Err(wrong("a reduction takes values lane by lane, no raw arrays".into()));
        }
        let n_states = parts.map.len();
        if n_states == 0 || parts.reduce.len() != n_states {
            let n_reduce = parts.reduce.len();
            let what = format!("got {n_states} parts of a state and {n_reduce} to combine them");
            return Err(wrong(what));
        }
        if !parts.identity.is_empty() && parts.identity.len() != n_states {
            return Err(wrong(format!(
                "got {} identities for {n_states} parts",
                parts.identity.len()
            )));
        }
        let of_out = |out: &&str| (out.to_string(), format!("a.{out}"));
        let is_part = |out: &&str| parts.map.iter().any(|(name, _)| name == out);
        let mut finals = parts.post.clone();
        if finals.is_empty() && outs.len() == results.len() && outs.iter().all(is_part) {
            // What else the state has is not asked for.
            finals = outs.iter().map(of_out).collect();
        }
        let n_post = if finals.is_empty() { n_states } else { finals.len() };
        if n_post != results.len() {
            let n = results.len();
            let what =
                format!("got {n_post} final values for {n} results; post says them: \"a.x\"");
            return Err(wrong(what));
        }
        let in_order = |part, texts: &[(String, String)]| {
            let names: Vec<&str> = texts.iter().map(|(name, _)| name.as_str()).collect();
            in_order(part, &names, &outs, results.len() > outs.len()).map_err(&wrong)
        };
        let has_post = !finals.is_empty();
        let order = if has_post { Vec::new() } else { in_order("map", &parts.map)? };
        let post_order = in_order("post", &finals)?;
        let mut letters: Vec<String> = Vec::new();
        letters.extend(
            parameters.iter().filter_map(|parameter| parameter.type_name.letter()).map(Into::into),
        );
        let program = |part: &str, text: &str, names: &[String]| -> Result<Arc<Program>> {
            let place = format!("{name}: {part}");
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let read = parse::expression(text, &names, &letters, around);
            let (expression, captured) = read.map_err(|trouble| trouble.told(&place, text, ""))?;
            Ok(Arc::new(Program::of_expression(&place, text, &names, expression, captured)))
        };
        let given: Vec<&Parameter> =
            parameters.iter().filter(|parameter| !parameter.is_out).collect();
        let own: Vec<String> = given.iter().map(|parameter| parameter.name.clone()).collect();
        let states = |state: &str| -> Vec<String> {
            let names = parts.map.iter().map(|(name, _)| match &**name {
                "" => state.to_string(),
                name => format!("{state}.{name}"),
            });
            names.collect()
        };
        let maps = parts.map.iter().map(|(part, text)| {
            let part = if part.is_empty() { "map".into() } else { format!("map of {part}") };
            let mut program = program(&part, text, &own)?;
            let functions = Arc::get_mut(&mut program);
            if let Some([function]) =
                functions.and_then(|program| Arc::get_mut(&mut program.functions))
            {
                function.parameters = given.iter().map(|&given| given.clone()).collect();
            }
            Ok(TextKernel { program })
        });
        let maps = maps.collect::<Result<Vec<_>>>()?;
        let both = [states("a"), states("b")].concat();
        let reduce = parts.reduce.iter().map(|text| program("reduce", text, &both));
        let reduce = reduce.collect::<Result<Vec<_>>>()?;
        let of_state = [states("a"), vec!["n".into()]].concat();
        let post = post_order.iter().map(|&i| program("post", &finals[i].1, &of_state));
        let post = post.collect::<Result<Vec<_>>>()?;
        let identity = parts.identity.iter().map(|text| program("identity", text, &[]));
        let identity = identity.collect::<Result<Vec<_>>>()?;
        let known = known(&reduce);
        let inner = Inner {
            header: header.into(),
            source: parts.source(header),
            name,
            parameters,
            results,
            maps,
            reduce,
            post,
            order,
            identity,
            known,
            is_scan,
            recordings: Recordings::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whether both name the same reduction.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// All its texts.
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    /// What it is, its name and parameters: `scan top(T x)`.
    pub fn signature(&self) -> String {
        format!("{} {}", if self.inner.is_scan { "scan" } else { "reduction" }, self.takes())
    }

    fn takes(&self) -> String {
        let parameters: Vec<String> =
            self.inner.parameters.iter().map(ToString::to_string).collect();
        format!("{}({})", self.inner.name, parameters.join(", "))
    }

    /// Its calls by the types of the arguments.
    pub fn stats(&self) -> Vec<(String, Stats)> {
        // The first part of the state counts for all.
        self.inner.maps[0].stats()
    }

    /// What it gives for arrays of 8 lanes, as [`TextKernel::sample`].
    ///
    /// # Errors
    /// As [`TextReduction::call`].
    pub fn sample(&self, session: &Session, types: &[Option<DType>]) -> Result<Vec<Value>> {
        let given = self.inner.parameters.iter().filter(|parameter| !parameter.is_out);
        let known = given.map(|parameter| parameter.type_name.dtype(&Letters::default()));
        let arrays = samples(session, known.collect(), types)?;
        let args = sampled(&arrays);
        self.inner.recorded(session, &args.iter().collect::<Vec<_>>(), &Over::default())
    }

    /// Records a call: over all lanes, axes of a tensor, or segments; vectors component by component. Values are
    /// accumulated in [`DType::accumulated`] types, f16 in f32, in the order of S11; results have the types of the header.
    ///
    /// # Errors
    /// `Kernel` where the texts do not fit the arguments; `Argument` for axes that are not there; `EmptyReduction` of no
    /// lanes without an identity.
    pub fn call(
        &self,
        session: &Session,
        args: &[&Argument<'_>],
        over: &Over<'_>,
    ) -> Result<Vec<Value>> {
        let inner = &*self.inner;
        let given: Vec<&Parameter> =
            inner.parameters.iter().filter(|parameter| !parameter.is_out).collect();
        let needed = given.iter().filter(|parameter| parameter.default.is_none()).count();
        if !(needed..=given.len()).contains(&args.len()) {
            let (n, takes) = (args.len(), self.takes());
            let what = format!("kernel `{}`: got {n} arguments, expected {takes}", inner.name);
            return Err(Error::Kernel { what, remedy: None });
        }
        let start = Instant::now();
        let Some(arrays) = in_memory(session, args, over) else {
            let values = inner.recorded(session, args, over)?;
            inner.maps[0].count(args, start);
            return Ok(values);
        };
        let name = if inner.is_scan { "scan" } else { "reduction" };
        let results = inner.recordings.call(name, session, &arrays, &mut |arrays| {
            let args: Vec<Argument<'_>> = arrays.iter().map(Argument::from).collect();
            let values = inner.recorded(session, &args.iter().collect::<Vec<_>>(), over)?;
            let array = |value| match value {
                Value::Array(array) => array,
                _ => unreachable!("internal error: a reduction of arrays gives arrays"),
            };
            Ok(values.into_iter().map(array).collect())
        })?;
        inner.maps[0].count(args, start);
        Ok(results.into_iter().map(Value::Array).collect())
    }
}

/// The arguments, if the same may be recorded of others: arrays in memory, over all lanes.
fn in_memory(session: &Session, args: &[&Argument<'_>], over: &Over<'_>) -> Option<Vec<Array>> {
    let array = |arg: &&Argument<'_>| match arg {
        Argument::Array(array) => array.is_evaluated().then(|| (*array).clone()),
        _ => None,
    };
    let arrays = args.iter().map(array).collect::<Option<Vec<Array>>>()?;
    let is_plain = over.axes.is_none() && over.offsets.is_none();
    (is_plain && session.replays(&arrays)).then_some(arrays)
}

impl Inner {
    /// The results as the texts say.
    fn recorded(
        &self,
        session: &Session,
        args: &[&Argument<'_>],
        over: &Over<'_>,
    ) -> Result<Vec<Value>> {
        let states = self.maps.iter().map(|map| map.recorded(session, None, args)?.value());
        let states = states.collect::<Result<Vec<Value>>>()?;
        let work = Work { inner: self, session, letters: self.letters(args)?, over };
        work.values(&states)
    }

    /// What the letters are, by the types of the arguments.
    fn letters(&self, args: &[&Argument<'_>]) -> Result<Letters> {
        let mut given = args.iter();
        let items = self.parameters.iter().map(|parameter| {
            if parameter.is_out {
                return None;
            }
            match given.next()? {
                Argument::Number(number) => Some(Item::Number(*number, None)),
                other => {
                    let first = other.leaves().first().map(|leaf| (*leaf).clone());
                    first.map(Item::Array)
                }
            }
        });
        let items: Vec<Option<Item>> = items.collect();
        let letters = Letters::of(&self.parameters, &items, &[]);
        letters.map_err(|trouble| trouble.told(&self.name, &self.header, ""))
    }
}

/// A call.
pub(super) struct Work<'w> {
    inner: &'w Inner,
    pub(super) session: &'w Session,
    letters: Letters,
    over: &'w Over<'w>,
}

impl Work<'_> {
    fn values(&self, states: &[Value]) -> Result<Vec<Value>> {
        match &states[0] {
            Value::Array(_) => {
                let arrays = states.iter().map(|state| match state {
                    Value::Array(array) => Ok(array.clone()),
                    _ => Err(self.wrong("the parts of the state have several shapes")),
                });
                let arrays = arrays.collect::<Result<Vec<_>>>()?;
                let results = self.lanes(&arrays)?;
                Ok(results.into_iter().map(Value::Array).collect())
            }
            Value::Nested(form, components) => {
                let of_component = |i: usize| {
                    let component: Vec<Value> = states
                        .iter()
                        .filter_map(|state| state.components().get(i).cloned())
                        .collect();
                    self.values(&component)
                };
                let rows = (0..components.len()).map(of_component).collect::<Result<Vec<_>>>()?;
                let of_result = |k: usize| {
                    let parts = rows.iter().map(|row| row[k].clone()).collect();
                    Value::of_known(*form, parts)
                };
                Ok((0..self.inner.results.len()).map(of_result).collect())
            }
            Value::Tensor(_) => {
                let tensors = states.iter().map(|state| match state {
                    Value::Tensor(tensor) => Ok(tensor.clone()),
                    _ => Err(self.wrong("the parts of the state have several shapes")),
                });
                self.tensors(&tensors.collect::<Result<Vec<_>>>()?)
            }
        }
    }

    /// The reduction that does the same.
    pub(super) fn known(&self) -> Option<ReduceOp> {
        self.inner.known
    }

    pub(super) fn wrong(&self, what: &str) -> Error {
        Error::Kernel { what: format!("kernel `{}`: {what}", self.inner.name), remedy: None }
    }

    fn lanes(&self, states: &[Array]) -> Result<Vec<Array>> {
        let n = states.iter().map(Array::size).max().unwrap_or(1);
        if self.over.axes.as_deref().is_some_and(|axes| axes != [0] && axes != [-1]) {
            return Err(self.wrong("axes are those of a tensor: TensorXfC(x)"));
        }
        let states = self.widened(states, n)?;
        if self.inner.is_scan {
            return match self.over.offsets {
                None => self.finished(&self.scanned(states, None, n)?, None),
                Some(offsets) => self.scan_segments(states, offsets, n),
            };
        }
        let rows = match self.over.offsets {
            None => Rows { n: 1, extent: n, inner: 1, segments: None },
            Some(offsets) => self.segments(offsets, n)?,
        };
        self.folded(&states, &rows)
    }

    fn tensors(&self, states: &[Tensor]) -> Result<Vec<Value>> {
        if self.over.offsets.is_some() {
            return Err(self.wrong("offsets are those of an array: ravel(t)"));
        }
        if self.inner.is_scan {
            return self.scan_along(states, self.over.axes.as_deref());
        }
        let shape = states[0].shape();
        let rank = shape.rank();
        let axes = shape.axes("reduction", self.over.axes.as_deref())?;
        // The axes that go stand together, or go to the end.
        let stay: Vec<usize> = (0..rank).filter(|axis| !axes.contains(axis)).collect();
        let is_run = axes.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let extents = shape.extents();
        let product = |axes: &[usize]| axes.iter().map(|&axis| extents[axis]).product::<u64>();
        let extent = product(&axes);
        let n = product(&stay);
        let (states, inner) = if is_run {
            let last = axes.last().copied();
            let behind: Vec<usize> =
                stay.iter().copied().filter(|axis| Some(*axis) > last).collect();
            (states.to_vec(), product(&behind))
        } else {
            let order: Vec<i64> = stay.iter().chain(&axes).map(|&axis| exactly(axis)).collect();
            let turned = states.iter().map(|state| state.permute(&order));
            (turned.collect::<Result<Vec<_>>>()?, 1)
        };
        let lanes = states.iter().map(|state| Ok(state.entries()?.swap_remove(0)));
        let lanes = lanes.collect::<Result<Vec<Array>>>()?;
        let lanes = self.widened(&lanes, n * extent)?;
        let rows = Rows { n, extent, inner: inner.max(1), segments: None };
        let results = self.folded(&lanes, &rows)?;
        let left = |axis: usize| match axes.contains(&axis) {
            false => Some(extents[axis]),
            true => self.over.keepdims.then_some(1),
        };
        let left: Vec<u64> = (0..rank).filter_map(left).collect();
        results.iter().map(|result| Ok(Value::Tensor(Tensor::new(result, &left)?))).collect()
    }

    pub(super) fn widened(&self, states: &[Array], n: u64) -> Result<Vec<Array>> {
        let one = |(state, dtype): (&Array, DType)| {
            let state = state.cast(dtype)?;
            if state.size() == n { Ok(state) } else { state.resize(n) }
        };
        states.iter().zip(self.types(states)?).map(one).collect()
    }

    /// The types of the parts: those of `map`, accumulated, joined with what combining gives. A part that begins as a
    /// number without a type has that of what it is combined with.
    fn types(&self, states: &[Array]) -> Result<Vec<DType>> {
        if self.inner.known.is_some() {
            return Ok(states.iter().map(|state| accumulation(state.dtype())).collect());
        }
        let mut types: Vec<Option<DType>> = Vec::new();
        for (map, state) in self.inner.maps.iter().zip(states) {
            let is_number = map.program.is_of_numbers();
            types.push((!is_number).then(|| accumulation(state.dtype())));
        }
        loop {
            let sample = types.iter().zip(states).map(|(dtype, state)| match dtype {
                Some(dtype) => Ok(Some(Item::Array(self.session.zeros(*dtype, 1)?))),
                None => Ok(state.literal().map(|number| Item::Number(number, None))),
            });
            let sample = sample.collect::<Result<Vec<Option<Item>>>>()?;
            let both = [sample.clone(), sample].concat();
            let combined = self.inner.reduce.iter().map(|program| self.evaluate(program, &both));
            let combined = combined.collect::<Result<Vec<Array>>>()?;
            let joined = types.iter().zip(&combined).map(|(dtype, combined)| match dtype {
                Some(dtype) => dtype.promote(combined.dtype()).unwrap_or(*dtype),
                None => accumulation(combined.dtype()),
            });
            let joined: Vec<Option<DType>> = joined.map(Some).collect();
            if joined == types {
                return Ok(types.into_iter().flatten().collect());
            }
            types = joined;
        }
    }

    pub(super) fn with_folder(
        &self,
        n: u64,
        work: impl FnOnce(&mut Folder<'_, '_>) -> Result<(), Trouble>,
    ) -> Result<()> {
        let mut combine = |a: &[Array], b: &[Array]| {
            let dtypes = a.iter().map(Array::dtype);
            let n = self.inner.reduce.len();
            let items = a[..n].iter().chain(&b[..n]);
            let items: Vec<Option<Item>> =
                items.map(|array| Some(Item::Array(array.clone()))).collect();
            let combined = self.inner.reduce.iter().zip(dtypes).map(|(program, dtype)| {
                let value = self.evaluate(program, &items)?;
                Ok(if value.dtype() == dtype { value } else { self.stored(&value, dtype)? })
            });
            let mut combined = combined.collect::<Result<Vec<Array>>>()?;
            self.within_segments(&mut combined, [a, b])?;
            Ok(combined)
        };
        let index = if n < 1 << 30 { DType::I32 } else { DType::I64 };
        let mut folder = Folder { session: self.session, index, combine: &mut combine };
        work(&mut folder).map_err(|trouble| trouble.told(&self.inner.name, &self.inner.header, ""))
    }

    fn stored(&self, value: &Array, dtype: DType) -> Result<Array> {
        if dtype == DType::Mask { value.neq(0) } else { value.cast(dtype) }
    }

    fn folded(&self, states: &[Array], rows: &Rows) -> Result<Vec<Array>> {
        let n_lanes = states[0].size();
        let mut folded = states.to_vec();
        if rows.n == 0 || rows.extent == 0 {
            folded = self.identities(states)?;
            folded = folded.iter().map(|state| state.resize(rows.n)).collect::<Result<_>>()?;
        } else if let (Some(op), 1, None) = (self.inner.known, rows.n, &rows.segments) {
            let all = states.iter().map(|state| state.reduce(op)?.cast(state.dtype()));
            folded = all.collect::<Result<_>>()?;
        } else if let (Some(op), None) = (self.inner.known, &rows.segments) {
            let shape = [rows.n / rows.inner, rows.extent, rows.inner];
            let all = states.iter().map(|state| {
                let along = Tensor::new(state, &shape)?.reduce(op, Some(&[1]), false)?;
                along.entries()?.swap_remove(0).cast(state.dtype())
            });
            folded = all.collect::<Result<_>>()?;
        } else {
            self.with_folder(n_lanes, |folder| {
                folded = folder.fold(&folded, rows)?;
                Ok(())
            })?;
        }
        if let Some([_, lengths]) = &rows.segments {
            let is_empty = lengths.eq(0)?;
            if !self.inner.identity.is_empty() {
                let identities = self.identities(states)?;
                let pairs = folded.iter().zip(&identities);
                let chosen = pairs.map(|(state, identity)| {
                    let operands = [(&is_empty).into(), identity.into(), state.into()];
                    self.session.apply(Op::Select, &operands)
                });
                folded = chosen.collect::<Result<_>>()?;
            } else if is_empty.reduce(ReduceOp::Any)?.item(0)? == Scalar::Bool(true) {
                return Err(self.wrong("a segment is empty, and there is no identity"));
            }
        }
        let n = match &rows.segments {
            Some([_, lengths]) => lengths.clone(),
            None => self.session.full(DType::I64, exactly::<i64>(rows.extent), 1)?,
        };
        self.finished(&folded, Some(n))
    }

    /// The state of no lanes.
    fn identities(&self, states: &[Array]) -> Result<Vec<Array>> {
        if self.inner.identity.is_empty() {
            return Err(self.wrong("there are no lanes, and no identity"));
        }
        let pairs = self.inner.identity.iter().zip(states);
        pairs
            .map(|(program, state)| self.stored(&self.evaluate(program, &[])?, state.dtype()))
            .collect()
    }

    /// The results of the last states.
    pub(super) fn finished(&self, states: &[Array], n: Option<Array>) -> Result<Vec<Array>> {
        let lanes = states[0].size();
        let n = match n {
            Some(n) => n,
            // How many lanes a prefix has.
            None => {
                let stop = Scalar::Int(exactly(lanes + 1));
                self.session.arange(DType::I64, Scalar::Int(1), stop, Scalar::Int(1))?
            }
        };
        let mut items: Vec<Option<Item>> =
            states.iter().map(|state| Some(Item::Array(state.clone()))).collect();
        let n = match n.literal() {
            Some(number) if n.size() == 1 => Item::Number(number, None),
            _ => Item::Array(n),
        };
        items.push(Some(n));
        let values = match self.inner.post.is_empty() {
            true => Ok(self.inner.order.iter().map(|&i| states[i].clone()).collect()),
            false => self.inner.post.iter().map(|program| self.evaluate(program, &items)).collect(),
        };
        let values: Result<Vec<Array>> = values;
        let pairs = values?.into_iter().zip(&self.inner.results).map(|(value, type_name)| {
            let value = match type_name.dtype(&self.letters) {
                Some(dtype) if dtype != value.dtype() => self.stored(&value, dtype)?,
                _ => value,
            };
            if value.size() == lanes { Ok(value) } else { value.resize(lanes) }
        });
        pairs.collect::<Result<Vec<_>>>()
    }

    /// The value of an expression.
    fn evaluate(&self, program: &Arc<Program>, items: &[Option<Item>]) -> Result<Array> {
        let function = &program.functions[0];
        let mut recorder = Recorder::new(self.session, 1, program.clone(), Vec::new());
        let called = recorder.call(program, function, items.to_vec(), self.letters.clone());
        let told =
            |trouble: Trouble| trouble.told(&function.name, &program.text, &self.letters.told());
        let (value, _) = called.map_err(told)?;
        Ok(value.expect("internal error: an expression without a value"))
    }
}
