"""Pictures as tensors."""

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import porcini as pc

FILES = Path(__file__).parents[2] / "tests/it/images"


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, depth, colour, rows):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_greys_and_colours(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(png(2, 2, 8, 0, [bytes([0, 51]), bytes([102, 255])]))
    t = pc.read_image(path)
    assert t.dtype == "uint8" and t.shape == (2, 2) and t.tolist() == [[0, 51], [102, 255]]
    t = pc.read_image(str(path), dtype=pc.Float64)
    assert t.dtype == "float64" and t.tolist() == [[0, 0.2], [0.4, 1]]
    assert pc.read_image(path, "float16").dtype == "float16"
    path.write_bytes(png(1, 2, 8, 6, [bytes([1, 2, 3, 4]), bytes([5, 6, 7, 8])]))
    assert pc.read_image(path).tolist() == [[[1, 2, 3, 4]], [[5, 6, 7, 8]]]


def test_sixteen_bits(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(png(2, 1, 16, 0, [struct.pack(">HH", 258, 65535)]))
    t = pc.read_image(path)
    assert t.dtype == "uint16" and t.tolist() == [[258, 65535]]
    assert pc.read_image(path, dtype=pc.Float).tolist()[0][1] == 1


@pytest.mark.parametrize("name", ["baseline", "progressive", "inks"])
def test_photographs(name):
    t = pc.read_image(FILES / f"{name}.jpg")
    assert t.shape == (10, 19, 3)
    first, last = t[0, 0].tolist(), t[-1, -1].tolist()
    assert all(abs(a - b) < 20 for a, b in zip(first + last, [20, 20, 100, 200, 200, 100]))


@pytest.mark.skipif(sys.platform != "linux", reason="names are texts elsewhere")
def test_names_that_are_no_text(tmp_path):
    path = tmp_path / os.fsdecode(b"\xff.png")
    path.write_bytes(png(1, 1, 8, 0, [b"\7"]))
    assert pc.read_image(path).tolist() == [[7]]


def test_memory_of_a_device(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(png(4096, 4096, 8, 0, [bytes(range(256)) * 16] * 4096))
    text = "import porcini as pc, sys; pc.init(device='cpu', memory_limit='1M'); pc.read_image(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", text, str(path)], capture_output=True, text=True)
    assert "MemoryError: read_image: " in done.stderr and "a.png: out of memory" in done.stderr


def test_what_is_no_picture(tmp_path):
    path = tmp_path / "a.png"
    with pytest.raises(FileNotFoundError, match="read_image: .*a.png"):
        pc.read_image(path)
    with pytest.raises(OSError, match="read_image"):
        pc.read_image(tmp_path)
    path.write_bytes(b"GIF89a")
    with pytest.raises(ValueError, match="a.png: this is a GIF; PNG and JPEG are read; save it as PNG"):
        pc.read_image(path)
    whole = png(2, 2, 8, 0, [bytes(2), bytes(2)])
    for n in range(1, len(whole)):
        path.write_bytes(whole[:n])
        with pytest.raises(ValueError, match="the PNG ends before its picture does"):
            pc.read_image(path)
    with pytest.raises(ValueError, match="expected a float type"):
        pc.read_image(path, dtype=pc.Int32)
