"""Data files of every format that is read, and of some that are not, with damage by a seed."""

import gzip
import io
import json
import random
import zipfile

WORDS = [
    "film",
    "gorgeous",
    "dreadful",
    "naïve",
    "电影",
    "🙂",
    "don't",
    "a;b",
    "x|y",
    "0",
    "-1",
    "1e5",
    "null",
    "\u200b",
]
SIGNS = [
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1b[31m", b'"'),
    *(b"\r", b"\n", b"\r\n", b",", b"\t", b";", b"[", b"{", b"\\"),
]
TOKENS = [b"\\ud83d", b"NaN", b"-Infinity", b"1e400", b"null", b"true", b"sep=;\n", b"\xed\xa0\x80", b"\x80" * 9]
LONG = [b"9" * 500, b"9" * 5000, b"[" * 3000, b'{"a":' * 3000, "\u2028\u0085\u202e".encode()]
MAGIC = [b"PAR1", b"\x1f\x8b\x08", b"PK\x03\x04"]
INSERTED = [*SIGNS, *TOKENS, *LONG, *MAGIC]
ENCODINGS = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "gb18030", "utf-7", "cp1252", "utf-8-sig"]
WRITTEN = [".csv", ".csv", ".tsv", ".txt", ".jsonl", ".jsonl", ".json", ".parquet", ".parquet", ".parquet", ".xlsx"]
NAMES = [".csv", ".tsv", ".txt", ".jsonl", ".json", ".parquet", ".csv.gz", ".jsonl.gz", ".xlsx", ".tab", ".xls"]
LABELS = ["yes", "no", "yes", "no", "yes", "no", "9" * 400, "red\x1b[31m", "1e400"]
Row = tuple[str, str, int]


def damaged(chance: random.Random) -> tuple[str, bytes, str]:
    """A file's name, its bytes, and what was done to it."""
    if chance.random() < 0.004:
        return _bomb(chance)
    ending = chance.choice(WRITTEN)
    data, changes = written(ending, chance), [ending]
    for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
        data, how = _changed(data, chance)
        changes.append(how)
    if chance.random() < 0.2:
        data, ending = gzip.compress(data, mtime=0), f"{ending}.gz"
        if chance.random() < 0.5:
            data, how = _changed(data, chance)
            changes.append(f"packed: {how}")
    if chance.random() < 0.05:
        ending = chance.choice(NAMES)
    return f"rows{ending}", data, ", ".join(changes)


def written(ending: str, chance: random.Random) -> bytes:
    """Rows with a text, a label and a number, in the format of the ending."""
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(0, 12))) for _ in range(chance.choice([0, 1, 5, 40, 200]))]
    labels = LABELS if chance.random() < 0.2 else LABELS[:2]
    rows = [(text, chance.choice(labels), number) for number, text in enumerate(texts)]
    match ending:
        case ".csv":
            lines = ["text,label,id", *(f'"{text}",{label},{number}' for text, label, number in rows)]
        case ".tsv":
            lines = ["id\ttext\tlabel", *(f"{number}\t{text}\t{label}" for text, label, number in rows)]
        case ".txt":
            lines = texts
        case ".parquet":
            return _parquet(rows, chance)
        case ".xlsx":
            return _sheet(rows)
        case _:
            objects = [json.dumps({"text": text, "label": label, "id": number}) for text, label, number in rows]
            lines = [f"[{', '.join(objects)}]"] if ending == ".json" and chance.random() < 0.7 else objects
    return ("\n".join(lines) + "\n").encode()


def _parquet(rows: list[Row], chance: random.Random) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]
    texts = pa.array([text for text, _, _ in rows], pa.string()).cast(chance.choice(kinds))
    numbers = pa.array([number * 10**9 for *_, number in rows], chance.choice([pa.int64(), pa.timestamp("us")]))
    sink = io.BytesIO()
    pq.write_table(
        pa.table({"text": texts, "label": [label for _, label, _ in rows], "id": numbers}),
        sink,
        compression=chance.choice(["none", "snappy", "gzip", "zstd"]),
        use_dictionary=chance.random() < 0.5,
        row_group_size=chance.choice([1, 7, 1000]),
        data_page_version=chance.choice(["1.0", "2.0"]),
    )
    return sink.getvalue()


def _sheet(rows: list[Row]) -> bytes:
    """The least that is a workbook; its texts are in the cells."""
    main, of_office = "http://schemas.openxmlformats.org", "http://schemas.openxmlformats.org/officeDocument/2006"
    cells = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in [("text", "label", "id"), *rows])
    types = f"{main}/package/2006/content-types"
    book = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{types}"><Override PartName="/xl/workbook.xml" '
        f'ContentType="{book}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" '
        f'ContentType="{book}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{main}/package/2006/relationships"><Relationship Id="r1" '
        f'Type="{of_office}/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}/spreadsheetml/2006/main" xmlns:r="{of_office}/relationships">'
        '<sheets><sheet name="rows" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{main}/package/2006/relationships"><Relationship Id="r1" '
        f'Type="{of_office}/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}/spreadsheetml/2006/main">'
        f"<sheetData>{cells}</sheetData></worksheet>",
    }
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content.encode(), zipfile.ZIP_DEFLATED)
    return sink.getvalue()


def _cell(value: object) -> str:
    text = str(value).replace("&", "&amp;").replace("<", "&lt;").replace("\x1b", "")  # which XML has no sign for
    return f'<c t="inlineStr"><is><t>{text}</t></is></c>'


def _changed(data: bytes, chance: random.Random) -> tuple[bytes, str]:
    how = chance.choice([_flipped, _flipped, _cut, _inserted, _spliced, _repeated, _encoded, _zeroed, _swapped])
    at = chance.randrange(len(data) + 1)
    return how(data, at, chance), f"{how.__name__.removeprefix('_')} at {at}"


def _flipped(data: bytes, at: int, chance: random.Random) -> bytes:
    some = bytearray(data)
    for place in range(at, min(len(data), at + chance.choice([1, 1, 3, 20]))):
        some[place] = chance.randrange(256)
    return bytes(some)


def _cut(data: bytes, at: int, _: random.Random) -> bytes:
    return data[:at]


def _inserted(data: bytes, at: int, chance: random.Random) -> bytes:
    return data[:at] + chance.choice(INSERTED) + data[at:]


def _spliced(data: bytes, at: int, chance: random.Random) -> bytes:
    other = written(chance.choice([".csv", ".jsonl", ".parquet"]), chance)
    return data[:at] + other[chance.randrange(len(other) + 1) :]


def _repeated(data: bytes, at: int, chance: random.Random) -> bytes:
    return data[:at] + data[at : at + chance.choice([1, 10, 1000])] * chance.choice([2, 100, 5000]) + data[at:]


def _encoded(data: bytes, _: int, chance: random.Random) -> bytes:
    return data.decode("utf-8", "replace").encode(chance.choice(ENCODINGS), "replace")


def _zeroed(data: bytes, at: int, chance: random.Random) -> bytes:
    length = chance.choice([1, 4, 64])
    return data[:at] + bytes(length) + data[at + length :]


def _swapped(data: bytes, at: int, _: random.Random) -> bytes:
    return data[at:] + data[:at]


def _bomb(chance: random.Random) -> tuple[str, bytes, str]:
    """Much out of little: 40 MB in one line, packed, or a text that every row of a parquet file repeats."""
    ending = chance.choice([".csv.gz", ".tsv.gz", ".txt.gz", ".jsonl.gz", ".json.gz", ".parquet"])
    if ending == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink, texts = io.BytesIO(), pa.DictionaryArray.from_arrays([0] * 4000, ["x" * 300_000])
        pq.write_table(pa.table({"text": texts}), sink, store_schema=chance.random() < 0.5)
        return f"rows{ending}", sink.getvalue(), "bomb"
    start = {".jsonl.gz": b'{"text": "', ".json.gz": b'[{"text": "'}.get(ending, b"text\n")
    sign = chance.choice([b"\0", b"a", b" ", b",", b"[", b'"', b"\n"])
    packed = gzip.compress(start + sign * 40_000_000, compresslevel=1, mtime=0)
    return f"rows{ending}", packed, f"bomb of {sign!r}"
