//! The compiler where the system gives it less than it asks for, and its rarer kinds of code: every way
//! ends in the right answer.

use std::sync::Arc;

use porcini_core::backend::cpu::{Cpu, CpuOptions, Mapping};
use porcini_core::backend::isa::Isa;
use porcini_core::{Runtime, Session};
use porcini_tests::data::Values;
use porcini_tests::generate::generate;
use porcini_tests::oracle;
use porcini_tests::programs::{Mode, run};

const SIZES: [usize; 9] = [0, 1, 7, 16, 17, 511, 4095, 4097, 65_539];
const COUNT: u64 = 150;

/// Runs random programs on compilers with these options.
fn check(options: &CpuOptions) {
    for isa in [Isa::Avx2, Isa::Avx512].into_iter().filter(|isa| isa.is_available()) {
        let runtime = Runtime::on(Arc::new(Cpu::with_options(isa, 2, options.clone())), None);
        for seed in 0..COUNT {
            let values = if seed % 2 == 0 { Values::Bounded } else { Values::Edge };
            let program = generate(seed, values);
            let n = SIZES[usize::try_from(seed).unwrap() % SIZES.len()];
            let session = Session::builder().runtime(runtime.clone()).build().unwrap();
            let got = run(&program, &session, n, Mode::Lazy).unwrap();
            let want = oracle::evaluate(&program, n);
            assert!(got.outputs == want, "seed {seed}, n = {n}, {isa}, {options:?}\n{program}");
        }
    }
}

#[test]
fn without_executable_memory() {
    check(&CpuOptions { mappings: Vec::new(), ..CpuOptions::default() });
}

#[test]
fn without_two_views_of_memory() {
    check(&CpuOptions { mappings: vec![Mapping::Protected], ..CpuOptions::default() });
}

#[test]
fn with_little_room_for_code() {
    check(&CpuOptions { code_bytes: 16 << 10, ..CpuOptions::default() });
}

#[test]
fn indices_beyond_32_bits() {
    check(&CpuOptions { near: 0, ..CpuOptions::default() });
}

#[test]
fn stores_that_pass_the_caches() {
    check(&CpuOptions { tuned_from: 0, ..CpuOptions::default() });
}
