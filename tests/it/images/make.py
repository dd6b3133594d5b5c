"""Makes the files of this folder, which tests/it/images.rs reads: pip install pillow==13.0.0 numpy, then python make.py.
What the JPEGs hold was compared with what Pillow reads from them."""

import struct
import zlib

import numpy
from PIL import Image

# Red grows to the right, green downwards.
y, x = numpy.mgrid[0:10, 0:19]
colours = numpy.stack([10 * x + 20, 20 * y + 20, 0 * x + 100], -1).astype("u1")
greys = colours[..., 0]

picture = Image.fromarray(colours)
picture.save("baseline.jpg", quality=90, optimize=True)
picture.save("progressive.jpg", quality=90, progressive=True)
picture.save("restarts.jpg", quality=90, optimize=True, restart_marker_blocks=1)
picture.save("halves.jpg", quality=90, optimize=True, subsampling="4:2:2")
picture.save("kept.jpg", quality=90, optimize=True, keep_rgb=True)
Image.fromarray(greys).save("grey.jpg", quality=90, optimize=True)
# Inks: black is none of them at their lightest.
inks = numpy.concatenate([255 - colours, 0 * greys[..., None]], -1).astype("u1")
Image.fromarray(inks, "CMYK").save("inks.jpg", quality=90, optimize=True)
exif = Image.Exif()
exif[0x0112] = 6  # to be turned
picture.save("turned.jpg", quality=90, optimize=True, exif=exif)

frames = [Image.fromarray(numpy.full((2, 3, 3), grey, "u1")) for grey in (10, 200)]
frames[0].save("animated.png", save_all=True, append_images=frames[1:])


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def interlaced(rows):
    """Adam7, which Pillow does not write."""
    passes = [(0, 8, 0, 8), (0, 8, 4, 8), (4, 8, 0, 4), (0, 4, 2, 4), (2, 4, 0, 2), (0, 2, 1, 2), (1, 2, 0, 1)]
    parts = (rows[top::down, left::right] for top, down, left, right in passes)
    lines = (b"\0" + line.tobytes() for part in parts if part.size for line in part)
    return zlib.compress(b"".join(lines))


header = struct.pack(">IIBBBBB", 19, 10, 8, 2, 0, 0, 1)
with open("interlaced.png", "wb") as file:
    file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", interlaced(colours)) + chunk(b"IEND", b""))
