//! `install`, `uninstall`, `doctor`: what they write and what they say.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs the program with a home of its own; exit code and what it said.
fn run(home: &Path, arguments: &[&str], variables: &[(&str, &Path)]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_porcini-jupyter"));
    command.args(arguments).env("HOME", home);
    for name in ["JUPYTER_DATA_DIR", "JUPYTER_PATH", "XDG_DATA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX"]
    {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

fn spec(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("kernel.json")).unwrap()).unwrap()
}

#[test]
fn a_kernelspec_comes_and_goes() {
    let home = folder("install-user");
    let kernel = home.join(".local/share/jupyter/kernels/porcini");
    let (code, said) = run(&home, &["install"], &[]);
    let first = said.lines().next().unwrap();
    assert_eq!((code, first), (Some(0), &*format!("installed porcini in {}", kernel.display())));
    // What nbconvert and papermill ask is another package.
    let has_python = Command::new("python3").arg("--version").output().is_ok();
    assert_eq!(said.contains("porcini-notebooks of "), has_python, "{said}");
    let written = spec(&kernel);
    let program = env!("CARGO_BIN_EXE_porcini-jupyter");
    assert_eq!(written["argv"], serde_json::json!([program, "run", "{connection_file}"]));
    assert_eq!(written["interrupt_mode"], "message");
    for (logo, size) in [("logo-32x32.png", 32), ("logo-64x64.png", 64)] {
        let bytes = std::fs::read(kernel.join(logo)).unwrap();
        assert_eq!(&bytes[1..4], b"PNG");
        assert_eq!(bytes[16..20], u32::to_be_bytes(size));
    }
    assert!(kernel.join("logo-svg.svg").exists());

    let (code, said) = run(&home, &["doctor"], &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("kernels/porcini: starts porcini-jupyter"), "{said}");
    std::fs::write(
        kernel.join("kernel.json"),
        written.to_string().replace(program, "/gone/porcini-jupyter"),
    )
    .unwrap();
    let (code, said) = run(&home, &["doctor"], &[]);
    assert_eq!(code, Some(1));
    assert!(said.contains("/gone/porcini-jupyter does not start"), "{said}");

    assert_eq!(run(&home, &["uninstall"], &[]).0, Some(0));
    assert!(!kernel.exists());
    let (code, said) = run(&home, &["uninstall"], &[]);
    assert_eq!(code, Some(1));
    assert!(said.contains("no kernel porcini in "), "{said}");
    assert!(run(&home, &["doctor"], &[]).1.contains("no kernel is installed"));
}

#[test]
fn a_kernelspec_goes_where_it_should() {
    let home = folder("install-places");
    let installed = |arguments: &[&str], variables: &[(&str, &Path)], place: &str| {
        let (code, said) = run(&home, arguments, variables);
        assert_eq!(code, Some(0), "{said}");
        home.join(place).join("kernels")
    };
    let prefix = home.join("p");
    let arguments = ["install", "--prefix", prefix.to_str().unwrap(), "--name", "Two"];
    let settings = ["--display-name", "Porcini, two threads", "--", "--threads", "2"];
    let kernels = installed(&[&arguments[..], &settings].concat(), &[], "p/share/jupyter");
    let written = spec(&kernels.join("two"));
    assert_eq!(written["argv"].as_array().unwrap()[3..], ["--threads", "2"]);
    assert_eq!(written["display_name"], "Porcini, two threads");
    let environment = home.join("e");
    let variables = [("VIRTUAL_ENV", &*environment)];
    let kernels = installed(&["install", "--sys-prefix"], &variables, "e/share/jupyter");
    assert!(kernels.join("porcini").exists());
    for (variable, place) in [("JUPYTER_DATA_DIR", "d"), ("XDG_DATA_HOME", "x")] {
        let data = home.join(place);
        let place = if place == "x" { "x/jupyter" } else { "d" };
        let kernels = installed(&["install", "--user"], &[(variable, &data)], place);
        assert!(kernels.join("porcini").exists());
    }
}

#[test]
fn rust_notebooks_find_the_library() {
    let home = folder("install-rust");
    let programs = home.join("bin");
    std::fs::create_dir_all(&programs).unwrap();
    let (code, said) = run(&home, &["install", "--rust"], &[("PATH", &programs)]);
    assert_eq!(code, Some(1));
    assert!(said.contains("cargo install --locked evcxr_jupyter"), "{said}");
    let evcxr = programs.join("evcxr_jupyter");
    // As the real one, it takes no --version.
    std::fs::write(&evcxr, "#!/bin/sh\ntest \"$1\" = --help\n").unwrap();
    std::fs::set_permissions(&evcxr, Permissions::from_mode(0o755)).unwrap();
    let elsewhere = ["install", "--rust", "--core", "/tmp"];
    let (code, said) = run(&home, &elsewhere, &[("PATH", &programs)]);
    assert_eq!(code, Some(1));
    assert!(said.contains("/tmp does not hold porcini-core"), "{said}");
    let (code, said) = run(&home, &["install", "--rust"], &[("PATH", &programs)]);
    assert_eq!(code, Some(0), "{said}");
    let kernel = home.join(".local/share/jupyter/kernels/porcini-rust");
    let written = spec(&kernel);
    assert_eq!(written["argv"][0], evcxr.to_str().unwrap());
    assert_eq!(written["env"]["EVCXR_CONFIG_DIR"], kernel.to_str().unwrap());
    let start = std::fs::read_to_string(kernel.join("init.evcxr")).unwrap();
    assert!(start.starts_with(":dep porcini-core = { path = \"/"), "{start}");
    assert!(kernel.join("prelude.rs").exists());
    let (code, said) = run(&home, &["doctor"], &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("kernels/porcini-rust: starts evcxr_jupyter\n"), "{said}");
    let ours =
        written.to_string().replace(evcxr.to_str().unwrap(), env!("CARGO_BIN_EXE_porcini-jupyter"));
    std::fs::write(kernel.join("kernel.json"), ours).unwrap();
    let (code, said) = run(&home, &["doctor"], &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("runs no Rust: run porcini-jupyter install --rust again"), "{said}");
    assert_eq!(run(&home, &["uninstall", "--name", "porcini-rust"], &[]).0, Some(0));
    assert!(!kernel.exists());
}

#[test]
fn what_cannot_be_installed_says_why() {
    let home = folder("install-errors");
    for (arguments, reason) in [
        (&["install", "--sys-prefix"][..], "no environment is active"),
        (&["install", "--name", "a b"], "the name \"a b\" is none for a kernel"),
        (&["install", "--name", "../x"], "is none for a kernel"),
        (&["install", "--prefix", "/proc/nowhere"], "/proc/nowhere/share"),
    ] {
        let (code, said) = run(&home, arguments, &[]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(reason), "{said}");
    }
    assert_eq!(run(&home, &["install", "--user", "--sys-prefix"], &[]).0, Some(2));
    let python = home.join(".local/share/jupyter/kernels/python3");
    std::fs::create_dir_all(&python).unwrap();
    std::fs::write(python.join("kernel.json"), r#"{"argv": ["python3", "-m", "ipykernel"]}"#)
        .unwrap();
    for command in ["install", "uninstall"] {
        let (code, said) = run(&home, &[command, "--name", "python3"], &[]);
        assert_eq!(code, Some(1));
        assert!(said.contains("holds another kernel"), "{said}");
    }
    assert!(python.join("kernel.json").exists());
}

/// The kernel of the environment that the program lives in is found, though the environment is not active.
#[test]
fn doctor_looks_around_itself() {
    let home = folder("install-around");
    let environment = home.join("env");
    std::fs::create_dir_all(environment.join("bin")).unwrap();
    let program = environment.join("bin/porcini-jupyter");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_porcini-jupyter"), &program).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        let command = command.args(arguments).env("HOME", &home).env_remove("VIRTUAL_ENV");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    run(&["install", "--prefix", environment.to_str().unwrap()]);
    let kernel = environment.join("share/jupyter/kernels/porcini");
    let said = run(&["doctor"]);
    assert!(said.contains(&format!("{}: starts porcini-jupyter", kernel.display())), "{said}");
}

/// What a trial makes goes with it, wherever that is, also if somebody stops it.
#[test]
fn doctor_leaves_nothing() {
    let home = folder("install-trial");
    let folder = home.join("a".repeat(100)).join("b".repeat(100));
    std::fs::create_dir_all(&folder).unwrap();
    assert_eq!(run(&home, &["install"], &[]).0, Some(0));
    let (code, said) = run(&home, &["doctor"], &[("TMPDIR", &folder)]);
    assert!(code == Some(0) && said.contains(": starts porcini-jupyter"), "{said}");
    assert_eq!(folder.read_dir().unwrap().count(), 0);

    // One that never ends.
    let file = home.join(".local/share/jupyter/kernels/porcini/kernel.json");
    let mut written = spec(file.parent().unwrap());
    let program = home.join("late/porcini-jupyter");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    let text = "#!/bin/sh\n[ \"$1\" = --version ] || exec sleep 1000\n";
    std::fs::write(&program, text).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&program, mode).unwrap();
    written["argv"][0] = program.to_str().into();
    std::fs::write(&file, written.to_string()).unwrap();
    let doctor = Command::new(env!("CARGO_BIN_EXE_porcini-jupyter"))
        .arg("doctor")
        .envs([("HOME", &home), ("TMPDIR", &folder)])
        .env_remove("JUPYTER_DATA_DIR")
        .env_remove("XDG_DATA_HOME")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while folder.read_dir().unwrap().count() == 0 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_raw(doctor.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = doctor.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("does not start: stopped"), "{said}");
    assert_eq!(folder.read_dir().unwrap().count(), 0);
}

#[test]
fn ranks_are_installed() {
    let home = folder("install-ranks");
    let kernel = home.join(".local/share/jupyter/kernels/porcini-ranks-4");
    let one = ["--threads", "1"];
    for (settings, device, left) in [
        (&[][..], "ranks:4", &[][..]),
        (&["--device", "cuda", "--threads", "1"], "ranks:4:cuda", &one),
        (&["--threads", "1", "--device=cpu"], "ranks:4", &one),
    ] {
        let arguments = [&["install", "--ranks", "4", "--"], settings].concat();
        let (code, said) = run(&home, &arguments, &[]);
        assert_eq!(code, Some(0), "{said}");
        let written = spec(&kernel);
        assert_eq!(written["display_name"], "Porcini (4 ranks)");
        let want = [&["run", "{connection_file}", "--device", device], left].concat();
        assert_eq!(written["argv"].as_array().unwrap()[1..], want);
    }
    let arguments = ["install", "--ranks", "4", "--", "--device", "cuda:0"];
    let (code, said) = run(&home, &arguments, &[]);
    assert!(code == Some(1) && said.contains("and not on cuda:0"), "{said}");
}

#[test]
fn a_sandbox_is_installed() {
    let home = folder("install-sandbox");
    let kernels = home.join(".local/share/jupyter/kernels");
    let (code, said) = run(&home, &["install", "--sandbox", "--", "--max-seconds", "9"], &[]);
    assert_eq!(code, Some(0), "{said}");
    let written = spec(&kernels.join("porcini-sandbox"));
    assert_eq!(
        written["argv"].as_array().unwrap()[1..],
        ["run", "{connection_file}", "--sandbox", "--max-seconds", "9"]
    );
    assert_eq!(written["display_name"], "Porcini, in a sandbox");
    let data = format!("--sandbox={}", home.display());
    let (code, said) = run(&home, &["install", &data, "--name", "course"], &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(spec(&kernels.join("course"))["argv"][3], data);
    // Each folder has a kernel of its own, with a name of its own.
    for (folder, code) in [("a/data", 0), ("a/more", 0), ("a/data", 0), ("b/data", 1)] {
        let folder = home.join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let data = format!("--sandbox={}", folder.display());
        let (got, said) = run(&home, &["install", &data], &[]);
        assert_eq!(got, Some(code), "{said}");
        assert!(
            code == 0 || said.contains("holds another kernel; choose another --name"),
            "{said}"
        );
    }
    for name in ["data", "more"] {
        let written = spec(&kernels.join(format!("porcini-sandbox-{name}")));
        assert_eq!(
            written["argv"][3],
            format!("--sandbox={}", home.join("a").join(name).display())
        );
        assert_eq!(written["display_name"], format!("Porcini, in a sandbox ({name})"));
    }
    let (code, said) = run(&home, &["install", "--sandbox=/no/such/folder"], &[]);
    assert_eq!(code, Some(1));
    assert!(said.contains("--sandbox=/no/such/folder: No such file"), "{said}");
}

#[test]
fn settings_are_read_before_they_are_installed() {
    let home = folder("install-settings");
    let kernels = home.join(".local/share/jupyter/kernels");
    for (arguments, code, why) in [
        (&["install", "--", "--max-memory", "300M"][..], 1, "--sandbox"),
        (&["install", "--", "--max-mem", "300M"], 1, "unexpected argument '--max-mem'"),
        (&["install", "--", "notes.rhai"], 1, "unexpected argument 'notes.rhai'"),
        (&["install", "--", "--threads", "many"], 1, "invalid value 'many'"),
        (&["install", "--memory-limit", "2GX"], 2, "expected bytes, or 512M, 1.5G"),
        (&["install", "--memory-limit", "2G", "--sandbox"], 2, "cannot be used with"),
    ] {
        let (got, said) = run(&home, arguments, &[]);
        assert!(got == Some(code) && said.contains(why), "{arguments:?}: {got:?} {said}");
        assert!(!kernels.exists(), "{arguments:?}");
    }
    let (code, said) = run(&home, &["install", "--memory-limit", "1.5G"], &[]);
    assert_eq!(code, Some(0), "{said}");
    let file = kernels.join("porcini/kernel.json");
    let written = spec(&kernels.join("porcini"));
    assert_eq!(written["env"], serde_json::json!({"PORCINI_MEMORY_LIMIT": "1.5G"}));
    let (code, said) = run(&home, &["doctor"], &[]);
    assert!(code == Some(0) && !said.contains("warning: "), "{said}");
    // Others may write what they like into it.
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("1.5G", "1.5X")).unwrap();
    let (code, said) = run(&home, &["doctor"], &[]);
    assert!(code == Some(0) && said.contains("PORCINI_MEMORY_LIMIT=1.5X is no size"), "{said}");
    std::fs::write(&file, text.replace("\"run\",", "\"run\", \"--max-memory=1G\",")).unwrap();
    let (code, said) = run(&home, &["doctor"], &[]);
    assert!(code == Some(1) && said.contains("porcini: does not start: "), "{said}");
}
