//! `run --sandbox`: each bound with something that tries to break it; the kernel goes on.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::client::{Client, Kernel, cell};

fn fails(client: &Client, code: &str, why: &str) {
    let answer = client.run(code);
    let said = answer.reply["evalue"].as_str().unwrap_or_else(|| panic!("{code}: {answer:?}"));
    assert!(said.contains(why), "{code}: {said}");
}

/// Who is asked may take longer than a cell.
#[test]
fn answers_take_no_time() {
    let (_kernel, client) = Kernel::start_with("ipc", &["--sandbox", "--max-seconds=1"]);
    let code = "n = input(\"n? \"); sleep(0.2); n + \"!\"";
    let id = client.send(&client.shell, "execute_request", &cell(code));
    assert_eq!(Client::receive(&client.stdin).unwrap().kind, "input_request");
    std::thread::sleep(Duration::from_millis(1500));
    client.send(&client.stdin, "input_reply", &json!({"status": "ok", "value": "a"}));
    assert_eq!(client.answer(&id).result(), "a!");
    fails(&client, "sleep(100)", "1 s of time (--max-seconds)");
}

/// How long a machine takes to give the memory is its own affair: no other bound holds.
#[test]
fn all_lists_together_are_bounded() {
    let (_kernel, client) = Kernel::start_with("ipc", &["--sandbox", "--max-memory=1M"]);
    let lists: String = (0..60).map(|i| format!("v{i} = []; v{i}.pad(1000000, 7);\n")).collect();
    fails(&client, &lists, "512 MiB of lists and texts");
    // What is too large stays until it is deleted.
    fails(&client, "let l = []; loop { l.push(v1.len()); }", "512 MiB of lists and texts");
    assert_eq!(client.run("%reset\n1 + 1").result(), "2");
}

#[test]
fn the_sandbox_holds() {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sandbox");
    let inside = place.join("inside");
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::write(place.join("secret.csv"), "a\n1\n").unwrap();
    std::fs::write(inside.join("lib.rhai"), "fn f() { 42 }").unwrap();
    std::fs::write(inside.join("a.csv"), "a\n1\n").unwrap();
    let sandbox = format!("--sandbox={}", inside.display());
    let (_kernel, client) = Kernel::start_with(
        "ipc",
        &[
            &sandbox,
            "--max-seconds=1",
            "--max-operations=1000000",
            "--max-memory=1M",
            "--max-output=1K",
        ],
    );
    assert_eq!(client.run("x = read_csv(\"a.csv\").a; x").result(), "[1]");
    assert_eq!(client.run("import \"lib\" as lib; lib::f()").result(), "42");
    assert!(client.run("env(\"SECRET\")").all("execute_result").is_empty());
    for (code, why) in [
        ("read_csv(\"../secret.csv\")", "outside the folder"),
        ("read_csv(\"/etc/passwd\")", "outside the folder"),
        ("write_csv(\"../new.csv\", #{a: [1]})", "outside the folder"),
        ("%load /etc/passwd", "outside the folder"),
        ("%save ../new.rhai", "outside the folder"),
        ("import \"../secret\" as secret; secret::f()", "outside the folder"),
        ("loop { }", "too many operations"),
        ("sleep(100)", "1 s of time (--max-seconds)"),
        ("%timeit sleep(0.3)", "1 s of time (--max-seconds)"),
        ("while_loop([UInt32C(1)], |x| x >= 0, |x| [x + 1])[0]", "1 s of time"),
        ("loop { print(\"spam\") }", "1 KiB of output"),
        ("loop { display(FloatC([1])) }", "1 KiB of output"),
        ("let s = \"n\"; s.pad(900, 'n'); loop { display(1, s) }", "1 KiB of output"),
        ("loop { update_display(1, \"name\") }", "1 KiB of output"),
        ("loop { clear_output() }", "1 KiB of output"),
        ("let s = \"x\"; s.pad(2000, 'x'); s", "1 KiB of output"),
        ("let s = \"x\"; s.pad(2000, 'x'); input(s)", "1 KiB of output"),
        // Another device is no other session.
        ("%reset\n%device cpu\nloop { }", "too many operations"),
        ("%reset\n%device cpu\nsleep(100)", "1 s of time (--max-seconds)"),
        ("set_log_level(4); loop { FloatC(1) + 1 }", "1 KiB of output"),
        ("set_log_level(0); eval(FloatC::arange(0, 1000000, 1) * 2)", "out of memory"),
        ("fn f(n) { f(n + 1) } f(1)", "too many nested function calls"),
        ("let t = \"x\"; loop { t += t; }", "are too many"),
        ("let l = [1]; loop { l.append(l); }", "are too many"),
    ] {
        fails(&client, code, why);
    }
    assert_eq!(client.run("%reset\n1 + 1").result(), "2");
    assert_eq!(client.run("let s = 0; for i in 0..100000 { s += i }; s").result(), "4999950000");
    let listed = json!({"code": "read_csv(\"", "cursor_pos": 10});
    let matches = client.ask("complete_request", &listed).reply["matches"].to_string();
    assert!(matches.contains("a.csv"), "{matches}");
    let listed = json!({"code": "read_csv(\"../", "cursor_pos": 13});
    assert_eq!(client.ask("complete_request", &listed).reply["matches"], json!([]));
}
