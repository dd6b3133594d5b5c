//! A model of the PTX instructions that the lowering prints, after the PTX ISA: what it leaves
//! unspecified gives a value that no correct program lets through.
#![expect(clippy::cast_possible_truncation, reason = "registers are cut to their types")]

use std::collections::HashMap;

use super::arithmetic::{UNSPECIFIED, compare, compute, cut, integer, last, width};

/// Threads of a warp.
const WARP: usize = 32;
/// Turns of blocks that look at each other, more than any needs.
const MOST_TURNS: usize = 10_000;
/// Bytes of shared memory.
const SHARED: usize = 128 << 10;

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
    block: u64,
    blocks: u64,
    number: u64,
    block_size: u64,
    /// Groups of copies that are under way, the last one still growing: target, source, bytes.
    copies: Vec<Vec<[u64; 3]>>,
    /// Whether others ran since it came to where it looks at what they write.
    may_look: bool,
}

/// Why a thread waits for others.
#[derive(Clone, Copy, PartialEq)]
enum Pause {
    /// For those of the warp.
    Warp,
    Barrier,
    /// For other blocks to write what it looks at.
    Look,
}

/// A block that runs.
struct Block {
    threads: Vec<Thread>,
    shared: Memory,
    /// What each warp waits for; those that wait for nothing have ended.
    waits: Vec<Option<Pause>>,
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

    /// Runs all threads, block by block in the order given, and warp by warp; all blocks side by side where they look at
    /// what others write, by turns from the first and from the last one on.
    pub(super) fn launch(
        &self,
        params: &[u8],
        memory: &mut Memory,
        order: &[u64],
        block_size: u64,
    ) {
        let block = |&number| self.block(number, order.len() as u64, block_size);
        if !self.lines.iter().any(is_look) {
            for number in order {
                let mut block = block(number);
                while self.step(&mut block, params, memory) {}
            }
            return;
        }
        let mut blocks: Vec<Block> = order.iter().map(block).collect();
        for _ in 0..MOST_TURNS {
            blocks.retain_mut(|block| self.step(block, params, memory));
            blocks.reverse();
        }
        assert!(blocks.is_empty(), "blocks wait for what nobody writes");
    }

    fn block(&self, number: u64, blocks: u64, block_size: u64) -> Block {
        let thread = |thread| Thread {
            registers: vec![UNSPECIFIED; self.n_registers],
            next: 0,
            block: number,
            blocks,
            number: thread,
            block_size,
            copies: vec![Vec::new()],
            may_look: false,
        };
        let threads: Vec<Thread> = (0..block_size).map(thread).collect();
        let waits = threads.chunks(WARP).map(|_| Some(Pause::Barrier)).collect();
        Block { threads, shared: Memory(vec![0x55; SHARED]), waits }
    }

    /// Runs the warps of a block up to where they wait; whether any does.
    fn step(&self, block: &mut Block, params: &[u8], memory: &mut Memory) -> bool {
        let at_barrier = !block.waits.contains(&Some(Pause::Look));
        for (warp, waits) in block.threads.chunks_mut(WARP).zip(&mut block.waits) {
            if *waits == Some(Pause::Look) || at_barrier && waits.is_some() {
                *waits = self.run_warp(warp, params, memory, &mut block.shared);
            }
        }
        block.waits.iter().any(Option::is_some)
    }

    /// Runs a warp up to where it waits for other warps, or to its end.
    fn run_warp(
        &self,
        warp: &mut [Thread],
        params: &[u8],
        memory: &mut Memory,
        shared: &mut Memory,
    ) -> Option<Pause> {
        loop {
            let pauses: Vec<Option<Pause>> =
                warp.iter_mut().map(|thread| thread.run(self, params, memory, shared)).collect();
            if pauses.contains(&Some(Pause::Look)) {
                for (thread, pause) in warp.iter_mut().zip(&pauses) {
                    thread.may_look = *pause == Some(Pause::Look);
                }
                return Some(Pause::Look);
            }
            if pauses.iter().all(|&pause| pause == Some(Pause::Warp)) {
                self.run_together(warp);
                continue;
            }
            let at_warp = pauses.contains(&Some(Pause::Warp));
            assert!(!at_warp, "all threads of a warp take part");
            warp.iter_mut().zip(&pauses).filter(|(_, pause)| pause.is_some()).for_each(|(t, _)| {
                t.next += 1;
            });
            return pauses.into_iter().flatten().next();
        }
    }

    /// An instruction that all threads of a warp wait for.
    fn run_together(&self, warp: &mut [Thread]) {
        let line = &self.lines[warp[0].next];
        assert!(warp.iter().all(|t| t.next == warp[0].next), "one instruction at a time");
        match line.code[0].as_str() {
            "shfl" => shuffle(line, warp),
            "match" => find_equal(line, warp),
            "mma" => multiply(line, warp),
            _ => {}
        }
        warp.iter_mut().for_each(|thread| thread.next += 1);
    }
}

/// Whether a line looks at what other blocks write.
fn is_look(line: &Line) -> bool {
    line.code[0] == "ld" && line.code[1] == "relaxed"
}

fn shuffle(line: &Line, warp: &mut [Thread]) {
    let (Operand::Register(d), Operand::Register(a), Operand::Number(by)) =
        (&line.operands[0], &line.operands[1], &line.operands[2])
    else {
        panic!("operands of a shuffle");
    };
    let by = usize::try_from(*by).expect("a small distance");
    let values: Vec<u64> = warp.iter().map(|thread| thread.registers[*a]).collect();
    for (i, thread) in warp.iter_mut().enumerate() {
        let from = match line.code[2].as_str() {
            "idx" => by,
            // Before the first thread is none.
            "up" => i.checked_sub(by).unwrap_or(WARP),
            _ => i + by,
        };
        thread.registers[*d] = values[if from < WARP { from } else { i }];
    }
}

/// `match.any`: bit t for a thread t with the same value.
fn find_equal(line: &Line, warp: &mut [Thread]) {
    let values: Vec<u64> = warp.iter().map(|thread| thread.value(line.operands.get(1))).collect();
    for thread in warp {
        let own = thread.value(line.operands.get(1));
        let equal = values.iter().enumerate().filter(|&(_, &value)| value == own);
        thread.set(&line.operands[0], equal.map(|(i, _)| 1_u64 << i).sum());
    }
}

/// `mma.m16n8k4` of doubles: each sum takes four products in ascending order, each by a fma. Thread t has rows `t / 4` and 8
/// more of lane `t % 4` of the left factor, column `t / 4` of that lane of the right one, and columns `t % 4 * 2` and one more of
/// its rows of the sums.
fn multiply(line: &Line, warp: &mut [Thread]) {
    let registers = |number: usize| match &line.operands[number] {
        Operand::List(registers) => registers.clone(),
        _ => panic!("operands of a product"),
    };
    let [results, left, right, sums] = [0, 1, 2, 3].map(registers);
    let entry = |thread: usize, register: usize| warp[thread].registers[register];
    let mut all = Vec::new();
    for thread in 0..WARP {
        for (i, &sum) in sums.iter().enumerate() {
            let (row, column) = (thread / 4, thread % 4 * 2 + i % 2);
            let sum = (0..4).fold(entry(thread, sum), |sum, k| {
                let (a, b) = (entry(row * 4 + k, left[i / 2]), entry(column * 4 + k, right[0]));
                compute(&["fma".into(), "rn".into(), "f64".into()], [a, b, sum, 0])
            });
            all.push(sum);
        }
    }
    for (thread, sums) in warp.iter_mut().zip(all.chunks(results.len())) {
        for (&register, &sum) in results.iter().zip(sums) {
            thread.registers[register] = sum;
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
        if text == "words" || text == "shared_elements" {
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
                "shfl" | "match" | "mma" => return Some(Pause::Warp),
                "bar" if line.code[1] == "warp" => return Some(Pause::Warp),
                "bar" => return Some(Pause::Barrier),
                // One thread runs after the other.
                "membar" => {}
                "bra" => {
                    let Operand::Label(target) = line.operands[0] else { panic!("a label") };
                    self.next = target;
                    continue;
                }
                "ld" if is_look(line) && !std::mem::take(&mut self.may_look) => {
                    return Some(Pause::Look);
                }
                "ld" if line.code[1] == "shared" => self.load(line, params, shared),
                "ld" => self.load(line, params, memory),
                "st" | "red" if line.code[1] == "shared" => self.write(line, shared),
                "st" | "red" => self.write(line, memory),
                "atom" => self.exchange(line, memory),
                "mov" => self.mov(line),
                "setp" => self.setp(line),
                "cp" => self.copy(line, memory, shared),
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
                "%ctaid.x" => self.block,
                "%ntid.x" => self.block_size,
                "%nctaid.x" => self.blocks,
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

    /// `atom.global.cas`: the value replaces the expected one. `inc`: one more, or 0 behind the last. `add`: a sum.
    fn exchange(&mut self, line: &Line, memory: &mut Memory) {
        let [address, expected, value] = [1, 2, 3].map(|i| self.value(line.operands.get(i)));
        let bytes = width(last(&line.code)) / 8;
        let old = memory.read(address, bytes);
        let new = match line.code[2].as_str() {
            "inc" => Some(if old >= expected { 0 } else { old + 1 }),
            "add" => Some(old.wrapping_add(expected)),
            _ => (old == expected).then_some(value),
        };
        if let Some(new) = new {
            memory.write(address, bytes, new);
        }
        self.set(&line.operands[0], old);
    }

    /// `cp.async`: copies to shared memory as late as they may, when they are waited for.
    fn copy(&mut self, line: &Line, memory: &Memory, shared: &mut Memory) {
        let [first, second, bytes] = [0, 1, 2].map(|i| self.value(line.operands.get(i)));
        match line.code[2].as_str() {
            "commit_group" => self.copies.push(Vec::new()),
            "wait_group" => {
                let n_done = (self.copies.len() - 1).saturating_sub(first as usize);
                for [to, from, bytes] in self.copies.drain(..n_done).flatten() {
                    for at in (0..bytes).step_by(4) {
                        shared.write(to + at, 4, memory.read(from + at, 4));
                    }
                }
            }
            _ => {
                assert!(first.is_multiple_of(bytes) && second.is_multiple_of(bytes), "{first:#x}");
                let group = self.copies.last_mut().expect("one grows");
                group.push([first, second, bytes]);
            }
        }
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
