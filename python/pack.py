#!/usr/bin/env python3
"""What goes into the wheel beside the library: the programs, and the kernel for Jupyter, in its data folder.

pack.py FOLDER WHEELS   packs a wheel of what cargo built in FOLDER, without building anything again
pack.py FOLDER WHEELS PLATFORM RUNNER ..
                        the same for another platform: its name in wheels, and what runs its programs here
pack.py FOLDER          puts the programs of FOLDER into porcini.data, for maturin:

    cargo build --release -p porcini-repl -p porcini-jupyter
    python/pack.py target/release
    maturin build --release --zig -m python/Cargo.toml
"""

import json
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent


def add_data(built, data, runner=()):
    """Programs, and the kernel's folder: what starts is the program beside the Python that runs Jupyter, whether its
    environment is active or not."""
    scripts = data / "scripts"
    scripts.mkdir(parents=True)
    for program in ["porcini", "porcini-jupyter"]:
        shutil.copy(built / program, scripts / program)
    install = [*runner, scripts / "porcini-jupyter", "install", "--prefix", data / "data"]
    subprocess.run(install, check=True, capture_output=True)
    (spec_file,) = data.glob("data/share/jupyter/kernels/*/kernel.json")
    spec = json.loads(spec_file.read_text())
    spec["argv"][0] = "{prefix}/bin/porcini-jupyter"
    spec_file.write_text(json.dumps(spec, indent=1))


def pack(built, wheels, platform=sysconfig.get_platform(), runner=()):
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    version = tomllib.loads((HERE.parent / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    platform = platform.replace("-", "_").replace(".", "_")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        package = root / "porcini"
        shutil.copytree(HERE / "porcini", package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        # Of a library that only tests asked for, cargo leaves no second name beside the programs.
        shutil.copy(built / "deps/lib_porcini.so", package / "_porcini.abi3.so")
        add_data(built, root / f"porcini-{version}.data", runner)
        info = root / f"porcini-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\nSummary: {project['description']}\n"
            f"Requires-Python: {project['requires-python']}\nLicense: {project['license']}\n"
            f"Description-Content-Type: text/markdown\n\n{(HERE / project['readme']).read_text()}"
        )
        (info / "WHEEL").write_text(
            f"Wheel-Version: 1.0\nGenerator: pack.py\nRoot-Is-Purelib: false\nTag: cp311-abi3-{platform}\n"
        )
        wheels.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "wheel", "pack", root, "-d", wheels], check=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [built, wheels]:
            pack(Path(built), Path(wheels))
        case [built, wheels, platform, *runner]:
            pack(Path(built), Path(wheels), platform, runner)
        case [built]:
            shutil.rmtree(HERE / "porcini.data", ignore_errors=True)
            add_data(Path(built), HERE / "porcini.data")
        case _:
            sys.exit(__doc__)
