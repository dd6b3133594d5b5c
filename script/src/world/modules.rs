//! `import "name" as m`: modules come from the host, so a sandbox decides what can be reached; where it has none of the
//! name, from the library.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use rhai::{Engine, EvalAltResult, Module, Position, Scope, Shared};

use crate::fault::parse_fault;
use crate::language::cell::Cell;
use crate::world::host::Host;

/// Modules that every script finds, written in the language itself.
const LIBRARY: [(&str, &str); 1] = [("optim", include_str!("../../modules/optim.rhai"))];

/// The texts of modules, by the path that errors in their functions name and by the name that imports them.
pub(crate) type Texts = Rc<RefCell<HashMap<String, String>>>;

/// Reads modules through the host, each file once while its text stays the same.
pub(crate) struct Resolver {
    host: Rc<dyn Host>,
    loaded: RefCell<HashMap<PathBuf, (String, Shared<Module>)>>,
    texts: Texts,
    /// Modules that are being evaluated, outermost first.
    loading: RefCell<Vec<PathBuf>>,
}

impl Resolver {
    /// A resolver that keeps the texts it has read in `texts`.
    pub(crate) fn new(host: Rc<dyn Host>, texts: Texts) -> Self {
        Self { host, loaded: RefCell::default(), texts, loading: RefCell::default() }
    }
}

impl rhai::ModuleResolver for Resolver {
    fn resolve(
        &self,
        engine: &Engine,
        source: Option<&str>,
        name: &str,
        position: Position,
    ) -> Result<Shared<Module>, Box<EvalAltResult>> {
        let of_library = LIBRARY.iter().find(|(known, _)| *known == name);
        let (path, text) = match (self.host.read_module(source, name), of_library) {
            (Ok(module), _) => module,
            (Err(_), Some((name, text))) => (PathBuf::from(name), text.to_string()),
            (Err(error), None) => {
                let message = format!("import \"{name}\": {error}");
                return Err(EvalAltResult::ErrorRuntime(message.into(), position).into());
            }
        };
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
        let named = [name.to_string(), shown.clone()].map(|name| (name, text.clone()));
        self.texts.borrow_mut().extend(named);
        let mut ast = Cell::script(&text).compile(engine).map_err(|error| {
            let error = parse_fault(error);
            Box::new(EvalAltResult::ErrorInModule(name.into(), error, position))
        })?;
        ast.set_source(shown);
        self.loading.borrow_mut().push(path.clone());
        let module = Module::eval_ast_as_new(Scope::new(), &ast, engine);
        self.loading.borrow_mut().pop();
        let module = module.map_err(|error| {
            Box::new(EvalAltResult::ErrorInModule(name.into(), error, position))
        })?;
        let module: Shared<Module> = module.into();
        self.loaded.borrow_mut().insert(path, (text, module.clone()));
        Ok(module)
    }
}
