"""AnswerTable are found by the whole content key, whatever the order they came in."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from limbeck.artifacts import answers as module
from limbeck.artifacts.answers import AnswerTable, answers_in_bytes, find_keys, key_order, write_answers
from limbeck.artifacts.rows import content_keys

TEXTS = [f"text number {number}" for number in range(200)]
KEYS = content_keys(TEXTS)
LOGITS = np.array([[number, -number, 0.5] for number in range(200)], dtype=np.float32)
FEATURES = np.array([[number, number / 2] for number in range(200)], dtype=np.float16)


def halves(*pairs: tuple[int, int]) -> np.ndarray:
    """Keys from their two halves."""
    return np.array(pairs, dtype=np.uint64).reshape(-1, 2)


def test_answers_are_found_under_their_keys_whatever_the_order(tmp_path: Path) -> None:
    write_answers(tmp_path / "answers.arrow", keys=KEYS, logits=LOGITS, features=FEATURES)

    answers = AnswerTable.open(tmp_path / "answers.arrow")
    places = find_keys(answers.keys, KEYS[::-3])

    assert len(answers) == 200
    assert answers.features is not None
    np.testing.assert_array_equal(answers.logits[places], LOGITS[::-3])
    np.testing.assert_array_equal(answers.features[places], FEATURES[::-3])
    assert answers.features.dtype == np.float16


def test_keys_in_the_file_are_in_rising_order(tmp_path: Path) -> None:
    write_answers(tmp_path / "answers.arrow", keys=KEYS, logits=LOGITS)

    found = [tuple(key) for key in AnswerTable.open(tmp_path / "answers.arrow").keys.tolist()]

    assert found == sorted(found)
    assert AnswerTable.open(tmp_path / "answers.arrow").features is None


def test_views_of_the_file_are_no_copies(tmp_path: Path) -> None:
    write_answers(tmp_path / "answers.arrow", keys=KEYS, logits=LOGITS, features=FEATURES)

    answers = AnswerTable.open(tmp_path / "answers.arrow")

    assert not answers.keys.flags.owndata
    assert not answers.logits.flags.writeable
    assert answers.features is not None
    assert not answers.features.flags.writeable


def test_no_answers_make_an_empty_file(tmp_path: Path) -> None:
    write_answers(tmp_path / "answers.arrow", keys=KEYS[:0], logits=LOGITS[:0])

    answers = AnswerTable.open(tmp_path / "answers.arrow")

    assert answers.logits.shape == (0, 3)
    assert find_keys(answers.keys, KEYS[:2]).tolist() == [-1, -1]


def test_the_same_answers_make_the_same_bytes(tmp_path: Path) -> None:
    write_answers(tmp_path / "answers.arrow", keys=KEYS[::-1], logits=LOGITS[::-1])

    assert (tmp_path / "answers.arrow").read_bytes() == answers_in_bytes(KEYS, LOGITS).to_pybytes()


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    table = pa.table({"key": ["a"], "logits": [1.0]})
    with pa.OSFile(str(tmp_path / "other.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)

    with pytest.raises(ValueError, match="keys of string"):
        AnswerTable.open(tmp_path / "other.arrow")


def test_keys_that_share_their_first_half_are_distinguished() -> None:
    known = halves((7, 1), (7, 2), (7, 3), (9, 1))

    places = find_keys(known, halves((7, 2), (7, 4), (7, 1), (7, 3), (8, 1), (9, 1), (0, 0), (10, 0)))

    assert places.tolist() == [1, -1, 0, 2, -1, 3, -1, -1]


def test_of_equal_keys_the_first_is_found() -> None:
    known = halves((5, 5), (7, 1), (7, 1), (7, 1), (8, 0))

    assert find_keys(known, halves((7, 1))).tolist() == [1]


def test_halves_beyond_the_range_of_signed_numbers_are_in_order() -> None:
    top = 2**64 - 1
    known = halves((1, top), (2**63, 0), (top, 1), (top, top))

    assert find_keys(known, known).tolist() == [0, 1, 2, 3]
    assert key_order(known[::-1]).tolist() == [3, 2, 1, 0]


def test_keys_can_be_searched_through_their_order_without_being_sorted() -> None:
    order = key_order(KEYS)

    places = find_keys(KEYS, KEYS[[5, 77, 199]], order=order)

    assert places.tolist() == [5, 77, 199]
    assert find_keys(KEYS, content_keys(["another"]), order=order).tolist() == [-1]


def test_many_keys_are_searched_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 7)
    order = key_order(KEYS)

    assert find_keys(KEYS[order], KEYS).tolist() == np.argsort(order).tolist()


def test_sorting_part_by_part_is_sorting(monkeypatch: pytest.MonkeyPatch) -> None:
    doubled = np.concatenate([KEYS, KEYS])
    expected = sorted(range(400), key=lambda row: (*doubled[row].tolist(), row))

    monkeypatch.setattr(module, "ROWS_PER_SORT", 10)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 64)

    assert key_order(doubled).tolist() == expected
