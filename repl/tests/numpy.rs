//! `.npy` files against NumPy itself, where a Python with NumPy is found (`./test` sets one up).

use std::path::{Path, PathBuf};
use std::process::Command;

/// `PORCINI_PYTHON`, else the workspace's virtual environment; `None` if it has no NumPy.
fn python() -> Option<PathBuf> {
    let given = std::env::var_os("PORCINI_PYTHON").map(PathBuf::from);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/python");
    let python = given.unwrap_or(own);
    let has_numpy = Command::new(&python).args(["-c", "import numpy"]).output();
    has_numpy.is_ok_and(|output| output.status.success()).then_some(python)
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn arrays_go_to_numpy_and_back() {
    let Some(python) = python() else {
        println!("skipped: no Python with NumPy");
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("numpy");
    std::fs::create_dir_all(&folder).expect("a folder for files");
    run(Command::new(&python).current_dir(&folder).args([
        "-c",
        "import numpy as np
for t in ['f8', 'f4', '>f4', 'i8', 'i4', 'u8', 'u4', '>i2', 'u1', 'i1', 'u2', 'f2', '>f2']:
    np.save(t.replace('>', 'big_') + '.npy', np.arange(6, dtype=t))
np.save('mask.npy', np.array([True, False, True]))
np.save('fortran.npy', np.asfortranarray(np.arange(6, dtype='f4').reshape(2, 3)))
np.save('empty.npy', np.zeros(0))
np.savez('plain.npz', x=np.arange(3, dtype='f4'), m=np.array([True, False]))
np.savez('texts.npz', n=np.arange(3, dtype='i8'), t=np.array(['a', 'b']))
np.savez_compressed('packed.npz', x=np.arange(100000, dtype='i4'))
np.savetxt('table.csv', [[1, 2.5], [3, 4]], delimiter=',', header='a,b', comments='')",
    ]));
    let porcini = |code: &str| {
        run(Command::new(env!("CARGO_BIN_EXE_porcini")).current_dir(&folder).args(["-e", code]))
    };
    let types =
        ["f8", "f4", "big_f4", "i8", "i4", "u8", "u4", "big_i2", "u1", "i1", "u2", "f2", "big_f2"];
    for name in types {
        let shown = porcini(&format!("Float64C(read_npy(\"{name}.npy\"))"));
        assert_eq!(shown, "[0, 1, 2, 3, 4, 5]\n", "{name}");
    }
    assert_eq!(porcini("type_of(Float16C(read_npy(\"f2.npy\")))"), "Float16C\n");
    assert_eq!(porcini("read_npy(\"i1.npy\")"), "[0, 1, 2, 3, 4, 5]\nndarray i8 [6]\n");
    assert_eq!(porcini("MaskC(read_npy(\"mask.npy\"))"), "[1, 0, 1]\n");
    assert_eq!(porcini("Float64C(read_npy(\"empty.npy\"))"), "[]\n");
    let table = porcini("read_npy(\"fortran.npy\")");
    assert_eq!(table, "[[0, 1, 2],\n [3, 4, 5]]\nndarray f32 [2, 3]\n");

    assert_eq!(porcini("FloatC(read_npz(\"plain.npz\").x)"), "[0, 1, 2]\n");
    assert_eq!(porcini("MaskC(read_npz(\"plain.npz\").m)"), "[1, 0]\n");
    let some = porcini("Int64C(read_npz(\"texts.npz\", #{arrays: [\"n\"]}).n)");
    assert_eq!(some, "[0, 1, 2]\n");
    assert_eq!(porcini("hsum(Int64C(read_npz(\"packed.npz\").x))"), "[4999950000]\n");
    assert_eq!(porcini("read_csv(\"table.csv\")"), "#{a: [1, 3], b: [2.5, 4]}\n");

    porcini(
        "write_npz(\"z.npz\", #{a: Float64C::linspace(0, 1, 5), v: Vector2fC([1, 2, 3], 4)});
         write_csv(\"t.csv\", #{x: Float64C([0.1, 1e300]), i: Int32C([1, -2])});
         write_npy(\"a.npy\", Float64C::linspace(0, 1, 5));
         write_npy(\"v.npy\", Vector2fC([1, 2, 3], [4, 5, 6]));
         write_npy(\"m.npy\", FloatC([1, 2]) > 1);
         write_npy(\"u.npy\", UInt64C([-1]));
         write_npy(\"h.npy\", Float16C([0.1, -inf, 1e-7]));
         write_npy(\"b.npy\", Int8C([-128, 127]));
         write_npy(\"w.npy\", UInt16C([65535]));",
    );
    let seen = run(Command::new(&python).current_dir(&folder).args([
        "-c",
        "import numpy as np
print(np.load('a.npy').tolist(), np.load('v.npy').tolist(), np.load('m.npy').tolist(), np.load('u.npy').tolist())
z = np.load('z.npz')
assert z['a'].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0] and z['v'].shape == (3, 2), z
t = np.genfromtxt('t.csv', delimiter=',', names=True)
assert t['x'].tolist() == [0.1, 1e300] and t['i'].tolist() == [1, -2], t
print(np.load('h.npy').tolist(), np.load('b.npy').tolist(), np.load('w.npy').tolist())
print(*[np.load(n + '.npy').dtype for n in 'avmuhbw'])",
    ]));
    let lists = "[0.0, 0.25, 0.5, 0.75, 1.0] [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]] [False, True] \
                 [18446744073709551615]";
    let narrow = "[0.0999755859375, -inf, 1.1920928955078125e-07] [-128, 127] [65535]";
    let types = "float64 float32 bool uint64 float16 int8 uint16";
    assert_eq!(seen, format!("{lists}\n{narrow}\n{types}\n"));
}
