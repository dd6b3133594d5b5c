//! What registers the functions of scripts, and remembers name, parameters and help of each, which completion, help
//! and error hints read.

use std::any::TypeId;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::rc::Rc;

use rhai::{Dynamic, Engine, Map, NativeCallContext};

use crate::bind::doc::{Kind, Written};
use crate::context::Context;
use crate::fault::{Result, fault, under_name};
use crate::language::tokens::{registered, registered_method};
use crate::value::ArrayRef;

/// Most arguments of what is called as a function: a kernel, `grad(f)`.
pub(crate) const MOST_ARGUMENTS: usize = 16;

/// Registers functions with an engine and keeps their documentation.
pub(crate) struct Registry<'e> {
    pub(crate) engine: &'e mut Engine,
    pub(crate) context: Rc<Context>,
    /// What the functions registered next belong to.
    pub(crate) family: &'static str,
    written: Written,
    /// Under which names, numbers of arguments and types of the first functions of tensors are found.
    tensor_forms: HashMap<String, Vec<(usize, TypeId)>>,
    of_tensors: OfTensors,
}

/// A function of tensors; `None` for a call whose first argument is none.
pub(super) type TensorForm =
    Box<dyn Fn(&Context, &NativeCallContext<'_>, &[&mut Dynamic]) -> Option<Result<Dynamic>>>;

/// The function of tensors that has a name and takes so many arguments.
pub(super) type OfTensors = Box<dyn Fn(&str, usize) -> Option<TensorForm>>;

impl<'e> Registry<'e> {
    pub(super) fn new(engine: &'e mut Engine, context: Rc<Context>, of_tensors: OfTensors) -> Self {
        Self {
            engine,
            context,
            family: "",
            written: Written::default(),
            tensor_forms: HashMap::new(),
            of_tensors,
        }
    }

    /// Documents a name; see [`crate::bind::doc`] for the form of the text. Operators have `a + b` for parameters,
    /// constants nothing.
    pub(crate) fn doc(&mut self, name: &str, parameters: &str, text: &str) {
        self.written.add(Kind::Page, [name, parameters, text], self.family);
    }

    /// Adds a form of a function to its page, or documents it for the first time.
    pub(crate) fn doc_form(&mut self, name: &str, parameters: &str, text: &str) {
        self.written.add(Kind::Form, [name, parameters, text], self.family);
    }

    /// Documents another name of a function that is documented already.
    pub(crate) fn alias(&mut self, alias: &str, name: &str) {
        self.written.add(Kind::Alias, [alias, "", name], self.family);
    }

    /// Whether functions of tensors are found under a name with so many arguments, the first of a type.
    pub(super) fn has_tensor_form(&self, name: &str, arity: usize, first: TypeId) -> bool {
        let any = TypeId::of::<Dynamic>();
        let forms = self.tensor_forms.get(name).map_or(&[][..], Vec::as_slice);
        forms.iter().any(|&form| form == (arity, first) || form == (arity, any))
    }

    /// What was documented.
    pub(super) fn into_written(self) -> Written {
        self.written
    }

    /// Registers a function of `arity` arguments of any type. Its errors get its name, if they have it not.
    pub(crate) fn any<T: Clone + 'static>(
        &mut self,
        name: &str,
        arity: usize,
        function: impl Fn(&Context, &NativeCallContext<'_>, &[&mut Dynamic]) -> Result<T> + 'static,
    ) {
        self.typed(name, TypeId::of::<Dynamic>(), arity, function);
    }

    /// Registers a function whose first argument is of a type, the others of any; errors as of [`Self::any`]. Where that
    /// is a tensor, the function of tensors of the name is called, if there is one.
    pub(crate) fn typed<T: Clone + 'static>(
        &mut self,
        name: &str,
        first: TypeId,
        arity: usize,
        function: impl Fn(&Context, &NativeCallContext<'_>, &[&mut Dynamic]) -> Result<T> + 'static,
    ) {
        if !self.written.names.contains(name) {
            self.written.names.insert(name.into());
        }
        let (context, owned) = (self.context.clone(), name.to_string());
        let mut types = vec![TypeId::of::<Dynamic>(); arity];
        if let Some(own) = types.first_mut() {
            *own = first;
        }
        let of_tensors = (self.of_tensors)(name, arity);
        if of_tensors.is_some() {
            self.tensor_forms.entry(name.into()).or_default().push((arity, first));
        }
        let run =
            move |call: NativeCallContext<'_>, args: &mut [&mut Dynamic]| -> Result<Dynamic> {
                let of_tensors =
                    of_tensors.as_ref().and_then(|of_tensors| of_tensors(&context, &call, args));
                let result = of_tensors
                    .unwrap_or_else(|| function(&context, &call, args).map(Dynamic::from));
                result.map_err(|error| under_name(error, &owned))
            };
        match registered_method(name) {
            Some(method) => {
                let run = Rc::new(run);
                let again = run.clone();
                self.engine.register_raw_fn(method, &types, move |call, args| again(call, args));
                self.engine
                    .register_raw_fn(registered(name), types, move |call, args| run(call, args));
            }
            None => {
                self.engine.register_raw_fn(registered(name), types, run);
            }
        }
    }

    /// Registers how things of a type are called, with so many arguments: functions of scripts stand for them
    /// ([`crate::value::standing::standing_for`]).
    pub(crate) fn callable<T: Clone + 'static>(
        &mut self,
        name: &'static str,
        arities: RangeInclusive<usize>,
        function: impl Fn(&Context, &NativeCallContext<'_>, &T, &[&mut Dynamic]) -> Result<Dynamic>
        + 'static,
    ) {
        let function = Rc::new(function);
        // What an entry of a map stands for is called with the map first: `#{f: thing}.f(x)`.
        let of_maps = arities.clone().map(|arity| (arity, 1));
        for (arity, place) in arities.map(|arity| (arity, 0)).chain(of_maps) {
            let (context, function) = (self.context.clone(), function.clone());
            let mut types = vec![TypeId::of::<Dynamic>(); place + arity + 1];
            types[0] = TypeId::of::<Map>();
            types[place] = TypeId::of::<T>();
            self.engine.register_raw_fn(name, types, move |call, args| {
                context.at(&call);
                let thing = args[place].read_lock::<T>().map(|thing| thing.clone());
                let thing = thing.expect("internal error: a call of nothing");
                function(&context, &call, &thing, &args[place + 1..])
            });
        }
    }

    /// Registers a function whose first argument is an array value, the others of any type; errors as of
    /// [`Self::any`].
    pub(crate) fn on_array<T: Clone + 'static>(
        &mut self,
        name: &str,
        arity: usize,
        function: impl Fn(&Context, &NativeCallContext<'_>, &ArrayRef, &[&mut Dynamic]) -> Result<T>
        + 'static,
    ) {
        self.typed(name, TypeId::of::<ArrayRef>(), arity, move |context, call, args| {
            let Some((first, rest)) = args.split_first() else {
                return Err(fault("a function was called without arguments"));
            };
            let first = first.read_lock::<ArrayRef>().map(|first| first.clone());
            let first = first.ok_or_else(|| fault("expected an array"))?;
            function(context, call, &first, rest)
        });
    }
}
