//! Commands of a prompt, numbered outputs, and measuring.

use std::rc::Rc;

use porcini_script::{COMMANDS, Cell, Completeness, Interpreter, on_engine_thread};
use porcini_tests::golden::{BASELINE, interpreter};
use porcini_tests::host::TestHost;

/// Cells and what each shows: printed lines, value, or the first line of the error and its place.
struct Prompt {
    interpreter: Interpreter,
    host: Rc<TestHost>,
    cell: usize,
}

impl Prompt {
    fn new(threads: usize) -> Self {
        let host = Rc::new(TestHost::default());
        let configuration = (BASELINE.0, threads);
        Self { interpreter: interpreter(host.clone(), configuration, 0), host, cell: 0 }
    }

    fn type_in(&mut self, text: &str) -> String {
        self.cell += 1;
        let result = self.interpreter.run_cell(&Cell::typed(text), self.cell);
        let mut lines: Vec<String> = self.host.take().into_iter().map(|line| line.text).collect();
        match result {
            Ok(outcome) => lines.extend(outcome.text),
            Err(error) => {
                let at = error
                    .location
                    .as_ref()
                    .map(|at| format!("{}:{}:{}", at.source, at.line, at.column));
                let hints = error.hints.join("; ");
                lines.push(format!(
                    "error: {} [{}] {hints}",
                    error.message,
                    at.unwrap_or_default()
                ));
            }
        }
        lines.join("\n").trim_end().to_string()
    }
}

fn at_a_prompt(check: impl FnOnce(&mut Prompt) + Send) {
    on_engine_thread(|| check(&mut Prompt::new(BASELINE.1)));
}

#[test]
fn outputs_are_numbered() {
    at_a_prompt(|prompt| {
        prompt.type_in("a = FloatC([1, 2])");
        assert_eq!(prompt.type_in("a + 1"), "[2, 3]");
        assert_eq!(prompt.type_in("a * 2;"), "");
        assert_eq!(prompt.type_in("_2 + Out[2] - _ -_2 * 3 + _2"), "[-2, -3]");
        assert!(
            prompt.type_in("Out[3]").contains("Out[3] holds nothing; cells with a value: 2, 4 ")
        );
        assert_eq!(prompt.type_in("Out.len()"), "2");
        assert_eq!(prompt.type_in("f = |x| x + _2; f.call(1)"), "[3, 4]");
        assert!(prompt.type_in("_3").starts_with("error: `_3` holds nothing"));
        assert_eq!(prompt.type_in("fn g() { Out[2] } g()"), "[2, 3]");
    });
}

/// Errors know the functions of earlier cells, printed and caught, until `%reset` forgets them.
#[test]
fn forgotten_functions_are_not_suggested() {
    at_a_prompt(|prompt| {
        let caught = "try { squarex(1) } catch (e) { print(e) }";
        prompt.type_in("fn squared(x, y) { x }");
        assert!(prompt.type_in("squarex(1)").contains("did you mean `squared`"));
        prompt.type_in("%reset");
        assert!(!prompt.type_in("squarex(1)").contains("`squared`"));
        assert_eq!(prompt.type_in(caught), "no function `squarex`");
    });
}

/// `7 // 2` is told from a value with a comment behind it, which may say what the value is.
#[test]
fn divisions_are_told_from_comments() {
    at_a_prompt(|prompt| {
        prompt.type_in("n = 3; x = FloatC([7, 8]); fn f(a) { a }");
        for (cell, shown) in [
            (
                "7 // 2",
                "note: // begins a comment, here // 2; for integer division write idiv(7, 2)\n7",
            ),
            (
                "y = x // n",
                "note: // begins a comment, here // n; for integer division write idiv(x, n)",
            ),
            ("f(8) // (n + 1)", "here // (n + 1); for integer division write idiv(a, b)\n8"),
            ("s = \"//\"; x[0]//2;", "note: // begins a comment, here // 2; for"),
            (
                "1\nx[1] // len(x)\n// two notes: 7 // 2",
                "here // len(x); for integer division write idiv(a, b)\n8",
            ),
        ] {
            let note = prompt.type_in(cell);
            assert!(note.contains(shown) && note.matches("note").count() == 1, "{cell}: {note}");
        }
        for (cell, shown) in [
            ("z = 3 // the number of turns", ""),
            ("z = 3 // turns", ""),
            ("z = 3 // 2 of them", ""),
            ("z = 3 + 4 // 7", ""),
            ("3 + 4 // 7", "7"),
            ("x + 1 // [8, 9]", "[8, 9]"),
            ("// 7", ""),
            ("3 /* 7 // 2 */", "3"),
            ("\"7 // 2\"", "7 // 2"),
            ("3 //", "3"),
            ("3 // -", "3"),
            ("3 /// 4", "3"),
        ] {
            assert_eq!(prompt.type_in(cell), shown, "{cell}");
        }
    });
}

/// Shifts go before arithmetic in Rhai, behind it in C and Python: where they stand side by side, that is told.
#[test]
fn shifts_beside_arithmetic_are_told() {
    at_a_prompt(|prompt| {
        prompt.type_in("a = 6; b = UInt32C([5]); fn f(x) { x }");
        for (cell, shown) in [
            (
                "5 - 1 >> 1",
                "note: a - b >> c is a - (b >> c) here, in C and Python (a - b) >> c; write the brackets that you \
                 mean\n5",
            ),
            (
                "1 << a + 1",
                "note: a << b + c is (a << b) + c here, in C and Python a << (b + c); write the brackets that you \
                 mean\n65",
            ),
            ("b * 2 << 1", "note: a * b << c is a * (b << c) here"),
            ("1 << 2 ** 3", "note: a << b ** c is (a << b) ** c here"),
            ("f(3 + -f([3, a])[1] >> 1) + 1", "a + b >> c"),
            ("a - 1 >> 2 + 1", "a - b >> c"),
            ("a -\n1 >> 1", "a - b >> c"),
            ("if true { a / 2 >> 1 }", "a / b >> c"),
        ] {
            let note = prompt.type_in(cell);
            assert!(note.contains(shown) && note.matches("note").count() == 1, "{cell}: {note}");
        }
        for cell in [
            "(5 - 1) >> 1",
            "5 - (1 >> 1)",
            "-a >> 1",
            "fn g() {}\n-a >> 1",
            "a >> -1",
            "a >> 1 & 3",
            "a >> 1 == a * 2",
            "a + f(a >> 1)",
            "[a + 1, a >> 1]",
            "a + 1; a >> 1",
            "a + 1\na >> 1",
            "c = a + 1\nd = a >> 1",
            "a >>= 1 + 1",
            "\"5 - 1 >> 1\"",
            "/* 5 - 1 >> 1 */ a",
            "a < 1 || a << 1 > 5",
        ] {
            let shown = prompt.type_in(cell);
            assert!(!shown.contains("note"), "{cell}: {shown}");
        }
    });
}

#[test]
fn outputs_are_listed() {
    at_a_prompt(|prompt| {
        prompt.type_in("FloatC([1, 2])");
        assert_eq!(prompt.type_in("Out"), "1: FloatC, 2 lanes");
        let error = prompt.type_in("_7");
        assert!(error.contains("`_7` holds nothing") && error.contains("Out lists"), "{error}");
        assert_eq!(prompt.type_in("#{a: [#{b: 1}]}"), "#{a: [#{b: 1}]}");
    });
}

/// `Out` keeps the last twenty values, none over 1 MiB, and nothing that was deleted.
#[test]
fn outputs_keep_little() {
    at_a_prompt(|prompt| {
        prompt.type_in("a = FloatC::zero(10) + 1");
        assert_eq!(prompt.type_in("big = FloatC::opaque(1, 1000000)").len(), 0);
        prompt.type_in("big");
        assert_eq!(prompt.type_in("Out.len()"), "0");
        prompt.type_in("a");
        assert_eq!(prompt.type_in("Out.len()"), "2");
        prompt.type_in("del a");
        assert_eq!(prompt.type_in("Out.len()"), "2", "other numbers stay");
        for _ in 0..30 {
            prompt.type_in("1");
        }
        assert_eq!(prompt.type_in("Out.len()"), "20");
    });
}

#[test]
fn commands_run() {
    at_a_prompt(|prompt| {
        prompt.type_in("a = FloatC::arange(1000)");
        let shown = prompt.type_in("%time hsum(a * 2)");
        assert!(shown.contains("record ") && shown.contains("1 kernel\n[999000]"), "{shown}");
        let shown = prompt.type_in("%timeit a * 2");
        assert!(shown.contains("median of") && shown.contains("launch"), "{shown}");
        let shown = prompt.type_in("%bench 1 + 1 ;; a + 1");
        assert!(shown.starts_with("first ") && shown.contains("times as fast"), "{shown}");
        let shown = prompt.type_in("%profile eval(a + 1, a * 3)");
        assert!(shown.contains("total_us") && shown.contains("kernel"), "{shown}");
        assert_eq!(prompt.type_in("%profile 1 + 1"), "no kernels were launched");
        assert_eq!(prompt.type_in("%log 1"), "");
        assert_eq!(prompt.type_in("%log"), "log level 1");
        prompt.type_in("%log 0");
        prompt.type_in("%set fold off");
        assert_eq!(prompt.type_in("flag(\"fold\")"), "false");
        assert!(prompt.type_in("%set").contains("fold              off"));
        prompt.type_in("fn f(x) { x }\nlet n = 3");
        assert_eq!(prompt.type_in("%who"), "a  f(x)  n");
        let shown = prompt.type_in("p = FloatC::arange(3); q = p; r = Vector2fC(q, 1); whos()");
        assert!(shown.contains("p, q") && shown.contains("r.0"), "{shown}");
        prompt.type_in("del p, q, r");
        let shown = prompt.type_in("%whos");
        assert!(
            shown.contains("a     FloatC      1000  0 B     literal") || shown.contains("FloatC"),
            "{shown}"
        );
        assert_eq!(prompt.type_in("%time"), "error: %time: expected code [] write %time a + b");
        assert!(prompt.type_in("%device").starts_with("cpu ("));
        let error = prompt.type_in("%device cpu");
        assert!(
            error.starts_with("error: %device: this session has names, which cannot move to cpu")
        );
        assert!(
            prompt
                .type_in("%device tpu")
                .contains("the devices are auto, cpu, cpu:N (N parts), ranks:N, cuda, cuda:N")
        );
        assert!(prompt.type_in("%help").contains("%bench CODE ;; CODE"));
        let other = prompt.type_in("%%html\n<b>no script</b>");
        assert_eq!(other, "error: no command %html [] display_html(text) shows HTML");
        let line = prompt.type_in("%%whos");
        assert_eq!(line, "error: %whos is a line, and takes no cell [] write %whos");
        assert_eq!(prompt.type_in("%reset\n%who"), "nothing yet");
        assert!(prompt.type_in("a").starts_with("error: `a` is not defined"));
        assert!(prompt.type_in("%device cpu").starts_with("cpu ("));
        assert!(prompt.type_in("%history 1").contains("%history 1"));
        assert_eq!(prompt.type_in("FloatC(1) + 1"), "[2]");
    });
}

#[test]
fn files_are_run_loaded_and_saved() {
    at_a_prompt(|prompt| {
        prompt.type_in("a = 1");
        prompt.type_in("%who");
        prompt.type_in("print(a + ARGS.len())");
        prompt.type_in("nothing + 1");
        assert_eq!(prompt.type_in("%save s.rhai"), "2 cells written to s.rhai");
        assert_eq!(prompt.type_in("%run s.rhai one two"), "3");
        assert_eq!(prompt.type_in("%run s.rhai one \"two words\""), "3");
        assert_eq!(prompt.type_in("ARGS"), "[one, two words]");
        assert_eq!(prompt.type_in("args() == ARGS"), "true");
        let outcome = prompt.interpreter.run_cell(&Cell::typed("%load s.rhai"), 9).unwrap();
        assert_eq!(outcome.next_input.as_deref(), Some("a = 1\nprint(a + ARGS.len())"));
        let error = prompt.type_in("%run nosuch.rhai");
        assert!(error.starts_with("error: %run: nosuch.rhai: "), "{error}");
        assert!(error.contains("paths start at the working folder"), "{error}");
        let error = prompt.type_in("%run /nosuch.rhai");
        assert!(error.starts_with("error: %run: /nosuch.rhai: "), "{error}");
        assert!(!error.contains("paths start"), "{error}");
        assert!(prompt.type_in("%history 1").ends_with("%history 1"));
        assert_eq!(prompt.type_in("%reset\n[ARGS, args()]"), "[[], []]");
    });
    // A function that was defined anew stands in the file once.
    at_a_prompt(|prompt| {
        for cell in ["fn f(x) { x }", "fn f(x) { x + 1 }", "print(f(1))"] {
            prompt.type_in(cell);
        }
        assert_eq!(prompt.type_in("%save s.rhai"), "2 cells written to s.rhai");
        assert_eq!(prompt.type_in("%run s.rhai"), "2");
    });
}

/// What goes wrong only when it is read names the cell that recorded it.
#[test]
fn late_errors_name_their_cell() {
    at_a_prompt(|prompt| {
        prompt.type_in("a = 1;\nb = 2;\nx = gather(FloatC([1, 2]), UInt32C([5]));");
        let error = prompt.type_in("// other\nx");
        let told = "error: gather: index 5 out of bounds for size 2 (lane 0, line 3 of cell 1)";
        assert!(error.starts_with(&format!("{told} [<in:1>:3:1]")), "{error}");
    });
}

/// Where cells overlap, what goes wrong in what runs long is told by who reads.
#[test]
fn ends_of_cells_that_overlap_do_not_wait() {
    on_engine_thread(|| {
        let mut prompt = Prompt::new(2);
        prompt.type_in("set_flag(\"async\", \"cells\")");
        prompt.type_in("y = FloatC::arange(1000000); for i in 0..40 { y = sin(y); }");
        assert_eq!(prompt.type_in("x = gather(y, UInt32C([2000000])); eval(x);"), "");
        // Nor does one that fails.
        assert!(prompt.type_in("throw \"other\"").starts_with("error: other"));
        let told = prompt.type_in("x");
        let error = "error: gather: index 2000000 out of bounds for size 1000000 (lane 0, line 1 of cell 3)";
        assert!(told.starts_with(error), "{told}");
    });
}

/// What only a system has is refused elsewhere, with what to do.
#[test]
fn hosts_need_no_system() {
    at_a_prompt(|prompt| {
        for command in ["%cd", "%pwd", "%ls", "%sh ls", "%%sh\nls \"", "%edit", "%edit x", "%paste"]
        {
            let shown = prompt.type_in(command);
            let name = command.trim_start_matches('%').split([' ', '\n']).next().unwrap();
            assert!(shown.starts_with(&format!("error: %{name}")), "{command}: {shown}");
            assert!(!shown.ends_with("[] "), "no hint: {shown}");
        }
        assert!(prompt.type_in("%sh").contains("write %sh ls -l"));
        assert!(prompt.type_in("%edit 99").contains("there is no cell 99"));
        let cell = Cell::typed("%%sh\necho '");
        assert!(matches!(prompt.interpreter.is_complete(&cell), Completeness::Incomplete { .. }));
        // Inside of braces two blank lines are the end.
        let open = Cell::typed("%%kernel\nfloat f(float x) {\n");
        assert!(matches!(prompt.interpreter.is_complete(&open), Completeness::Incomplete { .. }));
        let given_up = Cell::typed("%%kernel\nfloat f(float x) {\n\n");
        assert_eq!(prompt.interpreter.is_complete(&given_up), Completeness::Complete);
        let cell = Cell::typed("%%sh\necho '\n ");
        assert_eq!(prompt.interpreter.is_complete(&cell), Completeness::Complete);
        // So is one of `%%time`, whose lines are script.
        for open in ["%%time", "%%time\na = 1", "%%time\nif true {\n"] {
            let state = prompt.interpreter.is_complete(&Cell::typed(open));
            assert!(matches!(state, Completeness::Incomplete { .. }), "{open}");
        }
        for whole in ["%%time a = 1", "%%time\na = 1\n", "%time a = 1"] {
            let state = prompt.interpreter.is_complete(&Cell::typed(whole));
            assert_eq!(state, Completeness::Complete, "{whole}");
        }
        assert!(prompt.type_in("%help time").contains("%time CODE"));
    });
}

#[test]
fn questions_are_answered() {
    at_a_prompt(|prompt| {
        prompt.type_in("// Twice.\nfn twice(x) { 2 * x }");
        assert_eq!(
            prompt.type_in("??twice"),
            "defined at <in:1>:2\n\n// Twice.\nfn twice(x) { 2 * x }"
        );
        assert!(prompt.type_in("?twice").starts_with("twice(x)\n\nTwice.\n\ndefined at <in:1>:2;"));
        assert!(prompt.type_in("?sin").starts_with("sin(x)"));
        assert_eq!(prompt.type_in("sin?"), prompt.type_in("?sin"));
        assert!(prompt.type_in("?%timeit").contains("median"));
        assert!(prompt.type_in("??sin").ends_with("it has no script source"));
        assert!(prompt.type_in("?gatherr").contains("did you mean gather?"));
        assert!(prompt.type_in("?").contains("recorded"));
        // A topic comes first where a function has its name too.
        for (topic, title) in [("numpy", "For those who know NumPy"), ("keys", "The shell")] {
            let page = prompt.type_in(&format!("help(\"{topic}\")"));
            assert!(page.starts_with(title) && page.contains(&format!("\n{topic}(")), "{page}");
        }
        assert!(prompt.type_in("?topics").contains("help(\"numpy\")"));
    });
}

/// Places in errors are those of the cell, whatever commands stand in it.
#[test]
fn errors_of_commands_have_their_place() {
    at_a_prompt(|prompt| {
        assert!(prompt.type_in("%time nosuch + 1").contains("[<in:1>:1:7]"));
        assert!(prompt.type_in("a = 1\n%timeit a + nosuch").contains("[<in:2>:2:13]"));
        assert!(prompt.type_in("%bench 1 ;; nosuch").contains("[<in:3>:1:13]"));
        assert!(prompt.type_in("%who\nnosuch").contains("[<in:4>:2:1]"));
        assert!(prompt.type_in("%timee 1").contains("did you mean %time?"));
        assert!(prompt.type_in("%log 9").contains("expected 0 to 5"));
        assert!(prompt.type_in("%set nosuch on").contains("nosuch"));
        assert!(prompt.type_in("%set fold maybe").contains("expected on or off"));
        assert!(prompt.type_in("%time [1,").contains("error:"));
        assert!(prompt.type_in("if true { 1").contains("close it with }"));
        assert!(prompt.type_in("%timeit -n 10 1 + 1").contains("takes no options"));
    });
}

#[test]
fn cells_mix_script_and_commands() {
    at_a_prompt(|prompt| {
        assert_eq!(prompt.type_in("a = 7\n%who\na\n% 4"), "a\n3");
        assert_eq!(prompt.type_in("x = `\n%who\n`; x.len()"), "5");
        let shown = prompt.type_in("%time [1,\n  2]\nprint(3)");
        assert!(shown.ends_with('3'), "{shown}");
        for (text, state) in [
            ("%timeit f(", Completeness::Incomplete { indent: 4 }),
            ("%who", Completeness::Complete),
            ("?f(", Completeness::Complete),
            ("a = [\n%who\n", Completeness::Incomplete { indent: 4 }),
            ("a = 1\n%who\n%time f(", Completeness::Incomplete { indent: 4 }),
        ] {
            assert_eq!(prompt.interpreter.is_complete(&Cell::typed(text)), state, "{text}");
        }
    });
}

#[test]
fn commands_are_completed() {
    at_a_prompt(|prompt| {
        prompt.type_in("alpha = 1");
        let names = |text: &str| -> Vec<String> {
            let found = prompt.interpreter.complete(&Cell::typed(text), text.len());
            found.candidates.into_iter().map(|candidate| candidate.name).collect()
        };
        assert_eq!(names("%ti"), ["time", "timeit"]);
        assert_eq!(names("%").len(), COMMANDS.len());
        assert_eq!(names("%time alp"), ["alpha"]);
        assert_eq!(names("%set chec"), ["check_duplicates"]);
        assert_eq!(names("?scatter_m"), ["scatter_max", "scatter_min"]);
        assert_eq!(names("?alp"), ["alpha"]);
    });
}
