//! Modified Bessel functions of the first kind, times e^(−|x|).

use super::super::expr::Expr;
use super::super::math;
use super::{Fit, negate_if};

/// `I0 x` in x², |x| < 7.75.
const I0_NEAR: Fit = Fit {
    single: &[
        0x3f80_0000,
        0x3e80_0001,
        0x3c7f_ffdd,
        0x39e3_8faa,
        0x36e3_7fed,
        0x3391_ef0e,
        0x2fff_3aa9,
        0x2c36_77fa,
        0x27e2_29f7,
        0x247d_f306,
    ],
    double: &[
        0x3ff0_0000_0000_0000,
        0x3fd0_0000_0000_0000,
        0x3f8f_ffff_ffff_fffa,
        0x3f3c_71c7_1c71_c7b3,
        0x3edc_71c7_1c71_b846,
        0x3e72_3456_789b_972c,
        0x3e00_2e85_c079_92b0,
        0x3d85_22a4_40f8_0552,
        0x3d05_22a4_23b6_479b,
        0x3c80_b314_8431_2d06,
        0x3bf5_5fff_edc9_a2fc,
        0x3b66_9deb_4330_693b,
        0x3ad4_0dc6_c396_6cde,
        0x3a3f_0968_1210_3ad2,
        0x39a1_655f_43a4_264a,
        0x3911_563b_f013_d3b8,
    ],
};

/// `√x e^(−x) I0 x` in 1/x, x ≥ 7.75.
const I0_FAR: Fit = Fit {
    single: &[
        0x3ecc_422a,
        0x3d4c_41b8,
        0x3ce6_33a3,
        0x3cdd_6217,
        0x3db6_36d9,
        0xbeab_c1d9,
        0x3ff4_f7ea,
    ],
    double: &[
        0x3fd9_8845_33d4_3651,
        0x3fa9_8845_33d4_033f,
        0x3f9c_b94d_dc9b_b07c,
        0x3f9d_ebab_d362_3077,
        0x3fa6_eba6_a7ad_b96d,
        0x3fb6_0126_500f_a817,
        0x3fea_3b60_62ae_4688,
        0xc04a_427b_f95b_775b,
        0x40ab_874b_fa42_b7c9,
        0xc105_8302_a2a1_1bd3,
        0x4159_f61a_4536_082a,
        0xc1a8_84af_a7ca_8838,
        0x41f2_4bf3_0c08_411d,
        0xc235_b3bd_7cd0_7f94,
        0x4274_8148_a0df_7515,
        0xc2ae_d5b0_1652_fad3,
        0x42e2_5db2_e45b_ff37,
        0xc311_2ea7_9596_7298,
        0x4338_e514_94ca_29d6,
        0xc35b_51fd_2814_f4ca,
        0x4375_ed19_0a70_2e63,
        0xc388_4233_ea8b_4fd5,
        0x4390_8699_cc64_b3a2,
        0xc384_e3e7_bab2_da62,
    ],
};

/// `I1 x / x` in x², |x| < 7.75.
const I1_NEAR: Fit = Fit {
    single: &[
        0x3f00_0000,
        0x3d80_0000,
        0x3b2a_aaa0,
        0x3863_8f02,
        0x3536_0459,
        0x31c2_736e,
        0x2e12_63c2,
        0x2a33_cf14,
        0x25d6_d0fa,
        0x2243_d42d,
    ],
    double: &[
        0x3fe0_0000_0000_0000,
        0x3faf_ffff_ffff_fffd,
        0x3f65_5555_5555_55a6,
        0x3f0c_71c7_1c71_ba89,
        0x3ea6_c16c_16c2_6c74,
        0x3e38_45c8_a0b6_5c04,
        0x3dc2_7e4f_b8e6_82fc,
        0x3d45_22a4_2208_8dcc,
        0x3cc2_c977_30a6_ecea,
        0x3c3a_b7fd_a40e_fed9,
        0x3baf_1942_7952_e20c,
        0x3b1e_1394_1d98_eb8f,
        0x3a89_3dd1_bbcf_2a78,
        0x39ee_48ff_a002_21dd,
        0x3960_5dcc_7ef2_fec2,
    ],
};

/// `√x e^(−x) I1 x` in 1/x, x ≥ 7.75.
const I1_FAR: Fit = Fit {
    single: &[
        0x3ecc_422a,
        0xbe19_317e,
        0xbd3f_bad7,
        0xbd1d_3c48,
        0xbddd_29af,
        0x3ebe_fd10,
        0xc00b_625c,
    ],
    double: &[
        0x3fd9_8845_33d4_3650,
        0xbfc3_2633_e6df_1b11,
        0xbfa7_efc0_e1d1_44bc,
        0xbfa4_f1c5_f686_83bf,
        0xbfad_7767_7cfe_381d,
        0xbfbb_16e7_9a53_9bba,
        0xbfec_9c5a_0f98_482d,
        0x404b_9c9f_1cd8_d1dc,
        0xc0ac_e9b4_2213_1fba,
        0x4106_89c8_7b2e_31c2,
        0xc15b_22ea_1141_a934,
        0x41a9_9193_f774_374d,
        0xc1f3_095f_1b62_da6b,
        0x4236_871f_a9fd_2d8c,
        0xc275_3c65_c844_4719,
        0x42af_dbe8_e6b3_8527,
        0xc2e2_ee4c_4a9a_3324,
        0x4311_aadf_3a17_1a1c,
        0xc339_88a4_3f02_81f9,
        0x435b_f2fc_0b25_1a50,
        0xc376_5f03_cc4c_b7aa,
        0x4388_aec2_ce85_f937,
        0xc390_c435_a129_84cb,
        0x4385_2187_dda7_4c7e,
    ],
};

/// `x √x e^(−x) (I0 x − I1 x)` in 1/x, x ≥ 7.75.
const BESSEL_GAP: Fit = Fit {
    single: &[
        0x3e4c_422a,
        0x3d99_3046,
        0x3d90_489d,
        0x3db2_96bd,
        0x3f05_e5b7,
        0xc031_b50b,
        0x4171_30cb,
    ],
    double: &[
        0x3fc9_8845_33d4_3636,
        0x3fb3_2633_e6e5_7891,
        0x3fb1_f3d0_8893_ba84,
        0x3fba_2e7a_cecc_fc91,
        0x3fc9_a3ae_9759_e1b7,
        0x3fe5_6b7a_57e5_74c2,
        0xc031_6196_cb59_d17b,
        0x4096_f5c1_dd60_1dbe,
        0xc0f4_46d8_e1d9_f678,
        0x414a_fd51_565d_7b3c,
        0xc19b_73fc_1caa_88be,
        0x41e5_9b52_ec0e_de1b,
        0xc22a_8011_27e8_5079,
        0x4269_6352_9578_d062,
        0xc2a2_f63f_0d7a_3b5c,
        0x42d5_ef12_21ba_4566,
        0xc303_6692_5dbc_209b,
        0x4329_b3c0_a93b_af65,
        0xc348_a644_3e41_9729,
        0x4360_25fb_47fc_c6ce,
        0xc369_da16_b085_3da8,
        0x4363_1216_3b06_aa0e,
    ],
};

/// `e^(−|x|) I0(x)`: i0e(0) = 1, i0e(±∞) = 0.
pub(in super::super) fn i0e(x: Expr<'_>) -> Expr<'_> {
    scaled(x.abs(), x.constant(1), &I0_NEAR, &I0_FAR)
}

/// `e^(−|x|) I1(x)`, odd: i1e(±0) = ±0, i1e(±∞) = ±0.
pub(in super::super) fn i1e(x: Expr<'_>) -> Expr<'_> {
    let size = x.abs();
    let y = scaled(size, size, &I1_NEAR, &I1_FAR);
    x.eq(x.constant(0)).select(x, negate_if(x.lt(x.constant(0)), y))
}

/// `I0(x)`: i0(0) = 1, i0(±∞) = ∞.
pub(in super::super) fn i0(x: Expr<'_>) -> Expr<'_> {
    unscaled(x.abs(), x.constant(1), &I0_NEAR, &I0_FAR)
}

/// `I1(x)`, odd: i1(±0) = ±0, i1(±∞) = ±∞.
pub(in super::super) fn i1(x: Expr<'_>) -> Expr<'_> {
    let size = x.abs();
    let y = unscaled(size, size, &I1_NEAR, &I1_FAR);
    x.eq(x.constant(0)).select(x, negate_if(x.lt(x.constant(0)), y))
}

/// The function without its exponential factor, which is that of x / 2 twice: it overflows before the product does.
fn unscaled<'r>(x: Expr<'r>, factor: Expr<'r>, near: &Fit, far: &Fit) -> Expr<'r> {
    let root = math::exp(x * x.constant(0.5));
    let far = far.at(x.constant(1) / x) * root / x.sqrt() * root;
    let y = x.lt(x.constant(7.75)).select(near.at(x * x) * factor, far);
    // Of ∞ the quotient has no number.
    x.eq(x.constant(f64::INFINITY)).select(x, y)
}

/// The derivative of `I1(x)`, without a quotient where x may be next to nothing.
pub(in super::super) fn i1_slope(x: Expr<'_>) -> Expr<'_> {
    let first = x.call("i0", &[]);
    let near = first - I1_NEAR.at(x * x);
    // Beyond, all is infinite.
    let most = x.constant(1e4);
    let bounded = x.maximum(-most).minimum(most);
    let ratio = bounded.call("i1e", &[]) / (bounded.call("i0e", &[]) * bounded);
    is_near(x).select(near, first * (x.constant(1) - ratio))
}

/// The function of x ≥ 0, `factor` times the near fit.
fn scaled<'r>(x: Expr<'r>, factor: Expr<'r>, near: &Fit, far: &Fit) -> Expr<'r> {
    let near = math::exp(-x) * near.at(x * x) * factor;
    let far = far.at(x.constant(1) / x) / x.sqrt();
    x.lt(x.constant(7.75)).select(near, far)
}

/// The derivative of `e^(−|x|) I0(x)`, which is 0 at 0, where that of `|x|` is.
pub(in super::super) fn i0e_slope<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    let near = x.call("i1e", &[]) - times_sign(y, x);
    is_near(x).select(near, -times_sign(gap(x), x))
}

/// The derivative of `e^(−|x|) I1(x)`.
pub(in super::super) fn i1e_slope<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    // The value over x, without a quotient where x may be next to nothing.
    let ratio = (-x.abs()).call("exp", &[]) * I1_NEAR.at(x * x);
    let near = x.call("i0e", &[]) - ratio - times_sign(y, x);
    is_near(x).select(near, gap(x) - y / x)
}

/// `e^(−|x|) (I0 |x| − I1 |x|)` for large x, where both are nearly the same.
fn gap(x: Expr<'_>) -> Expr<'_> {
    let size = x.abs();
    BESSEL_GAP.at(x.constant(1) / size) / size / size.sqrt()
}

fn is_near(x: Expr<'_>) -> Expr<'_> {
    x.abs().lt(x.constant(7.75))
}

/// The value with its sign flipped where x is negative; 0 where x is.
fn times_sign<'r>(value: Expr<'r>, x: Expr<'r>) -> Expr<'r> {
    let zero = x.constant(0);
    x.eq(zero).select(zero, value.call("mulsign", &[x]))
}
