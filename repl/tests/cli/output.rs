//! What goes through a pipe: many lines at once, none late, each stream behind what the other has said before.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{finished, porcini};

#[test]
fn both_streams_keep_their_order() {
    let script = "print(1); eprint(2); for i in 3..2000 { print(i) } eprint(2000); print(2001); let x = [1][7];";
    let binary = env!("CARGO_BIN_EXE_porcini");
    let together = Command::new("sh")
        .args(["-c", &format!("exec {binary} -e '{script}' 2>&1")])
        .env("NO_COLOR", "1")
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&together.stdout);
    let numbers: Vec<u32> = text.lines().map_while(|line| line.parse().ok()).collect();
    assert_eq!(numbers, (1..=2001).collect::<Vec<_>>(), "{text}");
    assert!(text.lines().nth(2001).is_some_and(|line| line.starts_with("error")), "{text}");
}

#[test]
fn lines_come_before_what_takes_long() {
    let mut child = porcini(&["-e", "print(1); print(2); print(3); sleep(600)"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let start = Instant::now();
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let lines: Vec<String> = lines.map_while(Result::ok).take(3).collect();
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
    assert_eq!(lines, ["1", "2", "3"]);
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_broken_pipe_is_quiet() {
    let mut child = porcini(&["-e", "for i in range(100000) { print(i) }"]).spawn().unwrap();
    drop(child.stdout.take());
    let (_, _, err) = finished(&child.wait_with_output().unwrap());
    assert_eq!(err, "");
}
