//! Damaged files: each is read or refused, and none ends the process. `PORCINI_FULL=1` takes 20 000, else 500.

use std::io::{Cursor, Write as _};
use std::process::Command;
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use porcini_script::{ErrorKind, Interpreter, on_engine_thread};
use porcini_tests::extent::is_full;
use porcini_tests::golden;
use porcini_tests::host::TestHost;
use porcini_tests::random::Random;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A file of a few kilobytes that takes so long takes for ever.
const FOR_EVER: Duration = Duration::from_secs(60);
/// What files break at: nothing, the edges of integers, more than any memory.
const NUMBERS: [&str; 10] = [
    "0",
    "1",
    "-1",
    "65536",
    "4294967295",
    "1000000000000",
    "9223372036854775807",
    "18446744073709551616",
    "1e999",
    "nan",
];
const PIECES: [&[u8]; 16] = [
    b"(",
    b")",
    b"[",
    b"{",
    b"}",
    b",",
    b"'",
    b"\"",
    b"\n",
    b":",
    b"\\",
    b"\xff",
    b"\0",
    b"<f8",
    b"PK\x01\x02",
    b"PK\x05\x06",
];

fn n_files() -> usize {
    if is_full() { 20_000 } else { 500 }
}

fn packed(npy: &[u8], method: CompressionMethod) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for name in ["a.npy", "b.npy"] {
        archive.start_file(name, options).unwrap();
        archive.write_all(npy).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// One change.
fn change(random: &mut Random, file: &mut Vec<u8>) {
    let at = random.below(file.len() + 1);
    let end = (at + random.below(9)).min(file.len());
    match random.below(9) {
        0 => file.truncate(at),
        1 => file[at..end].iter_mut().for_each(|byte| *byte ^= 1 << (at % 8)),
        2 => file[at..end].fill(0xff),
        3 => drop(file.drain(at..end)),
        4 => {
            let number = random.pick(&NUMBERS);
            let digits = file.iter().position(|byte| byte.is_ascii_digit());
            let digits = digits.filter(|_| random.one_in(2)).unwrap_or(at);
            file.splice(digits..(digits + 1).min(file.len()), number.bytes()).for_each(drop);
        }
        5 => {
            let piece = random.pick(&PIECES);
            file.splice(at..at, piece.repeat(1 << random.below(12))).for_each(drop);
        }
        6 => {
            let copied = file[at..end].to_vec();
            let to = random.below(file.len() + 1);
            file.splice(to..to, copied).for_each(drop);
        }
        7 => {
            let word = random.word() >> random.below(64);
            let bytes = word.to_le_bytes();
            file.splice(at..(at + 8).min(file.len()), bytes).for_each(drop);
        }
        _ => drop(file.splice(at..end, random.pick(&PIECES).iter().copied())),
    }
}

struct Fuzz {
    interpreter: Interpreter,
    host: Rc<TestHost>,
    random: Random,
    /// Whole files of each kind.
    npy: Vec<Vec<u8>>,
    npz: Vec<Vec<u8>>,
    csv: Vec<Vec<u8>>,
    json: Vec<Vec<u8>>,
}

impl Fuzz {
    fn new() -> Self {
        let host = Rc::new(TestHost::default());
        let interpreter = golden::interpreter(host.clone(), golden::BASELINE, 0);
        let random = Random::new(17);
        let (npy, npz, csv, json) = Default::default();
        let mut fuzz = Self { interpreter, host, random, npy, npz, csv, json };
        for value in [
            "FloatC([1, 2, 3])",
            "Matrix2fC([[1, 2], [3, 4]])",
            "MaskC([true])",
            "Complex2fC([], 1)",
        ] {
            fuzz.run(&format!("write_npy(\"f\", {value})"));
            let npy = fuzz.host.file("f").unwrap();
            for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
                fuzz.npz.push(packed(&npy, method));
            }
            fuzz.npy.push(npy);
        }
        let csv = ["a,b\n1,2\n3,\n", "x;y\n\"a, \"\"b\"\"\";true\n", "a\n-1\n1e300\nNA\n", "\n\n,"];
        fuzz.csv = csv.map(|text| text.into()).into();
        fuzz.run("write_csv(\"f.gz\", #{a: [\"1\", \"\"], b: [\"2024-02-29\", \"x\"]})");
        fuzz.csv.push(fuzz.host.file("f.gz").unwrap());
        let json = [
            "{\"a\": [1, 2.5, null], \"b\": \"\\u00e9\"}",
            "[[[1]], true, -1e-5]",
            "18446744073709551615",
        ];
        fuzz.json = json.map(|text| text.into()).into();
        fuzz
    }

    fn run(&mut self, text: &str) {
        if let Err(error) = self.interpreter.execute(text, "damaged") {
            assert_ne!(error.kind, ErrorKind::Internal, "{text}\n{error}");
        }
    }

    fn damaged(&mut self, whole: &[Vec<u8>]) -> Vec<u8> {
        let mut file = whole[self.random.below(whole.len())].clone();
        for _ in 0..=self.random.below(3) {
            change(&mut self.random, &mut file);
        }
        file
    }

    /// Reads a damaged file and uses what was in it.
    fn step(&mut self, i: usize) {
        let uses = "print(x); to_json(x, #{nan: \"null\"}); x.ravel();
            for make in [|| FloatC(x), || Vector2fC(x), || Matrix2fC(x), || write_npy(\"g\", x)] {
                try { print(make.call()); } catch {}
            }";
        match i % 5 {
            0 => {
                let file = self.damaged(&self.npy.clone());
                self.host.put("f", file);
                self.run(&format!("let x = read_npy(\"f\"); {uses}"));
            }
            1 => {
                let file = self.damaged(&self.npz.clone());
                self.host.put("f", file);
                self.run(&format!("for x in read_npz(\"f\").values() {{ {uses} }}"));
            }
            2 => {
                // A good archive of a damaged array.
                let npy = self.damaged(&self.npy.clone());
                self.host.put("f", packed(&npy, CompressionMethod::Deflated));
                self.run(&format!("for x in read_npz(\"f\").values() {{ {uses} }}"));
            }
            3 => {
                let file = self.damaged(&self.csv.clone());
                self.host.put("f", file);
                self.run("print(read_csv(\"f\"))");
                self.run("let t = read_csv(\"f\", #{masks: true}); describe(t); t.values().map(|x| value_counts(x))");
                self.run(
                    "read_csv(\"f\", #{types: #{a: \"category\", b: \"date\"}, missing: [\"x\"]})",
                );
                self.run("print(read_csv(\"f\", #{header: false, separator: \";\"}))");
            }
            _ => {
                let file = self.damaged(&self.json.clone());
                let text = String::from_utf8_lossy(&file);
                let escaped: String =
                    text.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect();
                self.run(&format!("let x = parse_json(\"{escaped}\"); print(x); to_json(x)"));
            }
        }
        self.host.take();
    }
}

/// Ends the process, and so the test, if no file is finished for long.
fn watched(work: impl FnOnce(&mpsc::Sender<usize>)) {
    let (alive, signs) = mpsc::channel();
    let watcher = std::thread::spawn(move || {
        let mut last = 0;
        loop {
            match signs.recv_timeout(FOR_EVER) {
                Ok(i) => last = i,
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let text = format!("the file after number {last} takes for ever\n");
                    drop(std::io::stderr().write_all(text.as_bytes()));
                    std::process::abort();
                }
            }
        }
    });
    work(&alive);
    drop(alive);
    watcher.join().unwrap();
}

#[test]
fn mutated_files_are_read_or_refused() {
    on_engine_thread(|| {
        let mut fuzz = Fuzz::new();
        watched(|alive| {
            for i in 0..n_files() {
                fuzz.step(i);
                alive.send(i).unwrap();
            }
        });
        let after = fuzz.interpreter.execute("FloatC(1) + 1", "after").unwrap();
        assert_eq!(after.text.unwrap(), "[2]");
    });
}

/// Where the system refuses memory early, an allocation that takes a size for granted ends the process.
#[cfg(target_os = "linux")]
#[test]
fn mutated_files_do_not_abort_where_memory_is_short() {
    let test = std::env::current_exe().unwrap();
    let script = "ulimit -v 2000000; exec \"$0\" --exact damaged::mutated_files_are_read_or_refused \
                  tables::damaged_tables_are_read_or_refused images::damaged_pictures_are_read_or_refused";
    let child = Command::new("sh").args(["-c", script]).arg(test).output().unwrap();
    let output =
        [child.stdout, child.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(child.status.success(), "{}: {}", child.status, output.concat());
    assert!(output[0].contains("3 passed"), "{}", output[0]);
}

/// What broke, by name.
#[test]
fn sizes_that_files_name_are_not_believed() {
    fn npy(shape: &str, bytes: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), bytes].concat()
    }
    let deep = format!("{}3,{}", "(".repeat(22), ")".repeat(22));
    let cases = [
        (npy("(1000000000000,)", &[0; 24]), "takes 8000000000000 B, the file has 24 B"),
        (npy("(0, 9223372036854775807, 4)", &[]), "is larger than any memory"),
        (npy(&deep, &[0; 24]), "expected an extent"),
        (npy("(2,)", &[0; 24]), "takes 16 B, the file has 24 B"),
    ];
    on_engine_thread(|| {
        let mut fuzz = Fuzz::new();
        for (file, want) in cases {
            fuzz.host.put("f.npz", packed(&file, CompressionMethod::Deflated));
            fuzz.host.put("f", file);
            for read in ["read_npy(\"f\")", "read_npz(\"f.npz\")"] {
                let error = fuzz.interpreter.execute(read, "files").unwrap_err();
                assert!(error.message.contains(want), "{read}: {error}");
                let caught = format!("let m = \"\"; try {{ {read} }} catch (e) {{ m += e }} m");
                let outcome = fuzz.interpreter.execute(&caught, "files").unwrap();
                assert_eq!(outcome.text, Some(error.message));
            }
        }
    });
}

/// A megabyte that unpacks to a gibibyte, with a limit of less.
#[test]
fn archives_unpack_to_what_the_limit_leaves() {
    let zeros = vec![0; 1 << 24];
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    archive.start_file("a.npy", SimpleFileOptions::default()).unwrap();
    for _ in 0..65 {
        archive.write_all(&zeros).unwrap();
    }
    let bomb = archive.finish().unwrap().into_inner();
    on_engine_thread(|| {
        let mut fuzz = Fuzz::new();
        fuzz.host.put("f", bomb);
        let error = fuzz.interpreter.execute("read_npz(\"f\")", "files").unwrap_err();
        assert!(error.message.starts_with("read_npz: f: a: out of memory: "), "{error}");
    });
}

/// The names of columns were compared each with each.
#[test]
fn tables_of_many_columns_are_read_and_written() {
    let names: Vec<String> = (0..100_000).map(|i| format!("c{i}")).collect();
    let table = [names.join(","), vec!["1"; names.len()].join(",")].join("\n");
    on_engine_thread(|| {
        let mut fuzz = Fuzz::new();
        fuzz.host.put("wide.csv", table.into());
        watched(|_| {
            let text = "let t = read_csv(\"wide.csv\"); write_csv(\"w.csv\", t); read_csv(\"w.csv\") == t && t.len() == 100000";
            fuzz.run(text);
            let error = "read_csv(\"wide.csv\", #{types: #{q: \"FloatC\"}})";
            let error = fuzz.interpreter.execute(error, "files").unwrap_err();
            assert!(error.message.len() < 300, "{error}");
        });
    });
}
