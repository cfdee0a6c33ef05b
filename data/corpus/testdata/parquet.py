# Writes the Parquet files of this folder with pyarrow, in the layouts that data sets on the web have.
import pyarrow as pa
import pyarrow.parquet as pq

texts = ["first text", None, "", "dritte Zeile\nmit é und 日本", "same", "same", "same", "last\x00\r\n"]
table = pa.table({
    "id": pa.array(range(len(texts))),
    "text": pa.array(texts, pa.string()),
    "meta": pa.array([{"url": f"u{i}", "inner": {"body": t}} for i, t in enumerate(texts)]),
    "a.b": pa.array([t and t.upper() for t in texts], pa.large_string()),
    "tags": pa.array([["x", "y"]] * len(texts)),
})
for name, options in {
    "snappy": dict(compression="snappy"),
    "zstd": dict(compression="zstd", use_dictionary=False, data_page_version="2.0"),
    "lz4": dict(compression="lz4"),
    "gzip": dict(compression="gzip", row_group_size=3),
    "none": dict(compression="none", data_page_size=1, write_batch_size=1, use_dictionary=["text"]),
}.items():
    pq.write_table(table, name + ".parquet", **options)
pq.write_table(pa.table({"text": pa.array(["€", "x\ud800y".encode("utf-8", "surrogatepass")], pa.binary())}), "binary.parquet")
