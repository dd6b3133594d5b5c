//! What goes through a pipe: many lines at once, none late, each stream behind what the other has said before.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{finished, porcini};

#[test]
fn both_streams_keep_their_order() {
    let script =
        "for i in 1..200000 { if i % 7 == 0 { eprint(i) } else { print(i) } } let x = [1][7];";
    let binary = env!("CARGO_BIN_EXE_porcini");
    let together = Command::new("sh")
        .args(["-c", &format!("exec {binary} -e '{script}' 2>&1")])
        .env("NO_COLOR", "1")
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&together.stdout);
    let numbers: Vec<u32> = text.lines().map_while(|line| line.parse().ok()).collect();
    let wrong = numbers.iter().zip(1..).find(|&(&number, place)| number != place);
    assert_eq!((numbers.len(), wrong), (199_999, None));
    assert!(text.lines().nth(199_999).is_some_and(|line| line.starts_with("error")));
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

/// Objects stay whole where both streams go to one pipe.
#[cfg(unix)]
#[test]
fn what_is_told_stands_between_objects() {
    let script = "if true { print(1); eprint(2); print(3) }";
    let program = env!("CARGO_BIN_EXE_porcini");
    let line = format!("exec {program} --json -e '{script}' 2>&1");
    let output = Command::new("sh").args(["-c", &line]).output().expect("it starts");
    let (code, out, _) = finished(&output);
    assert!(code == 0 && out.starts_with("2\n{"), "{out}");
    let object: serde_json::Value = serde_json::from_str(&out[2..]).expect("an object");
    assert_eq!(object["printed"], "1\n3");
}

/// What a statement prints is written while it runs, as a part of its object.
#[test]
fn objects_come_as_they_are_printed() {
    let script = "if true { print(`a \"b\"`); print(2); sleep(600) }";
    let mut child = porcini(&["--json", "-e", script]).spawn().expect("it starts");
    let start = Instant::now();
    let output = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    let mut bytes = output.bytes().map_while(Result::ok);
    let mut shown = Vec::new();
    while !shown.ends_with(br#""printed":"a \"b\"\n2"#) {
        shown.push(bytes.next().expect("more"));
    }
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
    assert!(start.elapsed() < Duration::from_secs(60));
}
