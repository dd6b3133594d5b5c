//! Texts that are too long, too deep or unfinished: an error or a value, never the end of the process.

use std::rc::Rc;
use std::time::{Duration, Instant};

use porcini_script::{Cell, Completeness, Error, ErrorKind, Interpreter, on_engine_thread};
use porcini_tests::extent::is_full;
use porcini_tests::golden;
use porcini_tests::host::TestHost;
use porcini_tests::pace;

/// Far more than reading a text once takes, far less than reading it for each of its lines.
const PATIENCE: Duration = Duration::from_secs(10);

fn with_interpreter(test: impl FnOnce(&mut Interpreter) + Send) {
    on_engine_thread(|| {
        let host = Rc::new(TestHost::default());
        let mut interpreter = golden::interpreter(host, golden::BASELINE, 0);
        test(&mut interpreter);
        assert_eq!(shows(&mut interpreter, "FloatC(1) + 1"), "[2]");
    });
}

fn shows(interpreter: &mut Interpreter, text: &str) -> String {
    interpreter.execute(text, "limits").unwrap().text.unwrap_or_default()
}

/// The text gives a value or a diagnostic that is no mistake of ours.
fn survives(interpreter: &mut Interpreter, text: &str) -> Option<Box<Error>> {
    let error = interpreter.execute(text, "limits").err();
    if let Some(error) = &error {
        assert_ne!(error.kind, ErrorKind::Internal, "{error}");
    }
    error
}

#[test]
fn long_and_deep_expressions() {
    with_interpreter(|interpreter| {
        for n in [100, 1000, 1900, 3000, 6000] {
            survives(interpreter, &vec!["1"; n].join("+"));
            survives(interpreter, &format!("let a = FloatC(1); {}", vec!["a"; n].join("+")));
            survives(interpreter, &format!("{}1{}", "(".repeat(n), ")".repeat(n)));
            survives(interpreter, &format!("{}{}", "[".repeat(n), "]".repeat(n)));
            survives(interpreter, &format!("{}1{}", "{".repeat(n), "}".repeat(n)));
            survives(interpreter, &format!("{}1", "-".repeat(n)));
            survives(interpreter, &format!("{}true", "!".repeat(n)));
            survives(interpreter, &format!("let l = [1]; l{}", "[0]".repeat(n)));
            survives(interpreter, &format!("let m = #{{}}; m{}", ".a".repeat(n)));
            survives(interpreter, &format!("{}0{}", "abs(".repeat(n), ")".repeat(n)));
        }
        assert_eq!(shows(interpreter, &vec!["1"; 1900].join("+")), "1900");
    });
}

/// What stands before, in and behind a text that nests.
const NESTS: [(&str, &str, &str); 52] = [
    ("(", "1", ")"),
    ("[", "1", "]"),
    ("{", "1", "}"),
    ("#{a: ", "1", "}"),
    ("-", "1", ""),
    ("!", "true", ""),
    ("abs(", "1", ")"),
    ("FloatC([", "1", "])"),
    ("`${", "1", "}`"),
    ("if true {", "1", "}"),
    ("while false {", "1", "}"),
    ("for i in 0..1 {", "1", "}"),
    ("loop {", "return", "}"),
    ("do {", "1", "} while false"),
    ("try {", "1", "} catch {}"),
    ("switch 1 { _ => ", "1", "}"),
    ("switch `${", "1", "}` { _ => 1 }"),
    ("switch ", "1", " { _ => 1 }"),
    ("if ", "true", " { 1 }"),
    ("if false { 1 } else { ", "1", " }"),
    ("#{a: `${[", "1", "]}`}"),
    ("|x| ", "1", ""),
    ("|x| { ", "1", " }"),
    ("fn f() {", "1", "}"),
    ("/* ", "", " */"),
    ("return ", "1", ""),
    ("throw ", "1", ""),
    ("a = ", "1", ""),
    ("let a = ", "1", ""),
    ("([{", "1", "}])"),
    ("", "[1]", "[0]"),
    ("", "#{}", ".a"),
    ("", "a", "?.b"),
    ("", "[1]", "?[0]"),
    ("", "[1]", ".map(|x| x)"),
    ("", "1", " in [1]"),
    ("", "[1]", ".len()"),
    ("", "1", " + 1"),
    ("", "1", " ** 1"),
    ("", "1", " ** -1"),
    ("", "true", " && true"),
    ("", "()", " ?? 1"),
    ("", "1", " < 1"),
    ("", "1", "..1"),
    ("", "FloatC", "::zero"),
    ("", "if false {1}", " else if false {2}"),
    ("", "1", "\n1"),
    ("", "1", " // 2\n+ 1"),
    ("", "", ";"),
    ("", "", ")"),
    ("\"", "", ""),
    ("%time ", "1", ""),
];

/// Whatever nests to 100 000, closed or left open, is an error or a value, soon.
#[test]
fn texts_nest_to_100_000() {
    with_interpreter(|interpreter| {
        for (number, (before, middle, behind)) in NESTS.into_iter().enumerate() {
            // The deepest of every thirty-second kind, and deep ones of every third, or of all.
            let most = match number {
                _ if is_full() || number % 32 == 0 => 100_000,
                _ if number % 3 == 1 => 10_000,
                _ => 1900,
            };
            for n in [10, 100, 1000, 1900, 10_000, 100_000].into_iter().filter(|&n| n <= most) {
                let open = format!("{}{middle}", before.repeat(n));
                for text in [format!("{open}{}", behind.repeat(n)), open] {
                    let start = Instant::now();
                    survives(interpreter, &text);
                    drop(interpreter.check(&Cell::script(&text), "limits"));
                    let cell = Cell::typed(&text);
                    interpreter.is_complete(&cell);
                    interpreter.complete(&cell, text.len());
                    let time = start.elapsed();
                    assert!(
                        pace::is_within(time, PATIENCE),
                        "{before}{middle}{behind} {n} times: {time:?}"
                    );
                }
            }
        }
    });
}

/// One pass over each text: lines, lists, numbers, names, functions, commands.
#[test]
fn long_texts_are_read_in_one_pass() {
    let n = 30_000;
    let each = |line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<Vec<_>>().join("\n");
    let texts = [
        each(&|i| format!("a{} = {i}", i % 50)),
        each(&|i| format!("[{i}, -2]")),
        each(&|i| format!("let a = -{i}   // 2 per core")),
        each(&|i| format!("let a = -{i};")).replace('\n', " "),
        "a".repeat(n),
        format!("let l = [{}]", each(&|i| format!("-{i},"))),
        format!("%time [{}]", each(&|i| format!("-{i},"))),
        format!("{}1", "%time 1 +\n".repeat(n)),
        format!("{}{}", "%who\n".repeat(300), each(&|i| format!("a = {i}"))),
    ];
    with_interpreter(|interpreter| {
        for text in &texts {
            let start = Instant::now();
            let cell = Cell::typed(text);
            drop(interpreter.run_cell(&cell, 1));
            interpreter.is_complete(&cell);
            drop(interpreter.check(&Cell::script(text), "limits"));
            let time = start.elapsed();
            assert!(pace::is_within(time, PATIENCE), "{}..: {time:?}", &text[..30]);
        }
        assert_eq!(Cell::statements(&texts[5]).pieces().len(), 1);
        assert_eq!(shows(interpreter, &format!("{}\na49", texts[0])), "29999");
    });
}

#[test]
fn deep_recursion() {
    with_interpreter(|interpreter| {
        for text in [
            "fn f(n) { f(n + 1) } f(0)",
            "fn g(n) { let a = [n].map(|x| g(x + 1)); a } g(0)",
            "fn h(n) { if true { for i in 0..1 { while true { h(n + 1) } } } } h(0)",
            "fn v(n) { Vector2fC(|i| v(n + 1)) } v(0)",
            "fn r(n) { range(2).map(|i| r(n + 1)) } r(0)",
            "fn t(n) { try { t(n + 1) } catch (e) { throw e } } t(0)",
        ] {
            let error = survives(interpreter, text).unwrap();
            assert!(error.message.contains("too many nested"), "{text}: {error}");
        }
        // A comparison that fails is ignored.
        survives(interpreter, "fn s(n) { [2, 1].sort(|a, b| s(n + 1)) } s(0)");
    });
}

#[test]
fn values_that_hold_themselves() {
    with_interpreter(|interpreter| {
        survives(interpreter, "let l = []; let f = || l; l.push(f); l");
        survives(interpreter, "let l = []; let f = || l; l.push(l); l");
        survives(interpreter, "let m = #{}; let f = || m; m.a = m; m");
        // The first two copy at every turn what they hold.
        for deeper in ["l = [l]", "l = #{a: l}", "l.push([l.pop()])", "let g = l; l = || g"] {
            let text = format!("let l = [[]]; for i in 0..3000000 {{ {deeper}; }}");
            let error = survives(interpreter, &text).unwrap();
            assert!(error.message.contains("more than 2000 levels deep"), "{text}: {error}");
            let text = format!("let l = [[]]; for i in 0..1000 {{ {deeper}; }} 1");
            assert_eq!(shows(interpreter, &text), "1");
        }
    });
}

/// Each level copies those below it, so that somebody must look soon, however much else there is to look at.
#[test]
fn what_is_copied_ever_deeper_is_stopped_soon() {
    with_interpreter(|interpreter| {
        survives(interpreter, "let wide = []; wide.pad(100000, 0); let n = 0;");
        let text = "let l = []; for i in 0..3000000 { l = [l]; n = i; }";
        let error = survives(interpreter, text).unwrap();
        assert!(error.message.contains("more than 2000 levels deep"), "{error}");
        assert_eq!(shows(interpreter, "n < 20000"), "true");
    });
}

#[test]
fn what_is_unfinished_waits_for_more() {
    with_interpreter(|interpreter| {
        let check = |text: &str, want: fn(Completeness) -> bool| {
            let got = interpreter.is_complete(&Cell::typed(text));
            assert!(want(got), "{text}: {got:?}");
        };
        let more = |got| matches!(got, Completeness::Incomplete { .. });
        for text in
            ["(1 + 2", "foo(", "a[", "fn f(x) {", "/* open", "`two", "1 +", "let x =", "#{a: 1,"]
        {
            check(text, more);
        }
        for text in ["1 + 1", "1 + 1;", "// comment", "", "fn f() { }", "`a` + \"b\"", "\"// no\""]
        {
            check(text, |got| got == Completeness::Complete);
        }
        for text in [")", "1 +* 2", "let = 3", "\"open", "1 1"] {
            check(text, |got| got == Completeness::Invalid);
        }
        let error = survives(interpreter, "\"unterminated\n").unwrap();
        assert_eq!(error.kind, ErrorKind::Syntax);
        let error = survives(interpreter, "foo(1").unwrap();
        assert!(error.message.contains("expecting"), "{error}");
        survives(interpreter, "1 + 1 /* never closed");
    });
}
