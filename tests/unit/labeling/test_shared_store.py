"""A label store at an address: several machines write and read it, each with copies of its own."""

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.file_systems import RemoteFolder
from limbeck.artifacts.rows import Rows, content_keys
from limbeck.errors import PathUnusable
from limbeck.labeling import store_index
from limbeck.labeling.index import TextIndex
from limbeck.labeling.places import locate, read_labels
from limbeck.labeling.store import LabelStore, SharedStore

TEXTS = [f"text {number}" for number in range(40)]


@pytest.fixture(params=["file", "s3"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A folder that machines share; of S3 where moto, which plays its server, is installed."""
    if request.param == "file":
        yield (tmp_path / "shared").as_uri()
        return
    server = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    running = server.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    options = f"endpoint_override={host}:{port}&scheme=http&region=us-east-1"
    client = boto3.client(
        "s3",
        endpoint_url=f"http://{host}:{port}",
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
    )
    client.create_bucket(Bucket="labels")
    yield f"s3://a:b@labels/{tmp_path.name}?{options}"  # moto keeps its buckets as long as the process lives
    running.stop()


def on_machine(name: str, address: str, folder: Path) -> LabelStore:
    return LabelStore(SharedStore(address, folder / name), teacher="t", classes=2)


def write(store: LabelStore, texts: list[str]) -> None:
    store.write(content_keys(texts), np.array([[int(text.split()[1]), 0.0] for text in texts], dtype=np.float32))


def labels_of(store: LabelStore, texts: list[str]) -> list[float]:
    index = TextIndex({"train": Rows.of(ids=texts, texts=texts)})
    places = locate(index, store, on_damage=store.remove)
    logits, _ = read_labels(index, places, store, slice(0, len(texts)))
    return [float(value) for value in logits[:, 0]]


def test_what_one_machine_writes_the_other_reads(address: str, tmp_path: Path) -> None:
    one, other = on_machine("one", address, tmp_path), on_machine("other", address, tmp_path)

    write(one, TEXTS[:20])
    write(other, TEXTS[20:])

    for store in (one, other):
        assert labels_of(store, TEXTS) == [float(number) for number in range(40)]
        assert store.bytes_of(store.shards()) == sum(path.stat().st_size for path in store.folder.glob("*.arrow"))
    assert sorted(RemoteFolder(address).files(deep=True)) == [f"t/{shard.name}" for shard in one.shards()]


def test_many_writers_at_once_lose_nothing(address: str, tmp_path: Path) -> None:
    def work(number: int) -> None:
        store = on_machine(f"machine-{number}", address, tmp_path)
        for start in range(0, 40, 10):  # all of them write the same shards
            write(store, TEXTS[start : start + 10])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    fresh = on_machine("fresh", address, tmp_path)
    assert len(fresh.shards()) == 4
    assert labels_of(fresh, TEXTS) == [float(number) for number in range(40)]
    assert all(name.endswith(".arrow") for name in RemoteFolder(address).files(deep=True))


def test_a_damaged_copy_is_made_again_and_a_damaged_shard_is_removed(address: str, tmp_path: Path) -> None:
    store = on_machine("one", address, tmp_path)
    write(store, TEXTS)
    (shard,) = store.shards()
    content = shard.read_bytes()

    shard.write_bytes(content[:-1])
    assert labels_of(on_machine("one", address, tmp_path), TEXTS)[7] == 7.0
    assert shard.read_bytes() == content

    shard.unlink()
    RemoteFolder(address).write(f"t/{shard.name}", content[:-1])
    assert np.isnan(labels_of(on_machine("one", address, tmp_path), TEXTS)).all()
    assert RemoteFolder(address).files(deep=True) == {}


def test_the_index_is_shared_too(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_index, "SHARDS_SCANNED", 2)
    one = on_machine("one", address, tmp_path)
    for start in range(0, 40, 10):
        write(one, TEXTS[start : start + 10])
    assert labels_of(one, TEXTS[:2]) == [0.0, 1.0]

    other = on_machine("other", address, tmp_path)

    assert labels_of(other, ["text 5"]) == [5.0]
    copies = sorted(path.name for path in other.folder.iterdir())
    assert len(copies) == 2  # the index, and the one shard that holds the text
    assert copies[-1] == "keys.index"


def test_an_address_that_nothing_opens_is_the_users_to_correct(tmp_path: Path) -> None:
    with pytest.raises(PathUnusable, match="nowhere://labels"):
        LabelStore(SharedStore("nowhere://labels", tmp_path), teacher="t", classes=2).shards()
