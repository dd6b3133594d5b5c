//! `del a, b`: variables that are gone, and where they went.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use rhai::{Dynamic, Engine, EvalAltResult, EvalContext, LexError, Position};

use crate::context::Context;
use crate::fault::Result;
use crate::language::tokens::typed;
use crate::value::outputs::LAST;
use crate::value::{ArrayRef, Deleted};

/// Where variables were deleted: `script.rhai:3`.
#[derive(Clone)]
pub(crate) struct Deletions {
    places: Rc<RefCell<HashMap<String, String>>>,
    /// Name of the running cell.
    cell: Rc<RefCell<String>>,
    /// Whether anything was deleted since somebody asked.
    is_new: Rc<Cell<bool>>,
    context: Rc<Context>,
}

impl Deletions {
    pub(crate) fn new(context: Rc<Context>) -> Self {
        Self { places: Rc::default(), cell: Rc::default(), is_new: Rc::default(), context }
    }

    /// From now on a cell runs.
    pub(crate) fn begin(&self, cell: &str) {
        *self.cell.borrow_mut() = cell.into();
    }

    /// Where a variable was deleted.
    pub(crate) fn place(&self, variable: &str) -> Option<String> {
        self.places.borrow().get(variable).cloned()
    }

    /// Refuses to read a variable that was deleted. Assignments to such are read by themselves
    /// ([`crate::language::reassigned`]).
    #[inline]
    pub(crate) fn look(
        &self,
        name: &str,
        context: &EvalContext<'_, '_, '_, '_, '_, '_>,
    ) -> Result<()> {
        if !self.is_new.get() || !self.places.borrow().contains_key(name) {
            return Ok(());
        }
        let deleted = context.scope().get(name).and_then(Dynamic::read_lock::<Deleted>);
        deleted.map_or(Ok(()), |deleted| Err(deleted.fault()))
    }

    /// Whether anything was deleted since somebody asked last.
    pub(crate) fn take_new(&self) -> bool {
        self.is_new.take()
    }

    /// The variable is there again.
    pub(crate) fn forget(&self, variable: &str) {
        self.places.borrow_mut().remove(variable);
    }

    /// Forgets all places.
    pub(crate) fn clear(&self) {
        self.places.borrow_mut().clear();
    }
}

/// `del a, b` frees at once; using the name again says where it was deleted. The scope entry stays until
/// the cell ends: removing it would shift the variables that Rhai has already resolved.
pub(crate) fn register(engine: &mut Engine, deletions: &Deletions) {
    let deletions = deletions.clone();
    engine.register_custom_syntax_with_state_raw(
        "del",
        |symbols, ahead, _| {
            let expects_name = symbols.len() == 1 || symbols.last().is_some_and(|s| s == ",");
            Ok(match ahead {
                _ if expects_name => Some("$ident$".into()),
                "," => Some(",".into()),
                // What a variable holds is no name: all of it would be gone before that shows.
                "[" | "." => {
                    let what = "del takes names of variables; map.remove(\"key\") and list.remove(0) \
                                take out what is in them";
                    return Err(LexError::Runtime(what.into()).into_err(Position::NONE));
                }
                _ => None,
            })
        },
        false,
        move |context, inputs, _| {
            for input in inputs {
                let Some(name) = input.get_string_value().filter(|name| *name != ",") else {
                    continue;
                };
                delete(context, name, input.position(), &deletions)?;
            }
            Ok(Dynamic::UNIT)
        },
    );
}

fn delete(
    context: &mut EvalContext<'_, '_, '_, '_, '_, '_>,
    name: &str,
    position: Position,
    deletions: &Deletions,
) -> Result<()> {
    let line = deletions.context.line(position);
    let scope = context.scope_mut();
    let missing = || EvalAltResult::ErrorVariableNotFound(typed(name).into(), position);
    let value = scope.get_mut(name).ok_or_else(missing)?;
    if value.is::<Deleted>() {
        return Err(missing().into());
    }
    let place = format!("{}:{line}", deletions.cell.borrow());
    let deleted = Deleted { name: typed(name).into(), place: place.clone() };
    let old = std::mem::replace(value, Dynamic::from(deleted));
    deletions.places.borrow_mut().insert(name.into(), place);
    deletions.is_new.set(true);
    // The last value shown, and those of cells, would keep the array alive.
    let array = old.read_lock::<ArrayRef>().map(|array| array.clone());
    if let Some(array) = &array {
        deletions.context.outputs.forget(array);
    }
    if let Some(array) = array
        && let Some(last) = scope.get_mut(LAST)
        && last.read_lock::<ArrayRef>().is_some_and(|last| last.is(&array))
    {
        *last = Dynamic::UNIT;
    }
    Ok(())
}
