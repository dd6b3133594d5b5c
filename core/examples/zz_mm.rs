//! bench
use porcini_core::tensor::Tensor;
use porcini_core::{Array, DType, Session};
use std::time::Duration;
fn cpu() -> Duration {
    let t = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = t.split(" ").collect();
    Duration::from_millis(10 * (f[13].parse::<u64>().unwrap() + f[14].parse::<u64>().unwrap()))
}
fn lanes(s: &Session, n: u64, k: u32) -> Array {
    let a = s.arange(DType::F32, 0.into(), porcini_core::Scalar::UInt(n), 1.into()).unwrap();
    let x = a.try_mul(0.001 * f64::from(k)).unwrap().sin().unwrap();
    s.eval(&[&x]).unwrap();
    x
}
fn time(s: &Session, reps: usize, f: impl Fn() -> Tensor) -> f64 {
    let one = || {
        let y = f();
        let parts: Vec<_> = y.parts().iter().collect();
        s.eval(&parts).unwrap();
        s.sync().unwrap();
    };
    one();
    let _ = reps;
    let start = std::time::Instant::now();
    let t = cpu();
    let mut n = 0;
    while start.elapsed().as_secs_f64() < 0.7 {
        one();
        n += 1;
    }
    (cpu() - t).as_secs_f64() * 1e6 / n as f64
}
fn main() {
    let s = Session::builder()
        .threads(std::env::args().nth(1).map_or(1, |n| n.parse().unwrap()))
        .build()
        .unwrap();
    for n in [256u64, 512, 1000, 1024, 2048] {
        let a = Tensor::new(&lanes(&s, n * n, 1), &[n, n]).unwrap();
        let b = Tensor::new(&lanes(&s, n * n, 7), &[n, n]).unwrap();
        let t = time(&s, (4_000_000_000 / (n * n * n)).max(4) as usize, || a.matmul(&b).unwrap());
        println!("matmul {n}: {t:.0} us {:.0} GF/s", 2.0 * (n as f64).powi(3) / t / 1e3);
    }
    for n in [4u64, 8, 16, 32] {
        let m = |k| {
            Tensor::complex(
                &lanes(&s, 10000 * n * n, k),
                &lanes(&s, 10000 * n * n, k + 1),
                &[10000, n, n],
            )
            .unwrap()
        };
        let (a, b) = (m(1), m(3));
        let t = time(&s, 20, || a.matmul(&b).unwrap());
        println!("10000 c64 {n}x{n}: {t:.0} us");
        let t =
            time(&s, 20, || a.matmul(&b.conjugate().unwrap().matrix_transpose().unwrap()).unwrap());
        println!("10000 c64 {n}x{n} A @ B.H: {t:.0} us");
    }
    let n = 4000u64;
    let a = Tensor::new(&lanes(&s, n * n, 1), &[n, n]).unwrap();
    let b = Tensor::new(&lanes(&s, n * n, 7), &[n, n]).unwrap();
    use porcini_core::ReduceOp;
    for axis in [0, 1] {
        let t = time(&s, 12, || a.reduce(ReduceOp::Sum, Some(&[axis]), false).unwrap());
        println!("sum axis {axis}: {t:.0} us, {:.1} GB/s", 64e6 / t / 1e3);
    }
    let t = time(&s, 6, || {
        Tensor::new(&a.matrix_transpose().unwrap().entries().unwrap()[0], &[n, n]).unwrap()
    });
    println!("transpose: {t:.0} us");
    let one = Tensor::new(&lanes(&s, n, 1), &[n]).unwrap();
    let _ = (&b, &one);
    let t = time(&s, 12, || Tensor::new(&a.parts()[0].try_add(1).unwrap(), &[n, n]).unwrap());
    println!("a + 1 (copy): {t:.0} us");
}
