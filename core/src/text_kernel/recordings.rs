//! Calls of reductions and scans that are recorded once (S21): for the first two calls with arrays of some types and sizes
//! texts are read, and for others the same is recorded with other arrays in it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::session::recorded::Recorded;
use crate::session::{Inner, Session};

/// Kinds of calls that are remembered.
const MOST_KINDS: usize = 16;

/// The kinds of calls met lately, the last one first.
#[derive(Debug, Default)]
pub(super) struct Recordings(Mutex<VecDeque<(Key, Met)>>);

/// What a recording depends on: the session, its flags, types and sizes.
#[derive(Debug)]
struct Key {
    session: Weak<Inner>,
    flags: u64,
    types: Vec<(DType, u64)>,
}

/// What is known of a kind of calls.
#[derive(Clone, Debug)]
enum Met {
    Once,
    Recorded(Arc<Recorded>),
    /// Texts that ask for lanes are read each time.
    Unrecordable,
}

impl Recordings {
    /// The results for arrays that are in memory, of `record` or as that recorded them before, under `name`.
    ///
    /// # Errors
    /// Those of `record`.
    pub(super) fn call(
        &self,
        name: &'static str,
        session: &Session,
        arrays: &[Array],
        record: &mut dyn FnMut(&[Array]) -> Result<Vec<Array>>,
    ) -> Result<Vec<Array>> {
        let types = arrays.iter().map(|array| (array.dtype(), array.size())).collect();
        let key = Key { session: session.downgrade(), flags: session.flag_bits(), types };
        match self.met(&key) {
            None => self.put(key, Met::Once),
            Some(Met::Recorded(recorded)) => return recorded.call(&borrowed(arrays)),
            Some(Met::Once) => match recorded(name, session, arrays, record) {
                Ok(recorded) => {
                    let recorded = Arc::new(recorded);
                    self.put(key, Met::Recorded(recorded.clone()));
                    return recorded.call(&borrowed(arrays));
                }
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(_) => self.put(key, Met::Unrecordable),
            },
            Some(Met::Unrecordable) => {}
        }
        record(arrays)
    }

    /// What is known of a kind, which then is the last one.
    fn met(&self, key: &Key) -> Option<Met> {
        let mut kinds = self.kinds();
        let place = kinds.iter().position(|(known, _)| known == key)?;
        let kind = kinds.remove(place)?;
        let met = kind.1.clone();
        kinds.push_front(kind);
        Some(met)
    }

    fn put(&self, key: Key, met: Met) {
        let mut kinds = self.kinds();
        kinds.retain(|(known, _)| *known != key && known.session.strong_count() > 0);
        kinds.truncate(MOST_KINDS - 1);
        kinds.push_front((key, met));
    }

    fn kinds(&self) -> MutexGuard<'_, VecDeque<(Key, Met)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.types == other.types
            && self.flags == other.flags
            && self.session.ptr_eq(&other.session)
    }
}

/// What `record` makes of arrays like these that have no lanes.
fn recorded(
    name: &'static str,
    session: &Session,
    arrays: &[Array],
    record: &mut dyn FnMut(&[Array]) -> Result<Vec<Array>>,
) -> Result<Recorded> {
    let stand_ins = session.stand_ins(&borrowed(arrays))?;
    let outputs = record(&stand_ins)?;
    session.recorded(name, &borrowed(&stand_ins), &borrowed(&outputs))
}

fn borrowed(arrays: &[Array]) -> Vec<&Array> {
    arrays.iter().collect()
}
