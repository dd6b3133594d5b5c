//! Devices by name: one of many parts, one of many processes, none.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{finished, folder, porcini, run};

/// The same lines from one process, from several parts of it, and from several processes.
#[test]
fn parts_and_ranks_print_what_one_process_prints() {
    let script = "let x = sin(FloatC::arange(300007)); let n = 300007; let i = UInt32C::arange(n); \
        let bins = FloatC::zero(100); scatter_add(bins, x, i % 100); \
        print(x, hsum(x), hsum(gather(x, (i + 1) % n) * x), psum(x)[n - 1], bins, compress(x, x > 0.5), sort(x)[..9])";
    let want = run(&["-e", script]);
    assert_eq!((want.0, want.2.as_str()), (0, ""), "{want:?}");
    for many in [["--device", "cpu:3"], ["--ranks", "2"], ["--device", "ranks:3"]] {
        assert_eq!(run(&[many[0], many[1], "-e", script]), want, "{many:?}");
    }
    let (code, _, error) = run(&["--ranks", "2", "-e", "FloatC([1, 2]) + FloatC([1, 2, 3])"]);
    assert!(code == 1 && error.contains("sizes"), "{error}");
}

/// The same lines from processes with a GPU each, of arrays that they share; where there are fewer GPUs, they share these too.
#[test]
fn ranks_with_gpus_print_what_one_process_prints() {
    let (code, _, why) = run(&["--device", "cuda", "-e", "FloatC(1) + 1"]);
    if code != 0 {
        println!("skipped: {why}");
        return;
    }
    let script = "set_flag(\"lane_order\", true); let n = 5000011; let i = UInt32C::arange(n); \
        let x = sin(FloatC(i)); let bins = UInt32C::zero(100); scatter_add(bins, i, i % 100); \
        let sums = FloatC::zero(10); scatter_add(sums, x, i % 10); \
        print(x, hsum(x), hsum(gather(x, (i + 1) % n) * x), psum(x)[n - 1], bins, sums, compress(x, x > 0.5), sort(x)[..9]); \
        print(while_loop([x], |x| x < 3, |x| [x + 1])[0], count(x.to(\"cpu\") > 0.25))";
    let want = run(&["--device", "cpu", "-e", script]);
    assert_eq!((want.0, want.2.as_str()), (0, ""), "{want:?}");
    for many in [&["--ranks", "2", "--device", "cuda"][..], &["--device", "ranks:3:cuda"]] {
        assert_eq!(run(&[many, &["-e", script]].concat()), want, "{many:?}");
    }
}

/// Nobody else can be served, and nobody waits for it.
#[test]
fn a_rank_without_a_leader_says_so() {
    let (code, output, error) = run(&["rank", "1"]);
    assert_eq!((code, output.as_str()), (2, ""));
    assert!(error.contains("a rank is started by porcini --ranks N"), "{error}");
    assert!(error.contains("-x PORCINI_LEADER"), "{error}");
    assert_eq!(run(&["--ranks", "1025", "-e", "1"]).0, 2);
    assert_eq!(run(&["--device", "ranks:1025", "-e", "1"]).0, 2);
}

/// Which rank has none, and what to do, is said before anything runs.
#[test]
fn ranks_without_gpus_are_refused() {
    let refused = |arguments: &[&str], want: &str| {
        let got = run(&[arguments, &["-e", "1"]].concat());
        assert_eq!(got, (2, String::new(), format!("error: {want}\n")), "{arguments:?}");
    };
    let beside = "--ranks: each computes on processors, or with --device cuda on a GPU, and not on";
    for device in ["cpu:2", "cuda:0", "cuda:1", "ranks:3"] {
        refused(&["--ranks", "2", "--device", device], &format!("{beside} {device}"));
    }
    let (code, output, _) = run(&["--ranks", "2", "--device", "cpu", "-e", "1 + 1"]);
    assert_eq!((code, output.as_str()), (0, "2\n"));
    if porcini_core::device::has_cuda() {
        return;
    }
    let host = Command::new("uname").arg("-n").output().unwrap().stdout;
    let host = String::from_utf8(host).unwrap();
    let why = format!(
        "no device \"rank 0\": it has no GPU on {}: the NVIDIA driver's library (libcuda.so.1) is not there; start every \
         rank where there is a GPU, or leave cuda out: they compute on processors then",
        host.trim()
    );
    refused(&["--ranks", "2", "--device", "cuda"], &why);
    refused(&["--device", "ranks:2:cuda"], &why);
}

/// Under a launcher a device is that of all processes, of which each may have a GPU.
#[test]
fn under_a_launcher_no_process_has_a_device_of_its_own() {
    for device in ["cpu:2", "cuda:0", "cuda:1", "ranks:2:cuda"] {
        let mut command = porcini(&["--device", device, "-e", "1"]);
        command.env("OMPI_COMM_WORLD_RANK", "0").env("OMPI_COMM_WORLD_SIZE", "2");
        let (code, _, error) = finished(&command.output().unwrap());
        assert!(code == 2 && error.contains("may only be cpu, or cuda"), "{device}: {error}");
    }
}

/// Each would print what all of them should print once.
#[test]
fn processes_of_slurm_that_do_not_find_each_other_are_refused() {
    let started = |number: &str, arguments: &[&str]| {
        let mut command = porcini(arguments);
        command.env("SLURM_PROCID", number).env("SLURM_STEP_NUM_TASKS", "2");
        finished(&command.output().unwrap())
    };
    let (code, _, error) = started("0", &["-e", "1"]);
    assert!(code == 2 && error.contains("--mpi=pmi2"), "{code}: {error}");
    assert_eq!(started("1", &["-e", "1"]), (2, String::new(), String::new()));
    // They would share the first GPU that each sees.
    let (code, _, error) = started("0", &["--device", "cuda", "-e", "1"]);
    assert!(code == 2 && error.contains("--device cpu or cuda:0"), "{code}: {error}");
    assert_eq!(started("1", &["--device", "cpu", "-e", "1"]).0, 0);
}

/// A launcher as clusters have them: it starts its words so many times, and waits for all.
fn launcher(folder: &Path) -> String {
    let file = folder.join("launcher");
    let text = "#!/bin/sh\nn=$1; shift; for i in $(seq $n); do \"$@\" & done; wait\n";
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o700)).unwrap();
    format!("{} {{}}", file.display())
}

/// Long files are written and read by the parts, each its lanes, with the bytes that one process writes.
#[test]
fn parts_read_and_write_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let script = |name: &str| {
        let path = file(name).display().to_string();
        format!(
            "let x = sin(FloatC(UInt32C::arange(29069 * 172))); x[7] = nan; \
             write_npy(\"{path}\", TensorC(x).reshape([29069, 172, 1])); let y = read_npy(\"{path}\"); \
             let bits = UInt32C::reinterpret(FloatC(y.ravel())); \
             print(y.shape, y[4999007], y[-1], TensorC(y).shape, hsum(UInt64C(bits)))"
        )
    };
    let (code, output, error) = run(&["--device", "cpu", "-e", &script("one.npy")]);
    assert_eq!((code, &*error), (0, ""));
    let written = std::fs::read(file("one.npy")).unwrap();
    for (many, name) in [(["--device", "cpu:3"], "parts.npy"), (["--ranks", "2"], "ranks.npy")] {
        let got = run(&[&many[..], &["-e", &script(name)]].concat());
        assert_eq!(got, (0, output.clone(), String::new()), "{many:?}");
        assert!(std::fs::read(file(name)).unwrap() == written, "{many:?}");
    }
    let files = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 3, "a file without a name is left");
}

#[test]
fn a_launcher_starts_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let launcher = launcher(folder.path());
    let script =
        "let x = sin(FloatC::arange(300007)); print(hsum(x), device().contains(\"ranks:3\"))";
    let (code, output, error) = run(&["--ranks", "3", "--launcher", &launcher, "-e", script]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(output.ends_with("true\n"), "{output}");
    for (launcher, why) in [
        ("/nowhere/srun -n {}", "cannot be started"),
        ("false {}", "launcher ended"),
        ("false", "write {}"),
    ] {
        let (code, _, error) = run(&["--ranks", "3", "--launcher", launcher, "-e", script]);
        assert!(code == 1 && error.contains(why), "{code}: {error}");
    }
    assert_eq!(run(&["--launcher", &launcher, "-e", "1"]).0, 2, "without ranks");
}

/// The processes that one has started.
fn children(leader: u32) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{leader}/task")).unwrap();
    let children = tasks.map(|task| task.unwrap().path().join("children"));
    let children: String = children.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    children.trim().into()
}

fn send(signal: &str, process: &str) {
    assert!(Command::new("kill").args([signal, process]).status().unwrap().success());
}

/// A signal that a rank gets at work is an error of the value, and the script goes on.
#[test]
fn a_signal_to_a_rank_is_no_ctrl_c() {
    let script = "print(hsum(FloatC([1]))); try { print(hsum(sin(FloatC::arange(3000000000)))) } catch (e) { print(e) } \
                  print(hsum(FloatC([2])))";
    let mut child = porcini(&["--ranks", "2", "--threads", "2", "-e", script]).spawn().unwrap();
    let mut line = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    send("-TERM", &children(child.id()));
    let (code, output, error) = finished(&child.wait_with_output().unwrap());
    assert_eq!((code, error.as_str()), (0, ""), "{output}");
    let told = "rank 1 failed while working: it ended with exit code 143";
    assert!(output.starts_with(told) && output.ends_with("\n[2]\n"), "{output}");
}

#[test]
fn ctrl_c_reaches_ranks() {
    let folder = tempfile::tempdir().unwrap();
    ctrl_c_reaches(&["--ranks", "2"]);
    ctrl_c_reaches(&["--ranks", "2", "--launcher", &launcher(folder.path())]);
}

fn ctrl_c_reaches(ranks: &[&str]) {
    let script = "print(1); hsum(sin(FloatC::arange(100000000000)))";
    let mut child = porcini(&[ranks, &["-e", script]].concat()).spawn().unwrap();
    let mut line = [0; 2];
    child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    send("-INT", &child.id().to_string());
    let (code, _, error) = finished(&child.wait_with_output().unwrap());
    assert!(code == 130 && error.contains("interrupted"), "{code}: {error}");
}

/// Ranks that do not heed the signal yet do not get it.
#[test]
fn ctrl_c_while_ranks_start() {
    let script = "hsum(sin(FloatC::arange(100000000000)))";
    for moment in (0..64).step_by(4) {
        let child = porcini(&["--ranks", "3", "-e", script]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(moment));
        send("-INT", &child.id().to_string());
        let (code, _, error) = finished(&child.wait_with_output().unwrap());
        // It may be ahead of the leader, too.
        assert!(matches!(code, 130 | -1), "{moment} ms: {code}: {error}");
    }
}

/// Whatever is told of a rank that does not answer, somebody asked for the end.
#[test]
fn ctrl_c_while_a_rank_is_stopped() {
    let script = "print(hsum(FloatC([1]))); hsum(sin(FloatC::arange(100000000000)))";
    let mut child = porcini(&["--ranks", "2", "-e", script]).spawn().unwrap();
    let mut line = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    send("-STOP", &children(child.id()));
    send("-INT", &child.id().to_string());
    let (code, _, error) = finished(&child.wait_with_output().unwrap());
    assert_eq!(code, 130, "{error}");
}

/// What runs starts its like, wherever its file has gone.
#[test]
fn ranks_of_a_program_that_was_removed() {
    let program = folder("removed_program").join("porcini");
    std::fs::hard_link(env!("CARGO_BIN_EXE_porcini"), &program).unwrap();
    let script = "print(1); input(`?`); print(hsum(FloatC([1])))";
    let mut command = Command::new(&program);
    command.args(["--ranks", "2", "-e", script]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = [0; 2];
    child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    std::fs::remove_file(&program).unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"\n").unwrap();
    let (code, output, error) = finished(&child.wait_with_output().unwrap());
    assert_eq!((code, output.as_str(), error.as_str()), (0, "[1]\n", ""));
}

#[test]
fn a_missing_device_says_what_to_do() {
    let (code, _, err) = run(&["--device", "cuda", "-e", "1"]);
    assert_eq!(code, 2);
    assert!(err.contains("--device cpu"), "{err}");
    let (code, _, err) = run(&["--device", "tpu", "-e", "1"]);
    assert_eq!(code, 2);
    assert!(err.contains("auto, cpu, cpu:N (N parts), ranks:N, cuda"), "{err}");
    assert_eq!(run(&["--device", "cpu", "-e", "1"]).0, 0);
}
