//! Several devices in one program: a session for each, started when the first array goes there.
//!
//! Sessions of a *family* share what does not depend on the device: line, flags, history, log and clock. The
//! first session holds the others, which know it weakly, so that all end with it.

use std::sync::{Mutex, PoisonError};

use crate::array::Array;
use crate::backend::{DeviceChoice, GpuBackend};
use crate::error::{Error, Result};
use crate::session::{Family, Session};

impl Session {
    /// The session that all others of this one's devices came from.
    fn first(&self) -> Self {
        Self::upgrade(&self.relatives().first).unwrap_or_else(|| self.clone())
    }

    /// The sessions on all devices that arrays of this one were moved to, the first one first.
    pub fn family(&self) -> Vec<Self> {
        let first = self.first();
        let others =
            first.relatives().others.lock().unwrap_or_else(PoisonError::into_inner).clone();
        std::iter::once(first).chain(others).collect()
    }

    /// What `find` gives for one of the family, the first one first.
    pub(crate) fn find_in_family<R>(&self, find: impl Fn(&Self) -> Option<R>) -> Option<R> {
        let first = self.first();
        find(&first).or_else(|| {
            let others = first.relatives().others.lock();
            let others = others.unwrap_or_else(PoisonError::into_inner).clone();
            others.iter().find_map(find)
        })
    }

    /// The session of the same family on a device, started if there is none. `Auto` is the first one's device.
    ///
    /// # Errors
    /// `NoDevice`.
    pub fn on(&self, device: DeviceChoice) -> Result<Self> {
        let first = self.first();
        if first.runs_on(device)? {
            return Ok(first);
        }
        let mut others = first.relatives().others.lock().unwrap_or_else(PoisonError::into_inner);
        for session in &*others {
            if session.runs_on(device)? {
                return Ok(session.clone());
            }
        }
        let family = Family { others: Mutex::default(), first: first.downgrade() };
        let runtime = first.runtime().beside(device)?;
        let session = Self::start(runtime, first.common().clone(), family);
        // What cannot be opened is told now.
        session.device()?;
        others.push(session.clone());
        Ok(session)
    }

    /// The session of the family that works on a GPU, if one does.
    pub fn on_gpu(&self, number: u32) -> Option<Self> {
        self.find_in_family(|session| {
            let works = session.gpu().is_ok_and(|gpu| gpu == Some(number));
            works.then(|| session.clone())
        })
    }

    /// The number of the GPU that it works on; `None` on the host. Opens the device.
    ///
    /// # Errors
    /// `NoDevice`.
    pub fn gpu(&self) -> Result<Option<u32>> {
        Ok(self.device()?.backend.gpu().map(GpuBackend::number))
    }

    /// How many parts the device has, each with memory of its own; 1 until it is opened.
    pub fn parts(&self) -> usize {
        self.runtime().opened().map_or(1, |device| device.backend.parts())
    }

    /// The device that was asked for.
    pub fn choice(&self) -> DeviceChoice {
        self.runtime().choice()
    }

    fn runs_on(&self, device: DeviceChoice) -> Result<bool> {
        let (gpu, has_parts) = (self.gpu()?, self.parts() > 1);
        Ok(match device {
            DeviceChoice::Auto => true,
            DeviceChoice::Cuda(number) => gpu == Some(number) && !has_parts,
            DeviceChoice::Gpus(gpus, _) => {
                matches!(self.runtime().choice(), DeviceChoice::Gpus(own, _) if own == gpus)
            }
            DeviceChoice::Parts(parts, _) => {
                matches!(self.runtime().choice(), DeviceChoice::Parts(own, _) if own == parts)
            }
            #[cfg(unix)]
            DeviceChoice::Launched(..) => self.runtime().choice() == device,
            DeviceChoice::Ranks(ranks, on, _) => matches!(
                self.runtime().choice(),
                DeviceChoice::Ranks(own, own_on, _) if (own, own_on) == (ranks, on)
            ),
            DeviceChoice::Cpu | DeviceChoice::Compiled(_) | DeviceChoice::Interp(_) => {
                gpu.is_none() && !has_parts
            }
        })
    }

    fn is_related(&self, other: &Self) -> bool {
        self.first().is(&other.first())
    }

    /// The error that an array of another session met one of this.
    #[cold]
    pub(crate) fn foreign(&self, op: &'static str, other: &Self) -> Error {
        Error::ForeignArray { op, are_strangers: !self.is_related(other) }
    }

    /// The sessions of arrays, each once; all must be of this family.
    pub(crate) fn sessions_of(&self, op: &'static str, arrays: &[&Array]) -> Result<Vec<Self>> {
        let mut sessions: Vec<Self> = Vec::with_capacity(1);
        for array in arrays {
            let session = array.session();
            if sessions.iter().any(|known| known.is(session)) {
                continue;
            }
            if !self.is(session) && !self.is_related(session) {
                return Err(self.foreign(op, session));
            }
            sessions.push(session.clone());
        }
        Ok(sessions)
    }

    /// Where what is made of arrays is recorded: with the first of them that is no number.
    pub(crate) fn home<'a>(&'a self, arrays: impl IntoIterator<Item = &'a Array>) -> &'a Self {
        let mut arrays = arrays.into_iter().filter(|array| array.literal().is_none());
        arrays.next().map_or(self, Array::session)
    }

    /// Where arrays of which some are elsewhere go, and they there; `None` if all are here.
    pub(crate) fn moved<'a>(
        &'a self,
        op: &'static str,
        arrays: impl Iterator<Item = &'a Array> + Clone,
    ) -> Result<Option<(Self, Vec<Array>)>> {
        if arrays.clone().all(|array| self.is(array.session())) {
            return Ok(None);
        }
        let home = self.home(arrays.clone());
        let there = arrays.map(|array| home.adopt_number(op, array));
        Ok(Some((home.clone(), there.collect::<Result<_>>()?)))
    }

    /// An array that takes part in an operation of this session: itself, or its number.
    pub(crate) fn adopt_number(&self, op: &'static str, array: &Array) -> Result<Array> {
        match array.literal() {
            _ if self.is(array.session()) => Ok(array.clone()),
            Some(number) => self.full(array.dtype(), number, array.size()),
            None => Err(self.foreign(op, array.session())),
        }
    }
}

impl Array {
    /// The array on another device: itself if it is there, else a copy, by way of the host. Numbers that were not
    /// evaluated stay numbers.
    ///
    /// **Evaluation**: at once.
    ///
    /// # Errors
    /// `NoDevice`; `Argument` for what is tracked; as [`Array::to_vec`] and [`Session::from_bytes`].
    pub fn to(&self, device: DeviceChoice) -> Result<Self> {
        let session = self.session().on(device)?;
        if session.is(self.session()) || self.literal().is_some() {
            return session.adopt_number("to", self);
        }
        self.refuse_tracked("to")?;
        session.from_bytes(self.dtype(), &self.read_bytes(0..self.size())?)
    }
}
