//! The package as people get it: a wheel with the programs, in an environment of its own, and what its tests say.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where cargo puts what it built.
fn built() -> PathBuf {
    let own = std::env::current_exe().expect("a test is a program");
    own.parent().and_then(Path::parent).expect("it lies in deps").to_path_buf()
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{out}\n{err}");
    out
}

#[test]
fn the_wheel_is_installed_and_passes_its_tests() {
    let Some(python) = std::env::var_os("PORCINI_PYTHON") else {
        println!(
            "skipped: PORCINI_PYTHON names no interpreter with the packages of requirements.txt"
        );
        return;
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let wheels = folder.path().join("wheels");
    run(Command::new(&python).arg(here.join("pack.py")).arg(built()).arg(&wheels));
    let wheel = std::fs::read_dir(&wheels).unwrap().next().unwrap().unwrap().path();

    // An environment of its own, which sees the packages of the other one.
    let environment = folder.path().join("environment");
    run(Command::new(&python).args(["-m", "venv", "--without-pip"]).arg(&environment));
    let own = environment.join("bin/python");
    let sites = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let [ours, theirs] = [&own, &PathBuf::from(&python)]
        .map(|python| PathBuf::from(run(Command::new(python).args(["-c", sites])).trim()));
    std::fs::write(ours.join("others.pth"), theirs.to_str().unwrap()).unwrap();
    run(Command::new(&own)
        .args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-index"])
        .arg(&wheel));

    let tests = here.join("tests");
    let said = run(Command::new(&own)
        .args(["-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "--tb=short"])
        .arg(&tests)
        .current_dir(folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1"));
    println!("{said}");
}
