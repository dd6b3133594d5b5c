//! Nested values obey the laws of `tests/src/laws`: on one device all of them, on the others the same bits.

use porcini_core::trace::nested::rows;
use porcini_core::value::Form;
use porcini_core::{Array, DType};
use porcini_script::on_engine_thread;
use porcini_tests::data::Values;
use porcini_tests::devices::devices;
use porcini_tests::extent::every;
use porcini_tests::laws::levels::{self, elementwise};
use porcini_tests::laws::{Bound, Group, Trial, groups, same_bits};
use porcini_tests::oracle::permutation;

/// Enough for lanes beside whole packets.
const LANES: usize = 37;

fn give(trial: &mut Trial, group: &Group, dtype: DType, values: Values) {
    for (name, shape) in group.given {
        trial.give(name, shape, (dtype, values), LANES);
    }
    let before = format!("{};", group.before);
    trial.run(&before).unwrap_or_else(|error| panic!("{}: {error}", group.name));
}

#[test]
fn laws_hold() {
    on_engine_thread(|| {
        let mut trial = Trial::on(&devices().last().unwrap().runtime);
        let mut wrong = Vec::new();
        for group in groups() {
            for dtype in [DType::F32, DType::F64] {
                for values in [Values::Bounded, Values::Edge] {
                    give(&mut trial, group, dtype, values);
                    let laws = group.laws.iter();
                    let laws = laws.filter(|law| values == Values::Bounded || law.2 == Bound::Bits);
                    let what =
                        laws.filter_map(|(left, right, bound)| trial.failure(left, right, *bound));
                    let tag = |what| format!("{}, {dtype}, {values:?}: {what}", group.name);
                    wrong.extend(what.map(tag));
                }
            }
        }
        assert!(wrong.is_empty(), "{} laws fail\n{}", wrong.len(), wrong.join("\n"));
    });
}

/// What both sides of the laws are has the same bits on every device.
#[test]
fn devices_agree_about_both_sides() {
    on_engine_thread(|| {
        let mut trials: Vec<Trial> =
            devices().iter().map(|device| Trial::on(&device.runtime)).collect();
        for group in groups() {
            trials.iter_mut().for_each(|it| give(it, group, DType::F32, Values::Edge));
            for (left, right, _) in group.laws {
                let sides = format!("sides = [{left}, {right}];");
                let all: Vec<Vec<Array>> = trials
                    .iter_mut()
                    .map(|trial| {
                        trial.run(&sides).unwrap();
                        trial.arrays("sides")
                    })
                    .collect();
                for (device, arrays) in devices().iter().zip(&all) {
                    same_bits(arrays, &all[0])
                        .unwrap_or_else(|what| panic!("{sides} on {}: {what}", device.name));
                }
            }
        }
    });
}

/// Every operation and function goes through the levels of a value.
#[test]
fn levels_are_repetition() {
    on_engine_thread(|| {
        let mut trial = Trial::on(&devices().last().unwrap().runtime);
        let (mut wrong, mut n_laws) = (Vec::new(), 0);
        for row in elementwise() {
            let mut taken = 0;
            for (types, shapes) in cases(row.arity).into_iter().step_by(every(5)) {
                let names = &["a", "b", "c"][..row.arity];
                let Some(right) = row.by_components(&shapes, names) else { continue };
                for ((name, shape), dtype) in names.iter().zip(&shapes).zip(&types) {
                    trial.give(name, shape, (*dtype, Values::Edge), 5);
                }
                let left = row.call(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
                let [own, parts] = [&left, &right].map(|text| trial.run(&format!("{text};")));
                if own.is_err() && parts.is_err() {
                    continue;
                }
                taken += 1;
                let failure = trial.failure(&left, &right, Bound::Bits);
                wrong.extend(failure.map(|what| format!("{shapes:?} {types:?} {what}")));
            }
            n_laws += taken;
            assert!(taken > 0, "{} takes nothing", row.name);
        }
        assert!(wrong.is_empty(), "{} of {n_laws} fail\n{}", wrong.len(), wrong.join("\n"));
    });
}

/// Lane types and shapes of arguments.
fn cases(arity: usize) -> Vec<(Vec<DType>, Vec<&'static [Form]>)> {
    let types = levels::types_of(arity);
    let shapes = levels::shapes_of(arity);
    let pair = |types: &Vec<DType>| {
        let types = types.clone();
        shapes.iter().map(move |shapes| (types.clone(), shapes.clone())).collect::<Vec<_>>()
    };
    types.iter().flat_map(pair).collect()
}

/// Every function of nested values goes through vectors among the entries, and converts to its type once.
#[test]
fn nested_functions_take_vectors_as_entries_and_any_type() {
    on_engine_thread(|| {
        let mut trial = Trial::on(&devices().last().unwrap().runtime);
        let mut wrong = Vec::new();
        for row in rows().filter(|row| levels::is_free(row)) {
            for law in [levels::goes_through_entries, levels::converts_once] {
                if let Err(what) = law(&mut trial, row, 19) {
                    wrong.push(format!("{} {:?}: {what}", row.name, row.parameters));
                }
            }
        }
        assert!(wrong.is_empty(), "{} fail\n{}", wrong.len(), wrong.join("\n"));
    });
}

/// A Morton code has the bits of its components by turns.
#[test]
fn morton_codes_interleave_bits() {
    on_engine_thread(|| {
        let mut trial = Trial::on(&devices().last().unwrap().runtime);
        for (name, bits) in [("UInt32C", 32), ("UInt64C", 64)] {
            for n in 1..=4 {
                let parts = |part: &dyn Fn(usize) -> String| {
                    format!("Vector{n}C([{}])", (0..n).map(part).collect::<Vec<_>>().join(", "))
                };
                for k in 0..n {
                    let one = parts(&|i| {
                        if i == k { format!("{name}(1) << i") } else { format!("{name}(0)") }
                    });
                    let few = bits / n;
                    trial.run(&format!("i = {name}::arange({few})")).unwrap();
                    let code = format!("morton_encode({one})");
                    let want = format!("{name}(1) << (i * {n} + {k})");
                    assert_eq!(trial.failure(&code, &want, Bound::Bits), None);
                    let back = format!("morton_decode({code}, {n})[{k}]");
                    let want = format!("{name}(1) << i");
                    assert_eq!(trial.failure(&back, &want, Bound::Bits), None);
                }
            }
        }
        trial.run("a = UInt32C([3, 9, 77]); b = UInt32C([5, 0, 1000]); z = a * 0;").unwrap();
        let both = "morton_encode(Vector2C([a, z])) | morton_encode(Vector2C([z, b]))";
        let code = "morton_encode(Vector2C([a, b]))";
        assert_eq!(trial.failure(code, both, Bound::Bits), None);
        let back = format!("morton_decode({code}, 2)");
        assert_eq!(trial.failure(&back, "[a, b]", Bound::Bits), None);
    });
}

/// Every function of nested values occurs in a law, so that a new one asks for some.
#[test]
fn laws_speak_of_every_nested_function() {
    let mut text = String::new();
    for group in groups() {
        text += group.before;
        for (left, right, _) in group.laws {
            text += &[" ", left, " ", right, "\n"].concat();
        }
    }
    // Cameras stand in `transforms`; they are maps of points.
    let elsewhere = ["look_at", "perspective", "frustum", "ortho"];
    for row in rows() {
        let name = row.name.rsplit("::").next().unwrap();
        let call = if name.starts_with(char::is_alphabetic) {
            format!("{name}(")
        } else {
            format!(" {name} ")
        };
        assert!(text.contains(&call) || elsewhere.contains(&name), "{name} {:?}", row.parameters);
    }
}

/// The order of a shuffle is that of Fisher and Yates from the end.
#[test]
fn shuffles_exchange_from_the_end() {
    on_engine_thread(|| {
        let mut trial = Trial::on(&devices().last().unwrap().runtime);
        for (state, n) in [(1_u64, 1), (2, 17), (3, 513), (40, 1025)] {
            trial
                .run(&format!("order = PCG32C({state}, 7).shuffle(UInt64C::arange({n}));"))
                .unwrap();
            let order = trial.arrays("order")[0].to_vec::<u64>().unwrap();
            let want: Vec<u64> = permutation(state, 7, n).into_iter().map(|i| i as u64).collect();
            assert_eq!(order, want);
        }
    });
}
