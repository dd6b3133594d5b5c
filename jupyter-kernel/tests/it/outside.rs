//! Clients that others wrote: Jupyter's own tests.

use std::path::PathBuf;
use std::process::Command;

/// `PORCINI_PYTHON`, else the workspace's virtual environment; `None` if it has no Jupyter.
fn python() -> Option<PathBuf> {
    let given = std::env::var_os("PORCINI_PYTHON").map(PathBuf::from);
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let python = given.unwrap_or_else(|| root.join(".venv/bin/python"));
    let has_jupyter = Command::new(&python).args(["-c", "import jupyter_kernel_test"]).output();
    has_jupyter.is_ok_and(|output| output.status.success()).then_some(python)
}

/// Runs a script of this folder, which starts the kernel through a kernelspec.
fn run(script: &str) {
    let Some(python) = python() else {
        eprintln!("skipped: no Python with Jupyter (./test sets one up)");
        return;
    };
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(script);
    let specs = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("jupyter");
    let spec = specs.join("kernels/porcini");
    std::fs::create_dir_all(&spec).unwrap();
    let kernel = serde_json::json!({
        "argv": [env!("CARGO_BIN_EXE_porcini-jupyter"), "run", "{connection_file}"],
        "display_name": "Porcini", "language": "rhai", "interrupt_mode": "message",
    });
    std::fs::write(spec.join("kernel.json"), kernel.to_string()).unwrap();
    let output = Command::new(python)
        .arg(script)
        .env("JUPYTER_PATH", specs)
        .env("JUPYTER_PLATFORM_DIRS", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}{text}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn jupyter_kernel_test_passes() {
    run("kernel_test.py");
}
