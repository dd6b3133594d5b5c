//! What is told of a script that runs.

use super::run;

/// What changes a text or list itself gives nothing, and who keeps that is told; what looks for an item is another thing.
#[test]
fn methods_that_give_nothing_are_told() {
    let told = |text: &str| run(&["-e", text]).2;
    let advice = |call: &str, name: &str| {
        format!(
            "note: {call}(..) changes {name} itself and gives nothing: write it alone, then use {name}\n --> <eval>:1\n"
        )
    };
    assert_eq!(told("t = \" a \"; u = t.trim();"), advice("t.trim", "t"));
    assert_eq!(told("let l = [2, 1]; let m = l.push(3);"), advice("l.push", "l"));
    for text in ["l = [1]; f = l.find(|v| v > 10);", "l = []; p = l.pop();", "t = \"a\"; t.trim();"]
    {
        assert_eq!(told(text), "", "{text}");
    }
    // Of what fails, too.
    assert!(told("t = \"a\"; u = t.trim(); nosuch").starts_with(&advice("t.trim", "t")));
}

/// `t.max(0)` goes along no axis, wherever it stands; `max(t, 0)` is meant so.
#[test]
fn extremes_along_no_axis_are_told() {
    let told = |text: &str| run(&["-e", &format!("a = TensorXfC([[1, 2], [3, 4]])\n{text}")]).2;
    let advice = |method: &str, object: &str, n: i64, line: u32| {
        let larger = if method == "max" { "larger" } else { "smaller" };
        format!(
            "note: {object}.{method}({n}) is the {larger} of each entry and {n}, as {method}({object}, {n}) is; along axis \
             {n} it is h{method}({object}, {n})\n --> <eval>:{line}\n"
        )
    };
    assert_eq!(told("b = a.max(0)"), advice("max", "a", 0, 2));
    assert_eq!(told("b = a.min(-1)"), advice("min", "a", -1, 2));
    // What is no variable has no name.
    let unnamed = "note: .max(1) is the larger of each entry and 1; along axis 1 it is .hmax(1)\n --> <eval>:2\n";
    assert_eq!(told("b = (a + 1).max(1)"), unnamed);
    assert_eq!(told("b = a.T.max(1)"), unnamed);
    assert_eq!(told("fn f(x) { x.max(0) }\nb = f(a)"), advice("max", "x", 0, 2));
    for text in [
        "b = max(a, 0)",
        "b = a.max(2)",
        "b = a.max(0.0)",
        "b = a[0].max(0)",
        "b = FloatC([1, 2]).max(0)",
    ] {
        assert_eq!(told(text), "", "{text}");
    }
}
