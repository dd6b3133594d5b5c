//! Kernels that scripts write as text.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt::Write;

use porcini_core::text_kernel::{
    self, Called, Captured, Explained, Over, Parts, Store, Surroundings, TextKernel, TextReduction,
};
use porcini_core::{Array, DType, Result as CoreResult, Value};
use rhai::{Dynamic, FnPtr, ImmutableString, Map};

use super::given::of_active;
use super::many_arguments;
use super::registry::{MOST_ARGUMENTS, Registry};
use crate::context::Context;
use crate::fault::{IntoFault, Result, behind_arguments, fault, fault_with_hint, of_argument};
use crate::language::tokens::{self, registered};
use crate::value::names::Sight;
use crate::value::text_kernel::{CALL, KernelRef, MOST_PARAMETERS};
use crate::value::to_core::lend;
use crate::value::{Arg, ArrayRef, scalar, type_name};

/// Arguments of a kernel that reach it as they are; more come in a list.
const FEWER_THAN_A_LIST: usize = MOST_ARGUMENTS - 1;

pub(super) fn register(registry: &mut Registry<'_>) {
    documented(registry);
    let in_sight = tokens::in_sight(registry.engine);
    let passing = tokens::passing(registry.engine);
    registry.any("kernel", 1, move |context, _, args| {
        let Some(text) = args[0].read_lock::<ImmutableString>().map(|text| text.clone()) else {
            let got = type_name(args[0]);
            let hint = "kernel(\"T f(T x) { return x * x; }\")";
            return Err(fault_with_hint(format!("kernel: got {got}, expected text"), hint));
        };
        Ok(function(of_text(context, in_sight.borrow().as_ref(), &text).or_fault()?))
    });
    let call = |context: &Context, kernel: &KernelRef, args: &[&mut Dynamic], unheld| match kernel {
        KernelRef::Kernel(kernel) => called(context, kernel, args, unheld),
        KernelRef::Reduction(reduction) => reduced(context, reduction, args),
    };
    let passed = passing.clone();
    registry.callable(CALL, 0..=FEWER_THAN_A_LIST, move |context, _, kernel, args| {
        call(context, kernel, args, passed.take())
    });
    // Of more arguments Rhai finds functions of scripts alone.
    let listed = FEWER_THAN_A_LIST + 1..=MOST_PARAMETERS;
    let listed: Vec<_> = listed.map(|n| (CALL.to_string(), n + 1)).collect();
    many_arguments::register(registry.engine, &listed);
    registry.callable(CALL, 0..=0, move |context, _, list: &rhai::Array, _| {
        // Besides the list the function that made it has hold of what is in it.
        let is_unheld =
            |arg: &Dynamic| arg.read_lock::<ArrayRef>().is_some_and(|value| value.holders() <= 3);
        let unheld = (0..).zip(list.iter().skip(1)).filter(|(_, arg)| is_unheld(arg));
        let unheld = unheld.fold(passing.take(), |bits, (i, _)| bits | 1 << i);
        let mut list = list.clone();
        let mut args: Vec<&mut Dynamic> = list.iter_mut().collect();
        let kernel = args.first().and_then(|first| first.read_lock::<KernelRef>());
        let kernel = kernel.map(|kernel| kernel.clone());
        let kernel = kernel.ok_or_else(|| fault("a list is called, expected a kernel"))?;
        call(context, &kernel, &args.split_off(1), unheld)
    });
    for n in 1..=MOST_ARGUMENTS {
        for (name, store) in [("into", Store::Into), ("add_to", Store::AddTo)] {
            registry.typed(name, TypeId::of::<FnPtr>(), n + 1, move |context, call, args| {
                context.at(call);
                let Some(kernel) = KernelRef::of(args[0]) else {
                    let what = format!("{name}: got {}, expected a kernel", type_name(args[0]));
                    return Err(fault_with_hint(what, "k = kernel(\"T f(T x) { return x; }\")"));
                };
                stored(context, &kernel, store, &args[1..])
            });
        }
    }
    // As of kernels of CUDA C++.
    for n in 1..=4 {
        registry.typed("launch", TypeId::of::<FnPtr>(), n + 1, |_, _, args| -> Result<Dynamic> {
            let kernel = KernelRef::of(args[0]);
            let name = kernel.as_ref().map_or("k", KernelRef::name);
            let what = format!("launch: `{name}` is no kernel of CUDA C++");
            let hint = "a kernel of text is called, and runs once for each lane: k(x, y)";
            Err(fault_with_hint(what, hint))
        });
    }
    reductions(registry);
    members(registry);
}

/// Reads a kernel, which may use what is in sight.
pub(crate) fn of_text(
    context: &Context,
    sight: Option<&Sight>,
    text: &str,
) -> CoreResult<TextKernel> {
    let kernel = TextKernel::new(text, around(sight))?;
    context.kernels.borrow_mut().push(KernelRef::Kernel(kernel.clone()));
    Ok(kernel)
}

/// What scripts call.
pub(crate) fn function(kernel: TextKernel) -> FnPtr {
    KernelRef::Kernel(kernel).into_function()
}

/// A kernel as backends get it, for arguments of such types: beneath each line of its text what that became, then what is
/// around them.
pub(crate) fn explained(
    context: &Context,
    kernel: &TextKernel,
    types: &[DType],
) -> CoreResult<String> {
    let types: Vec<_> = types.iter().copied().map(Some).collect();
    let Explained { values, lines } = kernel.explained(&context.session, &types)?;
    let leaves: Vec<&Array> = values.iter().flat_map(Value::leaves).collect();
    let form = context.session.common_form(&context.session.plan(&leaves)?);
    // Of statements in others the inner one.
    let line_of = |instruction: &str| {
        let serial: u64 = instruction.rsplit_once("// r")?.1.trim().parse().ok()?;
        let found = lines.iter().filter(|(_, serials)| serials.contains(&serial));
        found.min_by_key(|(_, serials)| serials.end - serials.start).map(|(line, _)| *line)
    };
    let (mut own, mut around) = (BTreeMap::<usize, Vec<&str>>::new(), Vec::new());
    for instruction in form.lines() {
        match line_of(instruction) {
            Some(line) => own.entry(line).or_default().push(instruction),
            None => around.push(instruction),
        }
    }
    let mut shown = String::new();
    for (line, text) in (1..).zip(kernel.source().lines()) {
        let _ = writeln!(shown, "{line:>3} | {text}");
        for instruction in own.get(&line).into_iter().flatten() {
            let _ = writeln!(shown, "        {}", instruction.trim());
        }
    }
    shown.push_str(&around.join("\n"));
    Ok(shown)
}

/// Texts of a reduction, or a scan, from a map of options.
fn parts(name: &str, options: &Map) -> Result<Parts> {
    let known = ["map", "reduce", "post", "identity"];
    if let Some(key) = options.keys().find(|key| !known.contains(&key.as_str())) {
        let hint = format!("there are {}", known.join(", "));
        return Err(fault_with_hint(format!("{name}: no option `{key}`"), hint));
    }
    let mut parts = Parts { map: named(name, "map", options)?, ..Parts::default() };
    if parts.map.is_empty() {
        let hint = "#{map: \"x * x\", reduce: \"a + b\", post: \"sqrt(a)\", identity: \"0\"}";
        return Err(fault_with_hint(format!("{name}: got no map, what each lane becomes"), hint));
    }
    // In the order of the state's parts, whatever order the map of options has.
    let in_order = |key: &str| -> Result<Vec<String>> {
        let mut texts = named(name, key, options)?;
        let of_part = |part: &str, texts: &mut Vec<(String, String)>| {
            let place = texts.iter().position(|(known, _)| known == part)?;
            Some(texts.remove(place).1)
        };
        let mut ordered = Vec::new();
        for (part, _) in &parts.map {
            match of_part(part, &mut texts) {
                Some(text) => ordered.push(text),
                None if key == "identity" && texts.is_empty() && ordered.is_empty() => {}
                None if texts.is_empty() && ordered.is_empty() => {
                    let hint = "how the states a and b of two lanes combine: reduce: \"a + b\"";
                    return Err(fault_with_hint(format!("{name}: got no {key}"), hint));
                }
                None => return Err(fault(format!("{name}: {key} says nothing of `{part}`"))),
            }
        }
        match texts.first() {
            Some((part, _)) => {
                Err(fault(format!("{name}: {key} names `{part}`, which map does not")))
            }
            None => Ok(ordered),
        }
    };
    let (reduce, identity) = (in_order("reduce")?, in_order("identity")?);
    parts.post = named(name, "post", options)?;
    (parts.reduce, parts.identity) = (reduce, identity);
    Ok(parts)
}

/// Texts of an option: one without a name, a list of them (of results), or a map of names.
fn named(name: &str, key: &str, options: &Map) -> Result<Vec<(String, String)>> {
    let Some(value) = options.get(key) else { return Ok(Vec::new()) };
    let text = |part: &str, value: &Dynamic| {
        if let Some(number) = scalar(value) {
            return Ok((part.to_string(), number.to_string()));
        }
        let text = value.read_lock::<ImmutableString>().map(|text| text.to_string());
        let got = || fault(format!("{name}: got {} as {key}, expected text", type_name(value)));
        text.map(|text| (part.to_string(), text)).ok_or_else(got)
    };
    if let Some(map) = value.read_lock::<Map>() {
        return map.iter().map(|(part, value)| text(part, value)).collect();
    }
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return list.iter().map(|value| text("", value)).collect();
    }
    Ok(vec![text("", value)?])
}

fn reductions(registry: &mut Registry<'_>) {
    registry.doc(
        "reduction",
        "(header, parts)",
        "A reduction written as text: map is what each lane becomes, reduce how two of them combine (a and b; it must be \
         associative and commutative), post the result (of a, and n, how many there were), identity the value of no lanes. r(x) goes over all lanes or entries, \
         r(x, #{axis: 1, keepdims: true}) along axes of a tensor, r(x, #{offsets: o}) over segments. i is the lane, of a tensor the entry's number in order, whatever the axis. r.into(y, x) and r.add_to(y, x) \
         write the result to y, with such a map behind. Parameters may have defaults: T f(T x, T p = 2). Halves accumulate in f32, \
         narrow integers in 32 bits, in the order of hsum, so the bits are the same everywhere. A state of several parts is \
         a map: map: #{v: \"x\", i: \"i\"}, and a.v, b.i in the texts; results are then the out parameters of these names, or what \
         post says, a list in their order or a map. Types of results round, and widen nothing: map: \"double(x)\" sums doubles.\n\n\
         >> l2 = reduction(\"T l2(T x)\", #{map: \"x * x\", reduce: \"a + b\", post: \"sqrt(a)\", identity: 0}); \
         l2(FloatC([3, 4]))\n[5]",
    );
    registry.doc(
        "scan",
        "(header, parts)",
        "As reduction, but for each lane the result of the lanes up to it; n is how many they are, of its segment or along the axis. Of a tensor \
         s(t, #{axis: 1}). Lanes are taken in their order, so \
         reduce need not be commutative.\n\n\
         >> top = scan(\"T top(T x)\", #{map: \"x\", reduce: \"max(a, b)\"}); top(FloatC([1, 3, 2, 5]))\n[1, 3, 3, 5]",
    );
    for (name, is_scan) in [("reduction", false), ("scan", true)] {
        let in_sight = tokens::in_sight(registry.engine);
        registry.any(name, 2, move |context, _, args| {
            let header = args[0].read_lock::<ImmutableString>().map(|text| text.clone());
            let options = args[1].read_lock::<Map>().map(|options| options.clone());
            let (Some(header), Some(options)) = (header, options) else {
                let got = format!("{}, {}", type_name(args[0]), type_name(args[1]));
                let hint = format!("{name}(\"T f(T x)\", #{{map: \"x\", reduce: \"a + b\"}})");
                return Err(fault_with_hint(
                    format!("{name}: got ({got}), expected text and a map"),
                    hint,
                ));
            };
            let sight = in_sight.borrow();
            let around = around(sight.as_ref());
            let parts = parts(name, &options)?;
            let reduction = TextReduction::new(&header, &parts, is_scan, around).or_fault()?;
            let reduction = KernelRef::Reduction(reduction);
            context.kernels.borrow_mut().push(reduction.clone());
            Ok(reduction.into_function())
        });
    }
}

fn reduced(context: &Context, reduction: &TextReduction, args: &[&mut Dynamic]) -> Result<Dynamic> {
    let name = reduction.name();
    let (args, options) = split_options(args);
    let ways = Ways::of(context, name, &options)?;
    let args = arguments(name, args)?;
    let over = ways.over();
    let results = lend(&args, |args| reduction.call(&context.session, args, &over)).or_fault()?;
    Ok(listed(results))
}

/// The map of options that may end the arguments.
fn split_options<'a, 'b>(args: &'a [&'b mut Dynamic]) -> (&'a [&'b mut Dynamic], Map) {
    if let Some((last, others)) = args.split_last()
        && let Some(options) = last.read_lock::<Map>()
    {
        return (others, options.clone());
    }
    (args, Map::new())
}

/// What a reduction is over, as options say it.
#[derive(Default)]
struct Ways {
    axes: Option<Vec<i64>>,
    keepdims: bool,
    offsets: Option<Array>,
}

impl Ways {
    fn of(context: &Context, name: &str, options: &Map) -> Result<Self> {
        let mut ways = Self::default();
        for (key, value) in options {
            match key.as_str() {
                "axis" => ways.axes = Some(numbers(name, "an axis", value)?),
                "keepdims" => {
                    let got = |_| fault(format!("{name}: got {} as keepdims", type_name(value)));
                    ways.keepdims = value.as_bool().map_err(got)?;
                }
                "offsets" => {
                    let array = value.read_lock::<ArrayRef>().map(|array| array.clone());
                    ways.offsets = Some(match array {
                        Some(array) => array.array(name)?,
                        None => {
                            let offsets = numbers(name, "an offset", value)?;
                            context.session.array(&offsets).or_fault()?
                        }
                    });
                }
                _ => {
                    let hint = "there are axis, keepdims and offsets";
                    return Err(fault_with_hint(format!("{name}: no option `{key}`"), hint));
                }
            }
        }
        Ok(ways)
    }

    fn over(&self) -> Over<'_> {
        let offsets = self.offsets.as_ref();
        Over { axes: self.axes.clone(), keepdims: self.keepdims, offsets }
    }
}

/// An axis, or a list of them.
fn numbers(name: &str, what: &str, value: &Dynamic) -> Result<Vec<i64>> {
    let one = |value: &Dynamic| {
        let got = || fault(format!("{name}: got {} as {what}", type_name(value)));
        value.as_int().map_err(|_| got())
    };
    match value.read_lock::<rhai::Array>() {
        Some(list) => list.iter().map(one).collect(),
        None => Ok(vec![one(value)?]),
    }
}

/// One result, or a list of several.
fn listed(results: Vec<Value>) -> Dynamic {
    let mut results: Vec<Dynamic> =
        results.into_iter().map(|result| Dynamic::from(ArrayRef::from(result))).collect();
    match results.len() {
        0 => Dynamic::UNIT,
        1 => results.swap_remove(0),
        _ => Dynamic::from_array(results),
    }
}

fn documented(registry: &mut Registry<'_>) {
    registry.doc(
        "kernel",
        "(text)",
        "A function of arrays, written as text in a small subset of C: its calls are recorded, fuse with what is \
         around them, and run on every device. Letters such as T are types that each call binds; others are bool, int8 \
         to int64, uint8 to uint64, half, float, double and C's names, auto, and acc_t(T), in which values of T are \
         summed. There are if, else, for, while, do, switch, break, continue, return, ?:, && and ||, variables, small \
         arrays of a function's own (float w[3] = {1, 2, 1}, float m[2][2]; beyond them is 0), ++ and --, casts \
         (float(x) or (float)x), T::max, T::min, T::epsilon, sizeof(T), bit_cast<int>(x) (of a NaN the bits of the \
         quiet one), all functions of scripts and most of C's and CUDA's, and before the kernel functions and constants \
         of its own, which may take references: void swap(T &a, T &b). i is the lane, n how many there are (where no \
         argument is one value a lane, as many as the largest array has, and the result is an array of one axis). \
         Several results are out parameters: void f(T x, out T s, out T c). A raw parameter is an array of any size, \
         read as x[j]; out raw T y is written too: y[j] = v, y[j] += v, atomicAdd(&y[j], v). C's `const float *x` and \
         `float *y` are such arrays, and __global__, __restrict__, template <typename T>, #include, #pragma and std:: \
         are skipped, #define N 4, #define SQ(x) ((x) * (x)) and #if are those of C, typedef float real; and using sum \
         = acc_t(T); name types, '0' is 48, and blockIdx.x * blockDim.x + threadIdx.x is i, gridDim.x * blockDim.x n; \
         INFINITY, NAN, M_PI, FLT_MAX and INT_MAX are known. What is stored converts: int f(float x) takes doubles as \
         floats and gives integers. Parameters may have defaults. Numbers and kernels of the script are known by name, \
         with the value that they have now, where they are in sight: a closure sees those that its own code names, \
         outside of texts (`w;` is enough). Precedence is C's: a & b == c means a & (b == c), and ^ is exclusive or; a \
         truth value that meets an integer, or is computed with, is 0 or 1. / of two integers is an error: idiv(a, b) \
         truncates. Arithmetic is in the type of its operands, as in scripts: two uint8 wrap at 256, int(x) is wider, \
         int with unsigned has 64 bits, and uint64 with int a sign, other than in C: x % uint64(m). A literal has the \
         type of what it meets, and so has what literals alone make beside an unsigned integer, x % (w ? 7 : 3); 0.1 \
         beside an int or a float is a float, two that meet each other alone, x > 0 ? 0.1 : 0.2, are doubles where the \
         function has one; 0x85ebca6b makes an int unsigned; u is unsigned, L and LL are 64 bits, (double)0.1 is a \
         double. round(x) has halves to even, roundf(x) away from zero. Where i is to end before the largest array \
         does, take a number, int n, and guard by if (i < n); more lanes than any array has come with one of them, int \
         lane of Int32C::arange(m). Shared memory and threads that wait for each other are CUDA C++: cuda_module. \
         k.into(y, x) writes the result to y, k.add_to(y, x) adds it; k.source, k.name; k.ir(\"f32, i32\"), k.ptx(..), \
         k.asm(..) and k.sass(..) show it for such arguments; kernel_stats() counts calls. In a cell of its own: \
         %%kernel, and the text in the lines below; in a script a text of several lines stands in backticks.\n\n\
         Not as in CUDA: k(x, y) calls it, without <<<>>>, and the last function is the kernel. uint8 and short stay \
         narrow: int(x) first, as in int(x) * 2 and int(x) << 8; -x of an unsigned one wraps, -1 is 255: \
         expf(-float(x)). int with unsigned has 64 bits: hashes begin with unsigned h = i;. uint64 with int is int64: \
         uint64(i). a / b of two integers is idiv(a, b). T &x for a value that a function changes; T *x is an array. \
         Of y[j] = y[j] + y[j - 1] all is read before anything is written. There are no pointers (*b = *a), no small \
         arrays as arguments, no old values of atomicAdd, no # and ## in macros, no struct. Types are checked at the \
         first call.\n\n\
         >> k = kernel(\"T sq_diff(T x, T y) { return (x - y) * (x - y); }\"); k(FloatC([1, 2, 5]), 2)\n[1, 0, 9]",
    );
    registry.doc(
        "into",
        "(k, target, arguments..)",
        "Calls a kernel and writes its result to an array, tensor or vector, which keeps its type and size: k.into(y, x). \
         Several results go to a list of targets; a map at the end says where: k.into(y, x, #{active: mask}). To () nothing is \
         written, and nothing runs.\n\n\
         >> k = kernel(\"T twice(T x) { return x + x; }\"); y = Int32C([0, 0]); k.into(y, FloatC([1.5, 2])); y\n[3, 4]",
    );
    registry.doc(
        "add_to",
        "(k, target, arguments..)",
        "As into, but what the kernel gives is added, in f32 to halves, in 32 bits to narrow integers.\n\n\
         >> k = kernel(\"T twice(T x) { return x + x; }\"); y = FloatC([1, 1]); k.add_to(y, FloatC([1, 2])); y\n[3, 5]",
    );
}

/// What a text may use.
fn around(sight: Option<&Sight>) -> &dyn Surroundings {
    sight.map_or(&(), |sight| sight)
}

impl Surroundings for Sight {
    fn find(&self, name: &str) -> Option<Captured> {
        let Some(value) = self.constants.get(name) else {
            return self.arrays.contains(name).then_some(Captured::Array);
        };
        match KernelRef::of(value) {
            Some(KernelRef::Kernel(kernel)) => Some(Captured::Kernel(kernel)),
            Some(KernelRef::Reduction(_)) => None,
            None => scalar(value).map(Captured::Number),
        }
    }

    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.constants.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }
}

fn arguments(name: &str, args: &[&mut Dynamic]) -> Result<Vec<Arg>> {
    let one = |(number, arg): (usize, &&mut Dynamic)| {
        Arg::new(name, arg).map_err(|error| of_argument(error, number))
    };
    args.iter().enumerate().map(one).collect()
}

/// Calls a kernel; of the arguments whose bits are set nobody else has hold.
fn called(
    context: &Context,
    kernel: &TextKernel,
    args: &[&mut Dynamic],
    unheld: u32,
) -> Result<Dynamic> {
    let args = arguments(kernel.name(), args)?;
    let called = lend(&args, |lent| kernel.call(&context.session, lent));
    let called = called.or_fault()?;
    for (number, value) in &called.written {
        if let Some(Arg::Value(target)) = args.get(*number)
            && !target.holds(value)
        {
            let is_kept = target.is_kept() && unheld >> number & 1 == 0;
            check_kept(kernel.name(), is_kept)?;
        }
    }
    Ok(answered(&args, called))
}

/// The results, after arrays were written.
fn answered(args: &[Arg], called: Called) -> Dynamic {
    for (number, value) in called.written {
        if let Some(Arg::Value(target)) = args.get(number) {
            target.write(&value);
        }
    }
    listed(called.results)
}

/// Whether somebody sees what is written to a target: a part of an expression is gone behind the call.
fn check_kept(name: &str, is_kept: bool) -> Result<()> {
    if is_kept {
        return Ok(());
    }
    Err(fault_with_hint(
        format!("{name}: what is written to is the value of an expression, which nobody keeps"),
        "name it first, y = zeros(8); parts are written by y[1..3] = k(x)",
    ))
}

fn stored(
    context: &Context,
    kernel: &KernelRef,
    store: Store,
    args: &[&mut Dynamic],
) -> Result<()> {
    let Some((target, args)) = args.split_first() else { return Ok(()) };
    if target.is_unit() {
        return Ok(());
    }
    let (args, mut options) = split_options(args);
    let active = options
        .remove("active")
        .map(|active| of_active(&context.session, "into", &active))
        .transpose()?;
    let ways = match kernel {
        KernelRef::Reduction(_) => Ways::of(context, kernel.name(), &options)?,
        KernelRef::Kernel(_) => Ways::default(),
    };
    if let (KernelRef::Kernel(_), Some(key)) = (kernel, options.keys().next()) {
        let what = format!("into: no option `{key}`");
        return Err(fault_with_hint(what, "there is #{active: mask}"));
    }
    let targets = targets(kernel.name(), target)?;
    // Written as a method, the target is before them.
    let behind = |error| behind_arguments(error, 1);
    let args = arguments(kernel.name(), args).map_err(behind)?;
    let (session, active) = (&context.session, active.as_ref());
    let wanted: Vec<bool> = targets.iter().map(Option::is_some).collect();
    let targets: Vec<Arg> = targets.into_iter().flatten().collect();
    let (values, called) = lend(&targets, |targets| {
        let mut targets = targets.iter().copied();
        let targets: Vec<_> =
            wanted.iter().map(|&is| if is { targets.next() } else { None }).collect();
        lend(&args, |lent| match kernel {
            KernelRef::Kernel(kernel) => {
                let stored = kernel.store(session, store, &targets, active, lent);
                stored.map(|(values, called)| (values, Some(called)))
            }
            KernelRef::Reduction(reduction) => {
                let over = ways.over();
                let stored = reduction.store(session, store, &targets, active, lent, &over);
                stored.map(|values| (values, None))
            }
        })
    })
    .or_fault()
    .map_err(behind)?;
    for (target, value) in targets.iter().zip(&values) {
        if let Arg::Value(target) = target {
            target.write(value);
        }
    }
    if let Some(called) = called {
        drop(answered(&args, called));
    }
    Ok(())
}

/// Where results go, which may be nowhere.
fn targets(name: &str, target: &Dynamic) -> Result<Vec<Option<Arg>>> {
    let one = |target: &Dynamic| match target.is_unit() {
        true => Ok(None),
        false => Arg::new(name, target).map(Some),
    };
    let targets: Vec<Option<Arg>> = match target.read_lock::<rhai::Array>() {
        Some(list) => list.iter().map(one).collect::<Result<_>>()?,
        None => vec![one(target)?],
    };
    for target in &targets {
        if let Some(Arg::Value(target)) = target {
            check_kept(name, target.is_kept())?;
        }
    }
    Ok(targets)
}

/// The types that a line names, if that is all it does: `f32, i32`.
pub(crate) fn types_of(line: &str) -> Option<Vec<DType>> {
    line.split(',').map(|word| text_kernel::lane_type(word.trim())).collect()
}

/// Types of arguments: `"f32, i32"`, or a list of them.
fn dtypes(name: &str, types: &Dynamic) -> Result<Vec<DType>> {
    let text = match types.read_lock::<rhai::Array>() {
        Some(list) if list.iter().all(Dynamic::is_string) => {
            list.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        }
        None if types.is_string() => types.to_string(),
        _ => {
            let what = format!("{name}: got {} as types", type_name(types));
            return Err(fault_with_hint(what, "such as \"float, int32\""));
        }
    };
    text.split(',').map(|word| lane_type(name, word.trim())).collect()
}

/// A lane type by one of its names.
pub(super) fn lane_type(name: &str, word: &str) -> Result<DType> {
    let unknown =
        || fault_with_hint(format!("{name}: `{word}` is no type"), "such as \"float, int32\"");
    text_kernel::lane_type(word).ok_or_else(unknown)
}

fn members(registry: &mut Registry<'_>) {
    type Member = fn(&KernelRef) -> &str;
    let members: [(&str, Member); 2] = [("source", KernelRef::source), ("name", KernelRef::name)];
    for (name, member) in members {
        registry.engine.register_get(name, move |function: &mut FnPtr| -> Result<String> {
            let kernel = KernelRef::of(&Dynamic::from(function.clone()));
            let none = || fault(format!("got a function, expected a kernel, which has .{name}"));
            kernel.map(|kernel| member(&kernel).to_string()).ok_or_else(none)
        });
    }
    for name in ["ir", "ptx", "asm", "sass"] {
        for arity in [1, 2] {
            registry.typed(name, TypeId::of::<FnPtr>(), arity, move |context, call, args| {
                let kernel = KernelRef::of(args[0]).ok_or_else(|| {
                    fault(format!("{name}: got {}, expected a kernel", type_name(args[0])))
                })?;
                let types = args.get(1).map(|types| dtypes(name, types)).transpose()?;
                let types: Vec<_> = types.unwrap_or_default().into_iter().map(Some).collect();
                let results = kernel.sample(&context.session, &types).or_fault()?;
                let first = results.into_iter().next().map(ArrayRef::from);
                let first =
                    first.ok_or_else(|| fault(format!("{name}: the kernel has no result")))?;
                call.call_native_fn::<Dynamic>(registered(name), (first,))
            });
        }
    }
}
