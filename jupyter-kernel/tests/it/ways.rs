//! Cells that are slow without being array work: an interrupt answers each soon, and the next cell works.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{Client, Kernel, cell};

#[allow(unreachable_pub, reason = "it is part of a crate, too")]
#[path = "../../../tests/src/ways.rs"]
mod list;
#[allow(unreachable_pub, reason = "it is part of a crate, too")]
#[path = "../../../tests/src/pace.rs"]
mod pace;

/// How long a cell runs before it is interrupted.
const MOMENT: Duration = Duration::from_millis(200);
/// How long it may take to answer.
const SOON: Duration = Duration::from_secs(1);
/// A busy machine may be late now and then.
const TRIES: usize = 3;

/// How long a cell goes on after an interrupt.
fn late(client: &Client, way: &list::Way) -> Duration {
    let name = way.name.as_str();
    assert_eq!(client.run(&format!("%reset\n{};", way.before)).reply["status"], "ok", "{name}");
    let id = client.send(&client.shell, "execute_request", &cell(&way.script));
    // An interrupt before it runs is none of its own.
    while client.shown_next().unwrap().kind != "execute_input" {}
    sleep(MOMENT);
    let start = Instant::now();
    assert_eq!(client.command("interrupt_request", &json!({}))["status"], "ok", "{name}");
    let reply = client.reply(&id);
    let late = start.elapsed();
    client.shown(&id);
    let why = reply["evalue"].as_str().unwrap_or_default();
    // It may have found its own end.
    let ends = ["interrupted", "levels deep", "is longer than 1 MiB"];
    assert!(why.is_empty() || ends.iter().any(|end| why.contains(end)), "{name}: {why}");
    assert_eq!(client.run("FloatC(1) + 1").result(), "[2]", "{name}");
    late
}

#[test]
fn slow_cells_answer_an_interrupt_within_a_second() {
    let place = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (_kernel, client) = Kernel::start_in(place);
    for way in list::some() {
        let time =
            (0..TRIES).map(|_| late(&client, &way)).find(|time| pace::is_within(*time, SOON));
        assert!(time.is_some(), "{} does not answer", way.name);
    }
}

#[test]
fn what_cells_show_counts_together() {
    let (_kernel, client) = Kernel::start();
    for show in [
        "display_html(s)",
        "display_markdown(s)",
        "display(image(FloatC::arange(10000), 100, 100)); display_html(s)",
    ] {
        let code = format!("let s = \"x\"; s.pad(1000000, 'x'); for i in 0..100 {{ {show} }} 1");
        let answer = client.run(&code);
        let bytes: usize = answer.shown.iter().map(|m| m.content.to_string().len()).sum();
        assert!((50 << 20..66 << 20).contains(&bytes), "{show}: {bytes}");
        assert!(answer.stream("stderr").contains("this cell showed 64 MiB"), "{show}");
        // The next has its own.
        assert_eq!(client.run("1 + 1").result(), "2");
    }
}

#[test]
fn displays_are_counted() {
    let (_kernel, client) = Kernel::start();
    let answer = client.run("for i in 0..5000 { display(i) } 7");
    let n = answer.shown.iter().filter(|message| message.kind == "display_data").count();
    assert_eq!((n, answer.result()), (1000, "7"));
    assert!(answer.stream("stderr").contains("this cell showed 1000 displays"));
    // What takes the place of others is no more than they were.
    let answer = client.run("for i in 0..5000 { clear_output(); display(i) }");
    assert_eq!(answer.stream("stderr"), "");
    let answer = client.run("display(0, \"a\"); for i in 0..5000 { update_display(i, \"a\") }");
    assert_eq!(answer.stream("stderr"), "");
}

/// What was cleared or replaced is no more, and the last frame always comes.
#[test]
fn live_pictures_come_to_their_end() {
    let (_kernel, client) = Kernel::start();
    let start = "let s = \"x\"; s.pad(1000000, 'x');";
    for (code, kind) in [
        ("for i in 0..200 { clear_output(true); display_html(s + i) }", "display_data"),
        (
            "display(0, \"a\"); for i in 0..200 { update_display(s + i, \"a\") }",
            "update_display_data",
        ),
        ("for i in 0..200 { clear_output(true); print(s + i) }", "stream"),
    ] {
        let answer = client.run(&format!("{start} {code}"));
        assert_eq!(answer.stream("stderr"), "", "{code}");
        let frames = answer.all(kind);
        let last = frames.last().unwrap().to_string();
        assert!(frames.len() < 200 && last.contains("199"), "{code}: {}", frames.len());
    }
}

#[test]
fn what_alone_is_too_much_says_so() {
    let (_kernel, client) = Kernel::start();
    let answer = client.run("let s = \"x\"; s.pad(70000000, 'x'); display_html(s); 7");
    let told = answer.stream("stderr");
    assert!(told.contains("a value takes 67 MiB as it is shown here"), "{told}");
    assert_eq!(answer.result(), "7");
}
