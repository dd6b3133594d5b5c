//! The architecture as a test: imports point one way, unsafe code stays in listed files, files stay short.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::imports::{Imports, imports, knots};

/// Longest file; tables and long tests excepted by name.
const MAX_LINES: usize = 640;

/// Files with unsafe code, each with a reason.
const UNSAFE: [(&str, &str); 52] = [
    ("core/src/backend/cpu/arm/visibility.rs", "instructions of cache maintenance"),
    ("core/src/backend/cpu/executable_memory.rs", "executable memory"),
    ("core/src/backend/cpu/frame.rs", "memory of machine code"),
    ("core/src/backend/cpu/compiled.rs", "machine code as functions"),
    ("core/src/backend/cpu/work.rs", "calls of machine code"),
    ("core/src/backend/cuda/cublas.rs", "calls of a library"),
    ("core/src/backend/cuda/driver_library.rs", "calls of the driver"),
    ("core/src/backend/cuda/gpu.rs", "calls of the driver"),
    ("core/src/backend/cuda/nccl.rs", "calls of a library"),
    ("core/src/backend/cuda/staging.rs", "calls of the driver; memory that it writes"),
    ("core/src/backend/host.rs", "blocks of memory"),
    ("core/src/backend/interp/block.rs", "lanes by pointer"),
    ("core/src/backend/interp/memory_steps.rs", "lanes and buffers by pointer"),
    ("core/src/backend/interp/steps.rs", "lanes by pointer, instruction sets"),
    ("core/src/backend/cuda/gpu/foreign.rs", "a C library"),
    ("core/src/backend/cuda/gpu/link.rs", "a C library"),
    ("core/src/backend/cuda/gpu/peers.rs", "a C library"),
    ("core/src/backend/cuda/gpu/signal.rs", "a C library"),
    ("core/src/backend/cuda/gpu/sparse.rs", "a C library"),
    ("core/src/backend/cuda/gpu/streams.rs", "a C library"),
    ("core/src/backend/cuda/nvrtc.rs", "a C library"),
    ("core/src/backend/pages.rs", "blocks of memory from the system"),
    ("core/src/backend/peer_memory.rs", "memory of other processes by address"),
    ("core/src/backend/primitive/along.rs", "instruction sets"),
    ("core/src/backend/primitive/lanes.rs", "lanes by pointer, from several threads"),
    ("core/src/backend/primitive/place.rs", "instruction sets"),
    ("core/src/backend/primitive/product/thin.rs", "instruction sets"),
    ("core/src/backend/primitive/product/vectors.rs", "instruction sets, lanes by pointer"),
    ("core/src/backend/primitive/scan_vectors.rs", "instruction sets, lanes by pointer"),
    ("core/src/backend/primitive/true_lanes.rs", "instruction sets"),
    ("core/src/backend/primitive/turned_vectors.rs", "instruction sets, lanes by pointer"),
    ("core/src/backend/primitive/scatter/picked.rs", "instruction sets, lanes by pointer"),
    ("core/src/backend/primitive/vectors.rs", "instruction sets, lanes by pointer"),
    ("core/src/backend/ranks/mpi.rs", "a C library"),
    ("core/src/backend/ranks/peer.rs", "bytes that it reads and writes"),
    ("core/src/backend/reduce.rs", "lanes by pointer"),
    ("core/src/interop/dlpack.rs", "tensors by pointer"),
    ("core/src/interop/gpu_memory.rs", "memory of a GPU by address"),
    ("core/src/interop/view.rs", "a block lent as a slice"),
    ("core/src/memory/process_heap.rs", "an allocator"),
    ("core/src/memory/process_heap/blocks.rs", "what an allocator calls"),
    ("core/src/memory/process_heap/early.rs", "memory that it hands out"),
    ("core/src/memory/process_heap/reserve.rs", "memory that it hands out"),
    ("core/examples/dlpack.rs", "a C interface"),
    ("core/tests/dlpack.rs", "imports of tensors"),
    ("python/src/arrow.rs", "columns by pointer"),
    ("python/src/buffers.rs", "buffers by pointer"),
    ("python/src/dlpack.rs", "tensors by pointer"),
    ("python/src/interrupt.rs", "signals of the system"),
    ("python/src/memory.rs", "memory of others by pointer"),
    ("python/src/methods.rs", "buffers by pointer"),
    ("python/src/object.rs", "objects of Python"),
];

/// Modules of a package by layers, lowest first: those named and what is below them, where nothing longer fits. A
/// module may import from its own layer and those below.
type Layers = &'static [&'static [&'static str]];

/// The packages and their layers.
const PACKAGES: [(&str, Layers); 5] = [
    ("core", &LAYERS),
    ("script", SCRIPT),
    ("repl", SHELL),
    ("jupyter-kernel", KERNEL),
    ("python", PYTHON),
];

/// The layers of core.
const LAYERS: [&[&str]; 8] = [
    &[
        "convert",
        "spelling",
        "dtype",
        "error",
        "half",
        "memory/buffer",
        "log",
        "interrupt",
        "session/flags",
    ],
    &["ir"],
    &["trace", "backend", "memory"],
    &["eval", "session/runtime"],
    // Session and array hold each other: a handle knows its session, a session makes handles.
    &["session", "device", "array", "control", "random", "value", "tensor", "catalogue", "interop"],
    &["text_kernel", "engine"],
    &["cuda_module"],
    &["lib"],
];

/// The layers of the language binding.
const SCRIPT: Layers = &[
    &["fault", "side_by_side"],
    &["value"],
    &["show"],
    &["language"],
    &["diagnose"],
    &["world", "options", "sandbox_arguments"],
    &["context"],
    &["bind"],
    &["interpreter"],
    &["assist"],
    &["interpreter/setup"],
];

/// The layers of the shell.
const SHELL: Layers = &[
    &["settings", "asked"],
    &["print"],
    &["foreground"],
    &["pager", "external_editor", "cli", "exit_code", "signals", "typed"],
    &["json", "source"],
    &["host"],
    &["doctor", "edit"],
    &["tasks", "repl"],
    &["run"],
];

/// The layers of the notebook kernel.
const KERNEL: Layers = &[
    &["warn", "wire", "connection_file", "graph", "printed", "kernel_info", "usage"],
    &["bundle"],
    &["frames"],
    &["socket", "publisher"],
    &["history", "host", "traceback", "parent", "trial"],
    &["kernel", "install", "ending"],
    &["serve"],
    &["doctor", "rust_kernel"],
    &["cli"],
];

/// The layers of the Python package.
const PYTHON: Layers = &[
    &["names", "aliases", "recursion"],
    &["errors", "docs"],
    &["home", "fork", "interrupt", "work", "given", "stand_ins"],
    &["memory"],
    &["object", "types", "lane_type"],
    &["buffers", "dlpack", "arrow"],
    &["interchange"],
    &["convert", "lists", "pickle", "arguments"],
    &["make", "makers", "functions", "forms", "random", "session_numbers", "images", "exchanged"],
    &[
        "callable",
        "components",
        "draws",
        "index",
        "integers",
        "numpy",
        "reach",
        "around",
        "tree",
        "statics",
        "script_host",
    ],
    &["control", "custom", "derivatives", "kernels", "recorded", "runtime", "scripts"],
    &["operators"],
    &["methods"],
];

/// Most modules that may import each other in a circle.
const LARGEST_KNOT: usize = 2;

/// Modules of one layer that must not know each other.
const STRANGERS: [(&str, &str); 2] = [("trace", "backend"), ("backend", "trace")];

fn root() -> PathBuf {
    porcini_tests::root()
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Name below the workspace root, and text, of every Rust file of the packages.
pub(crate) fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for package in ["core", "linear", "script", "repl", "jupyter-kernel", "python", "tests"] {
        rust_files(&root().join(package), &mut files);
    }
    let name = |path: &PathBuf| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// The layer of a module: that of the longest name which it begins with.
fn layer(layers: Layers, module: &str) -> Option<usize> {
    let fits = |name: &&&str| {
        module.strip_prefix(**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let longest = |(i, names): (usize, &&[&str])| {
        Some((names.iter().filter(fits).map(|name| name.len()).max()?, i))
    };
    layers.iter().enumerate().filter_map(longest).max().map(|(_, layer)| layer)
}

/// What the modules of a package import, but for its root.
fn imports_of(package: &str) -> Imports {
    let sources = sources();
    let below = format!("{package}/src/");
    let files =
        sources.iter().filter_map(|(name, text)| Some((name.strip_prefix(&below)?, &**text)));
    let mut imports = imports(files);
    imports.remove("");
    imports
}

#[test]
fn imports_point_one_way() {
    for (package, layers) in PACKAGES {
        for (module, imported) in imports_of(package) {
            let of = |module: &str| {
                layer(layers, module).unwrap_or_else(|| panic!("{package}: no layer for {module}"))
            };
            for other in imported {
                assert!(
                    of(&other) <= of(&module),
                    "{package}: {module} imports {other}, which is above it"
                );
                let room = |module: &str| module.split('/').next().unwrap().to_string();
                let (a, b) = (room(&module), room(&other));
                let strangers = STRANGERS.iter().any(|(x, y)| (*x, *y) == (&*a, &*b));
                assert!(package != "core" || !strangers, "{module} must not know {other}");
            }
        }
    }
}

#[test]
fn modules_are_no_knots() {
    for (package, _) in PACKAGES {
        let mut knots = knots(&imports_of(package));
        knots.retain(|knot| knot.len() > LARGEST_KNOT);
        assert!(knots.is_empty(), "{package}: modules import each other in circles: {knots:#?}");
    }
}

#[test]
fn packages_point_one_way() {
    let forbidden = [
        ("core", &["porcini-script", "porcini-repl", "porcini-jupyter"][..]),
        ("script", &["porcini-repl", "porcini-jupyter"]),
        ("repl", &["porcini-jupyter"]),
        ("jupyter-kernel", &["porcini-repl"]),
        ("python", &["porcini-repl", "porcini-jupyter"]),
    ];
    for (package, others) in forbidden {
        let manifest = std::fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap();
        for other in others {
            assert!(!manifest.contains(other), "{package} depends on {other}");
        }
    }
}

/// The package of core's unit tests is built of the same as core.
#[test]
fn unit_tests_of_core_have_its_dependencies() {
    let [own, of_units] = ["core", "core/units"].map(|package| {
        let manifest = std::fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap();
        let lines = manifest.lines().skip_while(|line| *line != "[dependencies]");
        let lines = lines.take_while(|line| !["[features]", "[lints]"].contains(line));
        lines.map(String::from).collect::<Vec<_>>()
    });
    assert!(own.len() > 10, "{own:?}");
    assert_eq!(own, of_units);
}

/// What a newcomer reads first names every room, and every file of those that have few.
#[test]
fn the_map_is_complete() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let words: BTreeSet<&str> = map.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    for (file, _) in sources() {
        let Some((package, path)) = file.split_once("/src/") else { continue };
        if !["core", "script", "python"].contains(&package) {
            continue;
        }
        let (room, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.trim_end_matches(".rs");
        let is_mapped = ["", "ir", "eval", "session", "language", "diagnose", "world", "assist"];
        let wanted =
            if is_mapped.contains(&room) { stem } else { room.split('/').next_back().unwrap() };
        let is_outline = ["mod", "lib"].contains(&wanted);
        assert!(is_outline || words.contains(wanted), "{file}: ARCHITECTURE.md has no `{wanted}`");
    }
}

/// What is public stands on the front page, or is hidden from those who read it.
#[test]
fn the_front_page_shows_what_is_public() {
    let page = std::fs::read_to_string(root().join("core/src/lib.rs")).unwrap();
    let mut before = "";
    for line in page.lines() {
        let name = line.strip_prefix("pub mod ").and_then(|name| name.strip_suffix(';'));
        let is_told = |name: &str| {
            page.lines()
                .any(|line| line.starts_with("//! | [") && line.contains(&format!("[`{name}`]")))
        };
        let is_hidden = before.starts_with("#[doc(hidden)]") || before.contains("internals");
        if let Some(name) = name {
            assert!(
                is_hidden != is_told(name),
                "{name}: tell what it has in core/src/lib.rs, or hide it"
            );
        }
        before = line;
    }
}

/// Kernels and memory by address are for tests and benchmarks: nothing checks what they hand over.
#[test]
fn front_ends_know_no_backend() {
    for package in ["script", "repl", "jupyter-kernel", "python"] {
        let manifest = std::fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap();
        let core = manifest.lines().find(|line| line.starts_with("porcini-core")).unwrap();
        assert!(!core.contains("internals"), "{package}: {core}");
        for (name, text) in sources().iter().filter(|(name, _)| name.starts_with(package)) {
            assert!(!text.contains("porcini_core::backend"), "{name}: use porcini_core::device");
        }
    }
}

/// The rest of the compiler knows registers and instructions, not which processor has them and how they are encoded.
#[test]
fn processors_stay_behind_their_machine() {
    let machines = [("x86", "iced".to_string() + "_x86"), ("arm", "fARM".to_string() + "64")];
    let folder = |machine: &str| format!("core/src/backend/cpu/{machine}/");
    for (name, text) in sources() {
        for (machine, assembler) in &machines {
            let is_own = name.starts_with(&folder(machine));
            assert!(is_own || !text.contains(assembler), "{name}: it is for backend/cpu/{machine}");
        }
        let is_machine = machines.iter().any(|(machine, _)| name.starts_with(&folder(machine)));
        if name.starts_with("core/src/backend/cpu/") && !is_machine {
            let names_one = text.contains("Isa::Avx") || text.contains("Isa::Neon");
            assert!(!names_one, "{name}: ask the target what it has");
        }
    }
}

#[test]
fn unsafe_code_stays_in_its_files() {
    for (name, text) in sources() {
        let allows = text
            .lines()
            .any(|line| line.trim_start().starts_with("#!") && line.contains("unsafe_code"));
        let listed = UNSAFE.iter().any(|(file, _)| *file == name);
        assert_eq!(
            allows, listed,
            "{name}: list it in tests/it/tidy.rs with a reason, or not at all"
        );
    }
}

#[test]
fn files_are_short() {
    for (name, text) in sources() {
        let n = text.lines().count();
        assert!(n <= MAX_LINES, "{name} has {n} lines, more than {MAX_LINES}: split it");
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for (name, text) in sources() {
        assert!(text.starts_with("//!") || text.starts_with("#!"), "{name}: no `//!` at the top");
    }
}

#[test]
fn no_file_defers_its_work() {
    let words = ["TO".to_string() + "DO", "FIX".to_string() + "ME", "todo".to_string() + "!("];
    for (name, text) in sources() {
        for word in &words {
            assert!(!text.contains(word.as_str()), "{name}: {word}");
        }
    }
}

#[test]
fn libraries_do_not_print() {
    for (name, text) in sources() {
        if !(name.starts_with("core/src/") || name.starts_with("script/src/")) {
            continue;
        }
        for word in ["println!(", "eprintln!(", "print!(", "dbg!("] {
            assert!(!text.contains(word), "{name}: {word}..)");
        }
    }
}
