//! What arrays are called: by the variables that hold them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use porcini_core::Session;
use rhai::{Dynamic, Scope};

use crate::value::generator::RngRef;
use crate::value::outputs::LAST;
use crate::value::text_kernel::KernelRef;
use crate::value::{ArrayRef, scalar};

/// Items of a list or map that have names.
const MOST_ITEMS: usize = 100;
/// Other names of an array that stand beside its own.
const MOST_OTHERS: usize = 8;

/// The names of arrays, as `a`, `v.0`, `rng.state`, `list[3]`, `map.key`, by their serials in each session.
#[derive(Default)]
pub(crate) struct Names(Vec<(Session, HashMap<u64, Named>)>);

/// What a function that looks around sees.
#[derive(Default)]
pub(crate) struct Sight {
    pub(crate) names: Names,
    /// Numbers and kernels by their names.
    pub(crate) constants: HashMap<String, Dynamic>,
    /// The names of arrays.
    pub(crate) arrays: HashSet<String>,
}

impl Sight {
    /// What the variables in sight hold.
    pub(crate) fn of(scope: &Scope<'_>) -> Self {
        let (mut constants, mut arrays) = (HashMap::new(), HashSet::new());
        for (name, _, value) in scope.iter_raw() {
            let is_kernel = KernelRef::of(value).is_some();
            if is_kernel || scalar(value).is_some() {
                constants.insert(name.to_string(), value.clone());
                continue;
            }
            constants.remove(name);
            if value.is::<ArrayRef>() {
                arrays.insert(name.to_string());
            }
        }
        Self { names: Names::of(scope), constants, arrays }
    }
}

/// An array that somebody holds.
pub(crate) struct Named {
    pub(crate) name: String,
    /// What else it is called: by other variables, vectors, and tensors that are views of it.
    pub(crate) others: Vec<String>,
    /// The extents of the tensor that it is.
    pub(crate) shape: Option<String>,
}

impl Names {
    /// Those of the variables in sight; of several the oldest.
    pub(crate) fn of(scope: &Scope<'_>) -> Self {
        let mut names = Self::default();
        for (name, _, value) in scope.iter_raw().filter(|(name, ..)| *name != LAST) {
            names.add(name, value, true);
        }
        names
    }

    /// The name of the array with this serial.
    pub(crate) fn get(&self, session: &Session, serial: u64) -> Option<&str> {
        self.find(session, serial).map(|named| &*named.name)
    }

    /// What the array with this serial is called, and its shape.
    pub(crate) fn find(&self, session: &Session, serial: u64) -> Option<&Named> {
        let (_, names) = self.0.iter().find(|(known, _)| known.is(session))?;
        names.get(&serial)
    }

    fn add(&mut self, name: &str, value: &Dynamic, with_items: bool) {
        if let Some(array) = value.read_lock::<ArrayRef>() {
            self.add_array(name, &array);
        } else if let Some(rng) = value.read_lock::<RngRef>() {
            let [state, inc] = rng.arrays();
            self.add_array(&format!("{name}.state"), &state);
            self.add_array(&format!("{name}.inc"), &inc);
        } else if let Some(list) = value.read_lock::<rhai::Array>()
            && with_items
        {
            for (i, item) in list.iter().take(MOST_ITEMS).enumerate() {
                self.add(&format!("{name}[{i}]"), item, false);
            }
        } else if let Some(map) = value.read_lock::<rhai::Map>()
            && with_items
        {
            for (key, item) in map.iter().take(MOST_ITEMS) {
                self.add(&format!("{name}.{key}"), item, false);
            }
        }
    }

    fn add_array(&mut self, name: &str, array: &ArrayRef) {
        let shape = array.shape();
        array.for_each_leaf(name, &mut |leaf, path| {
            let session = leaf.session();
            if !self.0.iter().any(|(known, _)| known.is(session)) {
                self.0.push((session.clone(), HashMap::new()));
            }
            let names = self.0.iter_mut().find(|(known, _)| known.is(session));
            let serial = leaf.serial().0;
            let Some((_, names)) = names else { return };
            match names.entry(serial) {
                Entry::Vacant(free) => {
                    free.insert(Named { name: path.into(), others: vec![], shape: shape.clone() });
                }
                Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    let is_new =
                        known.name != path && !known.others.iter().any(|other| other == path);
                    if is_new && known.others.len() < MOST_OTHERS {
                        known.others.push(path.into());
                        known.shape = shape.clone().or(known.shape.take());
                    }
                }
            }
        });
    }
}
