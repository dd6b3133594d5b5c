//! The values that numbered cells gave: `_3` and `Out[3]`. Few, and no large ones, so that they keep
//! little memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rhai::{Dynamic, Engine};

use crate::fault::{Result, fault};
use crate::value::generator::RngRef;
use crate::value::host_array::HostRef;
use crate::value::{ArrayRef, describe};

/// Values kept.
const MOST: usize = 20;
/// Bytes that a value kept may have.
const MOST_BYTES: u64 = 1 << 20;
/// The name of the last value shown.
pub(crate) const LAST: &str = "_";
/// The name of all of them.
const NAME: &str = "Out";

/// The values of numbered cells, shared with what resolves names.
#[derive(Clone, Default)]
pub(crate) struct Outputs(Rc<RefCell<BTreeMap<usize, Dynamic>>>);

impl Outputs {
    /// Makes `Out[n]` known to an engine.
    pub(crate) fn register(&self, engine: &mut Engine) {
        engine.register_type_with_name::<Self>(NAME);
        engine.register_indexer_get(|outputs: &mut Self, cell: i64| outputs.get(cell));
        engine.register_fn("len", |outputs: &mut Self| {
            i64::try_from(outputs.0.borrow().len()).unwrap_or(i64::MAX)
        });
    }

    /// Keeps the value of a cell, and forgets the oldest if there are too many.
    pub(crate) fn keep(&self, cell: usize, value: &Dynamic) {
        if bytes(value) > MOST_BYTES {
            return;
        }
        let mut kept = self.0.borrow_mut();
        kept.insert(cell, value.clone());
        if kept.len() > MOST {
            kept.pop_first();
        }
    }

    /// Forgets an array that was deleted.
    pub(crate) fn forget(&self, array: &ArrayRef) {
        self.0
            .borrow_mut()
            .retain(|_, value| !value.read_lock::<ArrayRef>().is_some_and(|kept| kept.is(array)));
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// What a name means: `Out`, `_3`.
    pub(crate) fn find(&self, name: &str) -> Option<Dynamic> {
        if name == NAME {
            return Some(Dynamic::from(self.clone()));
        }
        let cell = name.strip_prefix('_')?.parse().ok()?;
        self.0.borrow().get(&cell).cloned()
    }

    /// A line a value.
    pub(crate) fn text(&self) -> String {
        let line = |(cell, value): (&usize, &Dynamic)| format!("{cell}: {}", describe(value));
        let lines: Vec<String> = self.0.borrow().iter().map(line).collect();
        if lines.is_empty() { "nothing kept yet".into() } else { lines.join("\n") }
    }

    fn get(&self, cell: i64) -> Result<Dynamic> {
        let kept = self.0.borrow();
        let found = usize::try_from(cell).ok().and_then(|cell| kept.get(&cell));
        found.cloned().ok_or_else(|| {
            let cells: Vec<String> = kept.keys().map(ToString::to_string).collect();
            let cells = if cells.is_empty() { "none".into() } else { cells.join(", ") };
            fault(format!(
                "Out[{cell}] holds nothing; cells with a value: {cells} (the last {MOST}, none over 1 MiB)"
            ))
        })
    }
}

fn bytes(value: &Dynamic) -> u64 {
    let of = |array: &ArrayRef| -> u64 {
        array.leaves().iter().map(porcini_core::Array::bytes).fold(0, u64::saturating_add)
    };
    if let Some(array) = value.read_lock::<ArrayRef>() {
        return of(&array);
    }
    if let Some(rng) = value.read_lock::<RngRef>() {
        return rng.arrays().iter().map(of).sum();
    }
    if let Some(host) = value.read_lock::<HostRef>() {
        return host.shape().iter().product::<usize>().saturating_mul(8) as u64;
    }
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return list.iter().map(bytes).fold(8 * list.len() as u64, u64::saturating_add);
    }
    if let Some(map) = value.read_lock::<rhai::Map>() {
        return map.values().map(bytes).fold(0, u64::saturating_add);
    }
    value.read_lock::<rhai::ImmutableString>().map_or(0, |text| text.len() as u64)
}
