"""Files become parts in a folder: every row once, the same as from a single stream, and again only what is missing."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limbeck.cluster import predict as module
from limbeck.cluster.pieces import InputForm, input_files, pieces_of
from limbeck.cluster.predict import PieceDone, PiecesLost, predict_files
from limbeck.errors import FileMissing, PathUnusable
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.stream import predict_stream


def parts(out: Path) -> dict[str, pa.Table]:
    return {path.name: pq.read_table(path) for path in sorted(out.glob("*.parquet"))}


def test_rows_are_those_of_a_single_stream_in_the_same_order(model: Classifier, data: Path, tmp_path: Path) -> None:
    found = predict_files(model, [str(data / "two.parquet")], tmp_path / "out", reading=InputForm())

    with (tmp_path / "one.parquet").open("wb") as sink:
        predict_stream(model, data / "two.parquet", sink, output="parquet")
    whole = pq.read_table(tmp_path / "one.parquet")
    assert pa.concat_tables(parts(tmp_path / "out").values()).equals(whole)
    assert (found.rows, found.pieces, found.failed) == (300, 3, 0)


def test_rows_without_a_text_get_nulls_and_are_counted(model: Classifier, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    found = predict_files(model, [str(data)], out, reading=InputForm())

    assert (found.rows, found.pieces, found.failed) == (603, 7, 2)
    answers = [row for table in parts(out).values() for row in table.select(["text", "label"]).to_pylist()]
    assert [row["label"] is None for row in answers] == [row["text"] is None for row in answers]
    assert sum(row["label"] is None for row in answers) == 2
    reasons = "".join(path.read_text() for path in sorted((out / "_limbeck/failed").iterdir()))
    assert reasons.count("`text` is null") == 2


def test_the_same_call_predicts_only_what_is_missing(
    model: Classifier, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = list[str]()

    def dies_at_third(piece: Any, *rest: Any) -> PieceDone | str:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(piece.name)
        return real(piece, *rest)

    real = module.piece_done
    monkeypatch.setattr(module, "piece_done", dies_at_third)
    with pytest.raises(KeyboardInterrupt):
        predict_files(model, [str(data)], tmp_path / "out", reading=InputForm())
    monkeypatch.setattr(module, "piece_done", real)

    (tmp_path / "out" / "part-000004.parquet.0.partial").write_bytes(b"of a killed worker")
    found = predict_files(model, [str(data)], tmp_path / "out", reading=InputForm())

    assert (found.found, found.pieces, found.rows) == (2, 7, 603)
    assert not list((tmp_path / "out").glob("*.partial"))
    complete = predict_files(model, [str(data)], tmp_path / "other", reading=InputForm())
    assert (complete.found, complete.rows) == (0, 603)
    assert parts(tmp_path / "out") == parts(tmp_path / "other")


def test_a_piece_that_fails_midway_leaves_no_file(model: Classifier, data: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bad.parquet").write_bytes((data / "one.parquet").read_bytes())
    damaged = bytearray((data / "two.parquet").read_bytes())
    damaged[8:400] = b"\0" * 392
    (tmp_path / "in" / "worse.parquet").write_bytes(damaged)

    with pytest.raises(PiecesLost, match="1 of 6 pieces") as raised:
        predict_files(model, [str(tmp_path / "in")], tmp_path / "out", reading=InputForm())

    assert list(raised.value.lost) == ["part-000003"]
    assert len(parts(tmp_path / "out")) == 5
    assert [path for path in (tmp_path / "out").iterdir() if path.suffix == ".partial"] == []


def test_a_folder_of_other_predictions_is_refused(model: Classifier, data: Path, tmp_path: Path) -> None:
    predict_files(model, [str(data / "three.jsonl")], tmp_path / "out", reading=InputForm())

    with pytest.raises(PathUnusable, match="digest"):
        predict_files(model, [str(data / "one.parquet")], tmp_path / "out", reading=InputForm())
    with pytest.raises(PathUnusable, match="other files in it"):
        predict_files(model, [str(data / "one.parquet")], data, reading=InputForm())


def test_files_are_found_by_name_pattern_folder_and_address(data: Path) -> None:
    names = [
        [Path(file.address.partition("?")[0]).name for file in input_files([place])]
        for place in (
            str(data),
            str(data / "*.parquet"),
            f"{data.as_uri()}/t*.*",
            data.as_uri(),
            f"{data.as_uri()}/two.parquet",
        )
    ]

    assert names == [
        ["one.parquet", "three.jsonl", "two.parquet"],
        ["one.parquet", "two.parquet"],
        ["three.jsonl", "two.parquet"],
        ["one.parquet", "three.jsonl", "two.parquet"],
        ["two.parquet"],
    ]
    with pytest.raises(FileMissing):
        input_files([str(data / "*.csv")])
    with pytest.raises(PathUnusable, match="names no file"):
        input_files([f"{data.as_uri()}/none*"])
    with pytest.raises(PathUnusable, match="more than once"):
        input_files([str(data), str(data / "one.parquet")])


def test_files_at_an_address_give_the_same_parts(model: Classifier, data: Path, tmp_path: Path) -> None:
    predict_files(model, [str(data)], tmp_path / "paths", reading=InputForm())
    predict_files(model, [data.as_uri()], (tmp_path / "addresses").as_uri(), reading=InputForm())

    assert parts(tmp_path / "paths") == parts(tmp_path / "addresses")


def test_pieces_cover_every_row_group_once(data: Path) -> None:
    pieces = pieces_of(input_files([str(data)]), InputForm())

    assert [piece.groups for piece in pieces] == [(0, 1), (2, 3), (4, 5), None, (0, 1), (2, 3), (4, 5)]
    assert [piece.number for piece in pieces] == list(range(7))
