"""Makes the files of this folder, which tests/it/tables.rs reads: pip install pyarrow==26.0.1 polars==2.1.0, then
python make.py. What they hold was compared with what pyarrow reads from them."""

import datetime
import decimal

import polars
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

missing = [False, True, False, False, False]


def column(values, kind):
    return pa.array(values, kind, mask=pa.array(missing))


days = [datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31), None, datetime.date(1970, 1, 1)]
table = pa.table({
    "i8": pa.array([-128, 0, 127, 1, 2], pa.int8()),
    "u16": pa.array([0, 1, 2, 3, 65535], pa.uint16()),
    "i32": column([-2147483648, 0, 3, 4, 2147483647], pa.int32()),
    "u64": pa.array([0, 1, 2, 3, 2**64 - 1], pa.uint64()),
    "f16": pa.array([0.5, 1, 2, 3, 65504], pa.float16()),
    "f32": column([0.1, 0, float("inf"), -0.0, 4], pa.float32()),
    "f64": pa.array([0.1, 1e300, float("nan"), None, 5], pa.float64()),
    "mask": column([True, False, False, True, True], pa.bool_()),
    "text": pa.array(["a", "d\u00e9", None, "", "a"]),
    "city": pa.array(["Rome", "Oslo", None, "Oslo", "Rome"]).dictionary_encode(),
    "day": pa.array(days, pa.date32()),
    "ns": pa.array([0, 1, -1, 1_500_000_000, 1_709_164_800_000_000_001], pa.timestamp("ns")),
    "time": pa.array([0, 1, 43_200_000, 3, 86_399_999], pa.time32("ms")),
    "price": pa.array([decimal.Decimal(x) for x in ("0.10", "-1.15", "99999.99", "3", "7")], pa.decimal128(9, 2)),
    "wide": pa.array([decimal.Decimal(x) for x in ("1e30", "-1e-10", "1.5", "3", "7")], pa.decimal256(50, 10)),
    "at": pa.array([[1, 2, 3], [4, 5, 6], None, [7, 8, 9], [0, 0, 0]], pa.list_(pa.float32(), 3)),
    "s": pa.array([{"x": 1, "y": 0.5}, {"x": 2, "y": 1.5}, None, {"x": None, "y": 2.5}, {"x": 5, "y": 3.5}],
                  pa.struct([("x", pa.int64()), ("y", pa.float64())])),
    "none": pa.nulls(5),
})
numbers = table.select(["i8", "i32", "f32", "f64", "mask", "text"])
pages = {"data_page_size": 64, "write_batch_size": 1, "row_group_size": 3}
pyarrow.parquet.write_table(table, "snappy.parquet", **pages)
pyarrow.parquet.write_table(table, "zstd.parquet", compression="zstd", data_page_version="2.0", write_statistics=False,
                            **pages)
deltas = {"i8": "DELTA_BINARY_PACKED", "i32": "DELTA_BINARY_PACKED", "f32": "BYTE_STREAM_SPLIT",
          "f64": "BYTE_STREAM_SPLIT", "mask": "RLE", "text": "DELTA_BYTE_ARRAY"}
pyarrow.parquet.write_table(numbers, "deltas.parquet", compression="gzip", use_dictionary=False,
                            column_encoding=deltas, store_schema=False)
polars.from_arrow(table.drop_columns(["wide", "none", "time"])).write_parquet("polars.parquet", compression="lz4")
pyarrow.parquet.write_table(table.slice(0, 0), "empty.parquet", compression="none")
lists = pa.table({"a": [1, 2], "tags": [["x"], []]})
pyarrow.parquet.write_table(lists, "lists.parquet")
pyarrow.parquet.write_table(lists.select(["a"]), "brotli.parquet", compression="brotli")
pyarrow.feather.write_feather(table, "lz4.arrow", compression="lz4", chunksize=3)
polars.from_arrow(table.drop_columns(["wide", "none", "time"])).write_ipc("polars.arrow", compression="zstd")
names = pa.schema([("c", pa.dictionary(pa.int8(), pa.string()))])
with pa.ipc.new_stream("names.arrows", names, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as stream:
    for codes, texts in (([0, 1, None], "xy"), ([2, 1, 0], "xyz"), ([0, 0, 0], "q")):
        codes = pa.array(codes, pa.int8())
        stream.write_batch(pa.record_batch([pa.DictionaryArray.from_arrays(codes, list(texts))], schema=names))
