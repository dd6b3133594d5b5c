//! Constants that scripts find everywhere: those of the language, and what they declare with `const`.
//!
//! Rhai looks for a variable in the scope only. Functions have a scope of their own, and a closure captures
//! what it names from the scope around it, so both would miss constants: a resolver answers for them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use porcini_core::random::{PCG32_DEFAULT_STATE, PCG32_DEFAULT_STREAM};
use rhai::{Dynamic, Engine, EvalContext};

use crate::bind::deletion::Deletions;
use crate::bind::doc::FunctionDoc;
use crate::context::Context;
use crate::language::tokens::{self, Variables};
use crate::value::outputs::Outputs;
use crate::value::range::All;
use crate::world::host::Host;
use crate::world::nesting::Nesting;

const FAMILY: &str = "constants";

/// Name and help of each constant of the language.
const DOCS: [(&str, &str); 8] = [
    ("pi", "Ratio of a circle's circumference to its diameter, 3.14159.\n\n>> cos(pi)\n-1"),
    ("e", "Base of the natural logarithm, 2.71828.\n\n>> log(e)\n1"),
    ("inf", "Infinity; -inf is the negative one.\n\n>> FloatC([-inf, 1]) < inf\n[1, 1]"),
    ("nan", "Not a number: unequal to everything, itself included.\n\n>> nan == nan\nfalse"),
    (
        "PCG32_DEFAULT_STATE",
        "State of PCG32C() unless another is given, as 64 bits of a signed integer.\n\n\
         >> UInt64C(PCG32_DEFAULT_STATE)\n[9600629759793949339]",
    ),
    (
        "PCG32_DEFAULT_STREAM",
        "Stream of PCG32C() unless another is given, as 64 bits of a signed integer.\n\n\
         >> UInt64C(PCG32_DEFAULT_STREAM)\n[15726070495360670683]",
    ),
    (
        "Out",
        "Values of the cells typed at a prompt: Out[3], also _3, is that of cell 3; _ is the last one. The last 20 are \
         kept, none over 1 MiB; del forgets them.\n\n>> 6 * 7\n42\n>> _ + 1\n43",
    ),
    ("ARGS", "Arguments given to the script, a list of texts.\n\n>> ARGS.len()\n0"),
];

/// Help of the constants of the language.
pub(crate) fn docs() -> impl Iterator<Item = FunctionDoc> {
    DOCS.iter().map(|(name, text)| FunctionDoc::new(name, "", FAMILY, text))
}

/// What a closure captures for a name that it unpacks a list into. Who reads it sees that it is no value.
#[derive(Clone, Copy)]
pub(super) struct Undefined;

/// The constants that functions and closures see.
#[derive(Clone)]
pub(crate) struct Constants {
    /// So few that comparing is faster than hashing: every variable of an earlier cell is looked for here.
    of_the_language: Rc<[(&'static str, Dynamic)]>,
    /// Those of earlier cells.
    declared: Rc<RefCell<HashMap<String, Dynamic>>>,
    /// `_3` and `Out`.
    outputs: Outputs,
    /// Names that closures unpack lists into, and whether there are any: every variable of an earlier cell asks.
    unpacked: Variables,
    has_unpacked: Rc<Cell<bool>>,
}

impl Constants {
    /// Makes the constants known to an engine.
    pub(crate) fn install(
        engine: &mut Engine,
        context: &Context,
        nesting: Rc<Nesting>,
        deletions: Deletions,
    ) -> Self {
        let constants = Self {
            of_the_language: of_the_language(&context.host),
            declared: Rc::default(),
            outputs: context.outputs.clone(),
            unpacked: tokens::unpacked(engine).unwrap_or_default(),
            has_unpacked: Rc::default(),
        };
        engine.register_type_with_name::<Undefined>("undefined variable");
        let known = constants.clone();
        #[expect(deprecated, reason = "rhai marks the hook volatile; the version is pinned")]
        engine.on_var(move |name, index, context| {
            nesting.look(name, &context)?;
            deletions.look(name, &context)?;
            // Rhai knows the place of what the text itself declares.
            Ok(if index > 0 { None } else { known.find(name, &context) })
        });
        constants
    }

    /// Says which constants the cells so far have declared.
    pub(crate) fn declare(&self, declared: HashMap<String, Dynamic>) {
        *self.declared.borrow_mut() = declared;
    }

    /// Looks whether closures of the texts so far unpack. Such a closure is made as if it captured the names: there is
    /// something to capture, if nothing else has the name.
    pub(crate) fn look_for_unpacked(&self) {
        self.has_unpacked.set(!self.unpacked.borrow().is_empty());
    }

    /// A constant that no variable hides.
    fn find(&self, name: &str, context: &EvalContext<'_, '_, '_, '_, '_, '_>) -> Option<Dynamic> {
        let of_this_cell = context.global_runtime_state().constants.as_ref();
        let value = of_this_cell
            .and_then(|constants| constants.borrow().get(name).cloned())
            .or_else(|| self.declared.borrow().get(name).cloned())
            .or_else(|| {
                let known = self.of_the_language.iter().find(|(known, _)| *known == name);
                known.map(|(_, value)| value.clone())
            })
            .or_else(|| self.outputs.find(name));
        let value = match value {
            Some(value) => value,
            None if self.has_unpacked.get() && self.unpacked.borrow().contains(name) => {
                Dynamic::from(Undefined)
            }
            None => return None,
        };
        (!context.scope().contains(name)).then_some(value)
    }
}

fn of_the_language(host: &Rc<dyn Host>) -> Rc<[(&'static str, Dynamic)]> {
    let arguments: rhai::Array = host.arguments().into_iter().map(Dynamic::from).collect();
    [
        ("pi", std::f64::consts::PI.into()),
        ("e", std::f64::consts::E.into()),
        ("inf", f64::INFINITY.into()),
        ("nan", f64::NAN.into()),
        ("all", Dynamic::from(All)),
        ("PCG32_DEFAULT_STATE", PCG32_DEFAULT_STATE.cast_signed().into()),
        ("PCG32_DEFAULT_STREAM", PCG32_DEFAULT_STREAM.cast_signed().into()),
        ("ARGS", arguments.into()),
    ]
    .into()
}
