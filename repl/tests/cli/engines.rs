//! What engines do before the process ends.

use super::*;

/// S28: what was pushed and somebody holds is done before the end, and so is what has effects.
#[test]
fn engines_end_what_waits() {
    let push = "let e = engine(#{mode: \"biphasic\"}); let say = operator(#{name: \"say\", effects: true, exec: |x| { \
                if x > 1 { throw \"too large\" } print(x); x }}); ";
    let (code, out, err) =
        run(&["-e", &format!("{push} let h = e.push(say, 1); e.push(say, 0); print(\"end\")")]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "end\n1\n0\n", ""));
    let (code, out, err) = run(&["-e", &format!("{push} let h = e.push(say, 2); print(\"end\")")]);
    assert_eq!(
        (code, out.as_str(), err.as_str()),
        (1, "end\n", "error: at the end: say: too large (pushed in line 1)\n")
    );
    assert_eq!(
        run_with_input(&[], format!("{push} let h = e.push(say, 1); 3").as_bytes()).1,
        "3\n1\n"
    );
}

/// What nobody looked at is told at the end: failures, and writes that are due.
#[test]
fn failures_are_told_at_the_end() {
    let push = "let e = engine(#{mode: \"biphasic\"}); let bad = operator(#{name: \"bad\", exec: |x| throw `no ${x}`}); \
                let hs = [1, 2, 3].map(|x| e.push(bad, x)); e.flush(); ";
    let read = "try { hs[0].get() } catch (error) { print(error) }";
    let (code, out, err) = run(&["-e", &format!("{push} {read} ()")]);
    assert_eq!((code, out.as_str()), (1, "bad: no 1 (pushed in line 1)\n"));
    assert!(err.starts_with("error: at the end: bad: no 2 (pushed in line 1)\n"), "{err}");
    assert!(err.contains("then: bad: no 3 (pushed in line 1)") && !err.contains("no 1"), "{err}");
    let write = "let y = FloatC([1, 2, 3]); scatter_add(y, FloatC(5), UInt32C([0, 7]));";
    let told =
        "error: at the end: scatter_add: index 7 out of bounds for size 3 (lane 1, line 1)\n";
    let (code, out, err) = run(&["-e", write]);
    assert_eq!((code, out.as_str(), err.as_str()), (1, "", told));
}

/// Who hears of one that failed of several hears of all.
#[test]
fn a_caught_failure_counts_for_all_that_were_read() {
    let script = "let e = engine(); let bad = operator(#{name: \"bad\", exec: |x| throw `no ${x}`}); \
                  let hs = [1, 2].map(|x| e.push(bad, x)); try { e.get(hs) } catch (error) { print(error) }";
    let told = "bad: no 1 (pushed in line 1)\n";
    assert_eq!(run(&["-e", script]), (0, told.into(), String::new()));
}

/// An operation that ends the script is not done again at the end.
#[test]
fn an_operation_may_end_the_script() {
    let push = "let e = engine(); let leave = operator(#{name: \"leave\", effects: true, exec: |x| { print(x); exit(5) }}); ";
    let (code, out, err) = run(&["-e", &format!("{push} e.push(leave, 1); e.flush(); print(2)")]);
    assert_eq!((code, out.as_str(), err.as_str()), (5, "1\n", ""));
}

/// One that ends the script at the end keeps no failure from being told, and says the exit code.
#[test]
fn an_operation_that_ends_the_script_hides_no_failure() {
    let script = "let bad = operator(#{name: \"bad\", exec: |x| throw `no ${x}`, effects: true});\n\
                  let leave = operator(#{name: \"leave\", exec: |x| exit(x), effects: true});\n\
                  let f = engine(); let e = engine(); f.push(bad, 1);\n\
                  let t = FloatC([1, 2]); scatter(t, FloatC(1), UInt32C(9));\n\
                  e.push(leave, 3); e.push(bad, 2);";
    let (code, out, err) = run(&["-e", script]);
    assert_eq!((code, out.as_str()), (3, ""), "{err}");
    assert!(err.starts_with("error: at the end: bad: no 1 (pushed in line 3)\n"), "{err}");
    assert!(err.contains("then: scatter: index 9 out of bounds"), "{err}");
    let leaves = "let leave = operator(#{name: \"leave\", exec: |x| exit(x), effects: true}); \
                  let e = engine(); e.push(leave, 3);";
    assert_eq!(run(&["-e", leaves]), (3, String::new(), String::new()));
}

/// S28: of several engines too, where a line pushes to both.
#[test]
fn failures_of_several_engines_have_the_order_of_the_pushes() {
    let script = "let bad = operator(#{name: \"bad\", exec: |x| throw `no ${x}`, effects: true});\n\
                  let e = engine(); let f = engine();\n\
                  for i in 0..2 { e.push(bad, i);\n\
                  f.push(bad, 100 + i); }";
    let (code, _, err) = run(&["-e", script]);
    let places = ["no 0", "no 100", "no 1 ", "no 101"].map(|told| err.find(told));
    assert!(code == 1 && places.is_sorted() && places[0].is_some(), "{err}");
}

/// What fails at the end is told, and leaves the exit code that the script has said, unless it is that all went well.
#[test]
fn exit_with_another_code_wins_over_failures_at_the_end() {
    let write = "let y = FloatC([1, 2, 3]); scatter_add(y, FloatC(5), UInt32C([0, 7]));";
    let told =
        "error: at the end: scatter_add: index 7 out of bounds for size 3 (lane 1, line 1)\n";
    for (leave, code) in [("exit(0)", 1), ("exit()", 1), ("exit(7)", 7), ("()", 1)] {
        let (found, _, err) = run(&["-e", &format!("{write} {leave}")]);
        assert_eq!((found, err.as_str()), (code, told), "{leave}");
    }
}

/// What was launched is waited for, and its error is told where it is.
#[test]
fn exit_hides_no_failure_of_what_was_launched() {
    let launch = "let x = FloatC([1, 2, 3]); let y = gather(x, UInt32C([7])); eval(y);";
    for (leave, code) in [("exit(0)", 1), ("exit()", 1), ("exit(7)", 7), ("()", 1)] {
        let (found, _, err) = run(&["-e", &format!("{launch} {leave}")]);
        let told = "error: gather: index 7 out of bounds for size 3 (lane 0, line 1)\n";
        assert!(found == code && err.starts_with(told), "{leave}: {found} {err}");
    }
}

/// S28: errors are told in the order of the script.
#[test]
fn errors_at_the_end_have_the_order_of_the_script() {
    let script = "let bad = operator(#{name: \"bad\", exec: |x| throw `no ${x}`, effects: true}); let e = engine();\n\
                  e.push(bad, 1);\n\
                  let t = FloatC([1, 2]); scatter(t, FloatC(1), UInt32C(9));\n\
                  e.push(bad, 2);\n\
                  print(\"end\")";
    let (code, out, err) = run(&["-e", script]);
    assert_eq!((code, out.as_str()), (1, "end\n"), "{err}");
    let told = [
        "error: at the end: bad: no 1 (pushed in line 2)",
        "then: scatter: index 9 out of bounds",
        "then: bad: no 2 (pushed in line 4)",
    ];
    let places = told.map(|told| err.find(told).unwrap_or_else(|| panic!("{told}: {err}")));
    assert!(places.is_sorted(), "{err}");
}

/// S17: what nobody holds any more makes room, whether it was read, done or neither.
#[test]
fn what_nobody_holds_takes_no_memory() {
    let script = "let e = engine(); let big = FloatC::arange(1000000); eval(big); \
                  for k in 0..60 { let v = e.get(e.push(\"sqrt\", big + k)); v[3]; } \
                  for k in 0..60 { let h = e.push(\"sqrt\", big + k); e.flush(h); e.get(h)[3]; } \
                  for k in 0..60 { let y = big + k; y[3]; let h = e.push(\"sqrt\", y); } print(\"enough\")";
    let output = porcini(&["-e", script]).env("PORCINI_MEMORY_LIMIT", "60M").output().unwrap();
    assert_eq!(finished(&output), (0, "enough\n".into(), String::new()));
}
