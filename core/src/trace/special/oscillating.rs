//! Bessel functions of the first and second kind, in f64 for f32 too.

use std::f64::consts::{FRAC_1_PI, FRAC_2_PI};

use super::super::expr::Expr;
use super::super::math;
use super::{horner, negate_if};
use crate::dtype::DType;

/// What one of the functions is made of.
struct Order {
    /// For |x| < 8, over the differences of x² and the squares of the zeros, and of order 1 over x: in x² / 32 − 1.
    near: &'static [u64],
    /// The first three zeros, in two parts each.
    zeros: [[u64; 2]; 3],
    /// What the one of the second kind has there beside `2/π log x` times that of the first, and `−2/π / x`.
    rest: &'static [u64],
    /// P and x Q of `√(2 / (πx)) (P cos c − Q sin c)`, c = x − π/4 − n π/2, in 1/x² (DLMF 10.17.3).
    p: &'static [u64],
    q: &'static [u64],
}

/// Order 0.
const J0: Order = Order {
    near: &[
        0xbefb_f547_6c0e_d835,
        0x3efe_f7b1_6178_a92e,
        0xbeee_3fa7_b13a_c12c,
        0x3ed1_9a1b_2886_dd7a,
        0xbeab_c248_dfa4_3242,
        0x3e7f_eca5_d1cd_5dd5,
        0xbe4c_1a74_53a9_f5df,
        0x3e13_9ad2_e55c_7206,
        0xbdd6_4040_c4a5_f7e6,
        0x3d94_f8dc_55b7_4c12,
        0xbd50_b0ef_7a89_41f1,
        0x3d06_bf88_4a1c_a00a,
        0xbcba_ef52_d734_fb63,
        0x3c6b_5f80_f6bb_9da4,
    ],
    zeros: [
        [0x4003_3d15_2e97_1b40, 0xbca0_f539_d7da_258e],
        [0x4016_148f_5b2c_2e45, 0x3c97_5054_cd60_a517],
        [0x4021_4eb5_6ccc_deca, 0xbcb5_1970_714c_7c25],
    ],
    rest: &[
        0xbfd8_76cb_72f1_c7eb,
        0xbfea_828b_fbfd_c936,
        0x3ffa_5a81_d661_f788,
        0x3fc2_72bb_3b60_8b4c,
        0xbff1_3da2_b14a_486d,
        0x3fe5_8279_8113_5a02,
        0xbfcc_06cc_647f_6ad1,
        0x3fa7_bd6b_f2ce_a103,
        0xbf7c_c706_0123_4f89,
        0x3f4a_6a8c_6c8b_9095,
        0xbf13_1537_c5d4_e105,
        0x3ed6_51b8_f9c1_a933,
        0xbe95_995a_ab3a_565c,
        0x3e51_997d_7a8a_c711,
        0xbe08_8014_3706_f02c,
        0x3dbd_9b11_eff6_8f9e,
        0xbd6f_0c50_2e32_c4be,
    ],
    p: &[
        0x3ff0_0000_0000_0000,
        0xbfb1_ffff_ffff_fba9,
        0x3fbc_b5ff_ffb3_eaaf,
        0xbfe2_51ee_3df3_bcc4,
        0x4018_4bb3_6ef1_5f95,
        0xc05b_7ce1_c5f3_e5da,
        0x40a7_8a26_970a_ffa9,
        0xc0fb_5f31_1717_dec7,
        0x4152_b68e_bd4c_7426,
        0xc1a9_6233_bfa6_81f9,
        0x41fd_3db7_6009_b998,
        0xc248_fe5a_67e0_d509,
        0x428b_27c6_c4aa_e20a,
        0xc2bb_a312_b687_f138,
    ],
    q: &[
        0xbfc0_0000_0000_0000,
        0x3fb2_bfff_ffff_f64e,
        0xbfcd_11df_ff9d_fff1,
        0x3ffb_a4c5_35bb_9fc0,
        0xc038_6150_5624_0700,
        0x4081_3892_cc64_5d92,
        0xc0d1_b715_6f17_e40a,
        0x4128_486e_2772_8238,
        0xc183_aba0_b70e_893f,
        0x41e0_40e9_e1fb_c387,
        0xc237_e2c1_1c14_52a5,
        0x428b_eada_f7b7_bb85,
        0xc2d7_6795_e7a2_a5ea,
        0x4318_8c53_eb88_ab6e,
        0xc347_f581_4975_bc72,
    ],
};

/// Order 1.
const J1: Order = Order {
    near: &[
        0xbec6_e07f_c146_ce70,
        0x3ec5_68e3_cbb4_ee84,
        0xbeb2_0d17_aa0a_1734,
        0x3e92_718c_1880_3a3d,
        0xbe69_e31e_a49a_5d83,
        0x3e3a_cc09_23dd_3408,
        0xbe05_6eb3_95df_7f93,
        0x3dcb_6231_f9ab_0726,
        0xbd8c_a799_3512_fe24,
        0x3d49_0bc3_80f3_cd02,
        0xbd02_945c_c954_376e,
        0x3cb7_b4f6_c0f8_8d35,
        0xbc6a_6064_6e64_43ee,
        0x3c19_5dac_cfd1_5d7e,
    ],
    zeros: [
        [0x400e_a755_75af_6f09, 0xbca6_0155_a9d1_b256],
        [0x401c_0ff5_f3b4_7250, 0xbc9b_226d_9d24_3827],
        [0x4024_58d0_d0bd_fc29, 0x3cc0_2610_a515_62b6],
    ],
    rest: &[
        0x3fb2_1d51_6f81_acf6,
        0xbfcf_26fd_dcea_fd0e,
        0x3f97_edab_3150_7d03,
        0x3fce_16d7_a1d0_7b70,
        0xbfc9_2395_2d7c_42a6,
        0x3fb4_1bb6_917b_15d1,
        0xbf94_198f_92a3_1f2a,
        0x3f6c_097b_b98f_e324,
        0xbf3d_1604_f9cc_aea9,
        0x3f07_6c16_4b7f_3364,
        0xbece_3516_9de2_d16e,
        0x3e8f_f34f_d2f8_1297,
        0xbe4c_3f1d_944d_97f6,
        0x3e05_32ea_28bf_b968,
        0xbdbb_5d35_ca32_d343,
        0x3d6e_d263_ef1f_0abc,
        0xbd1e_58c7_83c9_d28e,
    ],
    p: &[
        0x3ff0_0000_0000_0000,
        0x3fbd_ffff_ffff_fb6d,
        0xbfc2_74ff_ffd7_e5d0,
        0x3fe5_a6a5_3a61_6b79,
        0xc01b_8900_f56d_f997,
        0x405e_61d2_e23d_bae7,
        0xc0a9_97d8_d264_f602,
        0x40fd_6f33_5a94_0d26,
        0xc153_fc3b_65b1_3dd3,
        0x41ab_0057_7688_f2ac,
        0xc1ff_08d5_c821_9743,
        0x424a_7ddf_957f_5975,
        0xc28c_c28e_d548_4911,
        0x42bd_4143_162e_a3a5,
    ],
    q: &[
        0x3fd8_0000_0000_0000,
        0xbfba_3fff_ffff_f5d3,
        0x3fd1_c3cf_ffcc_9241,
        0xbfff_e581_20dc_4e3d,
        0x403b_3f97_cc40_1f4d,
        0xc082_dc88_cfcb_32ec,
        0x40d3_22cb_88de_b7f6,
        0xc129_fb01_d772_f3d2,
        0x4184_ea3b_60ad_42fe,
        0xc1e1_37b5_5dc3_ac16,
        0x4239_3f8a_e96e_b0de,
        0xc28d_7915_72f9_6eb6,
        0x42d8_b0ac_9047_90c2,
        0xc319_e258_b4f2_daba,
        0x4349_414d_56eb_0726,
    ],
};

/// `J0(x)`, even: j0(0) = 1, j0(±∞) = 0.
pub(in super::super) fn j0(x: Expr<'_>) -> Expr<'_> {
    let size = x.cast(DType::F64).abs();
    let (sine, cosine) = (math::sin(size), math::cos(size));
    let far = J0.far(size, sine + cosine, sine - cosine);
    size.lt(size.constant(8)).select(J0.near(size), far).cast(x.dtype())
}

/// `J1(x)`, odd: j1(±0) = ±0, j1(±∞) = ±0.
pub(in super::super) fn j1(x: Expr<'_>) -> Expr<'_> {
    let size = x.cast(DType::F64).abs();
    let (sine, cosine) = (math::sin(size), math::cos(size));
    let far = J1.far(size, sine - cosine, -(sine + cosine));
    let y = size.lt(size.constant(8)).select(J1.near(size) * size, far).cast(x.dtype());
    x.eq(x.constant(0)).select(x, negate_if(x.lt(x.constant(0)), y))
}

/// The derivative of `J1(x)`, `J0(x) − J1(x) / x`, without a quotient where x may be next to nothing.
pub(in super::super) fn j1_slope(x: Expr<'_>) -> Expr<'_> {
    let wide = x.cast(DType::F64);
    let is_near = wide.abs().lt(wide.constant(8));
    let [near, far] =
        [is_near.select(wide, wide.constant(0)), is_near.select(wide.constant(8), wide)];
    let ratio = is_near.select(J1.near(near), far.call("j1", &[]) / far);
    (wide.call("j0", &[]) - ratio).cast(x.dtype())
}

/// `Y0(x)`: y0(0) = −∞, y0(∞) = 0, NaN below 0.
pub(in super::super) fn y0(x: Expr<'_>) -> Expr<'_> {
    let wide = x.cast(DType::F64);
    let (sine, cosine) = (math::sin(wide), math::cos(wide));
    let far = J0.far(wide, sine - cosine, -(sine + cosine));
    let log = math::log(wide) * wide.constant(FRAC_2_PI);
    let near = log.fma(J0.near(wide), J0.rest(wide));
    wide.lt(wide.constant(8)).select(near, far).cast(x.dtype())
}

/// `Y1(x)`, likewise.
pub(in super::super) fn y1(x: Expr<'_>) -> Expr<'_> {
    let wide = x.cast(DType::F64);
    let (sine, cosine) = (math::sin(wide), math::cos(wide));
    let far = J1.far(wide, -(sine + cosine), cosine - sine);
    let two_by_pi = wide.constant(FRAC_2_PI);
    let near = (math::log(wide) * two_by_pi).fma(J1.near(wide), J1.rest(wide));
    let near = near.fma(wide, -(two_by_pi / wide));
    let y = wide.lt(wide.constant(8)).select(near, far).cast(x.dtype());
    x.eq(x.constant(0)).select(x.constant(f64::NEG_INFINITY), y)
}

/// The derivative of `Y1(x)`: ∞ at 0, from above.
pub(in super::super) fn y1_slope(x: Expr<'_>) -> Expr<'_> {
    let is_zero = x.eq(x.constant(0));
    let inside = is_zero.select(x.constant(1), x);
    let slope = inside.call("y0", &[]) - inside.call("y1", &[]) / inside;
    // Its own slope is infinite there, too.
    let one = x.constant(1);
    let pole = is_zero.select(x, one);
    is_zero.select(one / pole / pole, slope)
}

/// `x² / 32 − 1`.
fn centred(x: Expr<'_>) -> Expr<'_> {
    x.fma(x * x.constant(1.0 / 32.0), x.constant(-1))
}

impl Order {
    fn near<'r>(&self, x: Expr<'r>) -> Expr<'r> {
        let value = horner(centred(x), self.near, Expr::bits);
        self.zeros.iter().fold(value, |value, &[high, low]| {
            let [high, low] = [high, low].map(|bits| x.bits(bits));
            value * ((x - high - low) * (x + high))
        })
    }

    fn rest<'r>(&self, x: Expr<'r>) -> Expr<'r> {
        horner(centred(x), self.rest, Expr::bits)
    }

    /// Of x and √2 times cosine and sine of c.
    fn far<'r>(&self, x: Expr<'r>, cosine: Expr<'r>, sine: Expr<'r>) -> Expr<'r> {
        let inverse = x.constant(1) / x;
        let square = inverse * inverse;
        let [p, q] = [self.p, self.q].map(|fit| horner(square, fit, Expr::bits));
        let root = (inverse * x.constant(FRAC_1_PI)).sqrt();
        let y = root * (p * cosine - q * inverse * sine);
        x.eq(x.constant(f64::INFINITY)).select(x.constant(0), y)
    }
}
