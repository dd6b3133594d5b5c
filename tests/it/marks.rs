//! Marks: `backward(y)` and `forward(x)` give every function of the tables the derivatives that `grad(f)` and `jvp(f, x, t)`
//! say, wherever the function is called: by itself, in a checkpoint, in a loop of which nobody knows how many turns it
//! takes, in a branch. There cotangents go on where nothing is tracked.

use std::rc::Rc;

use porcini_script::{Interpreter, on_engine_thread};
use porcini_tests::golden;
use porcini_tests::host::TestHost;

use crate::names::names;

/// What functions are differentiated by.
const ARRAYS: [&str; 1] = ["FloatC([0.3, 0.6])"];
const VECTORS: [&str; 4] = [
    "Vector2fC(FloatC([0.3, 0.6]), FloatC([0.5, 0.2]))",
    "Vector3fC(FloatC([0.3, 0.6]), FloatC([0.5, 0.2]), FloatC([0.7, 0.9]))",
    "Complex2fC(FloatC([0.3, 0.6]), FloatC([0.5, 0.2]))",
    "Quaternion4fC(FloatC([0.3, 0.6]), FloatC([0.5, 0.2]), FloatC([0.1, 0.4]), FloatC([0.7, 0.9]))",
];
const MATRICES: [&str; 2] = [
    "Matrix2fC(FloatC([2, 3]), FloatC([0.5, 0.2]), FloatC([0.5, 0.4]), FloatC([1.7, 1.9]))",
    "TensorXfC([[2, 0.5], [0.5, 1.25]])",
];

/// `compare`, which calls a function in each of `calls` and `ways`, and says what it has by `grad` and by marks. What does not
/// fit a function is an error, and passed over.
const COMPARE: &str = "
let calls = [
    |g, x, a, b| g.call(x), |g, x, a, b| g.call(x, 0.4), |g, x, a, b| g.call(0.4, x), |g, x, a, b| g.call(x, 1),
    |g, x, a, b| g.call(x, a), |g, x, a, b| g.call(a, x), |g, x, a, b| g.call(x, UInt32C([1, 0])),
    |g, x, a, b| g.call(x, 0.2, 0.9), |g, x, a, b| g.call(0.2, x, 0.9), |g, x, a, b| g.call(x, a, b),
    |g, x, a, b| g.call(a, x, b), |g, x, a, b| g.call(a, b, x), |g, x, a, b| g.call(x, a, 0.4),
    |g, x, a, b| g.call(a, x, 0.4), |g, x, a, b| g.call(a, b, x, 0.4),
];
let once = UInt32C([1, 1]);
let ways = #{
    plain: |f| f,
    checkpoint: |f| checkpoint(f),
    state: |f| |x| while_loop([x, UInt32C(0), once], |p, i, n| i < n, |p, i, n| [f.call(p), i + 1, n])[0],
    sum: |f| |x| while_loop([x, no_grad(|| f.call(x) * 0), UInt32C(0), once], |p, s, i, n| i < n,
        |p, s, i, n| [p, s + f.call(p), i + 1, n])[1],
    branch: |f| |x| if_then(once > 0, [no_grad(|| f.call(x) * 0)], |s| [s + f.call(x)])[0],
};
let or_nothing = |f| { let y = (); try { y = f.call(); } catch (e) { y = (); } y };
let or_error = |f| { let y = (); try { y = f.call(); } catch (e) { y = `${e}`; } y };
let backwards = |f, start| { let x = start.call(); enable_grad(x); backward(f.call(x)); `${gradient(x)}` };
let forwards = |f, start| { let x = start.call(); enable_grad(x); let y = f.call(x); forward(x); `${gradient(y)}` };
let compare = |name, start| {
    let g = Fn(name);
    let text = \"\";
    let a = start.call() * 0.7 + 0.1;
    let b = start.call() * 0.3 + 0.2;
    for number in 0..calls.len() {
        let given = calls[number];
        let f = |x| { let y = given.call(g, x, a, b); if type_of(y) == \"array\" { y[0] } else { y } };
        if or_nothing.call(|| `${grad(f, start.call())}`) == () { continue; }
        for way in ways.keys() {
            let h = ways[way].call(f);
            let want = or_nothing.call(|| `${grad(h, start.call())}`);
            if want != () { text += `${number} ${way}|${want}|${or_error.call(|| backwards.call(h, start))}@`; }
            let moved = or_nothing.call(|| `${jvp(h, start.call(), 1)[1]}`);
            if moved != () { text += `${number} ${way} forwards|${moved}|${or_error.call(|| forwards.call(h, start))}@`; }
        }
    }
    text
};";

/// The numbers in a text, with the signs of parts of complex ones.
fn numbers(text: &str) -> Vec<f64> {
    let mut sign = 1.0;
    let mut numbers = Vec::new();
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
    for word in words.filter(|word| !word.is_empty()) {
        match word.trim_end_matches(['i', 'j', 'k']).parse::<f64>() {
            Ok(number) => numbers.push(sign * number),
            Err(_) if word == "-" => {
                sign = -1.0;
                continue;
            }
            Err(_) => {}
        }
        sign = 1.0;
    }
    numbers
}

/// Whether marks give what is wanted; where that is no number, or 0 all over, they may say something else.
fn agree(want: &str, got: &str) -> bool {
    let (want, got) = (numbers(want), numbers(got));
    if want.iter().all(|&x| x == 0.0 || !x.is_finite()) {
        return true;
    }
    let is_near =
        |(&a, &b): (&f64, &f64)| !a.is_finite() || (a - b).abs() <= 1e-4 * (1.0 + a.abs());
    want.len() == got.len() && want.iter().zip(&got).all(is_near)
}

/// How many comparisons were made of a function; those that do not agree are added to `wrong`.
fn compared(
    interpreter: &mut Interpreter,
    name: &str,
    start: &str,
    wrong: &mut Vec<String>,
) -> usize {
    let code = format!("compare.call(\"{name}\", || {start})");
    // A function that is a word of the language, or takes none of the arguments.
    let Ok(outcome) = interpreter.execute(&code, "marks") else { return 0 };
    let text = outcome.text.unwrap_or_default();
    let mut n = 0;
    for row in text.split('@') {
        let [way, want, got] = row.splitn(3, '|').collect::<Vec<_>>()[..] else { continue };
        n += 1;
        if !agree(want, got) {
            wrong.push(format!("{name} of {start}, {way}: {got}, not {want}"));
        }
    }
    n
}

fn check(starts: &[&str], least: usize) {
    on_engine_thread(|| {
        let mut interpreter =
            golden::interpreter(Rc::new(TestHost::default()), golden::BASELINE, 0);
        assert!(interpreter.execute(COMPARE, "marks").is_ok());
        let (mut n, mut wrong) = (0, Vec::new());
        let is_word = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        for name in names().into_iter().filter(is_word) {
            for start in starts {
                n += compared(&mut interpreter, name, start, &mut wrong);
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(n >= least, "only {n} derivatives were compared");
    });
}

#[test]
fn of_arrays() {
    check(&ARRAYS, 1000);
}

#[test]
fn of_vectors_and_numbers_of_several_parts() {
    check(&VECTORS, 1000);
}

#[test]
fn of_matrices_and_tensors() {
    check(&MATRICES, 1000);
}
