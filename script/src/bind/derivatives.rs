//! Derivatives: marks and gradients of core's catalogue, and functions of functions: `grad(f)`, `jacobian(f)` (S29).

use std::any::TypeId;
use std::collections::BTreeSet;

use porcini_core::catalogue::DERIVATIVES;
use porcini_core::value::{Marked, Type};
use porcini_core::{Array, DType, Value};
use rhai::{Dynamic, EvalAltResult, FnPtr, NativeCallContext};

use super::catalogue;
use super::custom::asking;
use super::differentiated::{
    Tree, arrays_in, in_form, of_form, one_or_list, outputs_of, release, result, trees,
};
use super::given::{of_array, of_function, recalled};
use super::registry::{MOST_ARGUMENTS, Registry};
use super::types::statics;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::standing::standing_for;
use crate::value::{ArrayRef, type_name};

/// Names that Enoki and Dr.Jit have.
const ALIASES: [(&str, &str); 5] = [
    ("set_requires_gradient", "enable_grad"),
    ("requires_gradient", "requires_grad"),
    ("grad_enabled", "requires_grad"),
    ("set_grad", "set_gradient"),
    ("clear_grad", "clear_gradient"),
];

/// The function that gives what a function gave, too.
const VALUE_AND_GRAD: &str = "value_and_grad";

/// What is made of a function and its gradients.
type Made = fn(Dynamic, Dynamic) -> Dynamic;

pub(super) fn register(registry: &mut Registry<'_>) {
    catalogue::register(registry, DERIVATIVES);
    for (alias, name) in ALIASES {
        registry.alias(alias, name);
        for row in DERIVATIVES.iter().filter(|row| row.name == name) {
            registry.typed(
                alias,
                TypeId::of::<ArrayRef>(),
                row.n_required,
                move |context, call, args| catalogue::run(context, call, row, args),
            );
        }
    }
    types(registry);
    gradients(registry);
    directions(registry);
    matrices(registry);
    scopes(registry);
}

/// `FloatD`, `Vector3fD`: as the types that end in C, with a mark.
fn types(registry: &mut Registry<'_>) {
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        let name = type_with_mark(registry, dtype.script_name(), &[1]);
        statics_with_mark(registry, &name, dtype, |array| Ok(array.into()));
    }
    for nested in Type::all() {
        if let Some(dtype) = nested.dtype.filter(|dtype| dtype.is_float()) {
            let name = type_with_mark(registry, &nested.name, &[1, nested.form.n_entries()]);
            statics_with_mark(registry, &name, dtype, move |array| {
                nested.filled(&array).or_fault()
            });
        }
    }
    for (name, dtype, _) in porcini_core::tensor::types() {
        if dtype.is_float() {
            type_with_mark(registry, &name, &[1, 2]);
        }
    }
}

/// Registers the static functions of a type with a mark: of what they make, `wrap` makes a value.
fn statics_with_mark(
    registry: &mut Registry<'_>,
    name: &str,
    dtype: DType,
    wrap: impl Fn(Array) -> Result<Value> + Clone + 'static,
) {
    let own = name.to_string();
    let module = statics(&registry.context, name, dtype, move |array| {
        with_mark(&own, &Dynamic::from(ArrayRef::from(wrap(array)?)))
    });
    registry.engine.register_static_module(name, module.into());
}

/// Registers the type of a name with a mark; its name.
fn type_with_mark(registry: &mut Registry<'_>, name: &str, arities: &[usize]) -> String {
    let marked = with_letter(name);
    registry.doc(
        &marked,
        "(value)",
        &format!(
            "{name}(value), marked: what is computed from it keeps how, for derivatives; see enable_grad. What is computed from \
             a mark stays that: {marked}(detach(y)) begins anew.\n\n\
             >> type_of({marked}(1) * 2)\n{marked}"
        ),
    );
    for &arity in arities.iter().filter(|&&arity| arity <= 4).collect::<BTreeSet<_>>() {
        let (name, own) = (name.to_string(), marked.clone());
        registry.any(&marked, arity, move |context, call, args| {
            context.at(call);
            let made = recalled(call, &name, args.iter().map(|arg| (**arg).clone()).collect())?;
            with_mark(&own, &made)
        });
    }
    marked
}

/// The name of a type with a mark.
pub(super) fn with_letter(name: &str) -> String {
    name.strip_suffix('C').map_or_else(|| name.into(), |name| format!("{name}D"))
}

fn with_mark(op: &str, value: &Dynamic) -> Result<ArrayRef> {
    let marked = of_array(op, value)?.to_value().each_array(&mut |array| array.enable_grad());
    marked.map(ArrayRef::from).or_fault()
}

/// `grad` and `value_and_grad`.
fn gradients(registry: &mut Registry<'_>) {
    registry.doc(
        "grad",
        "(f)",
        "Of a function: the function that gives the gradient of its result, one array, by its arguments, a list where there \
         are several; of more lanes than one the sum over all is differentiated, so lanes that do not meet have slopes of \
         their own. Arguments may be lists and maps of arrays, whose gradients come in the same form; what is no float has \
         none, (). grad(f, x, ..) calls it at once. Of arrays, grad(y, [x, ..]) is a list of the gradients of y by marked \
         arrays, or by what is computed from them on the way to y; gradients of these may be asked again. grad(x) is \
         gradient(x).\n\n\
         >> slope = grad(|x| x ** 3); slope(FloatC([1, 2]))\n[3, 12]\n\
         >> grad(|x| sin(x), 0.0)\n[1]\n\
         >> x = FloatD(2); grad(x * x, [x])[0]\n[4]",
    );
    registry.doc(
        VALUE_AND_GRAD,
        "(f)",
        "The function that gives a list of a function's result and its gradient, as grad(f) does: both of one recording. Of a \
         list the first is differentiated, the others come along. value_and_grad(f, x, ..) calls it at once.\n\n\
         >> value_and_grad(|x| hsum(x * x), FloatC([1, 2]))\n[[5], [2, 4]]\n\
         >> value_and_grad(|x| { let y = sin(x); [hsum(y), y] }, FloatC([0, 1]))\n[[[0.841471], [0, 0.841471]], [1, 0.540302]]",
    );
    let only: Made = |_, gradient| gradient;
    let both: Made = |value, gradient| vec![value, gradient].into();
    for (name, called, made) in
        [("grad", "call_grad", only), (VALUE_AND_GRAD, "call_value_and_grad", both)]
    {
        of_functions(registry, name, called, move |context, call, f, args| {
            let (value, gradient) = gradient_of(context, call, name, f, args)?;
            Ok(made(value, gradient))
        });
    }
    for name in ["grad", "gradient"] {
        registry.on_array(name, 1, |context, call, x, _| {
            context.at(call);
            let value = x.to_value();
            asking(context, call, |asked| value.gradient_asking(asked)).map(ArrayRef::from)
        });
    }
    registry.on_array("backward", 1, |context, call, y, _| {
        backward(context, call, y.to_value().arrays().or_fault()?)
    });
    registry.typed("backward", TypeId::of::<rhai::Array>(), 1, |context, call, args| {
        backward(context, call, outputs_of("backward", args[0])?)
    });
    without_marks(registry);
    registry.on_array("grad", 2, |context, call, y, rest| {
        context.at(call);
        let list = rest[0].read_lock::<rhai::Array>().map(|list| list.clone());
        let list = list.ok_or_else(|| {
            let got = type_name(rest[0]);
            fault_with_hint(format!("grad: got {got}, expected a list of arrays"), "grad(y, [x])")
        })?;
        let inputs = list.iter().map(|x| of_array("grad", x)).collect::<Result<Vec<_>>>()?;
        let arrays = inputs
            .iter()
            .map(|x| x.to_value().arrays())
            .collect::<std::result::Result<Vec<_>, _>>();
        let arrays: Vec<Array> = arrays.or_fault()?.into_iter().flatten().collect();
        let outputs = y.to_value().arrays_of_loss("grad").or_fault()?;
        let outputs: Vec<(&Array, Option<&Array>)> = outputs.iter().map(|y| (y, None)).collect();
        let found = asking(context, call, |asked| {
            context.session.grad_asking(&outputs, &arrays.iter().collect::<Vec<_>>(), asked)
        })?;
        let mut found = found.into_iter();
        inputs.iter().map(|x| of_form(x, &mut found)).collect::<Result<rhai::Array>>()
    });
}

/// Goes back from the arrays of a value.
fn backward(context: &Context, call: &NativeCallContext<'_>, mut arrays: Vec<Array>) -> Result<()> {
    context.at(call);
    if arrays.is_empty() {
        return Err(fault_with_hint("backward: got an empty list", "backward([a, b])"));
    }
    // Of a vector the parts that nothing marked went into have nothing to say, unless that is all of them.
    if arrays.iter().any(Array::is_tracked) {
        arrays.retain(Array::is_tracked);
    }
    asking(context, call, |asked| Array::backward_all(&arrays, asked))
}

/// What to write where marks are asked of what has none.
fn without_marks(registry: &mut Registry<'_>) {
    let of_number = "a number is no array: FloatC(1.5) is one of a lane";
    let of_list = "mark each array of a list: for x in list { enable_grad(x) }; of numbers make one first: FloatC([1, 2])";
    let [integer, float] = [TypeId::of::<rhai::INT>(), TypeId::of::<rhai::FLOAT>()];
    let list = TypeId::of::<rhai::Array>();
    for (name, types) in [
        ("backward", &[(integer, of_number), (float, of_number)][..]),
        ("gradient", &[(integer, of_number), (float, of_number)]),
        ("enable_grad", &[(integer, of_number), (float, of_number), (list, of_list)]),
    ] {
        for &(first, hint) in types {
            registry.typed(name, first, 1, move |_, _, args| -> Result<()> {
                let got = type_name(args[0]);
                Err(fault_with_hint(format!("{name}: got {got}, expected an array"), hint))
            });
        }
    }
    // Of what is neither a function nor an array.
    registry.any("grad", 1, |_, _, args| -> Result<()> {
        let got = type_name(args[0]);
        let hint = "grad(f) is the gradient of a function, grad(y, [x]) those of an array by others, grad(x) that which \
                    backward left in x";
        Err(fault_with_hint(format!("grad: got {got}, expected a function or an array"), hint))
    });
}

/// `jvp` and `vjp`.
fn directions(registry: &mut Registry<'_>) {
    registry.doc(
        "jvp",
        "(f, x, t)",
        "A list of f(x) and its derivative in the direction t, which has the form of x: an array, or a list or map of them; a \
         list are the arguments of a function of several. f(x) may be a list or map, too.\n\n\
         >> jvp(|x| x * x, FloatC([1, 2]), FloatC([1, 10]))\n[[1, 4], [2, 40]]\n\
         >> jvp(|x, y| x * y, [FloatC(2), FloatC(3)], [FloatC(1), FloatC(0)])\n[[6], [3]]",
    );
    registry.any("jvp", 3, |context, call, args| {
        context.at(call);
        let op = "jvp";
        let f = of_function(op, args[0])?;
        let x = Tree::new(context, op, args[1])?;
        let directions = x.arrays_of(op, args[2])?;
        let y = called_with(context, call, &f, &x)?;
        let outputs = outputs_of(op, &y)?;
        let marks = x.marks();
        let pairs: Vec<(&Array, Option<&Array>)> = marks
            .iter()
            .zip(&directions)
            .map(|(mark, direction)| (*mark, Some(direction)))
            .collect();
        let tangents = asking(context, call, |asked| {
            context.session.jvp_asking(&outputs.iter().collect::<Vec<_>>(), &pairs, asked)
        })?;
        release(&[&x], outputs.iter().chain(&tangents));
        let mut tangents = tangents.into_iter();
        let tangent = in_form(op, &y, &mut |y| of_form(y, &mut tangents))?;
        Ok(vec![y, tangent])
    });
    registry.doc(
        "vjp",
        "(f, x, v)",
        "A list of f(x) and the gradient by x of the sum over all lanes of f(x) times v, which has the form of f(x): an array, or \
         a list or map of them. A list as x are the arguments of a function of several.\n\n\
         >> vjp(|x| x * x, FloatC([1, 2]), FloatC([1, 10]))\n[[1, 4], [2, 40]]",
    );
    registry.any("vjp", 3, |context, call, args| {
        context.at(call);
        let op = "vjp";
        let f = of_function(op, args[0])?;
        let x = Tree::new(context, op, args[1])?;
        let y = called_with(context, call, &f, &x)?;
        let are_several = args[2].is_array() || args[2].is_map();
        let factors = match are_several {
            true => outputs_of(op, args[2])?,
            false => of_array(op, args[2])?.to_value().arrays().or_fault()?,
        };
        let outputs = outputs_of(op, &y)?;
        if factors.len() != outputs.len() {
            let (got, expected) = (type_name(args[2]), type_name(&y));
            return Err(fault(format!("{op}: got {got} as factors of {expected}")));
        }
        let pairs: Vec<(&Array, Option<&Array>)> =
            outputs.iter().zip(&factors).map(|(y, v)| (y, Some(v))).collect();
        let gradients =
            asking(context, call, |asked| context.session.grad_asking(&pairs, &x.marks(), asked))?;
        release(&[&x], outputs.iter().chain(&gradients));
        let gradient = x.gradients(&mut gradients.into_iter())?;
        Ok(vec![y, gradient])
    });
}

/// Calls a function that is differentiated with an argument; with its parts, if that is a list and the function takes as
/// many.
fn called_with(
    context: &Context,
    call: &NativeCallContext<'_>,
    f: &FnPtr,
    x: &Tree,
) -> Result<Dynamic> {
    let whole = called(context, call, f, vec![x.value()]);
    match (whole, x) {
        (Err(error), Tree::List(items)) if matches!(error.unwrap_inner(), EvalAltResult::ErrorFunctionNotFound(of, _) if of.starts_with(f.fn_name())) => {
            called(context, call, f, items.iter().map(Tree::value).collect())
        }
        (whole, _) => whole,
    }
}

/// `jacobian` and `hessian`.
fn matrices(registry: &mut Registry<'_>) {
    registry.doc(
        "jacobian",
        "(f)",
        "The function that gives the derivatives of each entry of f(x) by each entry of x, an array, vector or tensor: a \
         tensor with the axes of f(x), then those of x; f(x) of one lane adds none, the components of vectors are an axis. Several arguments have a list of them; lists and \
         maps of arrays, as arguments or as f(x), have theirs in the same form. As many directions are followed as there are \
         lanes on the shorter side. jacobian(f, x, ..) calls it at once.\n\n\
         >> jacobian(|x| x * hsum(x), FloatC([1, 2]))\n[[4, 1],\n [2, 5]]\n\
         >> jacobian(|x, y| x * y, FloatC([1, 2]), FloatC(3))\n[[[3, 0],\n  [0, 3]],\n [[1],\n  [2]]]",
    );
    of_functions(registry, "jacobian", "call_jacobian", |context, call, f, args| {
        derivatives("jacobian", context, call, args, |args| called(context, call, f, args))
    });
    registry.doc(
        "hessian",
        "(f)",
        "The function that gives the second derivatives of f(x), of one lane, by the entries of x: jacobian(grad(f)). \
         Several arguments have a list of lists of them. hessian(f, x, ..) calls it at once.\n\n\
         >> hessian(|x| hsum(x ** 3), FloatC([1, 2]))\n[[ 6,  0],\n [ 0, 12]]",
    );
    of_functions(registry, "hessian", "call_hessian", |context, call, f, args| {
        derivatives("hessian", context, call, args, |mut args| {
            let args: Vec<&mut Dynamic> = args.iter_mut().collect();
            // Inside of no_grad, too.
            let gradient =
                context.session.with_grad(|| gradient_of(context, call, "hessian", f, &args));
            Ok(gradient?.1)
        })
    });
}

/// The derivatives of what a function makes of its arguments.
fn derivatives(
    op: &'static str,
    context: &Context,
    call: &NativeCallContext<'_>,
    args: &[&mut Dynamic],
    of: impl Fn(Vec<Dynamic>) -> Result<Dynamic>,
) -> Result<Dynamic> {
    let trees = trees(context, op, args)?;
    let y = of(trees.iter().map(Tree::value).collect())?;
    let mut kept = arrays_in(&y);
    let mut matrix = |y: &ArrayRef, x: &Marked| {
        let matrix = asking(context, call, |asked| x.jacobian(op, &y.to_value(), asked))?;
        let matrix = ArrayRef::from(matrix);
        kept.extend(matrix.leaves());
        Ok(Dynamic::from(matrix))
    };
    let found = by_each(op, &trees, &y, &mut matrix)?;
    release(&trees.iter().collect::<Vec<_>>(), kept.iter());
    Ok(found)
}

/// What a function says of each array in `y` and each mark in the arguments, in the form of both.
fn by_each(
    op: &str,
    trees: &[Tree],
    y: &Dynamic,
    said: &mut dyn FnMut(&ArrayRef, &Marked) -> Result<Dynamic>,
) -> Result<Dynamic> {
    in_form(op, y, &mut |y| {
        let each = trees.iter().map(|tree| tree.each(&mut |mark| said(y, mark)));
        Ok(one_or_list(each.collect::<Result<_>>()?))
    })
}

/// `no_grad` and `isolate_grad`.
fn scopes(registry: &mut Registry<'_>) {
    registry.doc(
        "no_grad",
        "(f)",
        "Calls a function without arguments; what it computes is not tracked, whatever it is computed from. suspend_grad is \
         another name.\n\n\
         >> x = FloatD(3); type_of(no_grad(|| x * x))\nFloatC",
    );
    registry.alias("suspend_grad", "no_grad");
    registry.doc(
        "resume_grad",
        "(f)",
        "Calls a function without arguments; what it computes from marked arrays is tracked, inside no_grad, too.\n\n\
         >> x = FloatD(3); no_grad(|| type_of(resume_grad(|| x * x)))\nFloatD",
    );
    registry.any("resume_grad", 1, |context, call, args| {
        let f = of_function("resume_grad", args[0])?;
        context.session.with_grad(|| f.call_within_context::<Dynamic>(call, ()))
    });
    for name in ["no_grad", "suspend_grad"] {
        registry.any(name, 1, move |context, call, args| {
            let f = of_function(name, args[0])?;
            context.session.no_grad(|| f.call_within_context::<Dynamic>(call, ()))
        });
    }
    registry.doc(
        "isolate_grad",
        "(f)",
        "Calls a function without arguments; in it backward(y) goes back to what was there before and halts. When the function \
         has ended all that came together goes on from there, once.\n\n\
         >> x = FloatD(2); y = x * x\n\
         >> isolate_grad(|| { for k in 0..3 { backward(y * k) } }); gradient(x)\n[12]",
    );
    registry.any("isolate_grad", 1, |context, call, args| {
        let f = of_function("isolate_grad", args[0])?;
        let isolation = context.session.isolate_grad();
        let value = f.call_within_context::<Dynamic>(call, ())?;
        asking(context, call, |asked| isolation.end_asking(asked))?;
        Ok(value)
    });
}

/// Registers `name(f)`, a function, and `name(f, x, ..)`, what that gives.
fn of_functions(
    registry: &mut Registry<'_>,
    name: &'static str,
    called: &'static str,
    work: impl Fn(&Context, &NativeCallContext<'_>, &FnPtr, &[&mut Dynamic]) -> Result<Dynamic>
    + Clone
    + 'static,
) {
    registry.typed(name, TypeId::of::<FnPtr>(), 1, move |_, _, args| {
        Ok(standing_for(called, args[0].clone()))
    });
    for registered in [name, called] {
        registry.callable(registered, 1..=MOST_ARGUMENTS, work.clone());
    }
}

/// A function's value and its gradient by its arguments.
fn gradient_of(
    context: &Context,
    call: &NativeCallContext<'_>,
    op: &'static str,
    f: &FnPtr,
    args: &[&mut Dynamic],
) -> Result<(Dynamic, Dynamic)> {
    let trees = trees(context, op, args)?;
    let marks: Vec<&Array> = trees.iter().flat_map(Tree::marks).collect();
    let values: Vec<Dynamic> = trees.iter().map(Tree::value).collect();
    let (y, beside) = with_beside(op, called(context, call, f, values)?)?;
    let outputs = y.to_value().arrays_of_loss(op).or_fault()?;
    let pairs: Vec<(&Array, Option<&Array>)> = outputs.iter().map(|y| (y, None)).collect();
    let gradients =
        asking(context, call, |asked| context.session.grad_asking(&pairs, &marks, asked))?;
    let all: Vec<&Tree> = trees.iter().collect();
    let aside: Vec<Array> = beside.iter().flatten().flat_map(arrays_in).collect();
    release(&all, outputs.iter().chain(&aside).chain(&gradients));
    let mut gradients = gradients.into_iter();
    let each = trees.iter().map(|tree| tree.gradients(&mut gradients));
    let gradient = one_or_list(each.collect::<Result<_>>()?);
    let y = Dynamic::from(y);
    let value = match beside {
        Some(beside) => Dynamic::from_array([y].into_iter().chain(beside).collect()),
        None => y,
    };
    Ok((value, gradient))
}

/// Calls a function that is differentiated.
fn called(
    context: &Context,
    call: &NativeCallContext<'_>,
    f: &FnPtr,
    args: Vec<Dynamic>,
) -> Result<Dynamic> {
    context.session.differentiating(|| f.call_within_context(call, args))
}

/// What a function gave, of which the first of a list is differentiated, and the others come along.
fn with_beside(op: &str, value: Dynamic) -> Result<(ArrayRef, Option<Vec<Dynamic>>)> {
    let list = value.read_lock::<rhai::Array>().map(|list| list.clone());
    match list {
        Some(mut list) if op == VALUE_AND_GRAD && !list.is_empty() => {
            let first = list.remove(0);
            Ok((result(op, first)?, Some(list)))
        }
        _ => Ok((result(op, value)?, None)),
    }
}
