//! Clients that others wrote: Jupyter's own tests, nbclient, nbconvert, papermill, the console.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `PORCINI_PYTHON`, else the workspace's virtual environment; `None` if it has no Jupyter.
fn python() -> Option<PathBuf> {
    let given = std::env::var_os("PORCINI_PYTHON").map(PathBuf::from);
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let python = given.unwrap_or_else(|| root.join(".venv/bin/python"));
    let packages = "import jupyter_console, jupyter_kernel_test, nbconvert, papermill\n\
                    import porcini_papermill, porcini_pygments";
    let has_jupyter = Command::new(&python).args(["-c", packages]).output();
    if has_jupyter.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    eprintln!("skipped: no Python with Jupyter (./test sets one up)");
    None
}

/// Python with the kernel installed, and a folder to work in.
fn jupyter(name: &str) -> Option<(Command, PathBuf)> {
    let python = python()?;
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&place).unwrap();
    drop(std::fs::remove_dir_all(place.join("state")));
    let install = ["install", "--prefix", place.to_str().unwrap()];
    let installed = Command::new(env!("CARGO_BIN_EXE_porcini-jupyter")).args(install).output();
    assert!(installed.unwrap().status.success());
    let mut command = Command::new(python);
    command
        .env("JUPYTER_PATH", place.join("share/jupyter"))
        .env("JUPYTER_RUNTIME_DIR", place.join("runtime"))
        .env("IPYTHONDIR", place.join("ipython"))
        .env("XDG_STATE_HOME", place.join("state"))
        .env("JUPYTER_PLATFORM_DIRS", "1")
        .env("PYDEVD_DISABLE_FILE_VALIDATION", "1")
        .stdin(Stdio::null());
    Some((command, place))
}

/// Runs Python; what it wrote.
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

fn notebook(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/notebooks").join(name)
}

#[test]
fn jupyter_kernel_test_passes() {
    let Some((mut python, _)) = jupyter("kernel-test") else { return };
    succeed(python.arg(script("kernel_test.py")));
}

#[test]
fn notebooks_show_what_they_say() {
    let Some((mut python, _)) = jupyter("notebooks") else { return };
    succeed(python.arg(script("notebooks.py")));
}

#[test]
fn nbconvert_executes_and_writes_pages() {
    let Some((mut python, place)) = jupyter("nbconvert") else { return };
    let convert = ["-m", "nbconvert", "--execute", "--to", "html", "--output-dir"];
    succeed(python.args(convert).arg(&place).arg(notebook("3-nested-arrays.ipynb")));
    let page = std::fs::read_to_string(place.join("3-nested-arrays.html")).unwrap();
    assert!(page.contains("[[  0.771013,  0.516449, -0.372584],"), "{page}");
    // Our lexer, not that of another language.
    assert!(page.contains("<span class=\"kt\">Vector3fC</span>"), "no highlighting");
    let Some((mut python, place)) = jupyter("nbconvert") else { return };
    let convert = ["-m", "nbconvert", "--to", "script", "--output-dir"];
    succeed(python.args(convert).arg(&place).arg(notebook("3-nested-arrays.ipynb")));
    let written = std::fs::read_to_string(place.join("3-nested-arrays.rhai")).unwrap();
    assert!(written.contains("[dot(v, w), norm(v)]\n"), "{written}");
}

/// Neither pandoc nor Inkscape is there to help.
#[test]
fn pictures_are_printed() {
    let Some((mut python, place)) = jupyter("latex") else { return };
    let notebook = place.join("picture.ipynb");
    let code = r#""source": ["x = FloatC::linspace(0, 6, 100);\n", "display(plot(x, sin(x))); ir(x + 1)"]"#;
    let (start, end) = PARAMETERS.split_once(r#""source": ["n = 3"#).unwrap();
    let (_, metadata) = end.split_once("]}],").unwrap();
    std::fs::write(&notebook, format!("{start}{code}}}],{metadata}")).unwrap();
    let convert = ["-m", "nbconvert", "--execute", "--to", "latex", "--output-dir"];
    succeed(python.args(convert).arg(&place).arg(&notebook));
    let written = std::fs::read_to_string(place.join("picture.tex")).unwrap();
    assert!(written.contains("picture_0_0.png"), "{written}");
}

/// Not every page says that listings have letters of one width.
#[test]
fn listings_keep_their_columns_on_pages() {
    let Some((mut python, place)) = jupyter("pages") else { return };
    let convert = ["-m", "nbconvert", "--to", "html", "--output-dir"];
    succeed(python.args(convert).arg(&place).arg(notebook("4-kernels.ipynb")));
    let page = std::fs::read_to_string(place.join("4-kernels.html")).unwrap();
    let listings: Vec<&str> = page.split("</summary><pre").skip(1).collect();
    assert!(
        listings.len() >= 4
            && listings
                .iter()
                .all(|l| l.starts_with(" style=") && l[..150].contains(", monospace)\""))
    );
}

#[test]
fn pygments_knows_the_language() {
    let Some((mut python, _)) = jupyter("pygments") else { return };
    succeed(python.arg(script("highlighting.py")));
}

#[test]
fn papermill_executes() {
    let Some((mut python, place)) = jupyter("papermill") else { return };
    let output = place.join("out.ipynb");
    let papermill = ["-m", "papermill", "--no-progress-bar"];
    succeed(python.args(papermill).arg(notebook("6-exercises.ipynb")).arg(&output));
    assert!(std::fs::read_to_string(output).unwrap().contains("newton_solved: right"));
}

#[test]
fn papermill_gives_parameters() {
    let Some((mut python, place)) = jupyter("parameters") else { return };
    let (input, output) = (place.join("in.ipynb"), place.join("out.ipynb"));
    std::fs::write(&input, PARAMETERS).unwrap();
    let parameters =
        ["-p", "n", "5", "-p", "name", "a \"b\" \u{e4}\n", "-y", "{l: [1.5, true, null]}"];
    let papermill = ["-m", "papermill", "--no-progress-bar"];
    succeed(python.args(papermill).arg(&input).arg(&output).args(parameters));
    let written = std::fs::read_to_string(output).unwrap();
    for expected in [r#"n = 5\n"#, r#"l = [1.5, true, ()]"#, "[0, 1, 2, 3, 4] 8 3"] {
        assert!(written.contains(expected), "{expected}: {written}");
    }
}

/// A notebook whose first cell has the parameter `n`.
const PARAMETERS: &str = r#"{"cells": [
    {"cell_type": "code", "id": "a", "execution_count": null, "outputs": [], "metadata": {"tags": ["parameters"]},
     "source": ["n = 3  // how many\n", "name = \"x\"; l = [];"]},
    {"cell_type": "code", "id": "b", "execution_count": null, "outputs": [], "metadata": {},
     "source": ["print(UInt32C::arange(n), name.len(), l.len())"]}],
    "metadata": {"kernelspec": {"name": "porcini", "display_name": "Porcini", "language": "rhai"},
                 "language_info": {"name": "rhai"}}, "nbformat": 4, "nbformat_minor": 5}"#;

#[test]
fn kernels_come_and_go() {
    let Some((mut python, _)) = jupyter("restarts") else { return };
    let times = if std::env::var_os("PORCINI_FULL").is_some() { "100" } else { "10" };
    succeed(python.arg(script("restarts.py")).arg(times));
}

#[test]
fn the_console_talks() {
    let Some((mut python, place)) = jupyter("console") else { return };
    let typed = place.join("typed");
    std::fs::write(&typed, "6 * 7\nn = input(\"? \")\nten\nn + \"!\"\nnothing\nexit\n").unwrap();
    let console = ["-m", "jupyter_console", "--simple-prompt", "--kernel", "porcini"];
    let typed = std::fs::File::open(typed).unwrap();
    let shown = succeed(python.args(console).stdin(typed));
    for expected in ["Out[1]: 42", "ten!", "`nothing` is not defined"] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}
