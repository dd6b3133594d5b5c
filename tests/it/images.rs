//! Pictures as others write them. `images/make.py` made the files and says how; PNGs of each kind are made here.

use std::rc::Rc;

use png::{BitDepth, ColorType, Encoder, chunk};
use porcini_core::tensor::Tensor;
use porcini_core::{DType, DeviceChoice, Error, Session};
use porcini_script::images::{self, Refusal};
use porcini_script::{ErrorKind, on_engine_thread};
use porcini_tests::extent::is_full;
use porcini_tests::golden;
use porcini_tests::host::TestHost;
use porcini_tests::random::Random;

macro_rules! files {
    ($($name:literal)*) => { [$(($name, include_bytes!(concat!("images/", $name)).as_slice())),*] };
}

/// Files of one picture.
const JPEGS: [(&str, &[u8]); 8] = files!(
    "baseline.jpg" "progressive.jpg" "restarts.jpg" "turned.jpg" "halves.jpg" "kept.jpg" "inks.jpg" "grey.jpg"
);
const PNGS: [(&str, &[u8]); 2] = files!("interlaced.png" "animated.png");
const ROWS: u32 = 10;
const COLUMNS: u32 = 19;

fn session() -> Session {
    Session::builder().device(DeviceChoice::Cpu).build().unwrap()
}

/// Shape, type and numbers.
fn parts(tensor: &Tensor) -> (Vec<u64>, DType, Vec<u32>) {
    let entries = tensor.entries().unwrap()[0].cast(DType::U32).unwrap();
    (tensor.shape().extents().to_vec(), tensor.dtype(), entries.to_vec().unwrap())
}

fn read(file: &[u8]) -> (Vec<u64>, DType, Vec<u32>) {
    parts(&images::read(&session(), file, None).unwrap())
}

fn refusal(file: &[u8]) -> String {
    images::read(&session(), file, None).unwrap_err().to_string()
}

/// What the files show.
fn shown() -> Vec<u32> {
    let pixels = (0..ROWS).flat_map(|y| (0..COLUMNS).map(move |x| (x, y)));
    pixels.flat_map(|(x, y)| [10 * x + 20, 20 * y + 20, 100]).collect()
}

#[test]
fn files_of_others_are_read() {
    for (name, file) in JPEGS {
        let (shape, dtype, got) = read(file);
        let is_grey = name == "grey.jpg";
        let want: Vec<u32> = shown().into_iter().step_by(if is_grey { 3 } else { 1 }).collect();
        assert_eq!(shape, [10, 19, 3][..if is_grey { 2 } else { 3 }], "{name}");
        assert_eq!(dtype, DType::U8, "{name}");
        // Colours are stored at half the resolution.
        let off = got.iter().zip(&want).map(|(got, want)| got.abs_diff(*want)).max();
        let most = if ["kept.jpg", "inks.jpg", "grey.jpg"].contains(&name) { 3 } else { 18 };
        assert!(off <= Some(most), "{name}: off by {off:?}");
    }
    assert_eq!(read(PNGS[0].1), (vec![10, 19, 3], DType::U8, shown()));
    assert_eq!(read(PNGS[1].1), (vec![2, 3, 3], DType::U8, vec![10; 18]));
}

/// A PNG of two rows and five columns.
fn png(colour: ColorType, depth: BitDepth, samples: &[u32], transparent: Option<&[u8]>) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, 5, 2);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    if colour == ColorType::Indexed {
        encoder
            .set_palette((0..=u8::MAX).flat_map(entry).take(3 << depth as u8).collect::<Vec<_>>());
    }
    if let Some(transparent) = transparent {
        encoder.set_trns(transparent.to_vec());
    }
    let rows = samples.chunks(samples.len() / 2);
    let data: Vec<u8> = rows.flat_map(|row| packed(row, depth as u32)).collect();
    encoder.write_header().unwrap().write_image_data(&data).unwrap();
    file
}

/// A colour of the palette.
fn entry(i: u8) -> [u8; 3] {
    [i, 255 - i, i.wrapping_mul(7)]
}

fn packed(row: &[u32], bits: u32) -> Vec<u8> {
    if bits == 16 {
        return row
            .iter()
            .flat_map(|&sample| u16::try_from(sample).unwrap().to_be_bytes())
            .collect();
    }
    let byte = |samples: &[u32]| {
        let places = samples.iter().zip((0..8).step_by(bits as usize));
        u8::try_from(places.map(|(sample, at)| sample << (8 - bits - at)).sum::<u32>()).unwrap()
    };
    row.chunks(8 / bits as usize).map(byte).collect()
}

/// Numbers of so many bits, two rows of five.
fn samples(n_channels: u32, bits: u32) -> Vec<u32> {
    (0..10 * n_channels).map(|i| (i * 4099 + i / 5) % (1 << bits)).collect()
}

#[test]
fn every_kind_of_png_is_read() {
    use BitDepth::{Eight, Four, One, Sixteen, Two};
    use ColorType::{Grayscale, GrayscaleAlpha, Indexed, Rgb, Rgba};
    for depth in [One, Two, Four, Eight, Sixteen] {
        let (bits, dtype) = (depth as u32, if depth == Sixteen { DType::U16 } else { DType::U8 });
        let grey = samples(1, bits);
        let spread = if bits < 8 { 255 / ((1 << bits) - 1) } else { 1 };
        let want: Vec<u32> = grey.iter().map(|x| x * spread).collect();
        assert_eq!(read(&png(Grayscale, depth, &grey, None)), (vec![2, 5], dtype, want), "{bits}");
        if bits <= 8 {
            let of = |&i: &u32| entry(u8::try_from(i).unwrap()).map(u32::from);
            let want: Vec<u32> = grey.iter().flat_map(of).collect();
            let got = read(&png(Indexed, depth, &grey, None));
            assert_eq!(got, (vec![2, 5, 3], dtype, want), "palette, {bits}");
            let opacity = |i: &u32| if *i == 0 { 9 } else { 255 };
            let with_opacity = |i: &u32| of(i).into_iter().chain([opacity(i)]).collect::<Vec<_>>();
            let want: Vec<u32> = grey.iter().flat_map(with_opacity).collect();
            let got = read(&png(Indexed, depth, &grey, Some(&[9])));
            assert_eq!(got, (vec![2, 5, 4], dtype, want), "palette with opacity, {bits}");
        }
        if bits < 8 {
            continue;
        }
        for (colour, n) in [(Rgb, 3), (Rgba, 4)] {
            let want = samples(n, bits);
            let got = read(&png(colour, depth, &want, None));
            assert_eq!(got, (vec![2, 5, u64::from(n)], dtype, want), "{colour:?}, {bits}");
        }
        let pairs = samples(2, bits);
        let want: Vec<u32> = pairs.chunks(2).flat_map(|it| [it[0], it[0], it[0], it[1]]).collect();
        let got = read(&png(GrayscaleAlpha, depth, &pairs, None));
        assert_eq!(got, (vec![2, 5, 4], dtype, want), "greys with opacity, {bits}");
    }
    // One grey is transparent.
    let grey = samples(1, 8);
    let opacity = |x: u32| if x == grey[3] { 0 } else { 255 };
    let want: Vec<u32> = grey.iter().flat_map(|&x| [x, x, x, opacity(x)]).collect();
    let got = read(&png(Grayscale, Eight, &grey, Some(&[0, u8::try_from(grey[3]).unwrap()])));
    assert_eq!(got, (vec![2, 5, 4], DType::U8, want));
}

#[test]
fn floats_are_parts_of_the_largest() {
    for (depth, most) in [(BitDepth::Eight, 255.0_f32), (BitDepth::Sixteen, 65535.0)] {
        let mut grey = samples(1, depth as u32);
        grey[0] = (1 << depth as u32) - 1;
        let file = png(ColorType::Grayscale, depth, &grey, None);
        let read = |dtype| images::read(&session(), &file, Some(dtype)).unwrap();
        let want: Vec<f32> = grey.iter().map(|&x| u16::try_from(x).unwrap().into()).collect();
        let want: Vec<f32> = want.into_iter().map(|x: f32| x / most).collect();
        assert_eq!(read(DType::F32).entries().unwrap()[0].to_vec::<f32>().unwrap(), want);
        let half = read(DType::F16);
        assert_eq!(half.dtype(), DType::F16);
        let half = half.entries().unwrap()[0].cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
        assert_eq!(half[0], 1.0);
        assert!(half.iter().zip(&want).all(|(x, want)| (x - f64::from(*want)).abs() < 1e-3));
    }
}

#[test]
fn files_that_end_early_are_refused() {
    let small = png(ColorType::Rgba, BitDepth::Eight, &samples(4, 8), None);
    for (name, file) in JPEGS.into_iter().chain(PNGS).chain([("small.png", small.as_slice())]) {
        assert_eq!(refusal(&[]), "the file is empty");
        let format = if name.ends_with(".jpg") { "JPEG" } else { "PNG" };
        let want = format!("the {format} ends before its picture does");
        for n in 1..file.len() {
            assert_eq!(refusal(&file[..n]), want, "{name}, {n} of {} bytes", file.len());
        }
    }
}

#[test]
fn what_is_no_picture_is_named() {
    for (file, want, remedy) in [
        (&b"GIF89a"[..], "this is a GIF; PNG and JPEG are read", "save it as PNG"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "this is a WebP", "save it as PNG"),
        (b"\x93NUMPY\x01\0", "this is an .npy file", "use read_npy"),
        (b"<!DOCTYPE html>", "this is a page of the web", "look at it"),
        (b"version https://git-lfs.github.com", "this is a pointer of Git LFS", "git lfs pull"),
        (b"\x01\"hello", "it begins with \"\\x01\\\"hello\"", "save it as PNG"),
    ] {
        let error = images::read(&session(), file, None).unwrap_err();
        assert!(error.to_string().contains(want), "{error}");
        assert!(error.remedy().unwrap().contains(remedy), "{error}: {:?}", error.remedy());
    }
}

/// Sizes that only headers have.
#[test]
fn sizes_that_pictures_name_are_not_believed() {
    let mut file = Vec::new();
    let mut writer = Encoder::new(&mut file, 100_000, 100_000).write_header().unwrap();
    writer.write_chunk(chunk::IDAT, &[0x78, 1, 1, 0, 0, 0xff, 0xff, 0, 0, 0, 1]).unwrap();
    drop(writer);
    let want = format!("100000 x 100000 pixels are more than a PNG of {} B can hold", file.len());
    assert_eq!(refusal(&file), want);
    let (_, baseline) = JPEGS[0];
    let mut file = baseline.to_vec();
    let header = file.windows(2).position(|it| it == [0xff, 0xc0]).unwrap();
    file[header + 5..header + 9].fill(0xff);
    let want = format!("65535 x 65535 pixels are more than a JPEG of {} B can hold", file.len());
    assert_eq!(refusal(&file), want);
    // What a file can hold, but the session not.
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, 6000, 6000);
    encoder.set_color(ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&vec![7; 6000 * 6000]).unwrap();
    let session =
        Session::builder().device(DeviceChoice::Cpu).memory_limit(1 << 24).build().unwrap();
    let read = images::read(&session, &file, None);
    assert!(matches!(read, Err(Refusal::Core(Error::OutOfMemory { .. }))), "{read:?}");
}

/// A file that is changed here and there is read or refused.
#[test]
fn damaged_pictures_are_read_or_refused() {
    let n = if is_full() { 100_000 } else { 2_000 };
    on_engine_thread(move || {
        let host = Rc::new(TestHost::default());
        let mut interpreter = golden::interpreter(host.clone(), golden::BASELINE, 0);
        let mut random = Random::new(29);
        let files: Vec<(&str, &[u8])> = JPEGS.into_iter().chain(PNGS).collect();
        let mut refused = 0;
        for _ in 0..n {
            let (name, whole) = files[random.below(files.len())];
            let mut file = whole.to_vec();
            for _ in 0..=random.below(3) {
                let at = random.below(file.len());
                match random.below(4) {
                    0 => file[at] ^= 1 << random.below(8),
                    1 => file[at] = [0, 0x7f, 0x80, 0xff][random.below(4)],
                    2 => drop(file.remove(at)),
                    _ => file.insert(at, file[at / 2]),
                }
            }
            let kept = file.clone();
            host.put("f", file);
            if let Err(error) = interpreter.execute("print(read_image(\"f\"))", "damaged") {
                refused += 1;
                if error.kind == ErrorKind::Internal
                    || !error.message.starts_with("read_image: f: ")
                {
                    let place = std::env::temp_dir().join("damaged-picture");
                    std::fs::write(&place, kept).unwrap();
                    panic!("{name}: {error}\nthe file is {}", place.display());
                }
            }
            host.take();
        }
        assert!(refused > n / 4, "only {refused} of {n} were refused");
    });
}
