//! Files of Parquet and Arrow as others write them. `tables/make.py` made the files and says how.

use std::rc::Rc;

use porcini_script::{ErrorKind, Interpreter, on_engine_thread};
use porcini_tests::extent::is_full;
use porcini_tests::golden;
use porcini_tests::host::TestHost;
use porcini_tests::random::Random;

/// Name and contents of a file.
pub(crate) type File = (&'static str, &'static [u8]);

macro_rules! files {
    ($($name:literal)*) => { [$(($name, include_bytes!(concat!("tables/", $name)).as_slice())),*] };
}

/// Files of one table, some without some of its columns.
pub(crate) const TABLES: [File; 6] = files!(
    "snappy.parquet" "zstd.parquet" "deltas.parquet" "polars.parquet" "lz4.arrow" "polars.arrow"
);
/// Other files.
pub(crate) const OTHERS: [File; 4] =
    files!("empty.parquet" "lists.parquet" "brotli.parquet" "names.arrows");

/// The columns of the table: name, type, values.
const COLUMNS: [[&str; 3]; 19] = [
    ["at", "Vector3fC", "[[1, 2, 3],\n [4, 5, 6],\n [nan, nan, nan],\n [7, 8, 9],\n [0, 0, 0]]"],
    ["city", "array", "[[, Oslo, Rome], [2, 1, 0, 1, 2]]"],
    ["day", "Float64C", "[1.7091648e+09, nan, -86400, nan, 0]"],
    ["f16", "Float16C", "[0.5, 1, 2, 3, 65504]"],
    ["f32", "FloatC", "[0.1, nan, inf, -0, 4]"],
    ["f64", "Float64C", "[0.1, 1e+300, nan, nan, 5]"],
    ["i32", "Float64C", "[-2147483648, nan, 3, 4, 2147483647]"],
    ["i8", "Int8C", "[-128, 0, 127, 1, 2]"],
    ["mask", "Float64C", "[1, nan, 0, 1, 1]"],
    ["none", "Float64C", "[nan, nan, nan, nan, nan]"],
    ["ns", "Float64C", "[0, 1e-09, -1e-09, 1.5, 1.7091648e+09]"],
    ["price", "Float64C", "[0.1, -1.15, 99999.99, 3, 7]"],
    ["s.x", "Float64C", "[1, 2, nan, nan, 5]"],
    ["s.y", "Float64C", "[0.5, 1.5, nan, 2.5, 3.5]"],
    ["text", "array", "[a, d\u{e9}, , , a]"],
    ["time", "Float64C", "[0, 0.001, 43200, 0.003, 86399.999]"],
    ["u16", "UInt16C", "[0, 1, 2, 3, 65535]"],
    ["u64", "UInt64C", "[0, 1, 2, 3, 18446744073709551615]"],
    ["wide", "Float64C", "[1e+30, -1e-10, 1.5, 3, 7]"],
];
/// What of it is otherwise with masks, and what there is besides.
const MASKED: [[&str; 3]; 14] = [
    ["i32", "Int32C", "[-2147483648, 0, 3, 4, 2147483647]"],
    ["mask", "MaskC", "[1, 0, 0, 1, 1]"],
    ["s.x", "Int64C", "[1, 2, 0, 0, 5]"],
    ["at.missing", "MaskC", "[0, 0, 1, 0, 0]"],
    ["city.missing", "MaskC", "[0, 0, 1, 0, 0]"],
    ["day.missing", "MaskC", "[0, 1, 0, 1, 0]"],
    ["f32.missing", "MaskC", "[0, 1, 0, 0, 0]"],
    ["f64.missing", "MaskC", "[0, 0, 0, 1, 0]"],
    ["i32.missing", "MaskC", "[0, 1, 0, 0, 0]"],
    ["mask.missing", "MaskC", "[0, 1, 0, 0, 0]"],
    ["none.missing", "MaskC", "[1, 1, 1, 1, 1]"],
    ["s.x.missing", "MaskC", "[0, 0, 1, 1, 0]"],
    ["s.y.missing", "MaskC", "[0, 0, 1, 0, 0]"],
    ["text.missing", "MaskC", "[0, 0, 1, 0, 0]"],
];

struct World {
    interpreter: Interpreter,
    host: Rc<TestHost>,
}

impl World {
    fn new() -> Self {
        let host = Rc::new(TestHost::default());
        for (name, contents) in TABLES.iter().chain(&OTHERS) {
            host.put(name, contents.to_vec());
        }
        let interpreter = golden::interpreter(host.clone(), golden::BASELINE, 0);
        let mut world = Self { interpreter, host };
        world.shown("set_print(#{digits: \"shortest\"})");
        world
    }

    fn shown(&mut self, code: &str) -> String {
        match self.interpreter.execute(code, "tables") {
            Ok(outcome) => outcome.text.unwrap_or_default(),
            Err(error) => format!("{}\n{}", error.message, error.hints.join("\n")),
        }
    }
}

/// The call that reads a file.
fn call(name: &str, options: &str) -> String {
    let read = if name.ends_with(".parquet") { "read_parquet" } else { "read_arrow" };
    format!("{read}(\"{name}\", #{{{options}}})")
}

#[test]
fn files_of_others_are_read() {
    on_engine_thread(|| {
        let mut world = World::new();
        for (name, _) in TABLES {
            for (options, columns) in
                [("", COLUMNS.to_vec()), ("masks: true", [&MASKED[..], &COLUMNS].concat())]
            {
                world.shown(&format!("let t = {}", call(name, options)));
                let keys = world.shown("let l = \",\"; for k in t.keys() { l += k + \",\" } l");
                let mut left = keys.matches(',').count() - 1;
                assert!(left >= 6, "{name}: {keys}");
                let mut seen = Vec::new();
                for [column, kind, values] in columns {
                    if !keys.contains(&format!(",{column},")) || seen.contains(&column) {
                        continue;
                    }
                    seen.push(column);
                    let shown = world.shown(&format!("type_of(t[\"{column}\"])"));
                    assert_eq!(shown, kind, "{name}, {options}: {column}");
                    let shown = world.shown(&format!("t[\"{column}\"]"));
                    assert_eq!(shown, values, "{name}, {options}: {column}");
                    left -= 1;
                }
                assert_eq!(left, 0, "{name}, {options}: {keys}");
            }
        }
    });
}

#[test]
fn further_files_of_others() {
    on_engine_thread(|| {
        let mut world = World::new();
        let mut check = |code: &str, want: &str| {
            let shown = world.shown(code);
            assert!(shown.contains(want), "{code}\n{shown}");
        };
        check(
            "let t = read_parquet(\"empty.parquet\"); t.u64.len() + t.at.x.len() + t.text.len()",
            "0",
        );
        check("type_of(t.at) + type_of(t.f16)", "Vector3fCFloat16C");
        check("read_arrow(\"names.arrows\").c", "[[, q, x, y, z], [2, 3, 0, 4, 3, 2, 1, 1, 1]]");
        check("read_parquet(\"lists.parquet\")", "column tags has values of type List(Utf8");
        check("read_parquet(\"lists.parquet\")", "#{columns: [\"a\"]} leaves it out");
        check("read_parquet(\"lists.parquet\", #{columns: [\"a\"]})", "#{a: [1, 2]}");
        check("read_parquet(\"lists.parquet\", #{columns: [\"b\"]})", "no column `b` (a, tags)");
        check("read_parquet(\"brotli.parquet\")", "column a is compressed with brotli");
        check("read_parquet(\"lz4.arrow\")", "read_arrow reads it");
        check("read_arrow(\"lists.parquet\")", "read_parquet reads it");
        check(
            "read_parquet(\"snappy.parquet\", #{columns: [\"i8\", \"s\"]}).keys()",
            "[i8, s.x, s.y]",
        );
        check("write_csv(\"a\", #{a: 1}); read_arrow(\"a\")", "no file or stream of Arrow");
    });
}

/// What broke, or would take more memory than there is.
#[test]
fn lengths_that_tables_name_are_not_believed() {
    on_engine_thread(|| {
        let mut world = World::new();
        let mut refused = |name: &str, file: Vec<u8>, want: &str| {
            world.host.put(name, file);
            let shown = world.shown(&call(name, ""));
            assert!(shown.contains(want), "{name}: {shown}");
        };
        let [(parquet, snappy), .., (arrow, lz4), _] = TABLES;
        // What the first block unpacks to stands before its frame.
        let frame = lz4.windows(4).position(|it| it == [0x04, 0x22, 0x4d, 0x18]).unwrap();
        for (length, want) in [(1 << 50, "is damaged"), (-2, "is damaged"), (3, "is damaged")] {
            let mut file = lz4.to_vec();
            file[frame - 8..frame].copy_from_slice(&i64::to_le_bytes(length));
            refused(arrow, file, want);
        }
        // The first page: its kind, what it unpacks to.
        assert!(snappy[4] == 0x15 && snappy[6] == 0x15 && snappy[7] < 0x80);
        for (length, want) in [
            (&[0xfe, 0xff, 0xff, 0xff, 0x0f][..], "out of memory"),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], "a page breaks off"),
            (&[2], "is damaged"),
        ] {
            refused(parquet, [&snappy[..7], length, &snappy[8..]].concat(), want);
        }
        for (name, whole) in TABLES {
            for n in [0, 1, 4, 8, 12, whole.len() / 2, whole.len() - 1] {
                refused(name, whole[..n].to_vec(), "is damaged");
            }
        }
        // Nor numbers of rows, each that is five: what it says is no lack of memory.
        let mut told = String::new();
        for (name, whole) in &TABLES[4..] {
            let fives = (0..whole.len() - 8).filter(|&at| whole[at..at + 8] == 5_i64.to_le_bytes());
            for at in fives {
                let mut file = whole.to_vec();
                file[at..at + 8].copy_from_slice(&i64::to_le_bytes(1 << 50));
                world.host.put(name, file);
                told += &world.shown(&call(name, ""));
            }
        }
        assert!(
            told.contains("a batch says that it has 1125899906842624 rows, and holds"),
            "{told}"
        );
        assert!(!told.contains("out of memory"), "{told}");
    });
}

/// A file that is changed here and there, cut, or has a part twice, is read or refused.
#[test]
fn damaged_tables_are_read_or_refused() {
    let n = if is_full() { 200_000 } else { 4_000 };
    on_engine_thread(|| {
        let mut world = World::new();
        let mut random = Random::new(23);
        let files: Vec<File> = TABLES.into_iter().chain(OTHERS).collect();
        let mut refused = 0;
        for _ in 0..n {
            let (name, whole) = files[random.below(files.len())];
            let mut file = whole.to_vec();
            for _ in 0..=random.below(2) {
                let at = random.below(file.len());
                match random.below(6) {
                    0 => file.truncate(at.max(1)),
                    1 => file[at] ^= 1 << random.below(8),
                    2 => file[at] = [0, 0x7f, 0x80, 0xff][random.below(4)],
                    3 => drop(file.remove(at)),
                    4 => {
                        let word = (random.word() >> random.below(64)).to_le_bytes();
                        let end = (at + 8).min(file.len());
                        file.splice(at..end, word).for_each(drop);
                    }
                    _ => {
                        // Numbers of Thrift.
                        let large = [0xff, 0xff, 0xff, 0xff, [0x0f, 0x07][random.below(2)]];
                        let end = (at + random.below(6)).min(file.len());
                        file.splice(at..end, large).for_each(drop);
                    }
                }
                if file.is_empty() {
                    file.push(0);
                }
            }
            let kept = file.clone();
            world.host.put(name, file);
            let options = ["", "masks: true"][random.below(2)];
            let code = format!("let t = {}; print(t); describe(t)", call(name, options));
            if let Err(error) = world.interpreter.execute(&code, "damaged") {
                refused += 1;
                if error.kind == ErrorKind::Internal {
                    let place = std::env::temp_dir().join("damaged-table");
                    std::fs::write(&place, kept).unwrap();
                    panic!("{name}: {error}\nthe file is {}", place.display());
                }
            }
            world.host.take();
        }
        assert!(refused > n / 4, "only {refused} of {n} were refused");
    });
}
