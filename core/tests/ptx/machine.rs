//! A model of the PTX instructions that the lowering prints, after the PTX ISA: what it leaves
//! unspecified gives a value that no correct program lets through.
#![expect(clippy::cast_possible_truncation, reason = "registers are cut to their types")]

use std::collections::HashMap;

use porcini_core::half::F16;

/// What `rem` and `div` give where the ISA says nothing.
const UNSPECIFIED: u64 = 0xdead_beef_dead_beef;
/// Threads of a warp.
const WARP: usize = 32;
/// Bytes of shared memory.
const SHARED: usize = 8 << 10;

/// Memory with an address; everything the program and its launch share.
#[derive(Clone, PartialEq)]
pub(super) struct Memory(pub(super) Vec<u8>);

impl Memory {
    /// The little-endian number at an address.
    pub(super) fn read(&self, address: u64, bytes: usize) -> u64 {
        let start = usize::try_from(address).expect("a small address");
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(&self.0[start..start + bytes]);
        u64::from_le_bytes(word)
    }

    /// Writes the low bytes of a number.
    pub(super) fn write(&mut self, address: u64, bytes: usize, value: u64) {
        let start = usize::try_from(address).expect("a small address");
        self.0[start..start + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
}

#[derive(Clone, Debug)]
enum Operand {
    Register(usize),
    /// `%p0|%p1`, or `{%r0, %r1}`.
    List(Vec<usize>),
    Number(u64),
    /// A register and an offset.
    Address(usize, u64),
    /// A byte of the parameters.
    Param(u64),
    Label(usize),
    Special(String),
}

#[derive(Debug)]
struct Line {
    /// Register, and the value it must have.
    guard: Option<(usize, bool)>,
    /// `add.rn.f32` by parts.
    code: Vec<String>,
    operands: Vec<Operand>,
}

/// A parsed entry.
pub(super) struct Program {
    lines: Vec<Line>,
    n_registers: usize,
}

/// One thread's registers, place in the program and numbers.
struct Thread {
    registers: Vec<u64>,
    next: usize,
    block: (u64, u64),
    number: u64,
    block_size: u64,
}

/// Why a thread waits for others.
#[derive(Clone, Copy, PartialEq)]
enum Pause {
    Shuffle,
    Barrier,
}

impl Program {
    /// Parses one entry; `params` gives the byte offset of each parameter by name.
    pub(super) fn parse(text: &str, params: &[(&str, u64)]) -> Self {
        let body = text.split_once("{\n").expect("an entry has a body").1;
        let mut names = HashMap::new();
        let mut labels = HashMap::new();
        let mut sources = Vec::new();
        for line in body.lines() {
            let line = line.split("//").next().unwrap_or_default().trim();
            if let Some(label) = line.strip_suffix(':') {
                labels.insert(label.to_owned(), sources.len());
            } else if let Some(source) = line.strip_suffix(';').filter(|s| !s.starts_with('.')) {
                sources.push(source);
            }
        }
        let mut parser = Parser { names: &mut names, labels: &labels, params };
        let lines = sources.into_iter().map(|source| parser.line(source)).collect();
        Self { lines, n_registers: names.len() }
    }

    /// Runs all threads, block by block and warp by warp, in a grid of blocks and rows.
    pub(super) fn launch(
        &self,
        params: &[u8],
        memory: &mut Memory,
        (blocks, rows): (u64, u64),
        block_size: u64,
    ) {
        for block in (0..rows).flat_map(|row| (0..blocks).map(move |block| (block, row))) {
            let thread = |number| Thread {
                registers: vec![UNSPECIFIED; self.n_registers],
                next: 0,
                block,
                number,
                block_size,
            };
            let mut threads: Vec<Thread> = (0..block_size).map(thread).collect();
            let mut shared = Memory(vec![0x55; SHARED]);
            loop {
                let mut waiting = false;
                for warp in threads.chunks_mut(WARP) {
                    waiting |= self.run_warp(warp, params, memory, &mut shared);
                }
                if !waiting {
                    break;
                }
            }
        }
    }

    /// Runs a warp to the next barrier, or to its end; whether it waits.
    fn run_warp(
        &self,
        warp: &mut [Thread],
        params: &[u8],
        memory: &mut Memory,
        shared: &mut Memory,
    ) -> bool {
        loop {
            let pauses: Vec<Option<Pause>> =
                warp.iter_mut().map(|thread| thread.run(self, params, memory, shared)).collect();
            if pauses.iter().all(|&pause| pause == Some(Pause::Shuffle)) {
                self.shuffle(warp);
                continue;
            }
            let at_shuffle = pauses.contains(&Some(Pause::Shuffle));
            assert!(!at_shuffle, "all threads of a warp take part in a shuffle");
            let at_barrier = pauses.contains(&Some(Pause::Barrier));
            warp.iter_mut().zip(&pauses).filter(|(_, pause)| pause.is_some()).for_each(|(t, _)| {
                t.next += 1;
            });
            return at_barrier;
        }
    }

    fn shuffle(&self, warp: &mut [Thread]) {
        let line = &self.lines[warp[0].next];
        assert!(warp.iter().all(|t| t.next == warp[0].next), "one shuffle at a time");
        let (Operand::Register(d), Operand::Register(a), Operand::Number(by)) =
            (&line.operands[0], &line.operands[1], &line.operands[2])
        else {
            panic!("operands of a shuffle");
        };
        let by = usize::try_from(*by).expect("a small distance");
        let values: Vec<u64> = warp.iter().map(|thread| thread.registers[*a]).collect();
        for (i, thread) in warp.iter_mut().enumerate() {
            thread.registers[*d] = values[if i + by < WARP { i + by } else { i }];
            thread.next += 1;
        }
    }
}

struct Parser<'a> {
    names: &'a mut HashMap<String, usize>,
    labels: &'a HashMap<String, usize>,
    params: &'a [(&'a str, u64)],
}

impl Parser<'_> {
    fn line(&mut self, source: &str) -> Line {
        let mut rest = source;
        let mut guard = None;
        if let Some(guarded) = source.strip_prefix('@') {
            let (predicate, instruction) = guarded.split_once(' ').expect("a guarded instruction");
            let negated = predicate.strip_prefix('!');
            guard = Some((self.register(negated.unwrap_or(predicate)), negated.is_none()));
            rest = instruction;
        }
        let (code, operands) = rest.split_once(' ').unwrap_or((rest, ""));
        Line {
            guard,
            code: code.split('.').map(str::to_owned).collect(),
            operands: split_operands(operands).iter().map(|text| self.operand(text)).collect(),
        }
    }

    fn register(&mut self, name: &str) -> usize {
        let next = self.names.len();
        *self.names.entry(name.to_owned()).or_insert(next)
    }

    fn operand(&mut self, text: &str) -> Operand {
        if let Some(inner) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
            return Operand::List(inner.split(", ").map(|name| self.register(name)).collect());
        }
        if let Some((first, second)) = text.split_once('|') {
            return Operand::List(vec![self.register(first), self.register(second)]);
        }
        if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            let (base, offset) = inner.split_once('+').unwrap_or((inner, "0"));
            let offset: u64 = offset.parse().expect("an offset");
            if base.starts_with('%') {
                return Operand::Address(self.register(base), offset);
            }
            let param = self.params.iter().find(|(name, _)| *name == base);
            return Operand::Param(param.expect("a parameter").1 + offset);
        }
        if text.starts_with('$') {
            return Operand::Label(self.labels[text]);
        }
        if text.starts_with('%') && text.contains('.') {
            return Operand::Special(text.to_owned());
        }
        if text.starts_with('%') {
            return Operand::Register(self.register(text));
        }
        if text == "tree" {
            return Operand::Number(0);
        }
        Operand::Number(number(text))
    }
}

/// At commas outside braces.
fn split_operands(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn number(text: &str) -> u64 {
    for prefix in ["0f", "0d", "0x"] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return u64::from_str_radix(digits, 16).expect("hexadecimal digits");
        }
    }
    let signed: i128 = text.parse().expect("a number");
    u64::try_from(signed & i128::from(u64::MAX)).expect("64 bits are left")
}

impl Thread {
    /// Runs up to where it waits, or to the end (`None`).
    fn run(
        &mut self,
        program: &Program,
        params: &[u8],
        memory: &mut Memory,
        shared: &mut Memory,
    ) -> Option<Pause> {
        loop {
            let line = program.lines.get(self.next)?;
            if let Some((predicate, wanted)) = line.guard
                && (self.registers[predicate] != 0) != wanted
            {
                self.next += 1;
                continue;
            }
            match line.code[0].as_str() {
                "ret" => {
                    self.next = program.lines.len();
                    return None;
                }
                "shfl" => return Some(Pause::Shuffle),
                "bar" => return Some(Pause::Barrier),
                "bra" => {
                    let Operand::Label(target) = line.operands[0] else { panic!("a label") };
                    self.next = target;
                    continue;
                }
                "ld" if line.code[1] == "shared" => self.load(line, params, shared),
                "ld" => self.load(line, params, memory),
                "st" if line.code[1] == "shared" => self.write(line, shared),
                "st" | "red" => self.write(line, memory),
                "atom" => self.exchange(line, memory),
                "mov" => self.mov(line),
                "setp" => self.setp(line),
                _ => {
                    let args = [1, 2, 3, 4].map(|i| self.value(line.operands.get(i)));
                    let result = compute(&line.code, args);
                    self.set(&line.operands[0], result);
                }
            }
            self.next += 1;
        }
    }

    fn value(&self, operand: Option<&Operand>) -> u64 {
        match operand {
            Some(Operand::Register(register)) => self.registers[*register],
            Some(Operand::Number(number)) => *number,
            Some(Operand::Special(name)) => match name.as_str() {
                "%tid.x" => self.number,
                "%ctaid.x" => self.block.0,
                "%ctaid.y" => self.block.1,
                "%ntid.x" => self.block_size,
                _ => panic!("{name}"),
            },
            Some(Operand::Address(register, offset)) => {
                self.registers[*register].wrapping_add(*offset)
            }
            Some(Operand::Param(byte)) => *byte,
            Some(Operand::List(_) | Operand::Label(_)) | None => 0,
        }
    }

    fn set(&mut self, operand: &Operand, value: u64) {
        let Operand::Register(register) = operand else { panic!("a register") };
        self.registers[*register] = value;
    }

    fn load(&mut self, line: &Line, params: &[u8], memory: &Memory) {
        let address = self.value(line.operands.get(1));
        let t = last(&line.code);
        let bytes = width(t) / 8;
        let read = |address| match line.code[1].as_str() {
            "param" => Memory(params.to_vec()).read(address, bytes),
            _ => memory.read(address, bytes),
        };
        // A register wider than the type is extended as its sign says.
        let extended = |address| integer(t, read(address)) as u64;
        match &line.operands[0] {
            Operand::List(registers) => {
                check_vector(&line.code, address, registers.len() * bytes);
                for (&register, at) in registers.iter().zip((address..).step_by(bytes)) {
                    self.registers[register] = extended(at);
                }
            }
            target => self.set(target, extended(address)),
        }
    }

    fn write(&self, line: &Line, memory: &mut Memory) {
        let address = self.value(line.operands.first());
        let t = last(&line.code);
        let bytes = width(t) / 8;
        if let Operand::List(registers) = &line.operands[1] {
            check_vector(&line.code, address, registers.len() * bytes);
            for (&register, at) in registers.iter().zip((address..).step_by(bytes)) {
                memory.write(at, bytes, self.registers[register]);
            }
            return;
        }
        let value = self.value(line.operands.get(1));
        let old = memory.read(address, bytes);
        let new = match line.code[2].as_str() {
            name @ ("add" | "min" | "max" | "and" | "or") => {
                compute(&[name.into(), t.into()], [old, value, 0, 0])
            }
            _ => value,
        };
        memory.write(address, bytes, new);
    }

    /// `atom.global.cas`: the value replaces the expected one.
    fn exchange(&mut self, line: &Line, memory: &mut Memory) {
        let [address, expected, value] = [1, 2, 3].map(|i| self.value(line.operands.get(i)));
        let bytes = width(last(&line.code)) / 8;
        let old = memory.read(address, bytes);
        if old == expected {
            memory.write(address, bytes, value);
        }
        self.set(&line.operands[0], old);
    }

    fn mov(&mut self, line: &Line) {
        match (&line.operands[0], &line.operands[1]) {
            (Operand::List(halves), source) => {
                let value = self.value(Some(source));
                let half = width(last(&line.code)) / 2;
                self.registers[halves[0]] = value & (u64::MAX >> (64 - half));
                self.registers[halves[1]] = value >> half;
            }
            (target, Operand::List(halves)) => {
                let half = width(last(&line.code)) / 2;
                let low = self.registers[halves[0]] & (u64::MAX >> (64 - half));
                let value = low | self.registers[halves[1]] << half;
                self.set(target, value);
            }
            (target, source) => {
                let value = cut(last(&line.code), self.value(Some(source)));
                self.set(target, value);
            }
        }
    }

    fn setp(&mut self, line: &Line) {
        let t = last(&line.code);
        let [a, b, c] = [1, 2, 3].map(|i| self.value(line.operands.get(i)));
        let holds = compare(&line.code[1], t, a, b);
        let combined = |holds: bool| match line.code[2].as_str() {
            "and" => holds && c != 0,
            "or" => holds || c != 0,
            _ => holds,
        };
        match &line.operands[0] {
            Operand::List(both) => {
                self.registers[both[0]] = u64::from(combined(holds));
                self.registers[both[1]] = u64::from(combined(!holds));
            }
            target => self.set(target, u64::from(combined(holds))),
        }
    }
}

/// Vectors have two or four elements and are aligned to their size.
fn check_vector(code: &[String], address: u64, bytes: usize) {
    let elements = if code.iter().any(|part| part == "v4") { 4 } else { 2 };
    assert_eq!(bytes, elements * width(last(code)) / 8, "{code:?}");
    assert!(bytes <= 16 && address.is_multiple_of(bytes as u64), "{code:?} at {address:#x}");
}

fn last(code: &[String]) -> &str {
    code.last().map_or("", String::as_str)
}

fn width(t: &str) -> usize {
    match t {
        "u8" | "s8" => 8,
        "u16" | "s16" | "b16" | "f16" => 16,
        "u32" | "s32" | "b32" | "f32" => 32,
        "u64" | "s64" | "b64" | "f64" => 64,
        _ => panic!("type {t}"),
    }
}

fn cut(t: &str, value: u64) -> u64 {
    match t {
        "pred" => value & 1,
        _ => value & (u64::MAX >> (64 - width(t))),
    }
}

/// An integer of type `t`, extended as its sign says.
fn integer(t: &str, bits: u64) -> i128 {
    match t {
        "s8" => i128::from(bits as u8 as i8),
        "s16" => i128::from(bits as u16 as i16),
        "s32" => i128::from(bits as u32 as i32),
        "s64" => i128::from(bits as i64),
        _ => i128::from(cut(t, bits)),
    }
}

fn compare(name: &str, t: &str, a: u64, b: u64) -> bool {
    let order = match t {
        "f32" => f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)),
        "f64" => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
        _ => Some(integer(t, a).cmp(&integer(t, b))),
    };
    match name {
        "num" => order.is_some(),
        "nan" => order.is_none(),
        "neu" => order.is_none_or(|order| order.is_ne()),
        "eq" => order.is_some_and(|order| order.is_eq()),
        "ne" => order.is_some_and(|order| order.is_ne()),
        "lt" => order.is_some_and(|order| order.is_lt()),
        "le" => order.is_some_and(|order| order.is_le()),
        "gt" => order.is_some_and(|order| order.is_gt()),
        "ge" => order.is_some_and(|order| order.is_ge()),
        _ => panic!("comparison {name}"),
    }
}

/// The result of an instruction that only computes.
fn compute(code: &[String], args: [u64; 4]) -> u64 {
    let t = last(code);
    let name = code[0].as_str();
    let [first, second, third, count] = args;
    let args = [first, second, third];
    match (name, t) {
        ("bfe", _) => {
            let field = first >> second & (u64::MAX >> (64 - third));
            let signed = if third == 8 { "s8" } else { "s16" };
            if t.starts_with('s') { cut(t, integer(signed, field) as u64) } else { field }
        }
        ("bfi", _) => {
            let mask = (u64::MAX >> (64 - count)) << third;
            cut(t, second & !mask | first << third & mask)
        }
        ("cvt", _) => convert(code, args[0]),
        ("selp", _) => cut(t, if args[2] & 1 != 0 { args[0] } else { args[1] }),
        ("mul" | "mad", _) if t.starts_with(['u', 's']) => product(code, args),
        ("and" | "or" | "xor" | "not" | "shl" | "shr" | "popc" | "clz" | "brev", _) => {
            bitwise(name, t, args)
        }
        (_, "f32") => {
            let [a, b, c] = args.map(|bits| f64::from(f32::from_bits(bits as u32)));
            let [x, y, z] = args.map(|bits| f32::from_bits(bits as u32));
            // Sums, products, quotients and roots through f64 round twice to the same bits as once.
            let result = match name {
                "fma" => x.mul_add(y, z),
                _ => float(name, a, b, c) as f32,
            };
            u64::from(if result.is_nan() { 0x7fff_ffff } else { result.to_bits() })
        }
        (_, "f64") => {
            let [a, b, c] = args.map(f64::from_bits);
            let result = float(name, a, b, c);
            if result.is_nan() { 0xfff8_0000_0000_0000 } else { result.to_bits() }
        }
        _ => arithmetic(name, t, args),
    }
}

fn float(name: &str, a: f64, b: f64, c: f64) -> f64 {
    // -0 is below +0, and a NaN is no candidate.
    let below = |a: f64, b: f64| b.is_nan() || a.total_cmp(&b).is_lt();
    match name {
        "neg" => -a,
        "abs" => a.abs(),
        "sqrt" => a.sqrt(),
        "add" => a + b,
        "sub" => a - b,
        "mul" => a * b,
        "div" => a / b,
        "fma" => a.mul_add(b, c),
        "min" if a.is_nan() => b,
        "min" => {
            if below(a, b) {
                a
            } else {
                b
            }
        }
        "max" if a.is_nan() => b,
        "max" => {
            if b.is_nan() || below(b, a) {
                a
            } else {
                b
            }
        }
        _ => panic!("float {name}"),
    }
}

fn arithmetic(name: &str, t: &str, args: [u64; 3]) -> u64 {
    let [a, b, _] = args.map(|bits| integer(t, bits));
    let least = -(1i128 << (width(t) - 1));
    let unspecified = b == 0 || (t.starts_with('s') && a == least && b == -1);
    let result = match name {
        "add" => a + b,
        "sub" => a - b,
        "neg" => -a,
        "abs" => a.abs(),
        "min" => a.min(b),
        "max" => a.max(b),
        "div" | "rem" if unspecified => i128::from(UNSPECIFIED),
        "div" => a / b,
        "rem" => a % b,
        _ => panic!("integer {name}"),
    };
    cut(t, result as u64)
}

fn product(code: &[String], args: [u64; 3]) -> u64 {
    let t = last(code);
    let [a, b, _] = args.map(|bits| integer(t, bits));
    let full = a.wrapping_mul(b);
    let result = match (code[1].as_str(), width(t)) {
        ("lo", _) => cut(t, full as u64),
        ("hi", 32) => cut(t, (full >> 32) as u64),
        // The product of two u64 needs all 128 bits, as an unsigned number.
        ("hi", _) if t == "u64" => ((a.cast_unsigned() * b.cast_unsigned()) >> 64) as u64,
        ("hi", _) => (full >> 64) as u64,
        ("wide", _) => full as u64,
        _ => panic!("product {code:?}"),
    };
    if code[0] != "mad" {
        return result;
    }
    let sum = result.wrapping_add(args[2]);
    if code[1] == "wide" { sum } else { cut(t, sum) }
}

fn bitwise(name: &str, t: &str, [a, b, _]: [u64; 3]) -> u64 {
    let bits = if t == "pred" { 1 } else { width(t) as u32 };
    // Counts are 32 bits wide and act as the width beyond it.
    let count = (b as u32).min(bits);
    let value = integer(t, a);
    let result = match name {
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "not" => !a,
        "shl" => ((value as u128) << count) as u64,
        "shr" => (value >> count) as u64,
        "popc" => u64::from(cut(t, a).count_ones()),
        "clz" => u64::from(cut(t, a).leading_zeros() - (64 - bits)),
        "brev" => a.reverse_bits() >> (64 - bits),
        _ => panic!("bitwise {name}"),
    };
    cut(t, result)
}

fn convert(code: &[String], a: u64) -> u64 {
    let (to, from) = (code[code.len() - 2].as_str(), last(code));
    let float = match from {
        "f16" => f64::from(F16::from_bits(a as u16).to_f32()),
        "f32" => f64::from(f32::from_bits(a as u32)),
        "f64" => f64::from_bits(a),
        _ => return from_integer(to, integer(from, a)),
    };
    let rounded = match code[1].as_str() {
        "rmi" => float.floor(),
        "rpi" => float.ceil(),
        "rni" => float.round_ties_even(),
        "rzi" => float.trunc(),
        _ => float,
    };
    match to {
        "f16" => u64::from(F16::from_f64(rounded).to_bits()),
        "f32" => u64::from((rounded as f32).to_bits()),
        "f64" => rounded.to_bits(),
        _ if float.is_nan() && from == "f32" && width(to) == 32 => 0,
        _ if float.is_nan() => 1 << (width(to) - 1),
        "s32" => cut(to, (rounded as i32) as u64),
        "u32" => (rounded as u32).into(),
        "s64" => (rounded as i64) as u64,
        "u64" => rounded as u64,
        _ => panic!("conversion {code:?}"),
    }
}

fn from_integer(to: &str, value: i128) -> u64 {
    match to {
        "f32" => u64::from((value as f32).to_bits()),
        "f64" => (value as f64).to_bits(),
        _ => cut(to, value as u64),
    }
}
