//! The program as a person and a pipe meet it: arguments, streams, exit codes, interruption.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod engines;
mod memory;
mod notes;
mod output;
#[allow(unreachable_pub, reason = "it is part of a crate, too")]
#[path = "../../../tests/src/pace.rs"]
mod pace;
mod ranks;
mod sandbox;
#[cfg(unix)]
mod signals;
mod ways;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use sandbox::sandboxed;
#[cfg(unix)]
use signals::{interrupted, wait_for_output};

fn porcini(arguments: &[&str]) -> Command {
    #[cfg(unix)]
    signals::heed();
    let mut command = Command::new(env!("CARGO_BIN_EXE_porcini"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in
        ["NO_COLOR", "CLICOLOR_FORCE", "PORCINI_GRAPHICS", "PORCINI_MEMORY_LIMIT", "PORCINI_PATH"]
    {
        command.env_remove(name);
    }
    command
}

/// Runs to the end; exit code, standard output and standard error.
fn run(arguments: &[&str]) -> (i32, String, String) {
    finished(&porcini(arguments).output().unwrap())
}

fn run_with_input(arguments: &[&str], input: &[u8]) -> (i32, String, String) {
    let mut child = porcini(arguments).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    finished(&child.wait_with_output().unwrap())
}

fn finished(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// A folder of this test, emptied.
fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn file(test: &str, contents: &[u8]) -> String {
    let path = folder(test).join("script.rhai");
    std::fs::write(&path, contents).unwrap();
    path.to_str().unwrap().into()
}

#[test]
fn a_file_shows_what_it_prints() {
    let path = file("prints", b"#!/usr/bin/env porcini\nprint(hsum(FloatC::arange(10)));\n3\n");
    assert_eq!(run(&[&path]), (0, "[45]\n".into(), String::new()));
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text_is_named() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut command = porcini(&["-e", "1"]);
    command.arg(std::ffi::OsStr::from_bytes(b"n\xff.rhai"));
    let want = "error: \"n\\xFF.rhai\" is no text (UTF-8 expected)\n";
    assert_eq!(finished(&command.output().unwrap()), (2, String::new(), want.into()));
}

#[test]
fn arguments_reach_the_script() {
    let path = file("arguments", b"print(ARGS)");
    assert_eq!(run(&[&path, "a", "-x", "--threads"]).1, "[a, -x, --threads]\n");
    assert_eq!(run(&[&path, "--help"]), (0, "[--help]\n".into(), String::new()));
    assert_eq!(run(&["--json", &path, "-e", "5", "--no-such"]).0, 0);
    assert_eq!(run(&["-e", "ARGS", "one", "-V"]).1, "[one, -V]\n");
    assert_eq!(run(&["-e", "ARGS", "one", "two"]).1, "[one, two]\n");
    assert_eq!(run_with_input(&["-", "a"], b"ARGS[0]").1, "a\n");
}

#[test]
fn works_of_the_benchmark_run() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/peers/porcini");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let work = path.file_stem().unwrap().to_str().unwrap();
        if work != "measure" {
            // This one has its size in its name.
            let work = if work == "graph" { "graph100" } else { work };
            let (code, shown, error) = run(&[path.to_str().unwrap(), work, "1000", "0"]);
            assert_eq!((code, error.as_str()), (0, ""), "{work}");
            assert!(shown.contains("\"ms\":"), "{work}: {shown}");
        }
    }
}

#[test]
fn one_line_and_pipes_show_their_value() {
    assert_eq!(run(&["-e", "FloatC(1) + 1"]).1, "[2]\n");
    assert_eq!(run(&["-e", "FloatC(1) + 1;"]).1, "");
    assert_eq!(run_with_input(&[], b"print(1 / 4);\n7").1, "0.25\n7\n");
    assert_eq!(run_with_input(&["-"], b"1 + 1").1, "2\n");
    assert_eq!(run_with_input(&[], b"").0, 0);
}

#[test]
fn errors_go_to_standard_error() {
    let path = file("fails", b"print(1);\nlet a = FloatC([1, 2, 3]);\na + FloatC([1, 2])\n");
    let (code, out, err) = run(&[&path]);
    assert_eq!((code, out.as_str()), (1, "1\n"));
    assert!(err.starts_with("error: +: sizes 3 and 2"), "{err}");
    assert!(err.contains(&format!("{path}:3:3")), "{err}");
    assert_eq!(run(&["-e", "1 +"]).0, 1);
}

#[test]
fn exit_codes() {
    assert_eq!(run(&["-e", "exit(7)"]).0, 7);
    assert_eq!(run(&["-e", "exit()"]).0, 0);
    assert_eq!(run(&["-e", "exit(255)"]).0, 255);
    for code in ["256", "-1"] {
        let (found, _, err) = run(&["-e", &format!("exit({code})")]);
        assert_eq!(found, 1);
        assert!(err.contains(&format!("got {code}, expected an exit code from 0 to 255")), "{err}");
    }
    assert_eq!(run(&["-e", "try { exit(3) } catch { }"]).0, 3);
    assert_eq!(run(&["-e", "throw \"x\""]).0, 1);
    assert_eq!(run(&["--no-such-option"]).0, 2);
    assert_eq!(run(&["--threads", "0", "-e", "1"]).0, 2);
    assert_eq!(run(&["--log-level", "9", "-e", "1"]).0, 2);
}

#[test]
fn unreadable_files_are_wrong_usage() {
    let (code, _, err) = run(&["/no/such/file.rhai"]);
    assert_eq!(code, 2);
    assert!(err.contains("/no/such/file.rhai: No such file"), "{err}");
    let path = file("binary", b"print(\"\xff\xfe\")");
    let (code, _, err) = run(&[&path]);
    assert_eq!(code, 2);
    assert!(err.contains("not a text file (UTF-8 expected)"), "{err}");
    let (code, ..) = run_with_input(&[], b"\xff");
    assert_eq!(code, 2);
    // The mark that some editors begin a file with.
    assert_eq!(run_with_input(&[], b"\xef\xbb\xbfprint(1)").1, "1\n");
    let place = std::env::temp_dir().join("porcini-endless.rhai");
    std::fs::File::create(&place).unwrap().set_len(3 << 30).unwrap();
    let (code, _, err) = run(&["--sandbox", place.to_str().unwrap()]);
    std::fs::remove_file(place).unwrap();
    assert_eq!(code, 2);
    assert!(err.contains("a script is at most 64 MiB long"), "{err}");
}

/// The object of a statement is made as a whole: what it prints has a bound.
#[test]
fn endless_printing_into_an_object_ends() {
    let printing = "let s = \"\"; s.pad(1000000, 'x'); for i in 0..100 { print(s) }";
    let (code, out, _) = run(&["--json", "-e", printing]);
    assert_eq!(code, 0);
    assert!((60 << 20..70 << 20).contains(&out.len()), "{}", out.len());
    assert!(out.contains("the rest is not shown"));
}

#[test]
fn colour_only_where_wanted() {
    let coloured = |name: &str, value: &str| {
        let output = porcini(&["-e", "sine(1)"]).env(name, value).output().unwrap();
        finished(&output).2.contains('\x1b')
    };
    assert!(!coloured("TERM", "xterm"));
    assert!(coloured("CLICOLOR_FORCE", "1"));
    let both = porcini(&["-e", "x"]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").output();
    assert!(!finished(&both.unwrap()).2.contains('\x1b'));
}

#[test]
fn pictures_in_colour_where_there_is_some() {
    let shown = |code: &str, variables: &[(&str, &str)]| {
        let output = porcini(&["-e", code]).envs(variables.iter().copied()).output().unwrap();
        finished(&output).1
    };
    let (plot, image) = ("plot([[1, 2], [2, 1]])", "image([0, 1], 2, 1, #{cmap: \"viridis\"})");
    let forced = ("CLICOLOR_FORCE", "1");
    assert!(!shown(plot, &[]).contains('\x1b'));
    assert!(!shown(plot, &[forced, ("NO_COLOR", "1")]).contains('\x1b'));
    let orange = "\x1b[0;38;2;255;127;14m";
    assert!(shown(plot, &[forced, ("COLORTERM", "truecolor")]).contains(orange));
    assert!(shown(plot, &[forced, ("COLORTERM", "")]).contains("\x1b[0;38;5;"));
    let all = ("PORCINI_GRAPHICS", "truecolour");
    let image = image.replace("[0, 1]", "FloatC([0, 1])");
    assert_eq!(
        shown(&image, &[forced, all]),
        "\x1b[0;38;2;68;1;84m▀\x1b[0;38;2;253;231;37m▀\x1b[0m\n"
    );
    for (name, start) in [("kitty", "\x1b_Gf=100,"), ("sixel", "\x1bPq"), ("letters", "")] {
        assert!(shown(plot, &[forced, ("PORCINI_GRAPHICS", name)]).starts_with(start), "{name}");
    }
    assert!(!shown(&format!("str({plot})"), &[forced]).contains('\x1b'));
}

#[test]
fn version_and_help() {
    let version = format!("porcini {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["--version"]), (0, version, String::new()));
    let (code, help, _) = run(&["--help"]);
    let expected = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/help.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&expected, &help).unwrap();
    }
    assert_eq!((code, help), (0, std::fs::read_to_string(expected).unwrap()));
}

#[test]
fn logs_go_to_standard_error() {
    let (_, out, err) = run(&["--log-level", "1", "-e", "FloatC([1, 2]) + 1"]);
    assert_eq!(out, "[2, 3]\n");
    assert!(err.contains("launching kernel (n=2"), "{err}");
}

/// Results that are lost are an error, said once.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let prints = "for i in range(100) { print(i) }";
    for arguments in [&["-e", prints][..], &["--json", "-e", "1"], &["-e", "whos()"], &["--help"]] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let (code, _, err) = finished(&porcini(arguments).stdout(full).output().unwrap());
        assert_eq!(code, 1, "{arguments:?}");
        assert!(err.starts_with("error: standard output: No space left"), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    // Where nothing can be told, the script still runs.
    let full = std::fs::File::create("/dev/full").unwrap();
    let output = porcini(&["--log-level", "1", "-e", "FloatC([1, 2]) + 1"]).stderr(full).output();
    assert_eq!(finished(&output.unwrap()), (0, "[2, 3]\n".into(), String::new()));
}

/// Beyond `ulimit -f` the system would end the process by a signal.
#[cfg(target_os = "linux")]
#[test]
fn a_file_limit_is_told() {
    let place = folder("file-limit");
    let limited = |script: &str, output: Stdio| {
        let mut shell = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_porcini");
        shell.args(["-c", "ulimit -f 16; exec \"$0\" -e \"$1\"", program, script]);
        finished(&shell.current_dir(&place).stdout(output).output().unwrap())
    };
    let old = "write_npy(`a.npy`, FloatC(7))";
    assert_eq!(limited(old, Stdio::piped()).0, 0);
    for write in [
        "write_npy(`a.npy`, FloatC::arange(100000))",
        "write_npz(`a.npy`, #{x: FloatC::arange(100000)})",
        "write_csv(`a.npy`, #{x: FloatC::arange(100000)})",
    ] {
        let script = format!("let why = (); try {{ {write} }} catch (e) {{ why = e }} str(why)");
        let (code, out, err) = limited(&script, Stdio::piped());
        assert_eq!((code, err.as_str()), (0, ""), "{write}");
        assert!(out.contains("File too large") || out.contains("ulimit -f"), "{write}: {out}");
        assert_eq!(limited("FloatC(read_npy(`a.npy`))", Stdio::piped()).1, "[7]\n", "{write}");
    }
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1, "files are left over");
    let output = std::fs::File::create(place.join("output")).unwrap();
    let (code, _, err) = limited("loop { print(`a line`) }", output.into());
    assert_eq!(code, 1, "{err}");
    assert!(err.starts_with("error: standard output: File too large"), "{err}");
}

#[test]
fn imports_stay_in_the_folder() {
    let place = folder("imports");
    std::fs::create_dir_all(place.join("inside")).unwrap();
    std::fs::write(place.join("secret.rhai"), "fn f() { 1 }").unwrap();
    std::fs::write(place.join("inside/lib.rhai"), "fn f() { 42 }").unwrap();
    let main = place.join("inside/main.rhai");
    let run_import = |name: &str| {
        std::fs::write(&main, format!("import \"{name}\" as m; print(m::f());")).unwrap();
        run(&[main.to_str().unwrap()])
    };
    assert_eq!(run_import("lib").1, "42\n");
    for outside in ["../secret", place.join("secret").to_str().unwrap()] {
        let (code, out, err) = run_import(outside);
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(err.contains("outside the script's folder"), "{err}");
    }
    // What goes wrong while it is read is told at its file.
    let broken = place.join("inside/broken.rhai");
    std::fs::write(&broken, "x = 1\nx.nosuch\n").unwrap();
    assert!(run_import("broken").2.contains(&format!("{}:2:", broken.display())));
    let (code, _, err) = run_import("missing");
    assert_eq!(code, 1);
    assert!(err.contains("missing.rhai is not in") && err.contains("PORCINI_PATH"), "{err}");
    // Beside the importing file was looked too.
    std::fs::create_dir_all(place.join("inside/deep")).unwrap();
    std::fs::write(place.join("inside/deep/a.rhai"), "import \"missing\" as m;").unwrap();
    let (_, _, err) = run_import("deep/a");
    assert!(err.contains("inside/deep, "), "{err}");
}

/// A picture that has no room where it is written is an error: the system would end the process.
#[cfg(target_os = "linux")]
#[test]
fn pictures_without_room_are_errors() {
    let place = folder("no_room");
    let script = "save_image(`i.png`, rand(20000000), 5000, 4000)";
    for limit in (240_000..480_000).step_by(30_000) {
        let binary = env!("CARGO_BIN_EXE_porcini");
        let start = format!("ulimit -v {limit}; exec {binary} -e '{script}'");
        let output = Command::new("sh").args(["-c", &start]).current_dir(&place).output().unwrap();
        let (code, _, err) = finished(&output);
        assert!(code == 0 || code == 1 && err.contains("memory"), "{limit}: {code} {err}");
    }
}

#[test]
fn an_interactive_session_follows_the_script() {
    let path = file("interactive", b"a = FloatC([1, 2]);\n");
    let mut child = porcini(&["-i", &path])
        .env("HOME", folder("home"))
        .env_remove("XDG_STATE_HOME")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"a + 1\nexit(5)\n").unwrap();
    let (code, out, err) = finished(&child.wait_with_output().unwrap());
    assert_eq!((code, out.as_str()), (5, "[2, 3]\n"), "{err}");
}

#[test]
fn json_shows_an_object_a_statement() {
    let script = b"#!/usr/bin/env porcini\n// Comment.\na = FloatC([1, 2])\nprint(a)\nif true {\n  a + 1\n}\n\nnosuch\n1";
    let (code, out, err) = run(&["--json", &file("json", script)]);
    assert_eq!((code, err.as_str()), (1, ""));
    let objects: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(out.contains(r#","printed":"[1, 2]","ok":true,"value":null}"#), "{out}");
    let lines: Vec<_> = objects.iter().map(|object| object["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [3, 4, 5, 9]);
    assert_eq!(objects[1]["printed"], "[1, 2]");
    assert_eq!((&objects[2]["ok"], &objects[2]["value"]), (&true.into(), &"[2, 3]".into()));
    let error = &objects[3]["error"];
    assert_eq!(
        (&error["line"], &error["column"], &error["kind"]),
        (&9.into(), &1.into(), &"runtime".into())
    );
    assert!(error["message"].as_str().unwrap().contains("`nosuch` is not defined"));
    // Places are those of the file, in functions and of what is noticed later too.
    for (script, place) in [
        ("fn f(x) {\n  nosuch(x)\n}\n\nf(1)", "\"line\":2,\"message\":\"no function"),
        ("x = FloatC([1, 2])\n\nx = gather(x, UInt32C(5))\nprint(x)", "(lane 0, line 3)"),
        ("x = 1\n\ny = (1 +\n  * 2)", "\"line\":4,\"message\":\"unexpected '*'"),
    ] {
        let out = run(&["--json", "-e", script]).1;
        assert!(out.contains(place), "{out}");
    }
    assert_eq!(run(&["--json", "-e", "exit(4)"]).0, 4);
}

#[test]
fn tasks() {
    let good = file("check", b"#!/usr/bin/env porcini\na = 1\nprint(a)\n");
    assert_eq!(run(&["check", &good]), (0, String::new(), String::new()));
    let bad = file("check", b"a = 1\nfn f( {\n");
    let (code, out, err) = run(&["check", &bad]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("script.rhai:2:"), "{err}");
    let kernels = b"G = 9.81\nk = kernel(\"T f(T x) { return x * G; }\")\nkernel(\"T g(T x) { return k(x) + H; }\")\n";
    let (code, _, err) = run(&["check", &file("check_kernels", kernels)]);
    assert!(code == 1 && err.contains("kernel `g`") && !err.contains("kernel `f`"), "{err}");
    assert_eq!(run(&["check", "/no/such"]).0, 2);
    assert_eq!(run(&["check"]).0, 2);
    let (code, out, _) = run(&["doctor"]);
    assert!(code <= 1 && out.contains("device") && out.contains("cuda"), "{out}");
    assert!(run(&["help", "gather"]).1.starts_with("gather(source, index, active)"));
    assert!(run(&["help"]).1.contains("recorded"));
    for topic in
        ["sandbox", "settings", "environment", "modules", "plots", "gpu", "keys", "papermill"]
    {
        let (code, out, _) = run(&["help", topic]);
        assert_eq!(code, 0, "{topic}");
        assert!(out.lines().count() > 5, "{out}");
    }
    let (code, out, err) = run(&["help", "gathr"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(err, "error: nothing about \"gathr\"; did you mean gather?\n");
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(&["completions", shell]).1.contains("porcini"));
    }
    let man = run(&["man"]).1;
    assert!(man.contains(".TH porcini") && !man.contains("EXTRA"), "{man}");
    assert!(man.contains(".SH ENVIRONMENT\n.nf\n\\&PORCINI_CPU  "), "{man}");
    let (code, _, err) = run(&["--threads", "1", "doctor"]);
    assert_eq!(code, 2);
    assert!(err.contains("a task stands first: porcini doctor"), "{err}");
}

/// Scripts whose slow work is to make texts of values.
const LONG_TEXTS: [&str; 7] = [
    "set_print(#{threshold: 1000000000}); str(FloatC::opaque(1, 50000000))",
    "set_print(#{threshold: 1000000000}); print(Vector3fC(FloatC::opaque(1, 20000000)))",
    "set_print(#{threshold: 1000000000}); let a = FloatC::opaque(1, 50000000); `a = ${a}`",
    "set_print(#{threshold: 1000000000}); debug([FloatC::opaque(1, 50000000)])",
    "set_print(#{threshold: 1000000000}); html([FloatC::opaque(1, 50000000)])",
    "set_print(#{threshold: 1000000000}); str(FloatC::opaque(1, 50000000).ndarray())",
    "set_print(#{threshold: 1000000000}); format(\"{:>9}\", FloatC::opaque(1, 50000000))",
];

/// The time of a sandbox and Ctrl-C hold while values become text.
#[cfg(unix)]
#[test]
fn long_texts_are_stopped() {
    for script in LONG_TEXTS {
        let limits = ["--max-seconds", "2", "--max-output", "1G", "--max-memory", "2G"];
        let start = Instant::now();
        let (code, _, err) = sandboxed("texts", &limits, script);
        assert_eq!(code, 1, "{script}: {err}");
        assert!(err.contains("2 s of time (--max-seconds)"), "{script}: {err}");
        let time = start.elapsed();
        assert!(pace::is_within(time, Duration::from_secs(4)), "{script}: {time:?}");
        let (code, time, err) = interrupted(&format!("print(1); {script}"));
        assert_eq!(code, 130, "{script}: {err}");
        assert!(pace::is_within(time, Duration::from_secs(2)), "{script}: {time:?}");
    }
}

/// A text has an end, however much shares its parts.
#[test]
fn texts_have_an_end() {
    let shared = "let t = \"\"; t.pad(900000, \"x\"); let l = []; l.pad(1000, t);";
    for show in ["print(l)", "str(l)", "`${l}`", "\"\" + l", "html(l)", "l.to_debug()", "throw l"] {
        let (code, out, err) = run(&["-e", &format!("{shared} {show}")]);
        assert_eq!((code, out.as_str()), (1, ""), "{show}");
        let told = |most| err.contains(&format!("longer than {most}"));
        assert!(told("256 MiB") || show == "throw l", "{show}: {err}");
        assert!(err.len() < 40_000);
        let (_, _, err) = sandboxed("texts", &[], &format!("{shared} {show}"));
        assert!(err.contains("longer than 10 MiB") || show == "throw l", "{show}: {err}");
    }
    let (_, _, err) = run(&["-e", "let t = \"\"; t.pad(900000, \"x\"); throw t"]);
    assert!(err.contains("xx ..") && err.len() < 20_000, "{}", err.len());
    // A copy to the host is bounded as arrays are.
    let script = "Matrix4fC(FloatC::opaque(1, 1 << 22)).ndarray()";
    let (_, _, err) = sandboxed("texts", &["--max-memory", "64M"], script);
    assert!(err.contains("(--max-memory) in use"), "{err}");
}

/// In a body that runs step by step.
#[test]
fn bodies_print_up_to_a_limit() {
    let body = "|n| { print(n); print(\"text\"); [n + 1] }";
    let (_, out, _) = run(&["-e", &format!("while_loop([UInt32C(0)], |n| n < 3000, {body})[0]")]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..3], ["[0]", "text", "[1]"]);
    assert_eq!(lines[999..], ["text", ".. 5000 more lines are not shown ..", "[3000]"]);
    // Each loop has its own.
    let twice = format!("for i in 0..2 {{ while_loop([UInt32C(0)], |n| n < 400, {body}); }}");
    assert_eq!(run(&["-e", &twice]).1.lines().count(), 1600);
    let lanes = "while_loop([UInt32C::arange(1000)], |n| n < 1000, |n| { print(n); [n + 500] });";
    let (_, out, _) = run(&["-e", lanes]);
    assert!(out.lines().nth(1).unwrap().contains(".. 490 skipped .."), "{out}");
}

#[test]
fn scripts_need_no_semicolons() {
    let line = "a = 1\nb = [a, -2]\n[a, b]\nfn f{}(x)\n{\n    let c = x\n    c\n}\n";
    let text: String = (0..300).map(|i| line.replace("{}", &i.to_string())).collect();
    let path = file("semicolons", format!("{text}print(f299(a))").as_bytes());
    assert_eq!(run(&[&path]), (0, "1\n".into(), String::new()));
}

/// `7 // 2` is told, and in brackets it says what the error means.
#[test]
fn divisions_are_told() {
    let advice = "note: // begins a comment, here // 2; for integer division write idiv(7, 2)\n";
    let told = |text: &str| run(&["-e", text]).2;
    assert_eq!(told("h = 7 // 2"), format!("{advice} --> <eval>:1\n"));
    assert_eq!(told("\n7 // 2"), format!("{advice} --> <eval>:2\n"));
    for text in
        ["h = 3 // 2 per core", "h = 7 // 7", "h = 7 // the most", "7 // 7", "print(7) // 2"]
    {
        assert_eq!(told(text), "", "{text}");
    }
    for text in ["max(3, 7 // 2)", "x = [7 // 2, 3]", "f(7 // 2) + 1"] {
        let err = told(text);
        let help = "= help: // begins a comment, here // 2; for integer division write idiv(7, 2)";
        assert!(err.starts_with("error: expecting") && err.contains(help), "{err}");
    }
    let path = file("divisions", b"let n = 2;\nlet h = 7 // n * 2\nlet k = 3 // 2 per core\nh");
    let (code, shown, err) = run(&["check", &path]);
    let advice =
        "note: // begins a comment, here // n * 2; for integer division write idiv(a, b)\n";
    assert_eq!((code, shown.as_str(), err), (0, "", format!("{advice} --> {path}:2\n")));
}

/// The shell on a terminal, through the tool `script` where there is one.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_a_prompt() {
    let place = folder("terminal");
    let program = env!("CARGO_BIN_EXE_porcini");
    let child = Command::new("script")
        .args(["-qec", program, "/dev/null"])
        .env("HOME", &place)
        .env("TERM", "dumb")
        .env_remove("XDG_STATE_HOME")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        println!("skipped: no tool `script`");
        return;
    };
    let input = child.stdin.take().unwrap();
    for line in
        ["a = FloatC([1, 2]);\r", "fn f(x) {\r", "x + 1 }\r", "f(a)\r", "sine(a)\r", "exit(6)\r"]
    {
        (&input).write_all(line.as_bytes()).unwrap();
    }
    let (code, out, _) = finished(&child.wait_with_output().unwrap());
    assert_eq!(code, 6, "{out}");
    assert!(out.contains(">>> ") && out.contains("[2, 3]"), "{out}");
    assert!(out.contains("did you mean `sin`"), "{out}");
    let history = std::fs::read_to_string(place.join(".local/state/porcini/history")).unwrap();
    assert!(history.contains("f(a)"), "{history}");
}

/// Settings are held to what the command line takes.
#[test]
fn settings_are_held_to_their_bounds() {
    let home = folder("bounds");
    std::fs::create_dir_all(home.join("porcini")).unwrap();
    for (setting, why) in [
        ("threads = 0", "threads = 0: expected 1 to 4096"),
        ("threads = 4097", "threads = 4097: expected 1 to 4096"),
        ("threads = 65535", "threads = 65535: expected 1 to 4096"),
        ("log_level = 6", "log_level = 6: expected 0 to 5"),
    ] {
        std::fs::write(home.join("porcini/config.toml"), setting).unwrap();
        let mut command = porcini(&["-e", "1"]);
        let (code, _, err) = finished(&command.env("XDG_CONFIG_HOME", &home).output().unwrap());
        assert_eq!(code, 2, "{setting}: {err}");
        assert!(err.contains(why), "{err}");
    }
}

/// Code that others could have put there is not run.
#[cfg(target_os = "linux")]
#[test]
fn the_doctor_looks_at_code() {
    use std::os::unix::fs::PermissionsExt as _;
    let cache = folder("cache");
    let doctor = |mode: u32| {
        std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut command = porcini(&["doctor"]);
        finished(&command.env("PORCINI_CACHE_DIR", &cache).output().unwrap()).1
    };
    let (own, shared) = (doctor(0o700), doctor(0o777));
    assert!(own.contains("code       "), "{own}");
    assert!(own.contains(&format!("{}, 0 B of at most 1 GiB", cache.display())), "{own}");
    assert!(shared.contains("others may write there (mode 777); those of GPUs are"), "{shared}");
}
