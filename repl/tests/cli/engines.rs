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
        (1, "end\n", "error: at the end: say: too large\n")
    );
    assert_eq!(
        run_with_input(&[], format!("{push} let h = e.push(say, 1); 3").as_bytes()).1,
        "3\n1\n"
    );
}
