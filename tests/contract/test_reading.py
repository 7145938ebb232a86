"""One file, two readers: training and `limbeck predict` find the same texts in it, whatever its format and dialect."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limbeck.artifacts.model_folder import ModelFacts
from limbeck.corpus.file_rows import read_file
from limbeck.errors import ColumnMissing
from limbeck.recipe.corpus import CorpusSection
from limbeck.recipe.transfer import Transfer
from limbeck.runtime.entries import Trained
from limbeck.runtime.row import Row, columns_of
from limbeck.runtime.run_recipe import as_in_training
from limbeck.runtime.stream import predict_stream
from limbeck.tables.table import TableUnnamed
from limbeck.transfer.text_sources import text_sources

NAMES = ("id", "text", "other", "label")
TEXTS = [
    "a gorgeous, witty film",
    " leading and trailing blanks  ",
    'he said "fine; really" | twice',
    "",
    "房间很干净\u3000",
    "two\x0bodd\u2028separators\x85",
    "1984",
]
IN_QUOTES = ["two\nlines", "a tab\there", "a lone \r inside"]
ROWS = [(str(at), text, f"other {at} ", "xy"[at % 2]) for at, text in enumerate(TEXTS)]
QUOTED_ROWS = [*ROWS, *((f"q{at}", text, "other", "xy"[at % 2]) for at, text in enumerate(IN_QUOTES))]
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Case:
    """A file, and what the recipe and the options of `predict` say about it."""

    name: str
    content: bytes
    rows: Rows = tuple(ROWS)
    recipe: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


def _csv(rows: Rows, *, delimiter: str = ",", header: Sequence[str] = NAMES, **how: Any) -> str:
    table = io.StringIO()
    csv.writer(table, delimiter=delimiter, **how).writerows([header, *rows] if header else rows)
    return table.getvalue()


def _plain(rows: Rows, *, header: Sequence[str] = NAMES, between: str = "\t") -> str:
    return "".join(between.join(cells) + "\n" for cells in ([header, *rows] if header else rows))


def _objects(rows: Rows) -> list[dict[str, str]]:
    return [dict(zip(NAMES, cells, strict=True)) for cells in rows]


def _parquet() -> bytes:
    file = io.BytesIO()
    pq.write_table(
        pa.table({name: list(column) for name, column in zip(NAMES, zip(*ROWS, strict=True), strict=True)}), file
    )
    return file.getvalue()


def _cases() -> Iterator[tuple[str, Case]]:
    by_number: dict[str, Any] = {
        "recipe": {"text": 1, "label": 3, "header": False},
        "options": {"text": "1", "header": False},
    }
    numbers_only: dict[str, Any] = {"recipe": {"text": 1, "label": 3}, "options": {"text": "1"}}
    lines = [json.dumps(row, ensure_ascii=False) for row in _objects(QUOTED_ROWS)]
    for sign, name in {",": "comma", ";": "semicolon", "|": "bar", "\t": "tab"}.items():
        yield f"csv {name}", Case("a.csv", _csv(QUOTED_ROWS, delimiter=sign).encode(), QUOTED_ROWS)
        yield f"csv {name} no header", Case("a.csv", _csv(ROWS, delimiter=sign, header=()).encode(), **by_number)
        yield (
            f"csv {name} every cell quoted",
            Case("a.csv", _csv(QUOTED_ROWS, delimiter=sign, quoting=csv.QUOTE_ALL).encode(), QUOTED_ROWS),
        )
    yield "csv column by number under a header", Case("a.csv", _csv(ROWS).encode(), **numbers_only)
    yield "csv blanks in the header", Case("a.csv", _csv(ROWS, header=["id", " text", " other ", " label"]).encode())
    yield "csv line feeds", Case("a.csv", _csv(QUOTED_ROWS[:-1], lineterminator="\n").encode(), QUOTED_ROWS[:-1])
    yield "csv carriage returns alone", Case("a.csv", _csv(ROWS, lineterminator="\r").encode())
    yield "csv empty lines", Case("a.csv", _csv(ROWS).replace("\r\n", "\r\n\r\n  \r\n").encode())
    yield "csv no last line end", Case("a.csv", _csv(ROWS).removesuffix("\r\n").encode())
    yield (
        "csv quotes are plain",
        Case(
            "a.csv",
            _plain(ROWS[2:], between=",").encode(),
            ROWS[2:],
            recipe={"quoting": False},
            options={"quoting": False},
        ),
    )
    yield "tsv", Case("a.tsv", _plain(ROWS).encode())
    yield "tab", Case("a.tab", _plain(ROWS).encode())
    yield "tsv empty lines", Case("a.tsv", _plain(ROWS).replace("\n", "\n\n  \n").encode())
    yield "tsv crlf", Case("a.tsv", _plain(ROWS).replace("\n", "\r\n").encode())
    yield (
        "tsv lone carriage return",
        Case("a.tsv", _plain([("1", "a\rb", "c", "x")]).encode(), [("1", "a\rb", "c", "x")]),
    )
    yield "tsv no header", Case("a.tsv", _plain(ROWS, header=()).encode(), **by_number)
    yield "tsv blanks in the header", Case("a.tsv", _plain(ROWS, header=["id", " text ", "other", "label "]).encode())
    yield (
        "tsv quoted",
        Case(
            "a.tsv",
            _csv(QUOTED_ROWS, delimiter="\t").encode(),
            QUOTED_ROWS,
            recipe={"quoting": True},
            options={"quoting": True},
        ),
    )
    for name in ("a.jsonl", "a.ndjson", "a.json"):
        yield f"object a line in {name}", Case(name, "\n".join(lines).encode(), QUOTED_ROWS)
        yield f"array on one line in {name}", Case(name, f"[{', '.join(lines)}]".encode(), QUOTED_ROWS)
    yield "array with indents", Case("a.json", json.dumps(_objects(QUOTED_ROWS), indent=2).encode(), QUOTED_ROWS)
    yield "array an object a line", Case("a.json", ("[\n" + ",\n".join(lines) + "\n]\n").encode(), QUOTED_ROWS)
    yield "json empty lines, crlf", Case("a.jsonl", "\r\n\r\n".join(lines).encode(), QUOTED_ROWS)
    yield (
        "json numbers for texts",
        Case(
            "a.jsonl",
            b'{"text": 1984, "other": 1, "label": 1}\n{"text": 1.0, "other": 0.5, "label": 1}\n'
            b'{"text": true, "other": false, "label": 0}\n',
            [("", "1984", "1"), ("", "1", "0.5"), ("", "true", "false")],
        ),
    )
    yield "json column by number", Case("a.jsonl", "\n".join(lines).encode(), QUOTED_ROWS, **numbers_only)
    yield "parquet", Case("a.parquet", _parquet())
    yield "pq", Case("a.pq", _parquet())
    yield "parquet column by number", Case("a.parquet", _parquet(), **numbers_only)
    for encoding in ("utf-8-sig", "utf-16", "gb18030"):
        form: dict[str, Any] = {"recipe": {"encoding": encoding}, "options": {"encoding": encoding}}
        yield f"csv {encoding}", Case("a.csv", _csv(QUOTED_ROWS).encode(encoding), QUOTED_ROWS, **form)
        yield f"csv semicolon {encoding}", Case("a.csv", _csv(ROWS, delimiter=";").encode(encoding), **form)
        yield f"tsv {encoding}", Case("a.tsv", _plain(ROWS).encode(encoding), **form)
        yield f"jsonl {encoding}", Case("a.jsonl", "\n".join(lines).encode(encoding), QUOTED_ROWS, **form)
        yield f"array {encoding}", Case("a.json", f"[{','.join(lines)}]".encode(encoding), QUOTED_ROWS, **form)
    yield "csv utf-8 with a mark, read as utf-8", Case("a.csv", _csv(ROWS).encode("utf-8-sig"))


CASES = dict(_cases())


class Listener:
    """A classifier that keeps what it is asked."""

    labels = ["x", "y"]  # noqa: RUF012  # never written to

    def __init__(self, *, pair: bool) -> None:
        sizes: dict[str, Any] = {"max_length": 8, "parameters": 1, "parameters_without_embeddings": 1}
        self.facts = ModelFacts(
            name="stub", kind="bilstm", precision="fp32", labels=self.labels, language="en", pair=pair, **sizes
        )
        self.rows: list[Row] = []

    def predict_proba(self, rows: list[Row]) -> npt.NDArray[np.float32]:
        self.rows += rows
        return np.full((len(rows), 2), 0.5, dtype=np.float32)

    def logits(self, rows: list[Row]) -> npt.NDArray[np.float32]:
        return np.zeros_like(self.predict_proba(rows))

    def scores(self, rows: list[Row]) -> npt.NDArray[np.float64]:
        raise AssertionError(f"it has classes, and is asked for the scores of {rows}")


def trained_on(path: Path, **recipe: Any) -> list[list[str]]:
    """The texts that training reads and, for pairs, the second texts."""
    rows, _, _ = read_file(CorpusSection(train=str(path), **recipe), path, split="train")
    return [rows.texts] if rows.pairs is None else [rows.texts, rows.pairs]


def predicted(source: Any, *, is_pair: bool = False, **options: Any) -> list[list[str]]:
    """The texts that `predict` hands to the tokenizer."""
    listener = Listener(pair=is_pair)
    predict_stream(listener, source, io.StringIO(), output="jsonl", **options)
    return columns_of(listener.rows)


def plain_bytes(content: bytes) -> bytes:
    return content


@pytest.mark.parametrize("name", CASES)
def test_training_and_predict_read_the_same_texts(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    expected = [cells[1].strip() for cells in case.rows]
    plain, packed = tmp_path / case.name, tmp_path / f"{case.name}.gz"
    plain.write_bytes(case.content)
    packed.write_bytes(gzip.compress(case.content))

    for path in (plain, packed):
        assert trained_on(path, **case.recipe) == [[text for text in expected if text]], "nothing is learned from ''"
        assert predicted(path, **case.options) == [expected]
    second: str | int = 2 if "text" in case.recipe else "other"
    both = [expected, [cells[2].strip() for cells in case.rows]]
    learned = [pair for pair in zip(*both, strict=True) if any(pair)]
    assert trained_on(plain, **case.recipe, pair=second) == [list(column) for column in zip(*learned, strict=True)]
    assert predicted(plain, is_pair=True, **{"text": "text", **case.options}, pair=str(second)) == both


def of_a_run(folder: Path, **recipe: Any) -> Trained:
    """What `predict` knows of the rows that a model in a run's folder was trained on."""
    folder.mkdir(exist_ok=True)
    keys = "".join(f"{key} = {json.dumps(value)}\n" for key, value in recipe.items())
    (folder / "recipe.toml").write_text(f"[corpus]\n{keys}", encoding="utf-8")
    return as_in_training(folder / "models" / "best")


@pytest.mark.parametrize("name", CASES)
def test_a_model_of_a_run_reads_rows_as_its_recipe_says_without_options(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    path = tmp_path / case.name
    path.write_bytes(case.content)
    trained = of_a_run(tmp_path / "run", train=str(path), **case.recipe)

    found = predicted(path, trained=trained, encoding=case.options.get("encoding", "utf-8"))

    assert found == [[cells[1].strip() for cells in case.rows]]


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_text_in_the_first_column_by_its_number_is_not_forgotten(
    tmp_path: Path, delimiter: str, header: bool
) -> None:
    path = tmp_path / "a.csv"
    rows = [("review", "label", "remark"), ("fine, really", "x", "1"), ("bad", "y", "2")][0 if header else 1 :]
    path.write_text(_csv(rows, delimiter=delimiter, header=()), encoding="utf-8")
    recipe = {"text": 0, "label": 1, "header": header}

    assert trained_on(path, **recipe) == [["fine, really", "bad"]]
    assert predicted(path, trained=of_a_run(tmp_path / "run", train=str(path), **recipe)) == [["fine, really", "bad"]]


@pytest.mark.parametrize("name", ["csv semicolon", "tab", "array with indents", "parquet"])
def test_answers_in_parquet_keep_the_texts_that_were_read(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    path, answers = tmp_path / case.name, tmp_path / "answers.parquet"
    path.write_bytes(case.content)

    with answers.open("wb") as sink:
        predict_stream(Listener(pair=False), path, sink, output="parquet", **case.options)

    assert predicted(answers) == predicted(path, **case.options)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
@pytest.mark.parametrize("packed", [plain_bytes, gzip.compress], ids=["plain", "gzip"])
def test_transfer_text_and_predict_read_the_same_plain_lines(
    tmp_path: Path, line_end: str, encoding: str, packed: Callable[[bytes], bytes]
) -> None:
    """Training has no use for blank lines; `predict` answers every line, so that its answers can be counted off."""
    texts = [text for text in [*TEXTS, "a lone \r inside", "a tab\there"] if "\n" not in text]
    path = tmp_path / "lines.txt"
    path.write_bytes(packed("".join(text + line_end for text in texts).encode(encoding)))
    (source,) = text_sources(Transfer(files=[str(path)], encoding=encoding))

    learned, (asked,) = [text for text, _ in source.texts()], predicted(path, encoding=encoding)

    assert asked == [text.strip() for text in texts]
    assert learned == [text for text in asked if text]


@pytest.mark.parametrize("packed", [plain_bytes, gzip.compress], ids=["plain", "gzip"])
def test_training_transfer_text_and_predict_read_the_same_lines_of_fasttext(
    tmp_path: Path, packed: Callable[[bytes], bytes]
) -> None:
    texts = [text.strip() for text in TEXTS if text.strip()]
    path = tmp_path / "train.txt"
    path.write_bytes(packed("".join(f"__label__{'xy'[at % 2]} {text}\n" for at, text in enumerate(texts)).encode()))
    (source,) = text_sources(Transfer(files=[str(path)]))

    assert trained_on(path) == predicted(path) == [texts]
    assert [text for text, _ in source.texts()] == texts


def test_a_table_on_a_stream_is_never_read_as_plain_lines() -> None:
    """By the name of the text's column; what has no such name is refused with what to say."""
    assert predicted(io.BytesIO(b'id,text\n1,"fine, really"\n2,bad\n')) == [["fine, really", "bad"]]
    assert predicted(io.BytesIO(b"id\tbody\n1\tfine\n"), trained=Trained(text="body")) == [["fine"]]
    with pytest.raises(TableUnnamed, match=r"(?s)columns id, review.*--format csv.*--text"):
        predicted(io.BytesIO(b"id,review\n1,fine\n2,bad\n"))
    assert predicted(io.BytesIO(b"id,review\n1,fine\n2,bad\n"), format="lines") == [["id,review", "1,fine", "2,bad"]]


def test_a_column_of_a_file_without_header_is_asked_for_by_its_number_alone() -> None:
    with pytest.raises(ColumnMissing) as caught:
        predicted(io.BytesIO(b"1,fine\n2,bad\n"), format="csv", header=False, text="body")

    assert "header" not in str(caught.value)
    assert "by its name or its number from 0" in str(caught.value)


def test_a_stream_is_read_like_the_file(tmp_path: Path) -> None:
    """Without a name the first lines tell the format, or the options do."""
    for name, case in CASES.items():
        format = {".tab": "tsv", ".ndjson": "jsonl", ".json": "jsonl", ".pq": "parquet"}.get(
            Path(case.name).suffix, Path(case.name).suffix[1:]
        )
        (tmp_path / case.name).write_bytes(case.content)

        assert predicted(io.BytesIO(case.content), format=format, **case.options) == predicted(
            tmp_path / case.name, **case.options
        ), name
