//! Runs primitives: bind, run, record.

use std::sync::Arc;

use super::cache::CacheResult;
use super::history::LaunchRecord;
use super::launches::PrimitiveLaunch;
use super::{Evaluator, lock};
use crate::backend::CodeStatistics;
use crate::backend::primitive::{MemoryArray, PrimitiveCall};
use crate::error::Result;
use crate::ir::kernel::KernelHash;
use crate::ir::var::VarId;
use crate::memory::buffer::Buffer;

impl Evaluator<'_> {
    /// Runs one primitive; the variables it made data and their buffers.
    pub(super) fn run_primitive(
        &self,
        launch: &PrimitiveLaunch,
    ) -> Result<Vec<(VarId, Arc<Buffer>)>> {
        let primitive = launch.primitive;
        let mut arrays = Vec::new();
        let mut made = Vec::new();
        for result in launch.results() {
            let (size, dtype, bytes) = {
                let table = lock(self.table);
                let variable = table.get(result);
                (variable.size, variable.dtype, variable.bytes())
            };
            let buffer = Arc::new(self.alloc(bytes)?);
            arrays.push(MemoryArray { address: buffer.address(), size, dtype });
            made.push((result, buffer));
        }
        let (result, imag) = (arrays[0], arrays.get(1).copied());
        let size = result.size;
        if size == 0 {
            return Ok(made);
        }
        let (name, inputs, outputs) = (primitive.name(), launch.operands.len(), made.len());
        self.say(1, || format!("eval(): launching {name} (n={size}, in={inputs}, out={outputs})"));
        let operands = launch.operands.iter().map(|&id| self.in_memory(id)).collect();
        let call = PrimitiveCall { primitive, operands, result, imag };
        let start = (self.clock)();
        self.backend.run_primitive(&call, &|bytes| self.alloc(bytes))?;
        let run_time = (self.clock)().saturating_sub(start);
        lock(self.history).push(LaunchRecord {
            name: name.into(),
            hash: KernelHash(0),
            size,
            inputs,
            outputs,
            operations: 1,
            cache: CacheResult::Hit,
            compile_time: std::time::Duration::ZERO,
            run_time,
            code: CodeStatistics::default(),
        });
        Ok(made)
    }

    fn in_memory(&self, id: VarId) -> MemoryArray {
        let table = lock(self.table);
        let variable = table.get(id);
        let data = variable.data.as_ref().expect("internal error: an operand is not in memory");
        MemoryArray { address: data.address(), size: variable.size, dtype: variable.dtype }
    }
}
