//! What editors and notebooks ask: completion, inspection, whether a text is complete.

use std::rc::Rc;

use porcini_script::{CandidateKind, Cell, Completeness, Interpreter, on_engine_thread};
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
        assert_eq!(names(interpreter, "float6"), ["Float64C"]);
        assert_eq!(names(interpreter, "whi"), ["while", "while_loop"]);
        assert_eq!(names(interpreter, "cuda_wh"), ["cuda_whos"]);
        assert_eq!(names(interpreter, "f("), ["alpha"]);
        assert!(names(interpreter, "nothing_like_it").is_empty());
        assert!(names(interpreter, "12").is_empty());
        assert!(names(interpreter, "1 // gath").is_empty());
        let found = interpreter.complete(&Cell::typed("gather"), 6);
        assert_eq!(found.candidates[0].kind, CandidateKind::Function);
        assert!(found.candidates[0].doc.contains("source"), "{found:?}");
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
        assert!(of("l.").contains(&"push".into()) && !of("l.").contains(&"sin".into()));
        assert!(of("t.").contains(&"to_upper".into()));
        assert!(of("z.").contains(&"imag".into()));
        assert_eq!(of("rng.st"), ["state"]);
        assert_eq!(
            of("rng.next_f"),
            [
                "next_float16",
                "next_float32",
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

/// A cursor anywhere in any text finds something or nothing, but no panic.
#[test]
fn every_cursor_is_answered() {
    with("v = Vector3fC(1, 2, 3)", |interpreter| {
        for text in
            ["v.x.", "é.ü(\"ß", "`\n\"/*", "::", "..", "a.::b.", "f(\"\\", "''", "set_flag(\""]
        {
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
        assert!(text("sin(nosuch, ", 12).unwrap().starts_with("sin(x)"));
        assert!(
            text("FloatC::linspace(", 12).unwrap().contains("linspace(first, last, n, endpoint)")
        );
        assert_eq!(text("nosuch", 3), None);
        let html = interpreter.inspect(&Cell::typed("lt(1, 2)"), 1).unwrap().html;
        assert!(html.contains("<code>lt(a, b)</code>") && html.contains("&gt;&gt; "), "{html}");
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
            ("\"a", Completeness::Invalid),
            ("1 2", Completeness::Invalid),
            (")", Completeness::Invalid),
            ("", Completeness::Complete),
        ] {
            assert_eq!(interpreter.is_complete(&Cell::typed(text)), state, "{text:?}");
        }
    });
}
