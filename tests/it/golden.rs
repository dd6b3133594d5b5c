//! The golden sessions in `sessions/`, on every configuration of the interpreter.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use porcini_core::catalogue;
use porcini_core::ir::op::{OPS, Op, Shape};
use porcini_core::trace::functions::FUNCTIONS;
use porcini_core::trace::nested::rows;
use porcini_core::{DeviceChoice, Runtime};
use porcini_script::on_engine_thread;
use porcini_tests::extent::every;
use porcini_tests::golden::{self, Session};

/// Folders below `sessions/` that hold sessions; others are listed in [`OTHERS`].
const FOLDERS: [&str; 3] = ["acceptance", "ops", "script"];
/// Folders that hold something else: outputs of the example scripts, sessions with Ctrl-C that `tests/interrupt`
/// runs, modules to import.
const OTHERS: [&str; 3] = ["examples", "interrupt", "modules"];

/// Examples that say there is no GPU, or show what is compiled for the one there is.
const SHOW_DEVICES: [&str; 2] = ["cuda_gemm.rhai", "machine_code.rhai"];

/// A device and how many threads.
type Configuration = (DeviceChoice, usize);

fn check_folder(folder: &str) {
    let wanted = std::env::var("SESSION").unwrap_or_default();
    let files = golden::scripts(&golden::sessions().join(folder));
    let files = files.iter().filter(|file| file.to_string_lossy().contains(&wanted));
    let configurations = golden::configurations_and_ranks();
    let of_each = files.enumerate().map(|(i, file)| (file, some(&configurations, i)));
    report(&of_each.flat_map(|(file, some)| golden::check(file, &some)).collect::<Vec<_>>());
}

/// The first configuration and, by turns, one half or the other of the rest; or all.
fn some(all: &[Configuration], turn: usize) -> Vec<Configuration> {
    let is_taken = |i: usize| i == 0 || every(2) == 1 || (i + turn).is_multiple_of(2);
    (0..).zip(all).filter_map(|(i, &one)| is_taken(i).then_some(one)).collect()
}

/// Checks every session on a device of the caller's.
pub(super) fn check_all_on(runtime: &Arc<Runtime>) {
    let files = FOLDERS.iter().flat_map(|folder| golden::scripts(&golden::sessions().join(folder)));
    report(&files.flat_map(|file| golden::check_on(&file, runtime)).collect::<Vec<_>>());
}

fn report(failures: &[String]) {
    assert!(
        failures.is_empty(),
        "{} differences\n\n{}\nUPDATE_EXPECT=1 takes what is shown as expected",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn acceptance() {
    check_folder("acceptance");
}

#[test]
fn operations() {
    check_folder("ops");
}

#[test]
fn scripts() {
    check_folder("script");
}

#[test]
fn examples() {
    let root = porcini_tests::root().join("examples/scripts");
    let expected = |file: &Path| {
        let name = file.file_stem().unwrap().to_string_lossy();
        golden::sessions().join("examples").join(format!("{name}.out"))
    };
    let mut files = golden::scripts(&root);
    assert!(!files.is_empty());
    if porcini_tests::gpu::open().is_some() {
        // What they show is of the machine.
        let shows_device = |file: &Path| SHOW_DEVICES.iter().any(|name| file.ends_with(name));
        files.retain(|file| !shows_device(file));
    }
    let configurations = golden::configurations_and_ranks();
    let check = |(i, file): (usize, &PathBuf)| {
        golden::check_script(file, &expected(file), &some(&configurations, i))
    };
    let failures = files.iter().enumerate().flat_map(check);
    report(&failures.collect::<Vec<_>>());
}

/// The log shows the steps of a function, and nothing becomes another by being watched.
#[test]
fn watching_changes_nothing() {
    let files = FOLDERS.iter().flat_map(|folder| golden::scripts(&golden::sessions().join(folder)));
    for file in files.step_by(every(12)) {
        let [unwatched, watched] = [0, 5].map(|level| golden::traces(&file, level));
        for (unwatched, watched) in unwatched.iter().zip(&watched) {
            assert_eq!(unwatched, watched, "{}", file.display());
        }
    }
}

/// A session outside the known folders would never run; one without expectations tests nothing.
#[test]
fn no_session_is_forgotten_or_empty() {
    for entry in std::fs::read_dir(golden::sessions()).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let known = FOLDERS.iter().chain(&OTHERS).any(|folder| *folder == name);
        assert!(known && entry.path().is_dir(), "{name} is not run by any test");
    }
    on_engine_thread(|| {
        for folder in FOLDERS {
            let files = golden::scripts(&golden::sessions().join(folder));
            assert!(!files.is_empty(), "{folder} is empty");
            for file in files {
                let n = Session::read(&file).n_expectations();
                assert!(n > 0, "{} expects nothing", file.display());
            }
        }
    });
}

/// Every row of the tables has a golden line.
#[test]
fn every_operation_occurs_in_a_session() {
    let code = on_engine_thread(|| {
        let folders = FOLDERS.iter().map(|folder| golden::sessions().join(folder));
        let files = folders.flat_map(|folder| golden::scripts(&folder));
        files.map(|file| Session::read(&file).code()).collect::<Vec<_>>().join("\n")
    });
    let called = |name: &str| {
        code.match_indices(&format!("{name}(")).any(|(at, _)| {
            let before = code[..at].chars().next_back();
            before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
        })
    };
    let mut missing = Vec::new();
    for row in OPS {
        let found = match row.operator {
            Some(operator) => code.contains(&format!(" {operator} ")),
            None if row.shape == Shape::Special => code.contains("reinterpret("),
            None if row.op == Op::Neg => code.contains("-f"),
            None if row.op == Op::Not => code.contains("!u"),
            None => called(row.name),
        };
        if !found {
            missing.push(row.name);
        }
    }
    let functions = FUNCTIONS.iter().map(|row| row.name);
    let of_whole_arrays = catalogue::rows().map(|row| row.name);
    missing.extend(functions.chain(of_whole_arrays).filter(|name| !called(name)));
    let names = rows().map(|row| row.name.rsplit(':').next().unwrap());
    missing.extend(names.filter(|name| name.starts_with(char::is_alphabetic) && !called(name)));
    assert!(missing.is_empty(), "no session has {missing:?}");
}
