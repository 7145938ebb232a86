"""The filter that every unlabelled text passes through."""

from typing import TYPE_CHECKING, Any

import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.recipe.transfer import Transfer
from limbeck.transfer import near_duplicates
from limbeck.transfer.text_filter import TextFilter, rows_to_draw

if TYPE_CHECKING:
    from tests.unit.conftest import ReadCorpus

SECRET = "The first sentence of a secret. Its second sentence follows, and then there is a third one as well."


@pytest.fixture
def corpus(read_rows: "ReadCorpus") -> Corpus:
    return read_rows(train=[("known text", "a"), ("another one", "b")], dev=[(SECRET, "a"), ("short secret", "b")])


def filtered(corpus: Corpus, *texts: str, **section: Any) -> tuple[list[str], dict[str, int], dict[str, Any]]:
    text_filter = TextFilter(Transfer(files=["a.txt"], **section), corpus=corpus)
    for text in texts:
        text_filter.add(text, None, source=0)
    kept = [one.piece[0] for one in text_filter.kept()]
    splits: Any = text_filter.overlap()["splits"]
    return kept, text_filter.counts, splits["dev"]


def test_every_piece_is_kept_or_counted_with_its_reason(corpus: Corpus) -> None:
    texts = [
        "a new text",
        "A new text!",
        "a NEW text",
        "known text",
        "short secret",
        "Short, secret",
        "",
        "one two three four",
    ]

    kept, counts, _ = filtered(corpus, *texts, max_words=3)

    assert kept == ["a new text"]
    assert counts["texts_read"] == counts["pieces"] == len(kept) + sum(list(counts.values())[2:]) == 8
    assert [reason for reason, count in counts.items() if count == 1] == [
        *("too_short", "too_long", "in_dev_or_test", "near_dev_or_test"),
        *("duplicates", "in_train", "near_duplicates"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        SECRET.upper(),
        SECRET.replace("well", "good"),  # one word of nineteen
        SECRET[:80] + "something else. Even more.",  # begins alike
    ],
)
def test_the_sentences_of_a_held_out_text_are_removed_with_it(corpus: Corpus, text: str) -> None:
    kept, _, dev = filtered(corpus, text, "A new one. And another.", split_sentences=True)

    assert kept == ["A new one.", "And another."]
    assert dev["found"] + dev["near"] == 1


def test_when_overlap_is_reported_everything_stays_and_is_counted_once(corpus: Corpus) -> None:
    texts = ["short secret", SECRET.replace("well", "good")]

    kept, counts, dev = filtered(corpus, *texts, overlap="report")

    assert kept == texts
    assert (counts["in_dev_or_test"], counts["near_dev_or_test"]) == (1, 1)
    assert (dev["found"], dev["near"]) == (1, 1)


def test_blocks_make_no_difference(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"text about {number % 5} and {number % 7}{'!' * (number % 3)}" for number in range(300)]
    whole = filtered(corpus, *texts, rows=20)
    monkeypatch.setattr(near_duplicates, "TEXTS_AT_ONCE", 7)

    assert filtered(corpus, *texts, rows=20) == whole
    assert whole[1]["near_duplicates"] > 0


@pytest.mark.parametrize(
    ("section", "drawn"),
    [
        ({}, None),
        ({"rows": 10}, 10),
        ({"rows": 10, "pool": 50}, 10),  # a pool is for the teacher to choose from
        ({"rows": 10, "choice": "nearest"}, 40),
        ({"rows": 10, "choice": "balanced", "pool": 15}, 15),
        ({"rows": 10, "least_confidence": 0.6}, 40),
        ({"least_confidence": 0.6}, None),
        ({"least_confidence": 0.6, "pool": 15}, 15),
    ],
)
def test_what_is_drawn_at_random(section: dict[str, Any], drawn: int | None) -> None:
    assert rows_to_draw(Transfer(files=["a.txt"], **section)) == drawn


def test_a_share_of_the_texts_is_drawn_before_they_are_cut(corpus: Corpus) -> None:
    texts = [f"First sentence of {number}. And its second one, {number}." for number in range(400)]

    kept, counts, _ = filtered(corpus, *texts, share=0.25, split_sentences=True, near_duplicates=1.0)
    again, _, _ = filtered(corpus, *texts, share=0.25, split_sentences=True, near_duplicates=1.0)
    others, _, _ = filtered(corpus, *texts, share=0.25, split_sentences=True, near_duplicates=1.0, seed=1)

    assert 70 <= counts["texts_read"] <= 130
    assert len(kept) == 2 * counts["texts_read"]  # both sentences of a text that was drawn
    assert kept == again != others
