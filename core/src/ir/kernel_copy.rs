//! Kernels written anew, instruction by instruction.

use std::collections::HashMap;

use super::kernel::{Code, Inst, Kernel, Reg};
use super::op::Op;
use super::sections::{Section, Sections};
use super::verify::verify;
use crate::dtype::DType;

/// A kernel written anew, with several instructions in the place of some.
#[derive(Debug)]
pub(crate) struct Rewrite {
    insts: Sections,
    /// Constants, by type and bits.
    constants: HashMap<(DType, u64), Reg>,
    /// Where instructions go.
    pub(crate) section: Section,
    serial: u64,
}

impl Rewrite {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            insts: Sections::default(),
            constants: HashMap::new(),
            section: Section::Uniform,
            serial: 0,
        }
    }

    /// What is added now stands in the place of an instruction of `kernel`.
    pub(crate) fn replace(&mut self, kernel: &Kernel, position: usize) {
        self.section = kernel.section(position);
        self.serial = kernel.insts[position].serial;
    }

    /// Adds an instruction.
    pub(crate) fn push(&mut self, code: Code, dtype: DType, args: &[Reg]) -> Reg {
        self.push_to(self.section, code, dtype, args)
    }

    /// Adds an operation; never behind the writes.
    pub(crate) fn op(&mut self, op: Op, dtype: DType, args: &[Reg]) -> Reg {
        self.push_to(self.section.min(Section::Lanes), Code::Op(op), dtype, args)
    }

    fn push_to(&mut self, section: Section, code: Code, dtype: DType, args: &[Reg]) -> Reg {
        let mut packed = [None; 3];
        for (to, &arg) in packed.iter_mut().zip(args) {
            *to = Some(arg);
        }
        self.insts.push(section, Inst { code, dtype, args: packed, serial: self.serial })
    }

    /// A number; the same one has one register.
    pub(crate) fn constant(&mut self, dtype: DType, bits: u64) -> Reg {
        if let Some(&known) = self.constants.get(&(dtype, bits)) {
            return known;
        }
        let constant = self.push_to(Section::Constants, Code::Constant(bits), dtype, &[]);
        self.constants.insert((dtype, bits), constant);
        constant
    }

    /// The kernel with these instructions, and with other literals.
    pub(crate) fn finish(self, kernel: &Kernel, literals: Vec<(DType, u64)>) -> Kernel {
        let (insts, n_uniform, first_write) = self.insts.list();
        let rewritten = Kernel {
            insts,
            n_uniform,
            first_write,
            literals,
            buffers: kernel.buffers.clone(),
            accesses: kernel.accesses.clone(),
            ..*kernel
        };
        debug_assert_eq!(verify(&rewritten), Ok(()), "{rewritten}");
        rewritten
    }
}
