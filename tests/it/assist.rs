//! What editors and notebooks ask: completion, inspection, whether a text is complete.

use std::rc::Rc;

use porcini_script::{
    CandidateKind, Cell, Completeness, Error, ErrorKind, Interpreter, on_engine_thread,
};
use porcini_tests::golden::{self, BASELINE, interpreter};
use porcini_tests::host::TestHost;

fn with(code: &str, check: impl FnOnce(&mut Interpreter) + Send) {
    on_engine_thread(|| {
        let host = TestHost::new(Vec::new(), golden::sessions().join("modules"));
        let mut interpreter = interpreter(Rc::new(host), BASELINE, 0);
        interpreter.execute(code, "<in:1>").unwrap();
        check(&mut interpreter);
    });
}

/// Names offered at the end of a text.
fn names(interpreter: &Interpreter, text: &str) -> Vec<String> {
    let completion = interpreter.complete(&Cell::typed(text), text.len());
    assert!(completion.start <= completion.end && completion.end == text.len());
    completion.candidates.into_iter().map(|candidate| candidate.name).collect()
}

#[test]
fn names_of_the_session_and_the_language() {
    with("alpha = FloatC([1, 2]); fn alphabet(x, y) { x }", |interpreter| {
        assert_eq!(names(interpreter, "1 + alph"), ["alpha", "alphabet"]);
        let found = interpreter.complete(&Cell::typed("alph"), 4);
        let details: Vec<&str> = found.candidates.iter().map(|c| c.detail.as_str()).collect();
        assert_eq!(details, ["FloatC, 2 lanes", "(x, y)"]);
        assert_eq!(names(interpreter, "gath"), ["gather"]);
        assert_eq!(names(interpreter, "float6"), ["Float64C", "Float64D"]);
        assert_eq!(names(interpreter, "whi"), ["while", "while_loop"]);
        assert_eq!(names(interpreter, "cuda_wh"), ["cuda_whos"]);
        assert_eq!(names(interpreter, "%%ti"), ["time", "timeit"]);
        assert_eq!(names(interpreter, "%l"), ["load", "log", "ls"]);
        assert!(names(interpreter, "%%l").is_empty());
        assert_eq!(names(interpreter, "f("), ["alpha"]);
        assert!(names(interpreter, "nothing_like_it").is_empty());
        assert!(names(interpreter, "12").is_empty());
        assert!(names(interpreter, "1 // gath").is_empty());
        assert_eq!(names(interpreter, "kernel(\"float f(float total) { return tot"), ["total"]);
        let found = interpreter.complete(&Cell::typed("gather"), 6);
        assert_eq!(found.candidates[0].kind, CandidateKind::Function);
        assert!(found.candidates[0].doc.contains("source"), "{found:?}");
    });
}

#[test]
fn names_that_the_cell_declares_itself() {
    with("quality = 1; fn twice(x) { 2 * x }", |interpreter| {
        let of = |text: &str| names(interpreter, text);
        assert_eq!(of("let quantity = 3; quant"), ["quantile", "quantity"]);
        assert_eq!(of("zebra = 3\nzeb"), ["zebra"]);
        assert_eq!(of("[zebra, zebu] = [1, 2]\nzeb"), ["zebra", "zebu"]);
        assert_eq!(of("for zebra in 0..3 { zeb"), ["zebra"]);
        assert_eq!(of("for (zebra, zebu) in [1] { zeb"), ["zebra", "zebu"]);
        assert_eq!(of("try { f() } catch (zebra) { zeb"), ["zebra"]);
        assert_eq!(of("f = |zebra, n| zeb"), ["zebra"]);
        assert_eq!(of("f = |zebra| { let n = g(1, 2); zeb"), ["zebra"]);
        assert_eq!(of("fn stripes(zebra) { zeb"), ["zebra"]);
        assert_eq!(of("fn stripes(n) { zebra = n; zeb"), ["zebra"]);
        assert_eq!(of("fn stripes(n) {\n  n\n}\nstrip"), ["stripes"]);
        assert_eq!(of("if a { zebra = 1 }\nzeb"), ["zebra"]);
        // What is behind, another one's, or gone with its block is not known.
        for text in [
            "zeb",
            "for zebra in 0..3 { zebra }\nzeb",
            "fn stripes(zebra) { let zebu = 1; }\nzeb",
            "{ let zebra = 1; }\nzeb",
            "m.zebra = 1\nzeb",
            "f = |zebra, n| zebra + n;\nzeb",
            "f = [|zebra| zebra, zeb",
            "f(|zebra| zebra)\nzeb",
            "// zebra = 1\nzeb",
        ] {
            assert!(of(text).is_empty(), "{text}: {:?}", of(text));
        }
        let found = interpreter.complete(&Cell::typed("zeb; zebra = 1"), 3);
        assert!(found.candidates.is_empty(), "{found:?}");
        let code = "tw(1); fn twain(x, y) { x }";
        let found = interpreter.complete(&Cell::typed(code), 2);
        let of_cell = found.candidates.iter().find(|found| found.name == "twain");
        assert_eq!(of_cell.map(|found| found.detail.as_str()), Some("(x, y)"));
    });
}

#[test]
fn members_follow_the_value() {
    let code = "v = Vector3fC(1, 2, 3); m = #{radius: 2.0, parts: #{n: 1}}; l = [1]; t = \"a\"; \
                z = Complex2fC(1, 2); rng = PCG32C(); q = Matrix3fC::identity()";
    with(code, |interpreter| {
        let of = |text: &str| names(interpreter, text);
        assert!(of("v.").contains(&"x".into()) && of("v.").contains(&"hsum".into()));
        assert!(!of("v.").contains(&"w".into()) && !of("v.").contains(&"push".into()));
        assert_eq!(of("v.x.norm_c"), ["norm_cdf"]);
        assert_eq!(of("m.ra"), ["radius"]);
        assert_eq!(of("m.parts.n"), ["n"]);
        assert_eq!(of("m[\"ra"), ["radius"]);
        assert_eq!(of("plot(l, #{ti"), ["title"]);
        assert_eq!(of("scatter_plot(l, l, #{title: \"a\", xl"), ["xlabel", "xlim"]);
        assert_eq!(of("plot(\")\", #{ti"), ["title"]);
        assert_eq!(of("plot(l, #{title: \"{\", ti"), ["title"]);
        assert_eq!(of("read_npz(\"a\", #{"), ["arrays"]);
        assert_eq!(of("read_image(\"a\", #{"), ["float"]);
        assert_eq!(of("save_image(\"a\", l, #{"), ["cmap", "range"]);
        assert!(of("write_npz(\"a\", #{").is_empty());
        assert_eq!(of("write_arrow(\"a\", m, #{"), ["compression", "order"]);
        assert_eq!(
            of("contour(l, #{"),
            ["cmap", "extent", "grid", "levels", "title", "xlabel", "ylabel"]
        );
        assert_eq!(of("m.parts[\""), ["n"]);
        assert!(of("l.").contains(&"push".into()) && !of("l.").contains(&"sin".into()));
        assert!(of("t.").contains(&"to_upper".into()));
        assert!(of("z.").contains(&"imag".into()));
        assert_eq!(of("rng.st"), ["state"]);
        assert_eq!(
            of("rng.next_f"),
            [
                "next_float32",
                "next_float16",
                "next_float32_normal",
                "next_float64",
                "next_float64_normal"
            ]
        );
        assert_eq!(of("q.T"), ["T"]);
        assert_eq!(of("FloatC::lin"), ["linspace"]);
        assert_eq!(of("FloatC.lin"), ["linspace"]);
        assert_eq!(of("Matrix4fC::look"), ["look_at"]);
        assert!(of("FloatC::look").is_empty());
        assert!(of("(a + b).nor").contains(&"normalize".into()));
    });
}

#[test]
fn texts_have_flags_names_and_modules() {
    with("import \"geometry\" as g;", |interpreter| {
        assert_eq!(names(interpreter, "set_flag(\"ch"), ["check_duplicates"]);
        assert_eq!(names(interpreter, "help(\"scatter_m"), ["scatter_max", "scatter_min"]);
        assert_eq!(names(interpreter, "help(\"tutor"), ["tutorial"]);
        assert!(names(interpreter, "print(\"scat").is_empty());
        assert!(!names(interpreter, "g::").is_empty());
    });
}

/// Kernels have a language of their own, and what it knows of the session's.
#[test]
fn texts_of_kernels_have_names() {
    let code = "gain = 2.5; louder = kernel(\"T louder(T x) { return x * gain; }\"); gathered = FloatC([1])";
    with(code, |interpreter| {
        for open in ["kernel(\"T f(T x) { ", "k = kernel(`T f(T x) {\n  ", "%%kernel\nT f(T x) { "]
        {
            let of = |typed: &str| names(interpreter, &format!("{open}{typed}"));
            assert_eq!(of("whi"), ["while"]);
            assert_eq!(of("unsi"), ["unsigned"]);
            assert_eq!(of("return sqr"), ["sqr", "sqrt"]);
            assert_eq!(of("return gai"), ["gain"]);
            assert_eq!(of("return lou"), ["louder"]);
            assert!(of("x.").is_empty(), "{:?}", of("x."));
        }
        assert!(names(interpreter, "print(\"T f(T x) { whi").is_empty());
    });
}

/// A cursor anywhere in any text finds something or nothing, but no panic.
#[test]
fn every_cursor_is_answered() {
    with("v = Vector3fC(1, 2, 3)", |interpreter| {
        for text in [
            "v.x.",
            "é.ü(\"ß",
            "`\n\"/*",
            "::",
            "..",
            "a.::b.",
            "f(\"\\",
            "''",
            "set_flag(\"",
            "kernel(\"é §",
        ] {
            for cursor in 0..=text.len() + 2 {
                let cell = Cell::typed(text);
                interpreter.complete(&cell, cursor);
                interpreter.inspect(&cell, cursor);
                interpreter.is_complete(&Cell::typed(text.get(..cursor).unwrap_or(text)));
            }
        }
    });
}

#[test]
fn names_are_inspected() {
    let code =
        "a = FloatC([1, 2]) + 1; set_label(a, \"speed\");\n// Twice.\nfn twice(x) {\n  2 * x\n}";
    with(code, |interpreter| {
        let text = |text: &str, at: usize| {
            interpreter.inspect(&Cell::typed(text), at).map(|found| found.text)
        };
        let of_a = "a: FloatC, 2 lanes, 8 B, recorded, label \"speed\"";
        assert_eq!(text("a + 1", 0).as_deref(), Some(of_a));
        let about = "twice(x)\n\nTwice.\n\ndefined at <in:1>:3; ??twice shows its source";
        assert_eq!(text("twice(a)", 3).as_deref(), Some(about));
        let twice = "defined at <in:1>:3\n\n// Twice.\nfn twice(x) {\n  2 * x\n}";
        assert_eq!(interpreter.source("twice").as_deref(), Some(twice));
        assert_eq!(interpreter.source("sin"), None);
        let source = |text| interpreter.inspect_source(&Cell::typed(text), 3).map(|it| it.text);
        assert_eq!((source("twice(a)").as_deref(), source("sin(a)")), (Some(twice), None));
        assert!(text("sin(nosuch, ", 12).unwrap().starts_with("sin(x)"));
        assert!(
            text("FloatC::linspace(", 12).unwrap().contains("linspace(first, last, n, endpoint)")
        );
        assert_eq!(text("nosuch", 3), None);
        assert!(names(interpreter, "import \"op").contains(&"optim".into()));
        let html = interpreter.inspect(&Cell::typed("lt(1, 2)"), 1).unwrap().html;
        assert!(html.contains("<code>lt(a, b)</code>") && html.contains("&gt;&gt; "), "{html}");
    });
}

#[test]
fn members_keys_and_commands_are_told() {
    let code = "v = Vector3fC(1, 2, 3); m = #{alpha: v, \"a b\": 2}";
    with(code, |interpreter| {
        let text = |text: &str, at: usize| {
            let found = interpreter.inspect(&Cell::typed(text), at);
            found.map_or_else(String::new, |found| found.text)
        };
        assert!(text("v.x", 3).starts_with("v.x: FloatC"), "{}", text("v.x", 3));
        assert!(text("m.alpha", 4).starts_with("m.alpha: Vector3fC"), "{}", text("m.alpha", 4));
        assert!(text("m.alpha.y + 1", 9).starts_with("m.alpha.y: FloatC"));
        assert!(text("m[\"alpha\"]", 5).starts_with("m[\"alpha\"]: Vector3fC"));
        assert!(text("m[\"a b\"]", 8).starts_with("m[\"a b\"]: "), "{}", text("m[\"a b\"]", 8));
        // In the arguments of a call the function is asked about.
        assert!(text("sin(v.x", 7).starts_with("sin(x)"));
        assert!(text("%time v", 3).starts_with("%time"), "{}", text("%time v", 3));
        assert_eq!(text("m.nosuch", 5), "");
    });
}

#[test]
fn texts_are_complete_or_not() {
    let goes_on = |indent| Completeness::Incomplete { indent };
    with("", |interpreter| {
        for (text, state) in [
            ("1 + 1", Completeness::Complete),
            ("f(1,", goes_on(4)),
            ("fn f(x) {\n    if x {", goes_on(8)),
            ("fn f(x) { x }", Completeness::Complete),
            ("1 +", goes_on(0)),
            ("/* a", goes_on(0)),
            ("`a\nb", goes_on(0)),
            ("while true", goes_on(0)),
            ("if a {} else", goes_on(0)),
            ("if a {} else if b", goes_on(0)),
            ("a = 1\nfor i in 0..3", goes_on(0)),
            ("for i", goes_on(0)),
            ("fn f(x)", goes_on(0)),
            ("fn f", goes_on(0)),
            ("fn", goes_on(0)),
            ("fn 1", Completeness::Invalid),
            ("loop // for ever", goes_on(0)),
            ("do { a }", goes_on(0)),
            ("try { a }", goes_on(0)),
            ("while a b", Completeness::Invalid),
            ("else", Completeness::Invalid),
            ("\"a", Completeness::Invalid),
            ("1 2", Completeness::Invalid),
            (")", Completeness::Invalid),
            ("", Completeness::Complete),
        ] {
            assert_eq!(interpreter.is_complete(&Cell::typed(text)), state, "{text:?}");
        }
    });
}

/// Whatever runs has no mistake that is told without running it: no function that is there is unknown, and none takes
/// more or fewer arguments than somebody has counted.
#[test]
fn what_runs_has_no_wrong_calls() {
    with("", |interpreter| {
        let folders =
            ["script", "ops", "acceptance", "examples"].map(|f| golden::sessions().join(f));
        let examples = porcini_tests::root().join("examples/scripts");
        let (mut told, mut n_read) = (Vec::new(), 0);
        for file in folders.iter().chain([&examples]).flat_map(|folder| golden::scripts(folder)) {
            let text = golden::Session::read(&file).right_code();
            let name = file.display().to_string();
            let mistakes = interpreter.check(&Cell::script(&text), &name);
            // Statements that are one only by themselves do not make a script.
            if mistakes.iter().all(|mistake| mistake.kind != ErrorKind::Syntax) {
                n_read += 1;
                // What is caught may be called, and what never runs; others are in what is no right code.
                let is_meant = |mistake: &&Error| {
                    let line = mistake.location.as_ref().map_or("", |at| at.text.as_str());
                    ![
                        "try {",
                        "caught(",
                        "fn alone",
                        "x + outer",
                        "kept",
                        "uses_outer",
                        "outer_delete",
                    ]
                    .iter()
                    .any(|meant| line.contains(meant))
                };
                told.extend(mistakes.iter().filter(is_meant).map(ToString::to_string));
            }
        }
        for doc in interpreter.functions() {
            // Behind those before it, as they are typed.
            let mut session = String::new();
            for example in doc.examples.iter().filter(|example| !example.shown.contains("error")) {
                let code = format!("{session}{}\n", example.code);
                let mistakes = interpreter.check(&Cell::script(&code), &doc.name);
                if mistakes.iter().all(|mistake| mistake.kind != ErrorKind::Syntax) {
                    told.extend(mistakes.iter().map(ToString::to_string));
                    session = code;
                }
            }
        }
        assert!(told.is_empty(), "{}", told.join("\n"));
        assert!(n_read > 50, "{n_read}");
    });
}

#[test]
fn wrong_calls_are_found_without_running() {
    with("", |interpreter| {
        let told = |code: &str| -> Vec<String> {
            let mistakes = interpreter.check(&Cell::script(code), "s");
            let line = |mistake: &Error| {
                let at = mistake.location.as_ref().map_or((0, 0), |at| (at.line, at.column));
                format!("{}:{} {}; {}", at.0, at.1, mistake.message, mistake.hints.join("; "))
            };
            mistakes.iter().map(line).collect()
        };
        assert_eq!(
            told("fn f(a, b) { sinn(a) }\nf(1)\nif false { x = hsum(1, 2, 3, 4) }\n[1].lenn()"),
            [
                "1:14 no function `sinn`; did you mean `sign`, `sin`, `sinc`?",
                "2:1 `f` does not take 1 argument; it takes f(a, b)",
                "3:16 `hsum` does not take 4 arguments; it takes hsum(x), hsum(t, axes, keepdims)",
                "4:5 no function `lenn`; did you mean `len`?",
            ]
        );
        assert_eq!(
            told("dt = 0.1\nfor i in 0..3 { y = dtt * i + dtt }\nlet f = |a| a + bb; `${lenght}`"),
            [
                "2:21 `dtt` is not defined; did you mean `det`, `dot`?",
                "3:17 `bb` is not defined; ",
                "3:24 `lenght` is not defined; ",
            ]
        );
        assert_eq!(
            told(
                "y = 3; fn f() { y + 1 } fn g() { z = 2 } z = 1\nFloatC::arrange(3); FloatC::zero(1, 2); #{a: 1}.foo()"
            ),
            [
                "1:17 `y` is not defined in the function; functions do not see outer variables: pass it as a parameter, or use a closure |x| ..",
                "1:34 `z` is not defined in the function; declare it in the function: let z = ..",
                "2:9 no function `FloatC::arrange`; did you mean `FloatC::arange`?",
                "2:29 `FloatC::zero` does not take 2 arguments; it takes FloatC::zero(n)",
                "2:49 no function `foo`; ",
            ]
        );
        assert_eq!(
            told(
                "for (bb, qq) in [1] { bb + qq }\nbb + qq\ny = 1; del y\nz = [1, y]\nimport \"nosuch\" as m"
            ),
            [
                "2:1 `bb` is not defined; ",
                "2:6 `qq` is not defined; ",
                "4:9 `y` was deleted on line 3; ",
                "5:8 import \"nosuch\": no such module; ",
            ]
        );
        for right in [
            "K = 3; fn f(a) { let z = a; for (i, j) in a { z += i + j } let g = |q| q + z; g.call(1) + pi }",
            "const K = 3; fn f(a) { a * K } f(2)",
            "m = #{}; m[\"f\" + 1] = |x| x; m.f1(2); m[`g`] = |x| x; m.g(1)",
            "fn f(a) { let [b, c] = a; let k = 2; try { throw b } catch (e) { e + k + c } } f([1, 2])",
            "fn f(x) { let y = x; y } let [a, b] = [1, 2]; [b, a] = [a, b]; for (v, i) in [a] { i + v }",
            "if true { k = 1 } k; try { u } catch (err) { err } f = |x, y| x + y + pi; _ + _3; α = 1; α + 1",
            "eval(\"z = 3\"); z",
            "g = |x| x; g(1)",
            "m = #{f: |x| x}; m.f(2)",
            "import \"optim\" as a; a::f(1)",
            "for i in 0..3 { i } i = 1; i; for j in 0..2 { j; for j in 0..2 { j } j }",
            "y = 1; del y; y = 2; y; if y > 1 { del y; }",
            "try { import \"nosuch\" as n; n::f() } catch { 0 }",
            "f = Fn(\"sin\"); f.call(1.0)",
            "fn f(x) { if x > 0 { f(x - 1) } else { 0 } } f(3)",
            "FloatC::linspace(0, 1, 5); Vector3fC(1, 2, 3).x",
            "a = FloatC([1]); a.hsum()",
        ] {
            assert_eq!(told(right), [""; 0], "{right}");
        }
        assert_eq!(told("a = (1").len(), 1);
    });
}
