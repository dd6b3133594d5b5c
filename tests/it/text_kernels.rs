//! Kernels written as text: every combination of types, the kernels of the same operations, the order of reductions, and
//! texts that are no kernels.

use porcini_core::text_kernel::{Over, Parts, TextKernel, TextReduction};
use porcini_core::value::Argument;
use porcini_core::{Array, DType, Operand, ReduceOp, Scalar, Session};
use porcini_tests::random::Random;

fn lanes(session: &Session, dtype: DType, seed: u64, n: usize) -> Array {
    let mut random = Random::new(seed);
    let bytes: Vec<u8> =
        (0..n * dtype.bytes()).map(|_| random.below(256).to_le_bytes()[0]).collect();
    session.from_bytes(dtype, &bytes).unwrap()
}

fn call(kernel: &TextKernel, session: &Session, args: &[&Array]) -> Array {
    let args: Vec<Argument<'_>> = args.iter().map(|array| Argument::from(*array)).collect();
    let called = kernel.call(session, &args.iter().collect::<Vec<_>>()).unwrap();
    called.value().unwrap().array().unwrap().clone()
}

/// The bits, but for those of NaNs.
fn bits(array: &Array) -> Vec<String> {
    array.read(0..array.size()).unwrap().iter().map(|lane| format!("{lane:?}")).collect()
}

#[test]
fn every_pair_of_types_is_what_is_recorded() {
    let session = Session::new().unwrap();
    let larger = session.kernel("T larger(T x, T y) { return x < y ? y : x; }").unwrap();
    let sum = session.kernel("T sum(T x, U y) { T z = y; z += x; return z; }").unwrap();
    for (i, a) in DType::ALL.into_iter().enumerate() {
        for (j, b) in DType::ALL.into_iter().enumerate() {
            let (x, y) = (lanes(&session, a, i as u64, 67), lanes(&session, b, 100 + j as u64, 67));
            // A truth value joins numbers as 0 and 1.
            let common = a.promote(b).unwrap_or(if a == DType::Mask { b } else { a });
            let convert =
                |x: &Array| if common == DType::Mask { x.clone() } else { x.cast(common).unwrap() };
            let (wide_x, wide_y) = (convert(&x), convert(&y));
            if common != DType::Mask {
                let want = wide_x.lt(&wide_y).unwrap().select(&wide_y, &wide_x).unwrap();
                assert_eq!(bits(&call(&larger, &session, &[&x, &y])), bits(&want), "{a}, {b}");
            }
            if a != DType::Mask {
                let want = y.cast(a).unwrap().try_add(&x).unwrap();
                assert_eq!(bits(&call(&sum, &session, &[&x, &y])), bits(&want), "{a} += {b}");
            }
        }
    }
}

#[test]
fn texts_are_the_kernels_of_the_same_operations() {
    let session = Session::new().unwrap();
    let (x, y) = (lanes(&session, DType::F32, 1, 50), lanes(&session, DType::F32, 2, 50));
    let hash_of = |array: &Array| {
        array.eval().unwrap();
        session.history().last().unwrap().hash
    };
    let text = |text: &str| call(&session.kernel(text).unwrap(), &session, &[&x, &y]);
    let distance = x.try_sub(&y).unwrap();
    let squared = hash_of(&distance.try_mul(&distance).unwrap());
    assert_eq!(hash_of(&text("T f(T x, T y) { return (x - y) * (x - y); }")), squared);
    let is_less = x.lt(&y).unwrap();
    let chosen = hash_of(&is_less.select(&x, &y).unwrap());
    assert_eq!(hash_of(&text("T f(T x, T y) { return x < y ? x : y; }")), chosen);
    assert_eq!(hash_of(&text("T f(T x, T y) { if (x < y) return x; return y; }")), chosen);
    // One launch with what is around.
    let before = session.history().len();
    let around = text("T f(T x, T y) { return x * y; }").try_mul(2).unwrap().try_add(1).unwrap();
    around.eval().unwrap();
    assert_eq!(session.history().len(), before + 1);
}

fn parts(map: &[(&str, &str)], reduce: &[&str]) -> Parts {
    let map = map.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
    let reduce = reduce.iter().map(|text| (*text).into()).collect();
    Parts { map, reduce, ..Parts::default() }
}

#[test]
fn reductions_have_the_order_of_sums() {
    let session = Session::new().unwrap();
    // Not known as a sum.
    let own = session.reduction("T own(T x)", &parts(&[("", "x")], &["a + b + 0 * a"])).unwrap();
    let known = session.reduction("T known(T x)", &parts(&[("", "x")], &["a + b"])).unwrap();
    for n in [1, 2, 31, 32, 33, 4095, 4096, 4097, 8200, 70_003, 140_000] {
        let x =
            session.arange(DType::F32, 0.into(), Scalar::Int(n), 1.into()).unwrap().sin().unwrap();
        let want = bits(&x.reduce(ReduceOp::Sum).unwrap());
        for reduction in [&own, &known] {
            let sum = reduction.call(&session, &[&Argument::from(&x)], &Over::default()).unwrap();
            assert_eq!(bits(sum[0].array().unwrap()), want, "{n}");
        }
    }
}

fn numbers(n: usize) -> impl Iterator<Item = u32> {
    (0_u32..).map(|i| i.wrapping_mul(2_654_435_761)).take(n)
}

#[test]
fn segments_are_folded_each_by_itself() {
    let session = Session::new().unwrap();
    let parts = Parts { identity: vec!["5u".into()], ..parts(&[("", "x")], &["a ^ b ^ 5u"]) };
    let fold = session.reduction("uint32 fold(uint32 x)", &parts).unwrap();
    for n in [0_usize, 1, 33, 4097, 20_011] {
        let x: Vec<u32> = numbers(n).collect();
        let folded = |x: &[u32]| x.iter().copied().reduce(|a, b| a ^ b ^ 5).unwrap_or(5);
        let array = session.array(&x).unwrap();
        let argument = Argument::from(&array);
        let result = |over: &Over<'_>| {
            let results = fold.call(&session, &[&argument], over).unwrap();
            results[0].array().unwrap().to_vec::<u32>().unwrap()
        };
        assert_eq!(result(&Over::default()), [folded(&x)], "{n}");
        let cuts = [0, n / 3, n / 3, n];
        let offsets = session.array(&cuts.map(|cut| u32::try_from(cut).unwrap())).unwrap();
        let over = Over { offsets: Some(&offsets), ..Over::default() };
        let want: Vec<u32> = cuts.windows(2).map(|pair| folded(&x[pair[0]..pair[1]])).collect();
        assert_eq!(result(&over), want, "{n}");
    }
}

/// Scans take lanes in their order: maps p x + q, one after the other.
#[test]
fn scans_need_not_commute() {
    let session = Session::new().unwrap();
    let map = [("p", "x"), ("q", "x ^ 5u")];
    let parts = Parts {
        post: vec![(String::new(), "a.q".into())],
        ..parts(&map, &["a.p * b.p", "a.q * b.p + b.q"])
    };
    let scan = TextReduction::new("uint32 scan(uint32 x)", &parts, true, &()).unwrap();
    for n in [1_usize, 7, 8, 9, 64, 65, 5003] {
        let x: Vec<u32> = numbers(n).map(|x| x | 1).collect();
        let mut state: Option<(u32, u32)> = None;
        let want: Vec<u32> = x
            .iter()
            .map(|&x| {
                let (p, q) = state.unwrap_or((1, 0));
                let next = (p.wrapping_mul(x), q.wrapping_mul(x).wrapping_add(x ^ 5));
                state = Some(next);
                next.1
            })
            .collect();
        let array = session.array(&x).unwrap();
        let results = scan.call(&session, &[&Argument::from(&array)], &Over::default()).unwrap();
        assert_eq!(results[0].array().unwrap().to_vec::<u32>().unwrap(), want, "{n}");
    }
}

const TEXTS: [&str; 6] = [
    "T f(T x, T y = 2) { T s = 0; for (int k = 0; k < 3; k++) { if (x > k) continue; s += x * y; } return s; }",
    "int g(int x) { int c = 0; while (x > 0 && c < 40) { x = x >> 1; c++; if (c == 30) break; } return c; }",
    "void h(T x, out T s, out T c) { s = sin(x) + acc_t(T)(1); c = x > 0 ? x : -x; }",
    "T m(raw T x) { return i > 0 ? x[i - 1] : x[min(i, n - 1)]; }",
    "float w(float x, int k) { switch (k) { case 0: return x; case 1: case 2: x += 1; break; default: x = 0; } return x; }",
    "T twice(T x) { return x + x; } T q(T x) { do { x = twice(x); } while (x < 9 && x > 0); return x; }",
];
const PIECES: [&str; 24] = [
    "(", ")", "{", "}", "[", "]", ";", ",", "x", "T", "int", "return", "if", "else", "for",
    "while", "0", "1.5f", "+", "*", "=", "break;", "&&", "/* ",
];

#[test]
fn no_text_ends_the_process() {
    let session = Session::new().unwrap();
    let n_texts = 50_000;
    let mut random = Random::new(21);
    let x = lanes(&session, DType::F32, 3, 5);
    let y = session.array(&[1, 2, 3, 4, 5]).unwrap();
    let mut n_read = 0;
    for _ in 0..n_texts {
        let mut text = TEXTS[random.below(TEXTS.len())].to_string();
        for _ in 0..1 + random.below(3) {
            let at = random.below(text.len());
            let end = (at + random.below(6)).min(text.len());
            match random.below(3) {
                0 => text.replace_range(at..end, ""),
                1 => text.insert_str(at, PIECES[random.below(PIECES.len())]),
                _ => text.replace_range(at..end, PIECES[random.below(PIECES.len())]),
            }
        }
        let Ok(kernel) = session.kernel(&text) else { continue };
        n_read += 1;
        for (a, b) in [(&x, &y), (&y, &x)] {
            let args = [Argument::from(a), Argument::from(b)];
            let one = [&args[0]];
            for args in [&[&args[0], &args[1]][..], &one] {
                // Recorded, not run: some never end.
                drop(kernel.call(&session, args));
            }
        }
    }
    assert!(n_read > n_texts / 50, "{n_read} of {n_texts} were kernels");
    assert_eq!(bits(&x.try_mul(Operand::from(1)).unwrap()), bits(&x));
}

#[test]
fn long_texts_end() {
    let session = Session::new().unwrap();
    let deep = |open: &str, close: &str| {
        format!("T f(T x) {{ return {}x{}; }}", open.repeat(100_000), close.repeat(100_000))
    };
    for text in [
        deep("(", ")"),
        deep("-", ""),
        deep("", " + x"),
        format!("T f(T x) {{ {} }}", "{".repeat(100_000)),
        format!("T {}(T x) {{ return x; }}", "f".repeat(1_000_000)),
        "(".repeat(1_000_000),
    ] {
        drop(session.kernel(&text));
    }
    let many = format!("T f(T x) {{ {} return x; }}", "x += 1; ".repeat(20_000));
    let kernel = session.kernel(&many).unwrap();
    let ones = session.full(DType::I32, 1, 3).unwrap();
    assert_eq!(call(&kernel, &session, &[&ones]).to_vec::<i32>().unwrap(), [20_001; 3]);
    // Constants that every function knows, and functions that write by those before them.
    let mut many: String = (0..2000).map(|k| format!("const int c{k} = {k};\n")).collect();
    many += "void g0(out raw int v) { v[0] = c1999; }\n";
    many.extend((1..2000).map(|k| format!("void g{k}(out raw int v) {{ g{}(v); }}\n", k - 1)));
    many += "T f(T x) { return x + c1000; }";
    let kernel = session.kernel(&many).unwrap();
    assert_eq!(call(&kernel, &session, &[&ones]).to_vec::<i32>().unwrap(), [1001; 3]);
}
