//! The architecture as a test: imports point one way, unsafe code stays in listed files, files stay short.

use std::path::{Path, PathBuf};

/// Longest file; tables and long tests excepted by name.
const MAX_LINES: usize = 640;

/// Files with unsafe code, each with a reason.
const UNSAFE: [(&str, &str); 21] = [
    ("core/src/backend/cpu/arena.rs", "executable memory"),
    ("core/src/backend/cpu/frame.rs", "memory of machine code"),
    ("core/src/backend/cpu/launch.rs", "calls of machine code"),
    ("core/src/backend/cuda/driver.rs", "calls of the driver"),
    ("core/src/backend/cuda/gpu.rs", "calls of the driver"),
    ("core/src/backend/cuda/staging.rs", "calls of the driver; memory that it writes"),
    ("core/src/backend/host.rs", "blocks of memory"),
    ("core/src/backend/interp/block.rs", "lanes by pointer"),
    ("core/src/backend/interp/memory_steps.rs", "lanes and buffers by pointer"),
    ("core/src/backend/interp/steps.rs", "lanes by pointer, instruction sets"),
    ("core/src/backend/pages.rs", "blocks of memory from the system"),
    ("core/src/backend/primitive/lanes.rs", "lanes by pointer, from several threads"),
    ("core/src/backend/primitive/scan_vectors.rs", "instruction sets, lanes by pointer"),
    ("core/src/backend/primitive/vectors.rs", "instruction sets, lanes by pointer"),
    ("core/src/backend/reduce.rs", "lanes by pointer"),
    ("core/src/dlpack.rs", "tensors by pointer"),
    ("core/src/view.rs", "a block lent as a slice"),
    ("core/src/heap.rs", "an allocator"),
    ("core/src/heap/reserve.rs", "memory that it hands out"),
    ("core/examples/dlpack.rs", "a C interface"),
    ("core/tests/dlpack.rs", "imports of tensors"),
];

/// The layers of core, lowest first; a file may import from its own layer and those below.
const LAYERS: [&[&str]; 6] = [
    &["convert", "dtype", "error", "half", "buffer", "log", "interrupt", "flags"],
    &["ir"],
    &["trace", "backend", "alloc", "heap"],
    &["eval", "runtime"],
    // Session and array hold each other: a handle knows its session, a session makes handles.
    &[
        "session",
        "builder",
        "device",
        "devices",
        "array",
        "operand",
        "control",
        "inspect",
        "random",
        "nested",
        "vector",
        "horizontal",
        "host_room",
        "rearrange",
        "view",
        "foreign",
        "evcxr",
        "dlpack",
    ],
    &["lib"],
];

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
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for package in ["core", "script", "repl", "jupyter-kernel", "tests"] {
        rust_files(&root().join(package), &mut files);
    }
    let name = |path: &PathBuf| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

#[test]
fn imports_of_core_point_one_way() {
    for (name, text) in sources() {
        let Some(path) = name.strip_prefix("core/src/") else { continue };
        let module = path.split(['/', '.']).next().unwrap();
        let own = layer(module).unwrap_or_else(|| panic!("{name}: no layer for {module}"));
        for line in text.lines().filter_map(|line| line.trim().strip_prefix("use crate::")) {
            let imported = line.split([':', ';', '{', ' ']).next().unwrap();
            let Some(other) = layer(imported) else { continue };
            assert!(other <= own, "{name}: {module} imports {imported}, which is above it");
            assert!(
                !STRANGERS.contains(&(module, imported)),
                "{name}: {module} must not know {imported}"
            );
        }
    }
}

#[test]
fn packages_point_one_way() {
    let forbidden = [
        ("core", &["porcini-script", "porcini-repl", "porcini-jupyter"][..]),
        ("script", &["porcini-repl", "porcini-jupyter"]),
        ("repl", &["porcini-jupyter"]),
        ("jupyter-kernel", &["porcini-repl"]),
    ];
    for (package, others) in forbidden {
        let manifest = std::fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap();
        for other in others {
            assert!(!manifest.contains(other), "{package} depends on {other}");
        }
    }
}

/// Kernels and memory by address are for tests and benchmarks: nothing checks what they hand over.
#[test]
fn front_ends_know_no_backend() {
    for package in ["script", "repl", "jupyter-kernel"] {
        let manifest = std::fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap();
        let core = manifest.lines().find(|line| line.starts_with("porcini-core")).unwrap();
        assert!(!core.contains("internals"), "{package}: {core}");
        for (name, text) in sources().iter().filter(|(name, _)| name.starts_with(package)) {
            assert!(!text.contains("porcini_core::backend"), "{name}: use porcini_core::device");
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
