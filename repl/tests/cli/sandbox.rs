//! Scripts that are not trusted.

use super::*;

/// Runs a script in a sandbox with one folder; exit code, output, errors.
pub(super) fn sandboxed(test: &str, options: &[&str], script: &str) -> (i32, String, String) {
    let place = folder(test);
    std::fs::create_dir_all(place.join("inside")).unwrap();
    std::fs::write(place.join("secret.csv"), "a\n1\n").unwrap();
    std::fs::write(place.join("secret.rhai"), "fn f() { 1 }").unwrap();
    std::fs::write(place.join("inside/lib.rhai"), "fn f() { 42 }").unwrap();
    std::fs::write(place.join("inside/a.csv"), "a\n1\n").unwrap();
    let inside = place.join("inside");
    let sandbox = format!("--sandbox={}", inside.display());
    let mut arguments = vec![sandbox.as_str()];
    arguments.extend(options);
    arguments.extend(["-e", script]);
    finished(&porcini(&arguments).env("SECRET", "password").output().unwrap())
}

/// A test that tries to break each limit.
#[test]
fn the_sandbox_holds() {
    let ok = |script: &str, shown: &str| {
        let (code, out, err) = sandboxed("sandbox", &[], script);
        assert_eq!((code, out.as_str(), err.as_str()), (0, shown, ""), "{script}");
    };
    ok("read_csv(\"a.csv\").a", "[1]\n");
    ok("import \"lib\" as lib; lib::f()", "42\n");
    ok("write_csv(\"new.csv\", #{a: [1]}); read_csv(\"new.csv\").a", "[1]\n");
    ok("write_parquet(\"new.parquet\", #{a: [1]}); read_parquet(\"new.parquet\").a", "[1]\n");
    ok("save_image(\"i.png\", FloatC([1, 2]), 2, 1); read_image(\"i.png\").shape", "[1, 2, 3]\n");
    ok("env(\"SECRET\")", "");
    let fails = |options: &[&str], script: &str, why: &str| {
        let (code, out, err) = sandboxed("sandbox", options, script);
        assert_eq!(code, 1, "{script}\n{out}\n{err}");
        assert!(err.contains(why), "{script}\n{err}");
        assert!(err.contains("error: ") && !err.contains("panic"), "{err}");
    };
    fails(&[], "read_csv(\"../secret.csv\")", "outside the folder");
    fails(&[], "read_csv(\"/etc/passwd\")", "outside the folder");
    fails(&[], "read_csv(\"/proc/self/cwd/Cargo.toml\")", "outside the folder");
    fails(&[], "read_parquet(\"../secret.csv\")", "outside the folder");
    fails(&[], "write_arrow(\"../new.arrow\", #{a: [1]})", "outside the folder");
    fails(&[], "save_image(\"../i.png\", FloatC([1, 2]), 2, 1)", "outside the folder");
    fails(&[], "read_image(\"../secret.csv\")", "outside the folder");
    fails(&[], "write_csv(\"../new.csv\", #{a: [1]})", "outside the folder");
    fails(&[], "save_plot(\"/tmp/p.svg\", plot(FloatC([1, 2])))", "outside the folder");
    fails(&[], "import \"../secret\" as secret; secret::f()", "outside the folder");
    fails(&[], "FloatC([1, 2]).data", "the sandbox tells no addresses");
    fails(&["--max-operations", "10000"], "loop { }", "allows more with --max-operations");
    fails(
        &["--max-operations", "10000"],
        "try { loop { } } catch { } print(1)",
        "too many operations",
    );
    fails(&["--max-seconds", "1"], "sleep(100)", "1 s of time");
    fails(&["--max-seconds", "1"], "try { sleep(100) } catch { }; loop { }", "1 s of time");
    fails(
        &["--max-seconds", "1"],
        "while_loop([UInt32C(1)], |x| x >= 0, |x| [x + 1])[0]",
        "1 s of time",
    );
    fails(&["--max-output", "1K"], "loop { print(\"spam\") }", "1 KiB of output");
    let long = "let s = \"x\"; s.pad(2000, 'x'); ";
    fails(&["--max-output", "1K"], &format!("{long}s"), "1 KiB of output");
    fails(&["--max-output", "1K"], &format!("{long}input(s)"), "1 KiB of output");
    fails(&["--max-output", "1K"], "set_log_level(4); loop { FloatC(1) + 1 }", "1 KiB of output");
    let script = "eval(FloatC::arange(0, 1000000, 1) * 2)";
    fails(&["--max-memory", "1M"], script, "0 B of 1 MiB (--max-memory) in use");
    fails(&[], "fn f(n) { f(n + 1) } f(1)", "too many nested function calls");
    let too_many = "elements are too many (at most 1000000 in the sandbox)";
    for script in [
        "let t = \"x\"; loop { t += t; }",
        "let t = \"x\"; loop { t = t + t; }",
        "let l = [1]; loop { l.append(l); }",
        "let l = [1]; loop { l = l + l; }",
        "let l = [1]; loop { l.push(l.len()); }",
        "let l = [1]; loop { l.insert(l.len(), 1); }",
        "let l = [1]; l.pad(100000000000, 7)",
        "let t = \"x\"; t.pad(100000000000, \"y\")",
        "let t = \"x\"; t.pad(1000000, \"x\"); t.replace(\"x\", t)",
        "blob(100000000000)",
        "let b = blob(1000); loop { b = b + b; }",
        "let b = blob(1000); let t = \"x\"; t.pad(1000, \"x\"); loop { b += t; }",
        "let b = blob(1000); loop { b.splice(0, 0, b); }",
        "let l = [1]; loop { l.splice(0..1, l + l); }",
        "let l = []; loop { l += l.len(); }",
        "let b = blob(999999); loop { b.push(1); }",
        "let b = blob(999999); loop { b += 1; }",
        "let b = blob(999999); loop { b.append(1); }",
        "let b = blob(999999); loop { b += 'c'; }",
        "let b = blob(999999); loop { b.append('c'); }",
        "let b = blob(999999); loop { b = b + 'c'; }",
        "let b = blob(999999); loop { b.insert(0, 1); }",
        "let t = \"x\"; loop { t += t.to_blob(); }",
        "let t = \"x\"; loop { t = t + t.to_blob(); }",
        "let t = \"x\"; loop { t = t.to_blob() + t; }",
    ] {
        fails(&[], script, too_many);
    }
    // What replaces as much as it brings makes nothing longer.
    let same = "let l = []; l.pad(1000000, 7); l.splice(0, 600000, l.extract(0, 600000)); l.len()";
    assert_eq!(run(&["--sandbox", "-e", same]).1, "1000000\n");
    let nested = "let l = []; l.pad(1000, [7, 7]); let k = []; k.pad(100000, l)";
    fails(&[], nested, "of 512 MiB");
}

/// A terminal does what control characters say: those of a script that is not trusted are shown.
#[test]
fn the_sandbox_gives_no_orders_to_a_terminal() {
    let orders = "\x1b]52;c;YQ==\x07\u{9b}2J\r\x7f";
    for script in [
        r#"print("X")"#,
        r#""X""#,
        r#"["X", #{"X": 'X'}]"#,
        r#"debug("X")"#,
        r#"display("X", "X")"#,
        r#"throw "X""#,
        r#"parse_int("X")"#,
        r#"read_csv("X")"#,
        r#"import "X" as x;"#,
        r#"let a = #{}; a["X"].b.c"#,
        r#"let a = FloatC([1]); set_label(a, "X"); print(whos()); a + "X""#,
        r#"set_log_level(5); let a = FloatC([1]); set_label(a, "X"); eval(a + 1)"#,
        r#"/* X */ nosuch"#,
        r#"print("X" +)"#,
    ] {
        // Written as escapes, and as they are.
        let escapes = r"\x1b]52;c;YQ==\x07\u009b2J\r\x7f";
        for script in [script.replace('X', escapes), script.replace('X', orders)] {
            let (_, out, err) = sandboxed("orders", &[], &script);
            assert!(!out.is_empty() || !err.is_empty(), "{script:?}");
            gives_no_orders(&script, &format!("{out}{err}"));
        }
    }
    assert_eq!(sandboxed("orders", &[], r#""\x1b[1m\ta""#).1, "\\x1b[1m\ta\n");
    // Whoever trusts a script may let it paint.
    assert_eq!(run(&["-e", r#""\x1b[1ma""#]).1, "\x1b[1ma\n");
    // But names come with files, and are parts of what is shown.
    for script in [
        r#"print(#{"X": FloatC([1])})"#,
        r#"#{"X": FloatC([1, 2]), b: FloatC([3, 4])}"#,
        r#"[#{"X": "X"}, #{"X": "X"}]"#,
        r#"print(["X"])"#,
        r#"let a = FloatC([1]); set_label(a, "X"); print(whos()); a"#,
        r#"plot([1, 2], #{title: "X", xlabel: "X", labels: ["X"]})"#,
        r#"help("X")"#,
    ] {
        let script = script.replace('X', r"\x1b]52;c;YQ==\x07\u009b2J\r\x7f");
        let (code, out, err) = run(&["-e", &script]);
        assert_eq!((code, err.as_str()), (0, ""), "{script}");
        gives_no_orders(&script, &out);
    }
}

fn gives_no_orders(script: &str, shown: &str) {
    let order = shown.chars().find(|&c| c.is_control() && c != '\n' && c != '\t');
    assert_eq!(order, None, "{script:?}\n{shown:?}");
}

/// Many lists, none too large.
#[cfg(target_os = "linux")]
#[test]
fn the_sandbox_bounds_the_memory_of_all_lists() {
    let lists: String =
        (0..100).map(|i| format!("let v{i} = []; v{i}.pad(1000000, 7);\n")).collect();
    let nested =
        "fn f(list, n) { if n > 0 { f(list, n - 1) } } let l = []; l.pad(1000000, 7); f(l, 1000);";
    // Each holds two of the one before.
    let doubled = "let l = [7]; loop { l = [l, l]; }";
    let text = "let l = []; loop { let t = \"\"; t.pad(999999, \"x\"); l.push(t); }";
    for script in [lists.as_str(), nested, doubled, text] {
        let script = format!("print(1);\n{script}\nprint(2);");
        let (code, out, err) = sandboxed("memory", &["--max-memory", "1M"], &script);
        assert_eq!((code, out.as_str()), (1, "1\n"), "{err}");
        assert!(err.contains("512 MiB of lists and texts besides 1 MiB of arrays"), "{err}");
    }
    let (_, _, err) = sandboxed("memory", &[], "let t = \"x\"; loop { t = `${t}${t}`; }");
    assert!(err.contains("elements are too many (at most 1000000 in the sandbox)"), "{err}");
}

/// What a loop over a list takes grows with its length, not with the square.
#[test]
fn lists_cost_no_more_in_the_sandbox() {
    let script = "let l = []; for i in 0..300000 { l.push(i); l[i] += l.len(); } print(l[299999])";
    assert_eq!(run(&["--sandbox", "--max-seconds", "50", "-e", script]).1, "599999\n");
}

/// A script has its time once; a session has it for each cell.
#[test]
fn the_clock_of_the_sandbox() {
    let script = "sleep(0.6);\nsleep(0.6);\n";
    let (code, out, _) = run(&["--sandbox", "--max-seconds", "1", "--json", "-e", script]);
    assert_eq!(code, 1);
    assert!(out.contains("1 s of time (--max-seconds)"), "{out}");
    let (code, _, err) = run(&["--sandbox=/no/such/folder", "-e", "1"]);
    assert_eq!(code, 2);
    assert!(err.contains("--sandbox=/no/such/folder: No such file"), "{err}");
}
