//! What a leader and a rank say of themselves before they say anything else: in every build alike, so that two of which each
//! means something else by the same bytes notice it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The number of what they say to each other, raised whenever that changes: messages, kernels, operations, primitives. Builds
/// of one version may differ. A test has the sum of what is said by this number.
const PROTOCOL: u32 = 4;

/// The first byte of a greeting and of its answer: both are the first of what there is to be said.
const FIRST: u8 = 0;

/// What to do about other builds.
const REMEDY: &str =
    "start the same program everywhere (other machines may find an older one by its name)";

/// Which build somebody is of; only those of the same compute together, as others may compute other bits.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub(super) struct Build {
    protocol: u32,
    version: String,
}

impl Build {
    pub(super) fn own() -> Self {
        Self { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").into() }
    }

    /// That of a head, if it is a greeting; what comes behind is of that build.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        let (first, build) = postcard::take_from_bytes::<(u8, Self)>(head).ok()?.0;
        (first == FIRST).then_some(build)
    }

    /// The head of a greeting that says no more.
    pub(super) fn greeting(self) -> (u8, Self) {
        (FIRST, self)
    }

    /// What a leader says of a rank of this build.
    pub(super) fn refused(&self, rank: &str) -> Error {
        let reason = format!("it is of {self}, and this program of {}; {REMEDY}", Self::own());
        Error::NoDevice { name: rank.into(), reason }
    }

    /// What it says of one that did not say of which it is: it `ended with exit code 1`. So do builds of before there were
    /// greetings.
    pub(super) fn unanswered(rank: &str, how: &str) -> Error {
        let own = Self::own();
        let reason = format!(
            "it {how}; it did not say which version it is of, perhaps another one than this program ({own}): {REMEDY}"
        );
        Error::NoDevice { name: rank.into(), reason }
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version {}, protocol {}", self.version, self.protocol)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use super::super::channel::{Channel, Idle};
    use super::super::link::Process;
    use super::super::local::{Machine, RanksOn};
    use super::super::message::{Failure, Reply, Request};
    use super::super::remote::greet;
    use super::super::worker::serve;
    use super::*;
    use crate::backend::Outside;
    use crate::ir::op::{OPS, ReduceOp, ScatterOp};

    /// The sum of what is said by the number [`PROTOCOL`].
    const SAID: u64 = 0x9ca2_87cd_8c9b_6400;

    /// The lines of an item, without comments.
    fn item<'t>((text, head): (&'t str, &str)) -> impl Iterator<Item = &'t str> + use<'t> {
        let (_, rest) = text.split_once(&format!("\n{head} {{\n")).expect(head);
        let lines = rest.lines().take_while(|line| *line != "}").map(str::trim);
        lines.filter(|line| !line.starts_with("//"))
    }

    #[test]
    fn what_is_said_has_a_number() {
        let messages = include_str!("message.rs");
        let kernels = include_str!("../../ir/kernel.rs");
        let items = [
            (messages, "pub(super) enum Request"),
            (messages, "pub(super) enum Reply"),
            (messages, "pub(super) struct Code"),
            (messages, "pub(super) enum Failure"),
            (kernels, "pub enum Code"),
            (kernels, "pub struct Inst"),
            (kernels, "pub struct Kernel"),
            (include_str!("../../ir/primitive.rs"), "pub enum Primitive"),
        ];
        let operations = OPS.iter().map(|info| info.name);
        let others = ScatterOp::ALL.map(ScatterOp::name).into_iter();
        let others = others.chain(ReduceOp::ALL.map(ReduceOp::name));
        let said = items.into_iter().flat_map(item).chain(operations).chain(others);
        // FNV-1a.
        let add = |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let sum = said.flat_map(str::bytes).fold(0xcbf2_9ce4_8422_2325, add);
        assert_eq!(sum, SAID, "it has changed: raise PROTOCOL, and let SAID be {sum:#x}");
    }

    /// A connection over which one head comes; what was sent.
    #[derive(Clone)]
    struct Other {
        head: Option<Vec<u8>>,
        sent: Arc<Mutex<Vec<Vec<u8>>>>,
    }

    impl Channel for Other {
        fn send(&mut self, head: &[u8], _: &[u8], _: Idle<'_>) -> io::Result<()> {
            self.sent.lock().unwrap().push(head.into());
            Ok(())
        }

        fn receive(
            &mut self,
            head: &mut Vec<u8>,
            bytes: &mut Vec<u8>,
            _: Idle<'_>,
        ) -> io::Result<()> {
            *head = self.head.take().ok_or(io::ErrorKind::UnexpectedEof)?;
            bytes.clear();
            Ok(())
        }

        fn is_there(&mut self, _: Duration) -> io::Result<bool> {
            Ok(true)
        }
    }

    impl Process for Other {
        fn interrupt(&self) -> bool {
            false
        }

        fn give_up(&self) {}

        fn end(&self) -> String {
            "ended".into()
        }
    }

    /// A build that says more, in another order.
    fn other() -> Vec<u8> {
        let build = Build { protocol: 77, version: "9.8.7".into() };
        postcard::to_allocvec(&(FIRST, build, [1_u64; 9], "more")).unwrap()
    }

    fn of(head: Vec<u8>) -> Other {
        Other { head: Some(head), sent: Arc::default() }
    }

    #[test]
    fn greetings_of_all_builds_are_understood() {
        let hello = Request::Hello { build: Build::own(), rank: 1, on: RanksOn::Processors };
        let hello = postcard::to_allocvec(&hello).unwrap();
        let answer = Reply::Hello {
            build: Build::own(),
            device: "interp".into(),
            host: Machine::own(),
            reach: None,
            gpu: None,
        };
        let answer = postcard::to_allocvec(&answer).unwrap();
        let short = postcard::to_allocvec(&Build::own().greeting()).unwrap();
        for head in [hello, answer, short] {
            assert_eq!(Build::of(&head), Some(Build::own()));
        }
        assert_eq!(Build::of(&other()).unwrap().to_string(), "version 9.8.7, protocol 77");
        let failed = postcard::to_allocvec(&Reply::Failed(Failure::Interrupted)).unwrap();
        for head in [&failed[..], b"", b"\0\x02"] {
            assert_eq!(Build::of(head), None);
        }
    }

    #[test]
    fn a_rank_says_to_a_leader_of_another_build_what_it_is() {
        // One of before there were greetings, and what is no message at all.
        for head in [other(), b"\x00\x01\x00".to_vec(), b"\xff".to_vec(), Vec::new()] {
            let leader = of(head);
            serve(leader.clone(), &|_, _| unreachable!("it opens nothing")).unwrap();
            let sent = leader.sent.lock().unwrap();
            let builds: Vec<_> = sent.iter().map(|head| Build::of(head)).collect();
            assert_eq!(builds, [Some(Build::own())]);
        }
    }

    /// What a leader says of a rank.
    fn told(rank: Other) -> String {
        let ranks =
            [(Box::new(rank.clone()) as Box<dyn Channel>, Box::new(rank) as Box<dyn Process>)];
        let waiting = Outside::default().waiting;
        greet(ranks, RanksOn::Processors, &waiting).err().unwrap().to_string()
    }

    #[test]
    fn a_leader_refuses_a_rank_of_another_build() {
        let own = Build::own();
        let want = format!(
            "no device \"rank 1\": it is of version 9.8.7, protocol 77, and this program of {own}; start the same program"
        );
        let told = told(of(other()));
        assert!(told.starts_with(&want), "{told}");
    }

    #[test]
    fn a_leader_names_what_a_rank_may_be_that_says_nothing_of_it() {
        let gone = Other { head: None, sent: Arc::default() };
        // An answer of before there were greetings.
        let old = of(postcard::to_allocvec(&(FIRST, "interpreter", "host", 7_u32)).unwrap());
        for (rank, how) in [(gone, "ended"), (old, "gave an answer that cannot be read")] {
            let own = Build::own();
            let want = format!(
                "no device \"rank 1\": it {how}; it did not say which version it is of, perhaps another one than this program ({own}): start"
            );
            let told = told(rank);
            assert!(told.starts_with(&want), "{told}");
        }
    }
}
