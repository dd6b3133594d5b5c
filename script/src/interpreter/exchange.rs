//! Variables that a front end gives scripts, and takes from them.

use std::collections::HashSet;

use rhai::Dynamic;

use crate::interpreter::Interpreter;
use crate::show::forms::Shown;
use crate::value::exchanged::Exchanged;
use crate::value::outputs::LAST;

impl Interpreter {
    /// Gives scripts a variable; its arrays are of [the session](Self::session).
    pub fn set(&mut self, name: &str, value: Exchanged) {
        self.scope.set_or_push(name, value.into_dynamic());
    }

    /// Forgets a variable, unless it exists in scripts alone.
    pub fn forget(&mut self, name: &str) {
        if self.scope.get(name).is_some_and(|value| Exchanged::of(value).is_some()) {
            drop(self.scope.remove::<Dynamic>(name));
        }
    }

    /// The variables of scripts and their values, but for those of what exists in scripts alone.
    pub fn values(&self) -> Vec<(String, Exchanged)> {
        let variables = self.scope.iter_raw().filter(|(name, ..)| *name != LAST);
        let known =
            variables.map(|(name, _, value)| Some((name.to_string(), Exchanged::of(value)?)));
        known.flatten().collect()
    }

    /// Variables of these names that exist in scripts alone and are shown in other forms than text: pictures.
    pub fn pictures(&self, names: &HashSet<&str>) -> Vec<(String, Shown)> {
        let named = self.scope.iter_raw().filter(|(name, ..)| names.contains(name));
        let others = named.filter(|(.., value)| Exchanged::of(value).is_none());
        let shown = others
            .filter_map(|(name, _, value)| Some((name.into(), self.context.shown(value).ok()?)));
        shown.filter(|(_, shown): &(String, Shown)| !shown.forms.is_empty()).collect()
    }

    /// The value of the last expression, `_`.
    pub fn last(&self) -> Option<Exchanged> {
        self.scope.get(LAST).and_then(Exchanged::of)
    }
}
