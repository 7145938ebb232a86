"""Sorted keys on disk: what a dictionary finds, the file finds; what is cut off is not taken for a file."""

from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts import key_file
from limbeck.artifacts.key_file import KeyFile, NotAKeyFile, records_of, write_key_file


def random_keys(count: int, *, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    return np.random.default_rng(seed).integers(0, 2**64, size=(count, 2), dtype=np.uint64)


def numbers(count: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.arange(count, dtype=np.uint32)


@pytest.mark.parametrize("count", [0, 1, 5, 3000])
def test_every_key_is_found_with_its_numbers_and_no_other(tmp_path: Path, count: int) -> None:
    keys = random_keys(count)
    rows = numbers(count)

    file = write_key_file(tmp_path / "keys", [records_of(keys, rows, rows * 2)], facts={"of": "a test"})

    places, first, second = file.find(keys)
    assert (places >= 0).all()
    assert first.tolist() == rows.tolist()
    assert second.tolist() == (rows * 2).tolist()
    assert (file.find(random_keys(100, seed=1))[0] == -1).all()
    assert KeyFile.open(tmp_path / "keys").facts == {"of": "a test"}


def test_pieces_of_any_size_make_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = random_keys(1000)
    whole = write_key_file(tmp_path / "whole", [records_of(keys, numbers(1000), 7)], facts={})

    monkeypatch.setattr(key_file, "RECORDS_AT_ONCE", 64)
    monkeypatch.setattr(key_file, "WINDOW", 100)
    parts = (records_of(keys[at : at + 37], numbers(1000)[at : at + 37], 7) for at in range(0, 1000, 37))
    pieced = write_key_file(tmp_path / "pieced", parts, facts={})

    assert pieced.path.read_bytes() == whole.path.read_bytes()
    assert np.concatenate(list(pieced.pieces())).tobytes() == whole.records.tobytes()
    assert pieced.find(keys)[1].tolist() == numbers(1000).tolist()


def test_of_equal_keys_the_one_of_the_lowest_number_is_kept_or_all_in_their_order(tmp_path: Path) -> None:
    keys = np.array([[5, 1], [5, 0], [5, 1], [5, 1]], dtype=np.uint64)
    records = records_of(keys, numbers(4), 0)[[3, 0, 2, 1]]

    once = write_key_file(tmp_path / "once", [records], facts={})
    every = write_key_file(tmp_path / "all", [records], facts={}, keeps_equal=True)

    assert once.records["first"].tolist() == [1, 0]
    assert every.records["first"].tolist() == [1, 0, 2, 3]
    assert every.find(keys)[1].tolist() == [0, 1, 0, 0]


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = write_key_file(tmp_path / "keys", [records_of(random_keys(10), 0, 0)], facts={}).path
    content = path.read_bytes()

    for damaged in (content[:-1], content[24:], b"", b"something else that is long enough"):
        path.write_bytes(damaged)
        with pytest.raises(NotAKeyFile):
            KeyFile.open(path)


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    def fails() -> object:
        yield records_of(random_keys(10), 0, 0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_key_file(tmp_path / "keys", fails(), facts={})  # type: ignore[arg-type]

    assert list(tmp_path.iterdir()) == []
