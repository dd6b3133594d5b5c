//! A GPU's memory and code as the model of PTX has them, on which primitives are launched.

use std::collections::HashMap;
use std::fmt::Debug;

use porcini_core::backend::cuda::{Step, Target, Work, lower_step, run_steps};
use porcini_core::backend::primitive::{MemoryArray, PrimitiveCall};
use porcini_core::ir::primitive::Primitive;
use porcini_core::ir::scalar::quiet_nan;
use porcini_core::{DType, Result, Scalar};

use super::machine::{Memory, Program};
use super::programs::Random;

/// Bytes of which a block of memory has a whole number.
const GRAIN: usize = 64;
/// What lies between blocks.
const GAP: u8 = 0x55;

/// A GPU's memory and code.
pub(super) struct Model {
    pub(super) memory: Memory,
    ends: Vec<usize>,
    programs: HashMap<Step, Program>,
    target: Target,
    pub(super) processors: u64,
}

impl Model {
    pub(super) fn new() -> Self {
        Self::of(Target::SM_75)
    }

    pub(super) fn of(target: Target) -> Self {
        // No array lies at address 0.
        let memory = Memory(vec![GAP; GRAIN]);
        Self { memory, ends: Vec::new(), programs: HashMap::new(), target, processors: 1 }
    }

    /// Forgets all arrays.
    pub(super) fn clear(&mut self) {
        self.memory.0.truncate(GRAIN);
        self.ends.clear();
    }

    pub(super) fn array(
        &mut self,
        dtype: DType,
        lanes: &[u64],
        random: &mut Random,
    ) -> MemoryArray {
        let bytes = dtype.bytes();
        let address = self.room((lanes.len() * bytes) as u64).expect("memory grows");
        for (&lane, at) in lanes.iter().zip((address..).step_by(bytes)) {
            self.memory.write(at, bytes, lane);
        }
        // What follows the last lane in its block is anything.
        let end = usize::try_from(address).expect("a small address") + lanes.len() * bytes;
        for byte in end..end.next_multiple_of(GRAIN) {
            self.memory.write(byte as u64, 1, random.bits(DType::U8));
        }
        MemoryArray { address, size: lanes.len() as u64, dtype }
    }

    /// Looks whether nothing was written behind a block.
    pub(super) fn check_gaps(&self, what: &dyn Debug) {
        for &end in &self.ends {
            assert!(self.memory.0[end..end + GRAIN].iter().all(|&byte| byte == GAP), "{what:?}");
        }
    }

    /// What a primitive makes of `lanes`, in the bits of `result`.
    pub(super) fn lanes_of(
        &mut self,
        primitive: Primitive,
        operands: &[(DType, &[u64])],
        result: (DType, usize),
        random: &mut Random,
    ) -> Vec<u64> {
        let [lanes, _] = self.results_of(primitive, operands, (result, false), random);
        lanes
    }

    /// What a primitive makes of `lanes`, and the imaginary part if it is the real one of a product and both are wanted.
    pub(super) fn results_of(
        &mut self,
        primitive: Primitive,
        operands: &[(DType, &[u64])],
        ((result, n), has_imag): ((DType, usize), bool),
        random: &mut Random,
    ) -> [Vec<u64>; 2] {
        self.clear();
        let operands = operands.iter().map(|&(dtype, lanes)| self.array(dtype, lanes, random));
        let operands = operands.collect();
        let imag = has_imag.then(|| self.array(result, &vec![0; n], random));
        let result = self.array(result, &vec![0; n], random);
        let call = PrimitiveCall { primitive, operands, result, imag, lane_base: 0 };
        assert!(
            run_steps(self, &call).expect("the model does not fail"),
            "no code for {primitive:?}"
        );
        self.check_gaps(&call);
        let bytes = result.dtype.bytes();
        [Some(result), imag].map(|array| {
            let places = array.into_iter().flat_map(|it| (it.address..).step_by(bytes).take(n));
            places.map(|at| visible(result.dtype, self.memory.read(at, bytes))).collect()
        })
    }
}

impl Work for Model {
    fn room(&mut self, bytes: u64) -> Result<u64> {
        let address = self.memory.0.len();
        let bytes = usize::try_from(bytes).expect("a small array").next_multiple_of(GRAIN);
        self.memory.0.resize(address + bytes, 0xaa);
        self.ends.push(address + bytes);
        self.memory.0.resize(address + bytes + GRAIN, GAP);
        Ok(address as u64)
    }

    fn clear(&mut self, address: u64, bytes: u64) -> Result<()> {
        for at in (address..address + bytes).step_by(4) {
            self.memory.write(at, 4, 0);
        }
        Ok(())
    }

    fn launch(&mut self, step: Step, blocks: u64, words: &[u64]) -> Result<()> {
        let target = self.target;
        let parse = || Program::parse(&lower_step(step, target, step.name()), &[("params", 0)]);
        let program = self.programs.entry(step).or_insert_with(parse);
        let params: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let order: Vec<u64> = (0..blocks).collect();
        program.launch(&params, &mut self.memory, &order, step.threads().into());
        Ok(())
    }

    fn processors(&self) -> u64 {
        self.processors
    }

    fn has_matrix_units(&self) -> bool {
        self.target.compute_capability == 90
    }
}

/// The bits of a lane, those of every NaN being the same.
pub(super) fn visible(dtype: DType, bits: u64) -> u64 {
    match dtype.decode(bits) {
        Scalar::Float(value) if value.is_nan() => quiet_nan(dtype),
        _ => bits,
    }
}
