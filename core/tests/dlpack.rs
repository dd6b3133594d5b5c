//! DLPack in Rust, and against NumPy, JAX and PyTorch where a Python with NumPy is found (`./test` sets one
//! up); the library that Python loads is the example `dlpack`.
#![expect(unsafe_code, reason = "imports of tensors")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use ndarray::{arr1, arr2};
use porcini_core::{DType, Session};

#[test]
fn a_view_outlives_its_array() {
    let session = Session::new().unwrap();
    let array = session.linspace(DType::F32, 0, 1, 5).unwrap();
    let view = array.view::<f32>().unwrap();
    assert_eq!(view.as_ptr().addr() as u64, array.address().unwrap());
    assert!(array.view::<i32>().is_err());
    drop(array);
    assert_eq!(*view, [0.0, 0.25, 0.5, 0.75, 1.0]);
    assert_eq!(view.as_ndarray().sum(), 2.5);
    let one = session.full(DType::Mask, true, 1).unwrap();
    assert_eq!(*one.view::<bool>().unwrap(), [true]);
    assert!(session.zeros(DType::F64, 0).unwrap().view::<f64>().unwrap().is_empty());
}

#[test]
fn a_viewed_block_is_not_written_in_place() {
    let session = Session::new().unwrap();
    let n = 1 << 16;
    let mut array = session.linspace(DType::F64, 0, 1, n).unwrap();
    let view = array.view::<f64>().unwrap();
    let before = view.to_vec();
    array = array.clone() * 2.0;
    array.eval().unwrap();
    let index = session.array(&[0_u32]).unwrap();
    let target = session.array(&before).unwrap();
    let seen = target.view::<f64>().unwrap();
    let mut written = target;
    written.scatter(porcini_core::ir::op::ScatterOp::Set, 9.0, &index, None).unwrap();
    written.eval().unwrap();
    assert_eq!(*view, *before);
    assert_eq!(*seen, *before);
}

#[test]
fn ndarrays_go_in_and_out() {
    let session = Session::new().unwrap();
    let table = arr2(&[[1, 2, 3], [4, 5, 6]]);
    let array = session.from_ndarray(&table.view()).unwrap();
    assert_eq!(array.to_ndarray::<i32>().unwrap(), arr1(&[1, 2, 3, 4, 5, 6]));
    let turned = session.from_ndarray(&table.t()).unwrap();
    assert_eq!(turned.to_ndarray::<i32>().unwrap(), arr1(&[1, 4, 2, 5, 3, 6]));
}

#[test]
fn tensors_between_sessions() {
    let (a, b) = (Session::new().unwrap(), Session::new().unwrap());
    let array = a.linspace(DType::F64, 0, 1, 5).unwrap();
    let tensor = array.to_dlpack().unwrap();
    // SAFETY: the tensor is ours.
    let taken = unsafe { b.from_dlpack(tensor) }.unwrap();
    assert_eq!(taken.address().unwrap(), array.address().unwrap());
    drop(array);
    assert_eq!((taken + 1.0).to_vec::<f64>().unwrap(), [1.0, 1.25, 1.5, 1.75, 2.0]);
    assert_eq!(a.memory_info().used, 0);
}

/// `PORCINI_PYTHON`, else the workspace's virtual environment; `None` if it has no NumPy.
fn python() -> Option<PathBuf> {
    let given = std::env::var_os("PORCINI_PYTHON").map(PathBuf::from);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/python");
    let python = given.unwrap_or(own);
    let has_numpy = Command::new(&python).args(["-c", "import numpy"]).output();
    has_numpy.is_ok_and(|output| output.status.success()).then_some(python)
}

#[test]
fn arrays_go_to_other_libraries_and_back() {
    let Some(python) = python() else {
        println!("skipped: no Python with NumPy");
        return;
    };
    // Tests lie in `deps`, examples beside it.
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap().join("examples");
    let name = format!("{}dlpack{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = folder.join(name);
    assert!(library.exists(), "build it: cargo build -p porcini-core --example dlpack");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dlpack.py");
    let output = Command::new(python).arg(script).arg(library).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    println!("{}", String::from_utf8_lossy(&output.stdout));
}
