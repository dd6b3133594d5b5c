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
    /// Runs one primitive; the variable it made data and its buffer.
    pub(super) fn run_primitive(&self, launch: &PrimitiveLaunch) -> Result<(VarId, Arc<Buffer>)> {
        let PrimitiveLaunch { primitive, result, .. } = *launch;
        let (size, dtype, bytes) = {
            let table = lock(self.table);
            let variable = table.get(result);
            (variable.size, variable.dtype, variable.bytes())
        };
        let buffer = Arc::new(self.alloc(bytes)?);
        if size == 0 {
            return Ok((result, buffer));
        }
        let (name, inputs) = (primitive.name(), launch.operands.len());
        self.say(1, || format!("eval(): launching {name} (n={size}, in={inputs}, out=1)"));
        let call = PrimitiveCall {
            primitive,
            operands: launch.operands.iter().map(|&id| self.in_memory(id)).collect(),
            result: MemoryArray { address: buffer.address(), size, dtype },
        };
        let start = (self.clock)();
        self.backend.run_primitive(&call, &|bytes| self.alloc(bytes))?;
        let run_time = (self.clock)().saturating_sub(start);
        lock(self.history).push(LaunchRecord {
            name,
            hash: KernelHash(0),
            size,
            inputs,
            outputs: 1,
            operations: 1,
            cache: CacheResult::Hit,
            compile_time: std::time::Duration::ZERO,
            run_time,
            code: CodeStatistics::default(),
        });
        Ok((result, buffer))
    }

    fn in_memory(&self, id: VarId) -> MemoryArray {
        let table = lock(self.table);
        let variable = table.get(id);
        let data = variable.data.as_ref().expect("internal error: an operand is not in memory");
        MemoryArray { address: data.address(), size: variable.size, dtype: variable.dtype }
    }
}
