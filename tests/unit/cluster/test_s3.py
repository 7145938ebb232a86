"""Rows, predictions and labels on S3: a server of its protocol (moto) on this machine. Skipped without moto."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from limbeck.artifacts.file_systems import RemoteFolder
from limbeck.cluster.pieces import InputForm
from limbeck.cluster.predict import predict_files
from limbeck.errors import PathUnusable
from limbeck.labeling.store import SharedStore
from limbeck.runtime.classifier import Classifier
from tests.unit.cluster.on_nodes import TEXTS, Lengths, labelled
from tests.unit.cluster.test_predict import parts

pytestmark = pytest.mark.s3
KEYS = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The options of an address of S3 for the server, which has an empty bucket; ends with the test."""
    server = pytest.importorskip("moto.server")
    from pyarrow.fs import S3FileSystem

    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    host, port = running.get_host_and_port()
    S3FileSystem(endpoint_override=f"{host}:{port}", scheme="http", allow_bucket_creation=True).create_dir("bucket")
    yield f"?endpoint_override={host}:{port}&scheme=http"
    running.stop()


def uploaded(data: Path, address: str) -> list[str]:
    folder = RemoteFolder(address)
    for path in sorted(data.iterdir()):
        folder.write(path.name, path.read_bytes())
    return sorted(folder.files())


def test_files_on_s3_give_the_parts_that_files_here_give(
    bucket: str, model: Classifier, data: Path, tmp_path: Path
) -> None:
    names = uploaded(data, f"s3://bucket/rows{bucket}")
    here = predict_files(model, [str(data)], tmp_path / "here", reading=InputForm())

    out = f"s3://bucket/labelled{bucket}"
    there = predict_files(model, [f"s3://bucket/rows/*{bucket}"], out, reading=InputForm())
    again = predict_files(model, [f"s3://bucket/rows/*{bucket}"], out, reading=InputForm())

    assert names == ["one.parquet", "three.jsonl", "two.parquet"]
    assert (there.rows, there.pieces, there.failed) == (here.rows, here.pieces, here.failed)
    assert (again.found, again.rows) == (here.pieces, here.rows)
    folder = RemoteFolder(out)
    copies = tmp_path / "there"
    copies.mkdir()
    for name in folder.files():
        (copies / name).write_bytes(folder.read(name))
    assert parts(copies) == parts(tmp_path / "here")
    marks = RemoteFolder(f"s3://bucket/labelled/_limbeck/done{bucket}").files()
    assert len(marks) == here.pieces


def test_machines_share_labels_on_s3_and_ask_no_text_twice(bucket: str, tmp_path: Path) -> None:
    address = f"s3://bucket/labels{bucket}"
    folders = [tmp_path / name for name in ("first", "second")]
    alone = labelled(tmp_path / "alone", None, Lengths())

    first, second = (
        labelled(folder, None, Lengths(), store=SharedStore(address, folder / "copies")) for folder in folders
    )

    assert [labels.asking["asked"] for labels in (first, second)] == [len(set(TEXTS)), 0]
    assert first.fingerprint == second.fingerprint == alone.fingerprint
    shards = RemoteFolder(address).inner("t").files()
    assert sorted(shards) == sorted(path.name for path in (tmp_path / "alone").glob("store-here/t/*.arrow"))
    for name in shards:  # somebody writes nonsense over it: it is asked again, and mended
        RemoteFolder(address).inner("t").write(name, b"nonsense")
    third = labelled(tmp_path / "third", None, Lengths(), store=SharedStore(address, tmp_path / "third" / "copies"))
    assert third.asking["asked"] == len(set(TEXTS))
    assert third.fingerprint == alone.fingerprint


def test_a_bucket_that_is_not_there_is_named(bucket: str, model: Classifier, data: Path) -> None:
    with pytest.raises(PathUnusable, match="nowhere"):
        predict_files(model, [str(data)], f"s3://nowhere/out{bucket}", reading=InputForm())
