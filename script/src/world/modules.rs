//! `import "name" as m`: modules come from the host, so a sandbox decides what can be reached; where it has none of the
//! name, from the library.

use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use rhai::{
    AST, Dynamic, Engine, EvalAltResult, FnAccess, FnNamespace, FuncRegistration, Module,
    NativeCallContext, ParseError, Position, RhaiFunc, Scope, Shared,
};

use crate::fault::{outside_fault, parse_fault};
use crate::language::assignments::assigned_names;
use crate::language::cell::Cell as Text;
use crate::language::tokens::typed;
use crate::world::host::Host;

/// Modules that every script finds, written in the language itself.
const LIBRARY: [(&str, &str); 1] = [("optim", include_str!("../../modules/optim.rhai"))];

/// Their names.
pub(crate) fn library() -> impl Iterator<Item = &'static str> {
    LIBRARY.iter().map(|(name, _)| *name)
}

/// The text of one, by the name of its file.
pub(crate) fn library_text(file: &str) -> Option<&'static str> {
    let name = file.strip_suffix(".rhai")?;
    LIBRARY.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Path and text of modules, by the path that errors in their functions name and by the name that imports them.
pub(crate) type Texts = Rc<RefCell<HashMap<String, (Rc<str>, Rc<str>)>>>;

/// Path and text of a module: the host's, else that of the library.
pub(crate) fn read(
    host: &dyn Host,
    importer: Option<&str>,
    name: &str,
) -> io::Result<(PathBuf, String)> {
    host.read_module(importer, name).or_else(|error| {
        let of_library = LIBRARY.iter().find(|(known, _)| *known == name);
        of_library.map(|(name, text)| (PathBuf::from(name), (*text).into())).ok_or(error)
    })
}

/// The error of a module that is not there, or that somebody did not wait for.
pub(crate) fn missing(name: &str, error: &io::Error) -> Box<EvalAltResult> {
    let what = format!("import \"{name}\"");
    if error.kind() == io::ErrorKind::Interrupted {
        return outside_fault(&what, error);
    }
    EvalAltResult::ErrorRuntime(format!("{what}: {error}").into(), Position::NONE).into()
}

/// Reads modules through the host, each file once while its text stays the same.
pub(crate) struct Resolver {
    host: Rc<dyn Host>,
    loaded: RefCell<HashMap<PathBuf, (String, Shared<Module>)>>,
    texts: Texts,
    /// How many texts have been read as modules, which numbers them.
    n_read: Cell<usize>,
    /// Modules that are being evaluated, outermost first.
    loading: RefCell<Vec<PathBuf>>,
}

impl Resolver {
    /// A resolver that keeps the texts it has read in `texts`.
    pub(crate) fn new(host: Rc<dyn Host>, texts: Texts) -> Self {
        Self {
            host,
            loaded: RefCell::default(),
            texts,
            n_read: Cell::default(),
            loading: RefCell::default(),
        }
    }
}

/// Arguments up to which a function is one of Rust's for others, of which Rhai tries every combination of types; one of
/// more is a function of the module by the name that others know.
const FEW: usize = 4;

/// A function that others call.
struct Passed {
    name: String,
    own: String,
    parameters: Vec<String>,
}

/// The program of a module of a number, whose functions have names of its own, and those that others call.
fn program(engine: &Engine, text: &str, number: usize) -> Result<(AST, Vec<Passed>), ParseError> {
    let mut program = Text::of_module(text, number).compile(engine)?;
    let passed = program.iter_functions().filter(|known| known.access == FnAccess::Public);
    let passed = passed.filter(|known| typed(known.name) != known.name).map(|known| {
        let parameters = known.params.iter().map(ToString::to_string).collect();
        Passed { name: typed(known.name).into(), own: known.name.into(), parameters }
    });
    let passed: Vec<Passed> = passed.collect();
    // Or is named by a text: Fn("f").
    let in_script = |passed: &&Passed| {
        passed.parameters.len() > FEW || text.contains(&format!("\"{}\"", passed.name))
    };
    let in_script = passed.iter().filter(in_script).map(|Passed { name, own, parameters }| {
        let parameters = parameters.join(", ");
        format!("fn {name}({parameters}) {{ {own}({parameters}) }}\n")
    });
    program.combine(Text::script(&in_script.collect::<String>()).compile(engine)?);
    Ok((program, passed))
}

/// Makes functions of a module what others call. Each calls what is found under its own name alone.
#[expect(deprecated, reason = "the only way to functions that are there; the version is pinned")]
fn pass_on(module: &mut Module, passed: Vec<Passed>) {
    // What functions are known by depends on names and parameters alone.
    let mut same = Module::new();
    let known =
        module.iter_script_fn_info().map(|(.., function)| same.set_script_fn(function.clone()));
    let known: Vec<u64> = known.collect();
    for function in known {
        module.update_fn_namespace(function, FnNamespace::Global);
    }
    for Passed { name, own, parameters } in passed {
        let n = parameters.len();
        if n > FEW {
            continue;
        }
        let call = move |context: Option<NativeCallContext<'_>>, args: &mut [&mut Dynamic]| {
            let context = context.expect("internal error: a call without a context");
            context.call_fn_raw(&own, false, false, args)
        };
        let func = Shared::new(call);
        let func = RhaiFunc::Pure { func, has_context: true, is_pure: false, is_volatile: true };
        let types = vec![TypeId::of::<Dynamic>(); n];
        FuncRegistration::new(name).set_into_module_raw(module, types, func);
    }
    module.build_index();
}

impl rhai::ModuleResolver for Resolver {
    fn resolve(
        &self,
        engine: &Engine,
        source: Option<&str>,
        name: &str,
        position: Position,
    ) -> Result<Shared<Module>, Box<EvalAltResult>> {
        let (path, text) = read(&*self.host, source, name).map_err(|error| {
            let mut error = missing(name, &error);
            error.set_position(position);
            error
        })?;
        if let Some((known, module)) = self.loaded.borrow().get(&path)
            && *known == text
        {
            return Ok(module.clone());
        }
        if self.loading.borrow().contains(&path) {
            let chain = self
                .loading
                .borrow()
                .iter()
                .chain([&path])
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
                .join(" -> ");
            let message = format!("import \"{name}\": the modules import each other: {chain}");
            return Err(EvalAltResult::ErrorRuntime(message.into(), position).into());
        }
        let shown = path.to_string_lossy().into_owned();
        let module: (Rc<str>, Rc<str>) = (shown.as_str().into(), text.as_str().into());
        let named = [name.to_string(), shown.clone()].map(|name| (name, module.clone()));
        self.texts.borrow_mut().extend(named);
        let number = self.n_read.get();
        self.n_read.set(number + 1);
        let (mut ast, passed) = program(engine, &text, number).map_err(|error| {
            let error = parse_fault(error);
            Box::new(EvalAltResult::ErrorInModule(name.into(), error, position))
        })?;
        ast.set_source(shown);
        self.loading.borrow_mut().push(path.clone());
        let mut scope = Scope::new();
        // A bare assignment declares its variable, as in scripts.
        for name in assigned_names(&ast) {
            scope.push_dynamic(name, Dynamic::UNIT);
        }
        let module = Module::eval_ast_as_new(scope, &ast, engine);
        self.loading.borrow_mut().pop();
        let mut module = module.map_err(|error| {
            Box::new(EvalAltResult::ErrorInModule(name.into(), error, position))
        })?;
        pass_on(&mut module, passed);
        let module: Shared<Module> = module.into();
        self.loaded.borrow_mut().insert(path, (text, module.clone()));
        Ok(module)
    }
}
