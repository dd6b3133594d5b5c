//! Dawson's integral.

use super::super::expr::Expr;
use super::{Fit, negate_if};

/// `D(x) / x` in x² − 9/2, |x| ≤ 3.
const DAWSON_NEAR: Fit = Fit {
    single: &[
        0x3e06_3372,
        0xbd0d_566e,
        0x3c0a_521c,
        0xbaee_c093,
        0x39b2_8c09,
        0xb867_cb9f,
        0x3703_c393,
        0xb584_992b,
        0x33ef_4b6b,
        0xb243_e2d2,
        0x308f_5c16,
        0xaeb8_74f1,
        0x2cfa_0367,
        0xab43_4f3e,
        0x2931_f9ed,
    ],
    double: &[
        0x3fc0_c66e_46a6_1003,
        0xbfa1_aacd_abc5_9c7e,
        0x3f81_4a43_f720_a14c,
        0xbf5d_d815_f82e_33a4,
        0x3f36_5175_5734_91f9,
        0xbf0c_f92a_bbc7_38d8,
        0x3ee0_78e3_a55a_abb9,
        0xbeb0_959d_c1fa_23a7,
        0x3e7d_e1e7_13ef_df55,
        0xbe48_51f3_5602_e563,
        0x3e12_07d6_6a62_4469,
        0xbdd8_8864_0eda_33e5,
        0x3d9e_d337_2101_6147,
        0xbd61_fbad_ec8c_40a0,
        0x3d23_9473_59ba_ddcd,
        0xbce3_fab7_f6e5_b518,
        0x3ca3_2dec_8df2_21d9,
        0xbc61_611b_b57c_c3f0,
        0x3c1d_d504_c275_1d4b,
        0xbbd8_570d_5d7c_30cf,
        0x3b92_d356_3a5b_5831,
        0xbb4b_4ac2_740c_a88b,
        0x3b03_d3aa_900f_ba17,
        0xbac0_330f_ed08_a351,
        0x3a72_d15d_9d18_7538,
    ],
};

/// `D(x)` in x − 4, 3 ≤ x ≤ 5.
const DAWSON_MIDDLE: Fit = Fit {
    single: &[
        0x3e04_73cd,
        0xbd0e_79ae,
        0x3c20_5ded,
        0xbb3e_d8c8,
        0x3a73_e5f4,
        0xb9a9_9acb,
        0x38fc_2193,
        0xb840_3c7d,
        0x3794_19ed,
        0xb691_3754,
        0xb5ea_6204,
        0x35ab_97a8,
    ],
    double: &[
        0x3fc0_8e79_ad8e_4939,
        0xbfa1_cf35_b1c9_271a,
        0x3f84_0bc0_43ad_ddf5,
        0xbf67_db1b_6987_9639,
        0x3f4e_7ad9_2ece_077c,
        0xbf35_325f_441b_5bda,
        0x3f1f_c50e_439e_8a35,
        0xbf08_2ab4_8ea0_f2a0,
        0x3ef0_905a_de46_7636,
        0xbecf_dc77_091f_141d,
        0xbe80_3661_40c8_de41,
        0x3eaa_1ea8_36d6_e260,
        0xbea0_bccd_c66e_0c55,
        0x3e89_1fa1_0ecd_977e,
        0xbe63_2c2e_220f_a215,
        0xbe39_3cba_fd39_be5f,
        0x3e3f_d70d_bd93_1655,
        0xbe28_5f8f_9410_f32a,
        0x3dfd_5c60_9b60_36f5,
        0x3de4_33a1_c90c_9dc6,
        0xbdda_5b49_5c54_02ad,
        0x3da8_ab06_e345_70b3,
        0x3d89_30bd_c5a8_f34e,
    ],
};

/// `2x D(x)` in 1/x², x ≥ 5.
const DAWSON_FAR: Fit = Fit {
    single: &[0x3f80_0000, 0x3f00_001f, 0x3f3f_df22, 0x3ff6_5303, 0x408e_0977, 0x4287_b511],
    double: &[
        0x3ff0_0000_0000_0000,
        0x3fe0_0000_0000_03f1,
        0x3fe7_ffff_ffd6_9f25,
        0x3ffe_0000_55ce_bd22,
        0x401a_3fd1_4a45_9e8f,
        0x403d_975e_7216_51be,
        0x4062_a4f9_0914_780a,
        0x40a8_0c35_643a_239c,
        0xc109_d04a_a149_dde7,
        0x4170_7c8d_1ced_43d2,
        0xc1cd_3b0e_d59c_4077,
        0x4222_ae00_c1ed_0f22,
        0xc270_698f_7202_f0aa,
        0x42b1_996c_a621_5851,
        0xc2d7_202c_462d_0476,
        0xc329_ce62_e39e_227f,
        0x4375_1712_d1fd_4e63,
        0xc3aa_e575_fcd1_2459,
        0x43ca_aec0_e0d6_985a,
    ],
};

/// `x² (2x D(x) − 1)` in 1/x², x ≥ 5.
const DAWSON_SLOPE: Fit = Fit {
    single: &[0x3f00_0000, 0x3f40_00f8, 0x3fef_7c6f, 0x40de_800c, 0x4150_f062, 0x43e0_a49d],
    double: &[
        0x3fdf_ffff_ffff_fffc,
        0x3fe8_0000_0000_7d9e,
        0x3ffd_ffff_fd4a_e4d4,
        0x401a_4002_f4d1_a19a,
        0x403d_864c_f445_a467,
        0x4064_9965_35f8_f3ca,
        0x407f_0996_b83d_c03d,
        0x40f8_5395_cb35_8c3f,
        0xc164_8c56_de7d_1220,
        0x41cc_2745_4c2a_926d,
        0xc22c_9414_efe0_f34a,
        0x4285_cb3a_de97_2578,
        0xc2d8_e2da_9a8c_120d,
        0x4325_0d0a_abe4_fb71,
        0xc369_d065_59e4_98cc,
        0x43a6_18b7_6589_f892,
        0xc3d8_bd12_40d8_1c51,
        0x4400_033e_98ea_64f2,
        0xc411_bd2b_2346_b536,
    ],
};

/// `D(x) = e^(−x²) ∫ e^(t²) dt` from 0 to x: 2/√π times the imaginary error function is `e^(x²) D`.
///
/// D(±0) = ±0, D(±∞) = ±0, NaN stays.
pub(in super::super) fn dawson(x: Expr<'_>) -> Expr<'_> {
    let size = x.abs();
    let square = x * x;
    let near = size * DAWSON_NEAR.at(square - x.constant(4.5));
    let middle = DAWSON_MIDDLE.at(size - x.constant(4));
    let far = DAWSON_FAR.at(x.constant(1) / square) * x.constant(0.5) / size;
    let beyond = size.lt(x.constant(5)).select(middle, far);
    let y = size.lt(x.constant(3)).select(near, beyond);
    x.eq(x.constant(0)).select(x, negate_if(x.lt(x.constant(0)), y))
}

/// The derivative of Dawson's integral, `1 − 2x D`, whose terms cancel where x is large.
pub(in super::super) fn dawson_slope<'r>(x: Expr<'r>, y: Expr<'r>) -> Expr<'r> {
    let one = x.constant(1);
    let near = one - (x + x) * y;
    // A square of the inverse, not an inverse of the square, whose slope may be infinite.
    let inverse = one / x;
    let square = inverse * inverse;
    let far = -(square * DAWSON_SLOPE.at(square));
    x.abs().lt(x.constant(5)).select(near, far)
}
