//! What the examples compute.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "its main is not called")]
#[path = "../examples/mandelbrot.rs"]
mod mandelbrot;
#[expect(dead_code, reason = "its main is not called")]
#[path = "../examples/matrix.rs"]
mod matrix;
#[expect(dead_code, reason = "its main is not called")]
#[path = "../examples/sphere.rs"]
mod sphere;

#[test]
fn sphere_fills_half_of_the_cube() {
    assert_eq!(sphere::part().unwrap(), 0.524141);
}

#[test]
fn matrices_times_their_inverses_are_the_identity() {
    assert!(matrix::rest().unwrap() < 1e-12);
}

#[test]
fn points_stay_in_the_mandelbrot_set() {
    let points = mandelbrot::points().unwrap().to_f64();
    assert!((14_500.0..16_500.0).contains(&points), "{points}");
}
