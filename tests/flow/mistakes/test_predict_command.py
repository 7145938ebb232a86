"""`limbeck predict` in clumsy hands: wrong folders, wrong files, wrong columns, and pipes that close."""

import csv
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

Command = Callable[..., Any]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Two rows with a header."""
    path = tmp_path / "rows.csv"
    path.write_text("name,body\nfirst,a gorgeous film\nsecond,a dreadful film\n", encoding="utf-8")
    return path


def test_in_its_run_a_model_knows_what_its_text_was_called(
    model: Path, tmp_path: Path, rows: Path, limbeck: Command
) -> None:
    kept = shutil.copytree(model, tmp_path / "run" / "models" / "small")
    recipe = tmp_path / "run" / "recipe.toml"

    for own in ('[corpus]\ntext = "body"\n', "[corpus]\ntext = 1\n"):
        recipe.write_text(own, encoding="utf-8")
        known = limbeck("predict", kept, rows)
        assert known.code == 0, known.err
        assert known.out.splitlines()[0].startswith("name,body,label,")
        assert known.out == limbeck("predict", kept, rows, "--text", "body").out
    recipe.write_text("[corpus]\ntext = 1\nheader = false\n", encoding="utf-8")
    assert limbeck("predict", kept, rows).out == limbeck("predict", model, rows, "--text", "1", "--no-header").out
    assert limbeck("predict", kept, rows, "--header").out == known.out
    for other in ("[corpus]\ntext = 7\n", 'corpus = "body"\n', "no toml"):
        recipe.write_text(other, encoding="utf-8")
        assert limbeck("predict", kept, rows).refused_with("has no column 'text'", "--text")


# ---- models ----


def test_a_folder_that_is_not_there_is_no_model(rows: Path, limbeck: Command) -> None:
    assert limbeck("predict", "nowhere", rows).refused_with("'nowhere' is not a model", "Give the")


def test_a_run_is_no_model_but_its_models_are_named(toy: Any, rows: Path, limbeck: Command) -> None:
    answer = limbeck("predict", toy.run, rows)

    assert answer.refused_with(f"'{toy.run}' is not a model", str(toy.run / "models" / "best"))


def test_another_artifact_is_called_by_its_name(toy: Any, rows: Path, limbeck: Command) -> None:
    assert limbeck("predict", toy.run / "students" / "bilstm" / "0", rows).refused_with(
        "is not a model: it is a student"
    )


def test_a_model_of_a_newer_limbeck_is_refused(model: Path, tmp_path: Path, rows: Path, limbeck: Command) -> None:
    newer = shutil.copytree(model, tmp_path / "newer")
    manifest = json.loads((newer / "manifest.json").read_text(encoding="utf-8"))
    (newer / "manifest.json").write_text(json.dumps({**manifest, "format": 99}), encoding="utf-8")

    assert limbeck("predict", newer, rows).refused_with("format 99", "up to 4", "pip install --upgrade limbeck")


def test_an_engine_that_cannot_run_the_model_is_refused_and_onnxruntime_does_it(
    model: Path, rows: Path, limbeck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "limbeck.runtime._native", None)
    monkeypatch.delitem(sys.modules, "limbeck.runtime.native_graph", raising=False)
    monkeypatch.delattr("limbeck.runtime._native", raising=False)

    refused = limbeck("predict", model, rows, "--text", "body", "--engine", "native")
    answers = [limbeck("predict", model, rows, "--text", "body", "--engine", engine) for engine in ("auto", "onnx")]

    assert refused.refused_with("the native engine cannot run the model 'bilstm", "`onnx`")
    assert answers[0] == answers[1]
    assert answers[0].code == 0


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json", "model.json"])
def test_a_damaged_model_is_refused(model: Path, tmp_path: Path, rows: Path, limbeck: Command, file: str) -> None:
    damaged = shutil.copytree(model, tmp_path / "damaged")
    (damaged / file).write_bytes((damaged / file).read_bytes()[:-7])

    assert limbeck("predict", damaged, rows).refused_with("damaged' is damaged", f"{file} has", "Run the recipe again")


# ---- files ----


def test_a_missing_file_is_reported_with_a_close_name(model: Path, rows: Path, limbeck: Command) -> None:
    assert limbeck("predict", model, rows.with_name("row.csv")).refused_with(
        "did you mean 'rows.csv'?", str(rows.parent)
    )


def test_a_folder_is_no_file_of_rows(model: Path, tmp_path: Path, limbeck: Command) -> None:
    assert limbeck("predict", model, tmp_path).refused_with(
        f"cannot read '{tmp_path}'", "Is a directory", "Give a file"
    )


def test_an_unknown_column_is_reported_with_those_there_are(model: Path, rows: Path, limbeck: Command) -> None:
    assert limbeck("predict", model, rows).refused_with("no column 'text'", "its columns: name, body", "`--text`")
    assert limbeck("predict", model, rows, "--text", "boddy").refused_with("(did you mean 'body'?)", "--no-header")


def test_a_model_of_pairs_wants_two_texts(pair_model: Path, tmp_path: Path, limbeck: Command) -> None:
    (tmp_path / "one.csv").write_text("text\na film\n", encoding="utf-8")

    assert limbeck("predict", pair_model, tmp_path / "one.csv").refused_with("no column 'pair'", "its columns: text")
    assert limbeck("predict", pair_model, given="a film\n").refused_with("row 1", "no tab", "text<TAB>text")


def test_a_model_of_single_texts_wants_one(model: Path, rows: Path, limbeck: Command) -> None:
    answer = limbeck("predict", model, rows, "--text", "body", "--pair", "name")

    assert answer.refused_with("the model reads one text per row", "Leave `--pair` out")


def test_undecodable_bytes_are_reported_with_their_row(model: Path, tmp_path: Path, limbeck: Command) -> None:
    (tmp_path / "latin.txt").write_bytes("a film\ncafé\n".encode("latin-1"))

    assert limbeck("predict", model, tmp_path / "latin.txt").refused_with(
        "row 2", "not valid utf-8", "e9", "--encoding"
    )
    assert "café" in limbeck("predict", model, tmp_path / "latin.txt", "--encoding", "latin-1").out


def test_undecodable_bytes_in_the_first_rows_leave_nothing_written(
    model: Path, tmp_path: Path, limbeck: Command
) -> None:
    (tmp_path / "latin.csv").write_bytes("id,text\n1,café\n".encode("latin-1"))

    on_terminal = limbeck("predict", model, tmp_path / "latin.csv")
    to_file = limbeck("predict", model, tmp_path / "latin.csv", "--out", tmp_path / "out.csv")

    assert on_terminal.refused_with("row 2", "not valid utf-8")
    assert to_file.refused_with("row 2", "not valid utf-8")
    assert on_terminal.out == to_file.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["latin.csv"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "gb18030"])
def test_other_encodings_are_read(model: Path, tmp_path: Path, limbeck: Command, encoding: str) -> None:
    (tmp_path / "rows.csv").write_bytes("text\n上 film 好\nother\n".encode(encoding))

    answer = limbeck("predict", model, tmp_path / "rows.csv", "--encoding", encoding)

    assert [line.partition(",")[0] for line in answer.out.splitlines()] == ["text", "上 film 好", "other"]


def test_an_encoding_that_does_not_exist_is_refused(model: Path, rows: Path, limbeck: Command) -> None:
    assert limbeck("predict", model, rows, "--encoding", "klingon").refused_with("klingon", "no encoding has that name")


@pytest.mark.parametrize(
    ("name", "content", "out"),
    [
        ("rows.txt", b"", ""),
        ("rows.jsonl", b"", ""),
        ("rows.csv", b"", ""),
        (
            "rows.csv",
            b"text\n",
            "text,label,probability_negative,probability_neutral,probability_positive\n",
        ),
    ],
)
def test_no_rows_in_is_no_rows_out(
    model: Path, tmp_path: Path, limbeck: Command, name: str, content: bytes, out: str
) -> None:
    (tmp_path / name).write_bytes(content)

    answer = limbeck("predict", model, tmp_path / name)

    assert (answer.code, answer.out, answer.err) == (0, out, "")


def test_nothing_on_standard_input_is_no_rows(model: Path, limbeck: Command) -> None:
    assert limbeck("predict", model).code == 0


def test_odd_texts_pass_through_the_command(
    model: Path, tmp_path: Path, limbeck: Command, odd_texts: dict[str, str]
) -> None:
    given = "".join(f"{text}\n" for text in odd_texts.values()).encode("utf-8")

    answer = limbeck("predict", model, "--out", tmp_path / "out.txt", given=given)

    lines = (tmp_path / "out.txt").read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    assert answer.code == 0, answer.err
    assert [line.split("\t", 2)[2] for line in lines] == list(odd_texts.values())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.tab", "id\ttext\n7\ta film\n\n8\ta road\n"),
        ("rows.json", '[{"id": 7, "text": "a film"}, {"id": 8, "text": "a road"}]'),
        ("rows.csv", "id, text\n7,a film\n8,a road\n"),
        ("rows.csv", "id;text\n7;a film\n8;a road\n"),
    ],
)
def test_files_are_read_as_in_training(model: Path, tmp_path: Path, limbeck: Command, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")

    answer = limbeck("predict", model, tmp_path / name, "--json")

    assert answer.code == 0, answer.err
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert [(str(row["id"]), row["text"]) for row in rows] == [("7", "a film"), ("8", "a road")]


def test_formats_that_are_not_read_are_refused_with_what_to_do(model: Path, tmp_path: Path, limbeck: Command) -> None:
    (tmp_path / "rows.xls").write_bytes(b"PK")

    assert limbeck("predict", model, tmp_path / "rows.xls").refused_with(".xls files are not supported", "as csv")


def test_parquet_goes_in_and_comes_out(model: Path, tmp_path: Path, rows: Path, limbeck: Command) -> None:
    labelled, again = tmp_path / "labelled.parquet", tmp_path / "again.csv"

    assert limbeck("predict", model, rows, "--text", "body", "--out", labelled).code == 0
    assert limbeck("predict", model, labelled, "--text", "body", "--out", again).code == 0

    first = pq.read_table(labelled).to_pylist()
    assert [row["name"] for row in first] == ["first", "second"]
    assert all(isinstance(row["probability_positive"], float) for row in first)
    second = list(csv.DictReader(again.read_text(encoding="utf-8").splitlines()))
    assert [row["predicted_label"] for row in second] == [row["label"] for row in first]


# ---- options ----


def test_a_file_without_header_reads_numbers(model: Path, rows: Path, limbeck: Command) -> None:
    answer = limbeck("predict", model, rows, "--no-header", "--text", "1")

    assert answer.code == 0
    assert answer.out.startswith("name,body,")
    assert len(answer.out.splitlines()) == 3


def test_answers_as_json_lines(model: Path, rows: Path, limbeck: Command) -> None:
    answer = limbeck("predict", model, rows, "--text", "body", "--json")

    lines = [json.loads(line) for line in answer.out.splitlines()]
    assert [line["name"] for line in lines] == ["first", "second"]
    assert all(line["label"] in line["probabilities"] for line in lines)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("out.jsonl", '{"name": "first", "body": "a gorgeous film", "label": "'),
        ("out.tsv", "name\tbody\tlabel\tprobability_negative"),
        ("out.csv", "name,body,label,probability_negative"),
        ("out.txt", "name,body,label,probability_negative"),
    ],
)
def test_the_ending_of_the_output_chooses_its_format(
    model: Path, tmp_path: Path, rows: Path, limbeck: Command, name: str, first: str
) -> None:
    assert limbeck("predict", model, rows, "--text", "body", "--out", tmp_path / name).code == 0

    assert (tmp_path / name).read_text(encoding="utf-8").startswith(first)


def test_an_output_with_gz_at_its_end_is_packed(model: Path, tmp_path: Path, rows: Path, limbeck: Command) -> None:
    packed = tmp_path / "out.jsonl.gz"

    assert limbeck("predict", model, rows, "--text", "body", "--out", packed).code == 0

    lines = gzip.decompress(packed.read_bytes()).decode("utf-8").splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["first", "second"]


def test_an_output_that_cannot_be_what_its_ending_says_is_refused(
    model: Path, tmp_path: Path, rows: Path, limbeck: Command
) -> None:
    objects = tmp_path / "objects.jsonl"
    objects.write_text('{"text": "a film"}\n', encoding="utf-8")

    for arguments, words in [
        ((rows, "--text", "body", "--out", tmp_path / "out.xlsx"), ("does not write .xlsx", ".csv, .tsv, .jsonl")),
        (
            (rows, "--text", "body", "--json", "--out", tmp_path / "out.csv"),
            ("--json", "this is csv", "Name it .jsonl"),
        ),
        (
            (objects, "--out", tmp_path / "out.csv"),
            ("JSON lines cannot be written as csv", "name the output .jsonl or .parquet"),
        ),
    ]:
        assert limbeck("predict", model, *arguments).refused_with(*words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["objects.jsonl", "rows.csv"]


def test_the_output_may_be_the_input(model: Path, rows: Path, limbeck: Command) -> None:
    assert limbeck("predict", model, rows, "--text", "body", "--out", rows).code == 0

    assert [line.split(",")[:2] for line in rows.read_text(encoding="utf-8").splitlines()] == [
        ["name", "body"],
        ["first", "a gorgeous film"],
        ["second", "a dreadful film"],
    ]


def test_a_mistake_in_the_middle_leaves_an_earlier_output_alone(
    model: Path, tmp_path: Path, rows: Path, limbeck: Command
) -> None:
    (tmp_path / "earlier.csv").write_text("what was there", encoding="utf-8")
    rows.write_text(rows.read_text(encoding="utf-8") + "too,many,cells\n", encoding="utf-8")

    answer = limbeck("predict", model, rows, "--text", "body", "--out", tmp_path / "earlier.csv")

    assert answer.refused_with("row 4", "3 cells instead of 2")
    assert (tmp_path / "earlier.csv").read_text(encoding="utf-8") == "what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["earlier.csv", "rows.csv"]


def test_an_output_that_cannot_be_written_is_refused(model: Path, tmp_path: Path, rows: Path, limbeck: Command) -> None:
    assert limbeck("predict", model, rows, "--out", tmp_path).refused_with("it is a folder", "the name of a file")
    assert limbeck("predict", model, rows, "--out", tmp_path / "no" / "x.csv").refused_with(
        "there is no folder", "make the"
    )


# ---- in a process of its own ----


def test_a_mistake_ends_a_real_process_with_two_lines_and_status_2(model: Path) -> None:
    command = [sys.executable, "-m", "limbeck", "predict", str(model / "nowhere"), "-"]

    done = subprocess.run(command, input="x\n", capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 2
    assert done.stderr.startswith("limbeck: '")


def test_a_reader_that_leaves_early_is_no_error(model: Path, tmp_path: Path) -> None:
    """`limbeck predict … | head -1`, with more rows than a pipe holds."""
    (tmp_path / "rows.txt").write_text("a gorgeous film of many words\n" * 20_000, encoding="utf-8")
    command = [sys.executable, "-m", "limbeck", "predict", str(model), str(tmp_path / "rows.txt")]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.stdout.close()
        noise = process.stderr.read()

    assert first.endswith(b"\ta gorgeous film of many words\n")
    assert noise == b""
    assert process.returncode == 0


def test_rows_are_utf8_whatever_the_terminal_is(model: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "limbeck", "predict", str(model)]

    done = subprocess.run(command, input="好 film\n".encode(), env=environment, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.decode("utf-8").endswith("\t好 film\n")


# ---- fallbacks ----


def test_a_fallback_answers_the_rows_that_it_gets_and_they_are_counted(
    model: Path, rows: Path, limbeck: Command
) -> None:
    found = limbeck("predict", model, rows, "--text", "body", "--fallback", model, "--threshold", "1")

    assert found.code == 0, found.err
    header, *lines = found.out.splitlines()
    assert header.endswith(",answered_by")
    assert [line.rpartition(",")[2] for line in lines] == ["fallback", "fallback"]
    assert "2 of 2 rows were answered by the fallback (100.0%)" in found.err


def test_a_fallback_that_is_never_asked_is_said(model: Path, rows: Path, limbeck: Command) -> None:
    found = limbeck("predict", model, rows, "--text", "body", "--fallback", model, "--threshold", "0")

    assert found.code == 0, found.err
    assert "the fallback is never asked" in found.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--share", "0.2"], "--share is about a fallback, and there is none"),
        (["--fallback", "here", "--share", "0.2", "--threshold", "0.9"], "say the same thing"),
        (["--fallback", "nowhere", "--threshold", "0.9"], "'nowhere' cannot be a fallback: it is not a model"),
        (["--fallback", "http://me:secret@127.0.0.1:9", "--threshold", "0.9"], "a name and password in it"),
    ],
)
def test_a_fallback_that_is_none_is_refused(
    model: Path, rows: Path, limbeck: Command, options: list[str], words: str
) -> None:
    found = limbeck("predict", model, rows, "--text", "body", *options)

    assert found.refused_with(words)
    assert "secret" not in found.err


def test_when_the_fallback_is_down_the_student_answers_and_it_is_said(
    model: Path, rows: Path, limbeck: Command
) -> None:
    down = ["--fallback", "http://127.0.0.1:9", "--fallback-format", "tei", "--threshold", "1"]

    found = limbeck("predict", model, rows, "--text", "body", *down)

    assert found.code == 0, found.err
    assert [line.rpartition(",")[2] for line in found.out.splitlines()[1:]] == ["student", "student"]
    assert "0 of 2 rows were answered by the fallback" in found.err
    assert "the student answered the rows that it should have got" in found.err
