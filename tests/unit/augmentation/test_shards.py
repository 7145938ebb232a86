from pathlib import Path

import pyarrow as pa

from limbeck.augmentation.prediction_store import keep, stored_batches


def numbers(folder: Path) -> set[int]:
    return {number for batch in stored_batches(folder) for number in batch.column("n").to_pylist()}


def test_every_file_adds_to_the_stored_ones(tmp_path: Path) -> None:
    keep(tmp_path / "store", pa.table({"n": [1, 2]}))
    keep(tmp_path / "store", pa.table({"n": [3]}))
    keep(tmp_path / "store", pa.table({"n": [3]}))

    assert numbers(tmp_path / "store") == {1, 2, 3}
    assert len(list((tmp_path / "store").iterdir())) == 2


def test_a_damaged_file_is_skipped(tmp_path: Path) -> None:
    keep(tmp_path, pa.table({"n": [1, 2]}))
    [path] = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    keep(tmp_path, pa.table({"n": [3]}))
    (tmp_path / "empty.arrow").touch()

    assert numbers(tmp_path) == {3}


def test_a_missing_folder_is_empty(tmp_path: Path) -> None:
    assert numbers(tmp_path / "nowhere") == set()
