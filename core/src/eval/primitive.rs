//! Runs primitives: bind, run, record.

use std::sync::Arc;
use std::time::Duration;

use super::cache::CacheResult;
use super::exhausted::refused;
use super::history::{Extents, LaunchRecord};
use super::launches::PrimitiveLaunch;
use super::{Evaluator, lock};
use crate::backend::CodeStatistics;
use crate::backend::primitive::{MemoryArray, PrimitiveCall};
use crate::error::Result;
use crate::interrupt;
use crate::ir::kernel::KernelHash;
use crate::ir::primitive::{Part, Primitive};
use crate::ir::table::Table;
use crate::ir::var::{VarId, Variable};
use crate::memory::buffer::Buffer;

impl Evaluator<'_> {
    /// Runs one primitive; the variables it made data and their buffers.
    pub(super) fn run_primitive(
        &self,
        launch: &PrimitiveLaunch,
    ) -> Result<Vec<(VarId, Arc<Buffer>)>> {
        let primitive = launch.primitive;
        let mut calls: Vec<PrimitiveCall> = {
            let table = lock(self.table);
            launch.members().map(|member| call(&table, member)).collect()
        };
        let mut made = Vec::with_capacity(launch.results().count());
        for (member, call) in launch.members().zip(&mut calls) {
            for (id, array) in member.own_results().zip(call.results_mut()) {
                interrupt::check()?;
                let buffer = Arc::new(self.alloc(array.bytes())?);
                array.address = buffer.address();
                made.push((id, buffer));
            }
        }
        let size = calls[0].result.size;
        if size == 0 {
            return Ok(made);
        }
        let name = primitive.name();
        let (inputs, outputs) = (launch.operands.len(), launch.own_results().count());
        self.say(1, || {
            let batch = match calls.len() {
                1 => String::new(),
                members => format!("batch of {members} "),
            };
            format!("eval(): launching {batch}{name} (n={size}, in={inputs}, out={outputs})")
        });
        let start = (self.clock)();
        let ran = self.backend.run_primitives(&calls, &|bytes| self.alloc(bytes));
        ran.map_err(|error| {
            // Of one that failed nothing is noted.
            drop(self.backend.take_notes());
            refused(&lock(self.table), error)
        })?;
        self.pass_on(launch);
        let run_time = (self.clock)().saturating_sub(start);
        let parts = self.take_notes();
        lock(self.history).push(LaunchRecord {
            number: 0,
            name: name.into(),
            hash: KernelHash(0),
            size: size * calls.len() as u64,
            members: calls.len(),
            product: product(&calls[0]),
            inputs,
            outputs,
            operations: 1,
            cache: CacheResult::Hit,
            compile_time: Duration::ZERO,
            start,
            run_time,
            waited: Duration::ZERO,
            worker: 0,
            parts,
            pending: None,
            code: CodeStatistics::default(),
        });
        Ok(made)
    }
}

/// The call of a member whose results have no memory yet.
fn call(table: &Table, member: &PrimitiveLaunch) -> PrimitiveCall {
    let of = |variable: &Variable, address| MemoryArray {
        address,
        size: variable.size,
        dtype: variable.dtype,
    };
    let read = |&id: &VarId| {
        let variable = table.get(id);
        let data = variable.data.as_ref().expect("internal error: an operand is not in memory");
        of(variable, data.address())
    };
    let made = |id: VarId| of(table.get(id), 0);
    PrimitiveCall {
        primitive: member.primitive,
        operands: member.operands.iter().map(read).collect(),
        result: made(member.result),
        imag: member.imag.map(made),
        lane_base: 0,
    }
}

/// What a call multiplies, if it does.
fn product(call: &PrimitiveCall) -> Option<Extents> {
    let Primitive::Product(product) = call.primitive else { return None };
    let half = call.operands.len() / 2;
    let (n, rows) = product.extents(call.operands[0].size, call.operands[half].size);
    let (depth, columns) = (product.depth.into(), product.columns.into());
    let (dtype, is_complex) = (call.result.dtype, product.part != Part::Whole);
    Some(Extents { n, rows, depth, columns, dtype, is_complex })
}
