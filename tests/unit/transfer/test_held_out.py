"""Rows of dev and test that must not be learned from."""

from typing import TYPE_CHECKING

import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import folded_key
from limbeck.transfer import near_duplicates
from limbeck.transfer.held_out import HeldOut
from limbeck.transfer.near_duplicates import NearTexts
from limbeck.transfer.shingles import Piece

if TYPE_CHECKING:
    from tests.unit.conftest import ReadCorpus

LONG = "It was a dark and stormy night, the rain fell in torrents, except when it was checked by a violent gust."
CHINESE = "酒店的位置很好，就在地铁站旁边，房间也很干净，早餐种类很多，服务员的态度也非常好，下次还会来住。"


@pytest.fixture
def corpus(read_rows: "ReadCorpus") -> Corpus:
    train: list[tuple[str, ...]] = [("known", "a"), ("familiar", "b")]
    return read_rows(train=train, dev=[("a secret of some length", "a"), ("Short one", "b"), (LONG, "a")])


def nearly_holds(held_out: HeldOut, *texts: str, language: str = "en") -> list[bool]:
    pieces: list[Piece] = [(text, None) for text in texts]
    return list(held_out.nearly_holds(pieces, NearTexts(0.8, language=language).traits(pieces)).tolist())


def test_rows_are_found_folded_and_verbatim(corpus: Corpus) -> None:
    held_out = HeldOut(corpus, near_duplicates=0.8)

    found = [held_out.holds((text, None), folded_key(text)) for text in ("SHORT ONE", "a secret of some length", "no")]

    assert found == [True, True, False]
    assert held_out.overlap() == {"dev": {"rows": 3, "found": 2, "verbatim": 1, "near": 0}}


def test_near_rows_are_counted_separately_and_once(corpus: Corpus) -> None:
    held_out = HeldOut(corpus, near_duplicates=0.8)

    found = nearly_holds(held_out, "A secret, of some length!", "a SECRET of some length...", "something else")

    assert found == [True, True, False]
    assert held_out.overlap()["dev"]["near"] == 1


def test_a_row_that_is_found_does_not_also_count_as_near(corpus: Corpus) -> None:
    held_out = HeldOut(corpus, near_duplicates=0.8)

    nearly_holds(held_out, "Short one!")
    held_out.holds(("short one", None), folded_key("short one"))

    assert held_out.overlap()["dev"] == {"rows": 3, "found": 1, "verbatim": 0, "near": 0}


def test_a_truncated_or_extended_copy_is_near(corpus: Corpus) -> None:
    held_out = HeldOut(corpus, near_duplicates=0.8)
    longer = f"{LONG} {' '.join(f'word{number}' for number in range(500))}"

    assert nearly_holds(held_out, LONG[:80], longer, LONG[:60]) == [True, True, False]
    assert held_out.could_hold((longer, None))
    assert not held_out.could_hold((longer[10:], None))


def test_thirty_characters_are_enough_in_chinese(read_rows: "ReadCorpus") -> None:
    train: list[tuple[str, ...]] = [("房间很干净", "1"), ("早餐很差劲", "0")]
    held_out = HeldOut(read_rows(train=train, dev=[(CHINESE, "1")]), near_duplicates=0.8)

    assert nearly_holds(held_out, CHINESE[:30], CHINESE[:29], CHINESE[1:], language="zh") == [True, False, True]


def test_rows_are_numbered_over_all_splits_and_blocks(read_rows: "ReadCorpus", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "TEXTS_AT_ONCE", 2)
    train: list[tuple[str, ...]] = [(f"text of row {word}", "ab"[place % 2]) for place, word in enumerate("abcdefghij")]
    dev: list[tuple[str, ...]] = [(f"held {word}", "a") for word in ("one", "two", "three")]
    held_out = HeldOut(read_rows(train=train, dev=dev, test_fraction=0.3), near_duplicates=0.8)
    splits = held_out.overlap()

    nearly_holds(held_out, "Held, three!", *(f"Text of row, {word}!" for word in "abcdefghij"))

    assert splits["test"]["rows"] == 3
    assert {name: counts["near"] for name, counts in held_out.overlap().items()} == {"dev": 1, "test": 3}
