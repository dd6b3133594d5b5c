//! Entries that many launches share, each in a module of its own.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use super::compiler::Compiler;
use super::gpu::{Function, Gpu, Module};
use super::ptx::Step;
use crate::error::Result;

/// Entries that are compiled when first needed, and stay.
pub(super) struct Entries<K> {
    gpu: Arc<Gpu>,
    compiler: Arc<Compiler>,
    loaded: Mutex<HashMap<K, Place>>,
}

/// Whoever compiles an entry has those wait who want the same one, and nobody else.
type Place = Arc<Mutex<Option<(Module, Function)>>>;

impl<K: Eq + Hash> Entries<K> {
    pub(super) fn new(gpu: Arc<Gpu>, compiler: Arc<Compiler>) -> Self {
        Self { gpu, compiler, loaded: Mutex::default() }
    }

    /// The entry called `name` of the text that belongs to a key.
    ///
    /// # Errors
    /// `Compilation`, a failure of the GPU.
    pub(super) fn get(
        &self,
        key: K,
        name: &str,
        text: impl FnOnce(&Compiler) -> String,
    ) -> Result<Function> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let place = loaded.entry(key).or_default().clone();
        drop(loaded);
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, entry)) = *place {
            return Ok(entry);
        }
        let module = self.compiler.load(&text(&self.compiler))?.module;
        let entry = self.gpu.function(&module, name)?;
        *place = Some((module, entry));
        Ok(entry)
    }
}

impl Entries<Step> {
    /// The entry of a step of a primitive.
    ///
    /// # Errors
    /// As [`Entries::get`].
    pub(super) fn step(&self, step: Step) -> Result<Function> {
        self.get(step, step.name(), |compiler| compiler.step(step))
    }
}

impl<K> Drop for Entries<K> {
    fn drop(&mut self) {
        let loaded = self.loaded.get_mut().unwrap_or_else(PoisonError::into_inner);
        for place in loaded.values() {
            if let Some((module, _)) = &*place.lock().unwrap_or_else(PoisonError::into_inner) {
                self.gpu.unload(module);
            }
        }
    }
}
