//! Works in several streams of a GPU: what depends on other work stays behind it, whatever runs beside.

use porcini_core::{Array, Order, Result, Scalar, ScatterOp, Session};
use porcini_tests::golden::configurations;
use porcini_tests::gpu;
use porcini_tests::random::Random;

/// Arrays that works read and write.
const SLOTS: usize = 9;
const WORKS: usize = 120;

fn exactly(word: u64) -> u32 {
    u32::try_from(word).unwrap()
}

/// Random works over a few arrays of `n` lanes, many of which do not depend on each other, and what was read on the way.
/// Old values are dropped at once, so that their memory is another's soon.
fn works(session: &Session, n: usize, seed: u64) -> Result<Vec<u32>> {
    let mut random = Random::new(seed);
    let lane = |random: &mut Random| exactly(random.word() >> 32);
    let uploaded =
        |random: &mut Random| session.array(&(0..n).map(|_| lane(random)).collect::<Vec<u32>>());
    let mut slots: Vec<Array> = (0..SLOTS).map(|_| uploaded(&mut random)).collect::<Result<_>>()?;
    let mut seen = Vec::new();
    for _ in 0..WORKS {
        let [to, a, b] = [0; 3].map(|_| random.below(SLOTS));
        let (x, y) = (slots[a].clone(), slots[b].clone());
        let place = y.try_rem(exactly(n as u64))?;
        slots[to] = match random.below(11) {
            0 => uploaded(&mut random)?,
            1 => x.sort(Order::Ascending)?,
            2 => x.psum()?,
            3 => x.gather(&place, None)?,
            4 => {
                let mut sums = x;
                sums.scatter(ScatterOp::Add, &y, &place, None)?;
                sums
            }
            5 => x.try_add(&y.hsum()?)?,
            // A batch, which comes behind all before.
            8 => {
                let alike = slots.iter().map(|slot| slot.try_mul(5_u32)?.try_add(7_u32));
                let alike = alike.collect::<Result<Vec<_>>>()?;
                session.finish(&alike.iter().collect::<Vec<_>>())?;
                assert!(alike[to].is_ready());
                alike[to].clone()
            }
            6 => {
                seen.extend(x.to_vec::<u32>()?);
                x
            }
            7 => {
                let Scalar::Int(item) = x.item(i64::try_from(random.below(n)).unwrap())? else {
                    panic!("an integer is none");
                };
                seen.push(exactly(item.unsigned_abs()));
                y
            }
            _ => x.try_mul(3_u32)?.try_add(&y)?,
        };
        if random.below(3) > 0 {
            session.eval(&[&slots[to]])?;
        }
    }
    for slot in &slots {
        seen.extend(slot.to_vec::<u32>()?);
    }
    Ok(seen)
}

/// Short copies stay in the stream of the work, long ones have their own.
#[test]
fn what_is_in_streams_is_what_is_one_after_the_other() {
    let gpu = gpu::open().map(|runtime| Session::builder().runtime(runtime).build().unwrap());
    let on =
        |(device, threads)| Session::builder().device(device).threads(threads).build().unwrap();
    let mut sessions: Vec<Session> = configurations().into_iter().map(on).collect();
    sessions.extend(gpu);
    for (n, seeds) in [(1, 0..4), (5000, 4..16), (300_000, 16..20)] {
        for seed in seeds {
            let expected = works(&sessions[0], n, seed).unwrap();
            for session in &sessions[1..] {
                let device = session.device_name();
                assert!(
                    works(session, n, seed).unwrap() == expected,
                    "{device}: {n} lanes, seed {seed}"
                );
            }
        }
    }
}
