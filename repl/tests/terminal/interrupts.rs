//! Ctrl-C at a prompt, in what runs and where something is asked.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::pty::{Terminal, folder};

#[test]
fn interrupting_whatever_runs() {
    let home = folder("interrupt");
    let lines: String = (0..400_000).map(|i| format!("{i},{i}.5\n")).collect();
    std::fs::write(home.join("big.csv"), format!("a,b\n{lines}")).unwrap();
    let shell = Terminal::start(&home, 80, &[]);
    shell.type_in("forgotten line\x03");
    shell.wait_until("a new line", |screen| screen.trim_end().ends_with("line\n>>>"));
    shell.type_in("kept = 7\rbig = UInt32C::arange(100000000)\r");
    let works = [
        "loop { }",
        "fn f(n) { loop { } } f(1)",
        "sleep(100)",
        "hsum(sin(Float64C::arange(4294967296)))",
        "while_loop([UInt32C::arange(1000)], |x| x >= 0, |x| [x + 1])[0]",
        "for i in 0..1000 { sort((big * 2654435761) + i)[i] }",
        "for i in 0..1000 { read_csv(\"big.csv\") }",
        "for i in 0..1000 { plot(big + i) }",
        "loop { }",
    ];
    for (i, work) in works.into_iter().enumerate() {
        shell.wait_for_prompt();
        let command = if i == 0 { "%timeit " } else { "" };
        shell.type_in(format!("{command}print(\"work {i}\"); {work}\r"));
        // Before, Ctrl-C would mean something else; a little later it comes in the middle.
        shell.wait_for(&format!("\nwork {i}"));
        std::thread::sleep(Duration::from_millis(150));
        shell.type_in("\x03");
        shell.wait_for_prompt();
        shell.type_in(format!("kept + {}\r", 6000 + i));
        shell.wait_for(&format!("\n{}", 6007 + i));
        // All works are endless, or as good as that.
        assert_eq!(shell.bytes().matches(" interrupted").count(), i + 1, "{work}");
    }
    assert_eq!(shell.leave(), 0);
}

/// Keys bounce: a second Ctrl-C right behind the first asks for nothing more.
#[test]
fn interrupting_twice_at_once() {
    let shell = Terminal::start(&folder("interrupt_twice"), 80, &[]);
    shell.type_in("kept = 7\r");
    for (i, work) in ["sleep(100)", "loop { }", "sleep(100)"].into_iter().enumerate() {
        shell.wait_for_prompt();
        shell.type_in(format!("print(\"work {i}\"); {work}\r"));
        shell.wait_for(&format!("\nwork {i}"));
        std::thread::sleep(Duration::from_millis(150));
        for _ in 0..3 {
            shell.type_in("\x03");
            std::thread::sleep(Duration::from_millis(i as u64));
        }
        shell.wait_until("it", |screen| screen.matches(" interrupted").count() == i + 1);
        // The last key may be heard when the cell is answered.
        std::thread::sleep(Duration::from_millis(300));
        shell.wait_for_prompt();
        shell.type_in(format!("kept + {}\r", 5000 + i));
        shell.wait_for(&format!("\n{}", 5007 + i));
    }
    assert_eq!(shell.leave(), 0);
}

/// Where the system edits lines, Ctrl-C is a signal: it forgets the cell that is typed, and stops what runs.
#[test]
fn interrupting_on_a_terminal_without_escape_sequences() {
    let shell = Terminal::start(&folder("cooked"), 80, &[("TERM", "dumb")]);
    // Each line at its prompt: what is typed before it is echoed, and thrown away, at any time.
    let (head, body) = ("if kept == 7 {\r", "print(\"never\")\r");
    for (typed, shown) in [("kept = 7\r", "7\n>>>"), (head, "{\n..."), (body, ")\n...")] {
        shell.type_in(typed);
        shell.wait_until("a prompt", |screen| screen.trim_end().ends_with(shown));
    }
    for typed in ["", "forgotten line", ""] {
        shell.type_in(typed);
        shell.wait_until("what was typed", |screen| screen.trim_end().ends_with(typed));
        shell.type_in("\x03");
        shell.wait_until("a new prompt", |screen| screen.trim_end().ends_with("^C\n>>>"));
        shell.type_in("\"seen\"\r");
        shell.wait_until("a value", |screen| screen.trim_end().ends_with("seen\n>>>"));
    }
    shell.type_in("print(\"work\"); loop { }\r");
    shell.wait_for("\nwork");
    shell.type_in("\x03");
    shell.wait_until("it", |it| it.contains(" interrupted") && it.trim_end().ends_with(">>>"));
    // A byte that is no UTF-8 costs its line alone.
    shell.type_in(b"kept = \xff\r");
    shell.wait_until("it", |it| it.contains("no text (UTF-8") && it.trim_end().ends_with(">>>"));
    shell.type_in("kept + 4704\r");
    shell.wait_for("\n4711");
    assert_eq!(shell.leave(), 0);
}

/// Nothing of a secret is shown, on whichever terminal; Ctrl-C ends the wait.
#[test]
fn secrets_are_not_shown() {
    for term in ["xterm", "dumb"] {
        let shell = Terminal::start(&folder("secret"), 80, &[("TERM", term)]);
        shell.wait_for_prompt();
        shell.type_in("p = password(\"secret? \"); p.len() * 1001\r");
        shell.wait_for("\nsecret?");
        shell.type_in("open sesame\r");
        let screen = shell.wait_for("\n11011");
        assert!(!screen.contains("sesame"), "{screen}");
        shell.wait_for_prompt();
        for asked in ["password(\"again? \")\r", "input(\"again? \")\r"] {
            shell.type_in(asked);
            shell.wait_until("a question", |screen| screen.trim_end().ends_with("\nagain?"));
            shell.type_in("\x03");
            shell.wait_until("it", |it| {
                it.contains(" interrupted") && it.trim_end().ends_with(">>>")
            });
        }
        // What is typed is shown again.
        shell.type_in("p.len() + 4700\r");
        shell.wait_for("p.len() + 4700\n4711");
        assert_eq!(shell.leave(), 0);
    }
}

/// However many signals come while nobody types, the prompt reads what is typed then.
#[test]
fn a_prompt_outlives_its_signals() {
    let mut shell = Terminal::start(&folder("storm"), 80, &[]);
    for (i, signal) in [Signal::WINCH, Signal::INT].into_iter().enumerate() {
        shell.signal(signal, 1000);
        shell.type_in(format!("{} + {i}\r", 4700 + 11));
        shell.wait_for(&format!("\n{}", 4711 + i));
        shell.wait_for_prompt();
    }
    // What was typed is drawn anew in a window that is too narrow for it.
    let drawn = |digits: &str| shell.bytes().matches(digits).count();
    let digits = "12345678901234567890123456789012345678901234567890";
    shell.type_in(digits);
    shell.wait_for(digits);
    let (before, since) = (drawn("4567890"), Instant::now());
    shell.resize(40);
    while drawn("4567890") == before {
        assert!(since.elapsed() < Duration::from_secs(60), "it is not drawn anew");
        std::thread::sleep(Duration::from_millis(5));
    }
    shell.signal(Signal::TERM, 1);
    assert_eq!(shell.child.wait().unwrap().code(), Some(143));
}
