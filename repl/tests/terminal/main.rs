//! The shell as a person meets it: on a pseudo-terminal, seen through a terminal emulator.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod interrupts;
mod pty;

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pty_process::blocking::Command;

use crate::pty::{Terminal, folder};

#[test]
fn typing_completing_and_leaving() {
    let shell = Terminal::start(&folder("typing"), 100, &[]);
    shell.type_in("alpha = FloatC([1, 2])\ralp\t + 1\r");
    shell.wait_for("[2, 3]");
    shell.type_in("scatter_m\t");
    let screen = shell.wait_for("scatter_min(target, value, index, active, mode)");
    assert!(screen.contains("Raises target[index[i]]"), "{screen}");
    shell.type_in("\x15rng = PCG32C(UInt64C::arange(3))\rrng.\t");
    shell.wait_for("UInt64C, state of the generators");
    shell.type_in("\x15(alpha).\t");
    shell.wait_for("Display all");
    shell.type_in("n\x15set_flag(\"ch\t\", true); flag(\"ch\t\")\r");
    shell.wait_for("true");
    shell.type_in("help\r");
    // It is longer than the window: its beginning may have scrolled away before anybody looked.
    shell.wait_for("PCG32_DEFAULT_STREAM");
    assert!(shell.bytes().contains("Operations on arrays are recorded"));
    shell.wait_for_prompt();
    shell.type_in("sine(alpha)\r");
    shell.wait_for("did you mean `sin`");
    assert!(shell.bytes().contains("\x1b[91merror"));
    shell.wait_for_prompt();
    // Whoever wants to leave need not know how functions are called.
    shell.type_in("quit\r");
    let mut shell = shell;
    assert_eq!(shell.child.wait().unwrap().code(), Some(0));
}

#[test]
fn cells_of_several_lines() {
    let shell = Terminal::start(&folder("lines"), 80, &[]);
    shell.type_in("fn f(x) {\rlet y = x * 2\rif y > 1 {\ry\r");
    let screen = shell.wait_for("...         y\n");
    assert!(
        screen.contains(">>> fn f(x) {\n...     let y = x * 2\n...     if y > 1 {\n"),
        "{screen}"
    );
    // Backspace takes back a level of indentation.
    shell.type_in("\x7f}\r\x7f}\rf(21)\r");
    let screen = shell.wait_for("42");
    assert!(screen.contains("...     }\n... }\n>>> f(21)\n42"), "{screen}");
    // A closing bracket takes it back itself.
    shell.wait_for_prompt();
    shell.type_in("fn g(x) {\rif x > 1 {\rx\r}\r}\rg(4321)\r");
    let screen = shell.wait_for("\n4321");
    assert!(screen.contains("...         x\n...     }\n... }\n>>> g(4321)"), "{screen}");
    // An open bracket is no trap: two blank lines show what is wrong.
    shell.type_in("f(1,\r\r\r");
    shell.wait_for("error: ");
    shell.type_in("6 * 111\r");
    shell.wait_for("666");
}

#[test]
fn history_is_kept_and_searched() {
    let home = folder("history");
    let shell = Terminal::start(&home, 80, &[]);
    shell.type_in("first = 111\r\"second\"\r");
    shell.wait_for("\nsecond");
    shell.type_in("\x1b[A\x1b[A\r");
    shell.type_in("first\r");
    shell.wait_for("\n111");
    assert_eq!(shell.leave(), 0);
    let shell = Terminal::start(&home, 80, &[]);
    shell.type_in("\x12sec");
    shell.wait_for("\"second\"");
    shell.type_in("\r");
    shell.wait_for("\nsecond");
    // A hint from the history, taken by the right arrow.
    shell.type_in("first =\x1b[C + 1; first\r");
    shell.wait_for("\n112");
    // A line that is given up keeps none.
    shell.wait_for_prompt();
    shell.type_in("\"sec");
    shell.wait_for("\"second\"");
    shell.type_in("\x03");
    shell.wait_until("a new line", |screen| screen.trim_end().ends_with("\"sec\n>>>"));
}

/// A block of the history looks as it did when it was typed, and its file holds what was meant.
#[test]
fn recalled_blocks_have_the_continuation_prompt() {
    let home = folder("recalled");
    let shell = Terminal::start(&home, 80, &[]);
    shell.type_in("fn f(x) {\rx + 1\r\x7f}\r");
    shell.wait_for_prompt();
    shell.type_in("f(41)\r");
    shell.wait_for("\n42");
    assert_eq!(shell.leave(), 0);
    let text = std::fs::read_to_string(home.join("state/porcini/history")).unwrap();
    assert!(text.contains("fn f(x) {\\n    x + 1\\n}"), "{text:?}");
    let shell = Terminal::start(&home, 80, &[]);
    shell.type_in("\x1b[A\x1b[A");
    shell.wait_for(">>> fn f(x) {\n...     x + 1\n... }");
    shell.type_in("\rf(665)\r");
    shell.wait_for("\n666");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn a_paste_of_two_hundred_lines() {
    for (test, before, after) in [("raw", "", ""), ("bracketed", "\x1b[200~", "\x1b[201~\r")] {
        let shell = Terminal::start(&folder(test), 80, &[]);
        let lines: String = (1..=200).map(|i| format!("line{i} = {i}\r")).collect();
        shell.type_in(format!("{before}{lines}{after}"));
        shell.type_in("line1 + line100 + line200 + 1000\r");
        shell.wait_for("\n1301");
        shell.wait_for_prompt();
        shell.type_in("\x1b[200~>>> a = 7 * 11\n>>> a\n77\n>>> a * 13 + 1\n1002\x1b[201~\r");
        // Pasted prompts and outputs go, on the screen too.
        shell.wait_for("\n1301\n>>> a = 7 * 11\n... a\n... a * 13 + 1\n1002\n>>>");
        assert_eq!(shell.leave(), 0);
    }
}

/// Ctrl-Z gives the terminal to the shell that started this one, and `fg` takes it back.
#[test]
fn stopping_and_going_on() {
    let home = folder("stopped");
    // A shell of the system that has job control.
    let command = Command::new("sh").args(["-i"]);
    let shell = Terminal::run(command, &home, 80, &[("PS1", "outer$ "), ("ENV", "")]);
    shell.wait_for("outer$ ");
    shell.type_in(concat!(env!("CARGO_BIN_EXE_porcini"), "\r"));
    shell.wait_for(">>> ");
    for turn in 0..2 {
        shell.wait_for_prompt();
        shell.type_in("kept = 661\x1a");
        shell.wait_until("the shell", |screen| screen.trim_end().ends_with("outer$"));
        shell.type_in(format!("echo $((4700 + {turn}))\r"));
        shell.wait_for(&format!("\n470{turn}\n"));
        shell.type_in("fg\r");
        shell.wait_until("the line", |screen| screen.ends_with(">>> kept = 661"));
        // The terminal is the editor's again: a key of its own edits, and none is shown twice.
        shell.type_in(format!("\x01\x0b{turn} + 6660\r"));
        shell.wait_for(&format!("\n666{turn}\n"));
    }
    shell.wait_for_prompt();
    shell.type_in("\x04");
    shell.wait_until("the shell", |screen| screen.trim_end().ends_with("outer$"));
}

/// How far something is, is told on a terminal, beside the values, and leaves nothing behind.
#[test]
fn progress_is_shown_and_erased() {
    let home = folder("progress");
    let program = env!("CARGO_BIN_EXE_porcini");
    let script = "for i in progress(range(4)) { sleep(0.6) } 42";
    let command = format!("{program} -e '{script}' > values; echo over");
    let shell = Terminal::run(Command::new("sh").args(["-c", &command]), &home, 80, &[]);
    let screen = shell.wait_for("over");
    // The screen may have been looked at too late for it: the bytes tell.
    assert!(shell.bytes().contains("\r\x1b[K 50 % |==============="), "{:?}", shell.bytes());
    assert_eq!(screen.trim(), "over");
    assert_eq!(std::fs::read_to_string(home.join("values")).unwrap(), "42\n");
}

/// Processes that any thread of a process has started.
fn children(process: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let children = threads.map(|thread| std::fs::read_to_string(thread.path().join("children")));
    children
        .flatten()
        .flat_map(|ids| ids.split_whitespace().map(String::from).collect::<Vec<_>>())
        .collect()
}

/// It is said which rank is waited for; one that is silent when it is told to stop is given up, and the session goes on.
#[test]
fn a_silent_rank_is_named_and_given_up() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_porcini"));
    command = command.args(["--ranks", "2"]);
    let shell = Terminal::run(command, &folder("silent"), 160, &[]);
    shell.wait_for(">>> ");
    shell.type_in("x = FloatC::arange(300007); hsum(x * 0)\r");
    shell.wait_for("\n[0]\n");
    let rank = children(shell.child.id()).remove(0);
    assert!(std::process::Command::new("kill").args(["-STOP", &rank]).status().unwrap().success());
    shell.type_in("hsum(x * 2)\r");
    shell.wait_for("waiting for rank 1, ");
    shell.type_in("\x03");
    shell.wait_for("rank 1 failed while working: it was told to stop, and did not answer for 5s");
    shell.wait_for_prompt();
    shell.type_in("hsum(FloatC::arange(300007) * 0 + 1)\r");
    shell.wait_for("\n[300007]\n");
    assert_eq!(shell.leave(), 0);
}

/// What comes slowly is read as it comes, and stops when somebody has waited enough.
#[test]
fn reading_what_comes_slowly() {
    let home = folder("slow");
    let fifo = home.join("slow.csv");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let shell = Terminal::start(&home, 80, &[]);
    shell.type_in("kept = 4711\rread_csv(\"slow.csv\").a + kept\r");
    // A pipe opened for reading too has no need to wait for its reader.
    let mut pipe = std::fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
    pipe.write_all(b"a\n1\n2\n").unwrap();
    shell.wait_for("reading slow.csv: 6 B");
    pipe.write_all(b"3\n").unwrap();
    drop(pipe);
    shell.wait_for("\n[4712, 4713, 4714]");
    assert!(!shell.wait_for(">>>").contains("reading"));
    shell.wait_for_prompt();
    // Nobody writes, and somebody has waited enough.
    shell.type_in("read_csv(\"slow.csv\")\r");
    shell.wait_for("reading slow.csv: 0 B");
    shell.type_in("\x03");
    shell.wait_for(" interrupted");
    shell.wait_for_prompt();
    shell.type_in("kept + 1\r");
    shell.wait_for("\n4712");
    assert_eq!(shell.leave(), 0);
}

/// Planning and compiling a graph that takes more than a second say so.
#[test]
fn compiling_what_takes_long() {
    let home = folder("compiling");
    let shell = Terminal::start(&home, 80, &[]);
    // Some millions of operations in the end.
    shell.type_in("x = FloatC([1, 2]); for i in 0..25000 { x = erf(sin(cos(tan(x)))) }\r");
    shell.wait_for_prompt();
    shell.type_in("any(x > 7)\r");
    shell.wait_for("\nfalse");
    let bytes = shell.bytes();
    let told = ["\r\x1b[Kplanning, 1 s", "\r\x1b[Kcompiling and running"];
    assert!(told.iter().any(|told| bytes.contains(told)), "{bytes:?}");
    assert!(!shell.wait_for(">>>").contains("planning"));
    assert_eq!(shell.leave(), 0);
}

#[test]
fn narrow_windows_and_windows_without_a_width() {
    for (columns, test) in [(40, "narrow"), (0, "none")] {
        let shell = Terminal::start(&folder(test), columns, &[]);
        shell.type_in("x = FloatC::linspace(0, 6, 100); plot(x, sin(x))\r");
        let screen =
            shell.wait_until("a curve", |screen| screen.contains('⠁') || screen.contains('⡀'));
        assert!(!screen.lines().any(|line| line.starts_with('⠒')), "{screen}");
        shell.wait_for_prompt();
        shell.type_in("scatter_m\t");
        shell.wait_for("scatter_min(");
        shell.type_in("\x15a_rather_long_name_for_a_variable = 31415 // and a comment behind it\r");
        shell.type_in("whos()\r%whos\r1 + nosuch + 1\r");
        shell.wait_for("`nosuch` is not defined");
        shell.type_in("a_rather_long_name_for_a_variable + 1\r");
        shell.wait_for("\n31416");
        assert_eq!(shell.leave(), 0);
    }
}

/// The sandbox holds at a prompt too: for commands, and for each cell anew.
#[test]
fn a_shell_in_a_sandbox() {
    let home = folder("sandboxed");
    std::fs::create_dir_all(home.join("inside")).unwrap();
    std::fs::write(home.join("secret.rhai"), "print(4711)").unwrap();
    std::fs::write(home.join("inside/a.rhai"), "print(4711)").unwrap();
    let arguments = ["--sandbox=inside", "--max-seconds", "3", "--max-output", "100K"];
    let command = Command::new(env!("CARGO_BIN_EXE_porcini")).args(arguments);
    let shell = Terminal::run(command, &home, 80, &[]);
    for command in ["%run ../secret.rhai", "%load ../secret.rhai", "%save ../new.rhai"] {
        shell.wait_for_prompt();
        shell.type_in(format!("\x0c{command}\r"));
        shell.wait_for("outside the folder of the sandbox");
    }
    shell.wait_for_prompt();
    shell.type_in("%run a.rhai\r");
    shell.wait_for("\n4711");
    for command in
        ["%sh echo $((6 * 111))", "%%sh\recho $((6 * 111))\r", "%cd /", "%edit a.rhai", "%paste"]
    {
        shell.wait_for_prompt();
        shell.type_in(format!("\x0c{command}\r"));
        shell.wait_for("the sandbox ");
    }
    assert!(!shell.bytes().contains("666"));
    // Lines that a slow machine shows in that time.
    let endless = format!("\x0cloop {{ print({}) }}\r", "7".repeat(18));
    for _ in 0..2 {
        shell.wait_for_prompt();
        shell.type_in("\x0csleep(100)\r");
        shell.wait_for("3 s of time (--max-seconds)");
        shell.wait_for_prompt();
        shell.type_in(&endless);
        shell.wait_for("100 KiB of output (--max-output)");
    }
    assert!(!home.join("new.rhai").exists());
    assert_eq!(shell.leave(), 0);
}

#[test]
fn long_help_is_read_in_a_pager() {
    let shell = Terminal::start(&folder("pager"), 80, &[("PAGER", "head -n 4")]);
    // Whoever closes the pager early gets the prompt.
    shell.type_in("help()\r");
    shell.wait_for("linspace(0, 1, 5)");
    shell.wait_for_prompt();
    assert!(!shell.bytes().contains("topics"), "{}", shell.bytes());
    shell.type_in("help(\"gather\")\r");
    shell.wait_for("gather(source, index, active)");
    assert_eq!(shell.leave(), 0);
    // Ctrl-C is for the pager, as often as it likes.
    let folder = folder("pager");
    let reader = folder.join("reader").display().to_string();
    std::fs::write(&reader, "echo >> $0.times; echo reader $(wc -l < $0.times); exec sleep 1000\n")
        .unwrap();
    let shell = Terminal::start(&folder, 80, &[("PAGER", &format!("sh {reader}"))]);
    for time in 1..=2 {
        shell.type_in("help()\r");
        shell.wait_for(&format!("reader {time}"));
        shell.type_in("\x03");
        shell.wait_for_prompt();
    }
    assert!(!shell.bytes().contains("interrupted"));
    shell.type_in("6 * 111\r");
    shell.wait_for("\n666");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn narrow_windows_break_sentences_between_words() {
    let shell = Terminal::start(&folder("sentences"), 40, &[]);
    shell.type_in("FloatC([1, 2, 3]) + FloatC([1, 2])\r");
    let screen = shell.wait_for("of them 1)");
    assert!(
        screen.contains("error: +: sizes 3 and 2 do not broadcast\n       (equal sizes, or one of"),
        "{screen}"
    );
    shell.wait_for_prompt();
    shell.type_in("FloatC::linspace(0, 1, 8)\r");
    shell.wait_for("[0, 0.142857, 0.285714, 0.428571,\n 0.571429, 0.714286, 0.857143, 1]");
    shell.wait_for_prompt();
    shell.type_in("whos()\r");
    shell.wait_for("B used,");
    shell.wait_for("(scheduled) : 32 B + 0 B\n    = 32 B\n");
    shell.wait_for_prompt();
    shell.type_in("help(\"input and output\")\r");
    let screen = shell.wait_for("%help the");
    assert!(
        screen.contains("A file is replaced as a whole or stays\nas it was: what is written"),
        "{screen}"
    );
    assert_eq!(shell.leave(), 0);
}

/// What a statement prints is a part of a line until it ends.
#[test]
fn json_comes_as_it_is_printed() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_porcini"));
    command = command.args(["--json", "-e", "for i in 0..2 { print(6 * 7); sleep(200) }"]);
    let shell = Terminal::run(command, &folder("json"), 120, &[]);
    shell.wait_for("\"printed\":\"42");
}

#[test]
fn terminals_without_colour() {
    let home = folder("plain");
    for environment in [[("NO_COLOR", "1")], [("TERM", "dumb")]] {
        let shell = Terminal::start(&home, 80, &environment);
        shell.type_in("plain = 1\rif plain == 1 {\r777 }\r");
        shell.wait_for("\n777");
        shell.type_in("nosuch\r");
        shell.wait_for("error: ");
        let bytes = shell.bytes();
        let is_colour = |sequence: &str| {
            let end = sequence.find(|c: char| !(c.is_ascii_digit() || c == ';'));
            end.is_some_and(|end| end > 1 && sequence[end..].starts_with('m'))
        };
        assert!(!bytes.split("\x1b[").skip(1).any(is_colour), "{bytes:?}");
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn settings_and_the_first_script() {
    let home = folder("settings");
    std::fs::create_dir_all(home.join("config/porcini")).unwrap();
    std::fs::write(home.join("config/porcini/init.rhai"), "greeting = 4711; nosuch").unwrap();
    std::fs::write(
        home.join("config/porcini/config.toml"),
        "edit_mode = \"vi\"\ncolour = \"never\"",
    )
    .unwrap();
    let shell = Terminal::start(&home, 80, &[]);
    shell.wait_for("init.rhai:1:18");
    // In vi mode, Escape 0 goes to the start of the line.
    shell.type_in("ting + 1\x1b0igree\r");
    shell.wait_for("\n4712");
    assert!(!shell.bytes().contains("\x1b[91m"));
    assert_eq!(shell.leave(), 0);
}

#[test]
fn folders_programs_and_an_editor() {
    let home = folder("system");
    std::fs::create_dir_all(home.join("data")).unwrap();
    std::fs::write(home.join("data/x.rhai"), "print(\"a file\")").unwrap();
    let editor = home.join("editor").display().to_string();
    std::fs::write(&editor, "sed -i 's/41/4711/' $1; echo edited > $0.log\n").unwrap();
    let shell = Terminal::start(&home, 80, &[("EDITOR", &format!("sh {editor}"))]);
    let steps = [
        ("%pwd", "terminal/system\n"),
        ("%ls", "data/"),
        ("%cd data", "system/data\n"),
        ("%ls .", "x.rhai"),
        ("%run x.rhai", "\na file"),
        ("%cd -", "terminal/system\n"),
        ("%cd nosuch", "error: %cd nosuch: No such file"),
        ("%sh echo $((6 * 111))", "\n666"),
        ("%sh printf '%s-%s' no end", "\nno-end"),
        ("%ls ~/data", "x.rhai"),
        ("%sh exit 3", "the command ended with exit status: 3"),
        ("%%sh\rfor i in 1 2; do\r  echo \"$i'$((i + 6))\"\rdone\r", "\n2'8"),
        ("!ls", "%ls at a prompt"),
        ("!pip install x", "%sh runs a command"),
        ("%edit nosuch.rhai", ">>> %run nosuch.rhai"),
        ("\x15%edit data/x.rhai", ">>> %run data/x.rhai"),
        ("\x15%paste", "no program tells what was copied"),
        ("a = 41", ">>> "),
        ("%edit", ">>> a = 4711"),
        ("\ra + 1", "\n4712"),
    ];
    for (typed, shown) in steps {
        shell.type_in(format!("\x0c{typed}\r"));
        shell.wait_for(shown);
    }
    // Ctrl-C is for the command, and the session goes on. (While dash starts another program it may lose one.)
    shell.wait_for_prompt();
    shell.type_in("\x0c%sh echo begun; exec sleep 1000\r");
    shell.wait_for("\nbegun");
    shell.type_in("\x03");
    shell.wait_for("the command ended with");
    assert_eq!(shell.leave(), 0);
}

/// What lists and texts took goes back to the system when they are gone.
#[test]
fn memory_of_lists_goes_back() {
    let shell = Terminal::start(&folder("memory"), 80, &[]);
    let resident = || -> u64 {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", shell.child.id())).unwrap();
        statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    let before = resident();
    for forget in ["del list", "%reset"] {
        shell.type_in("\x0ctext = \"0123456789\"; text.pad(200, ' ')\r");
        shell.wait_for_prompt();
        shell.type_in("list = range(500000).map(|i| text + i); list.len()\r");
        shell.wait_for("\n500000");
        shell.wait_for_prompt();
        assert!(resident() > before + (100 << 20));
        shell.type_in(format!("\x0c{forget}\r"));
        shell.type_in("6 * 111\r");
        shell.wait_for("\n666");
        let after = resident();
        assert!(after < before + (70 << 20), "{forget}: {before} {after}");
    }
    assert_eq!(shell.leave(), 0);
}

#[test]
fn prompts_have_numbers_where_the_settings_say_so() {
    let home = folder("numbered");
    std::fs::create_dir_all(home.join("config/porcini")).unwrap();
    std::fs::write(home.join("config/porcini/config.toml"), "prompt = \"numbered\"").unwrap();
    let command = Command::new(env!("CARGO_BIN_EXE_porcini"));
    let shell = Terminal::run(command, &home, 80, &[]);
    shell.wait_for("In [1]: ");
    shell.type_in("6 * 111\r");
    shell.wait_for("Out[1]: 666\nIn [2]: ");
    shell.type_in("Vector2fC([1, 2], 3)\r");
    shell.wait_for("Out[2]:\n[[");
    shell.wait_for("In [3]: ");
    shell.type_in("fn f(x) {\rx + 1\r}\r");
    shell.wait_for("In [3]: fn f(x) {\n   ...:     x + 1\n   ...: }\n");
    shell.type_in("\x1b[A");
    shell.wait_for("In [4]: fn f(x) {\n   ...:     x + 1\n   ...: }");
    shell.type_in("\rf(Out[1])\r");
    shell.wait_for("Out[5]: 667\nIn [6]: ");
    shell.type_in("\x04");
    shell.wait_until("the end", |_| true);
}

/// What somebody else has locked, and what is no file, does not keep the prompt away.
#[test]
fn odd_files_of_a_person() {
    let home = folder("odd");
    for below in ["config/porcini", "state/porcini"] {
        std::fs::create_dir_all(home.join(below)).unwrap();
    }
    let history = home.join("state/porcini/history");
    std::fs::write(&history, "#V2\nprint(4711)\n").unwrap();
    let locked = std::fs::File::open(&history).unwrap();
    locked.lock().unwrap();
    let shell = Terminal::start(&home, 80, &[]);
    shell.type_in("\x1b[A\r");
    shell.wait_for("\n4711");
    shell.wait_for_prompt();
    assert_eq!(shell.leave(), 0);
    std::fs::remove_file(&history).unwrap();
    for pipe in [&history, &home.join("config/porcini/config.toml")] {
        let made = std::process::Command::new("mkfifo").arg(pipe).status().unwrap();
        assert!(made.success());
    }
    let shell = Terminal::start(&home, 80, &[]);
    shell.wait_for("not a plain file");
    shell.type_in("4700 + 11\r");
    shell.wait_for("\n4711");
    assert_eq!(shell.leave(), 0);
}

/// What is not kept, or not run, is told.
#[test]
fn files_of_a_person_that_cannot_be_used() {
    let home = folder("unusable");
    std::fs::write(home.join("file"), "").unwrap();
    std::fs::create_dir_all(home.join("config/porcini/init.rhai")).unwrap();
    let state = home.join("file").display().to_string();
    let shell = Terminal::start(&home, 200, &[("XDG_STATE_HOME", &state)]);
    let screen = shell.wait_for("the history is not kept: ");
    assert!(screen.contains("is ignored: not a plain file"), "{screen}");
    assert_eq!(shell.leave(), 0);
    // Once, where a line is not written.
    std::fs::create_dir_all(home.join("state/porcini/history")).unwrap();
    let shell = Terminal::start(&home, 200, &[]);
    shell.type_in("4700 + 11\r4700 + 12\r");
    shell.wait_for("\n4712");
    assert_eq!(shell.bytes().matches("the history is not kept: ").count(), 1);
    assert_eq!(shell.leave(), 0);
}

/// An idle prompt has nothing to finish; the terminal is as it was.
#[test]
fn signals_end_an_idle_prompt_at_once() {
    // What nohup has this process ignore, its children would: but not what it handles.
    signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::default()).unwrap();
    for (signal, code) in [("-TERM", 143), ("-HUP", 129)] {
        let mut terminal = Terminal::start(&folder("signals"), 80, &[]);
        let start = Instant::now();
        let id = terminal.child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        assert_eq!(terminal.child.wait().unwrap().code(), Some(code), "{signal}");
        assert!(start.elapsed() < Duration::from_secs(5), "{signal}: {:?}", start.elapsed());
    }
}
