"""Slices: the parts of the rows, exact intervals that allow for the search, and no part called worse by luck."""

import random

import numpy as np
import pytest
from scipy import stats

from limbeck.artifacts.rows import Rows
from limbeck.judging.significance import beta_share, exact_interval
from limbeck.judging.slices import (
    LEAST_ROWS,
    MOST_ROWS,
    SliceTally,
    language_of,
    slices_of,
    telling_words,
    words_of,
)

WORDS = ["film", "story", "scene", "camera", "music", "city", "garden", "road", "evening", "letter"]

LETTERS = [one + other for one in "abcdefgh" for other in "abcdefgh"]


@pytest.mark.parametrize("error", [0.05, 0.0005])
@pytest.mark.parametrize(("right", "rows"), [(0, 50), (50, 50), (30, 50), (49, 50), (24_000, 25_000), (1, 1)])
def test_the_interval_is_that_of_clopper_and_pearson(right: int, rows: int, error: float) -> None:
    expected = stats.binomtest(right, rows).proportion_ci(confidence_level=1 - error, method="exact")

    assert exact_interval(right, rows, error=error) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize("at", [0.0, 0.01, 0.3, 0.5, 0.99, 1.0])
def test_the_share_of_a_beta_distribution_is_scipys(at: float) -> None:
    for first, second in [(1, 1), (0.5, 3), (40, 2), (900, 1_200)]:
        assert beta_share(at, first, second) == pytest.approx(stats.beta.cdf(at, first, second), abs=1e-10)


def drawn(dice: random.Random, rows: int) -> list[str]:
    return [" ".join(dice.choices(WORDS, k=dice.randint(2, 12))) for _ in range(rows)]


def test_a_slice_that_is_worse_is_found_and_comes_first() -> None:
    dice = random.Random(0)
    texts = drawn(dice, 2_000)
    correct = np.array(["camera" not in text.split() or dice.random() < 0.5 for text in texts])

    found = slices_of(texts, correct, language="en")

    assert found is not None
    first = found["groups"][0]
    assert (first["kind"], first["name"], first["is_worse"]) == ("word", "camera", True)
    assert first["rows"] == sum("camera" in text.split() for text in texts)
    assert first["ci"][0] < first["accuracy"] < first["ci"][1] < found["accuracy"]
    assert found["looked_at"] == len(found["groups"])
    assert found["accuracy"] == pytest.approx(correct.mean())


def test_none_is_called_worse_where_errors_are_luck() -> None:
    runs_with_one = 0
    for seed in range(40):
        dice = random.Random(seed)
        texts = drawn(dice, 600)
        correct = np.array([dice.random() < 0.8 for _ in texts])
        found = slices_of(texts, correct, language="en")
        assert found is not None
        runs_with_one += any(group["is_worse"] for group in found["groups"])

    assert runs_with_one <= 5, "at most one run in twenty is to name one"


def test_only_parts_that_are_large_enough_and_not_everything_are_looked_at() -> None:
    texts = drawn(random.Random(1), 400)
    texts[:30] = ["zebra film"] * 30

    found = slices_of(texts, np.ones(400, dtype=bool), language="en")

    assert found is not None
    assert all(LEAST_ROWS <= group["rows"] <= 380 for group in found["groups"])
    assert "zebra" not in [group["name"] for group in found["groups"]]
    assert slices_of(texts[:40], np.ones(40, dtype=bool), language="en") is None
    assert slices_of([], np.ones(0, dtype=bool), language="en") is None


def test_lengths_are_groups_between_the_quartiles() -> None:
    texts = [" ".join(["film"] * words) for words in (1, 2, 5, 9) for _ in range(60)]

    found = slices_of(texts, np.arange(240) < 60, language="en")

    assert found is not None
    lengths = {group["name"]: group["accuracy"] for group in found["groups"] if group["kind"] == "length"}
    assert lengths == {"1 word": 1.0, "2 words": 0.0, "5 words": 0.0, "9 words": 0.0}


def test_languages_are_slices_where_rows_differ() -> None:
    german = "der Film war sehr gut und ich habe die Musik und das Ende auch mit Freude gesehen"
    texts = ["the film was very good and I have seen the music and the end with them"] * 100 + [german] * 60

    found = slices_of(texts, np.arange(160) < 100, language="en")

    assert found is not None
    languages = {group["name"]: group["is_worse"] for group in found["groups"] if group["kind"] == "language"}
    assert languages == {"English": False, "German": True}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("a film", None),
        ("很好的电影", "Chinese"),
        ("фильм", "Cyrillic-script"),
        ("12 !", "no letters"),
        ("", "no letters"),
    ],
)
def test_the_language_of_a_few_latin_words_is_not_guessed(text: str, language: str | None) -> None:
    assert language_of(text) == language


def test_words_are_those_of_a_text_and_neighbouring_characters_of_chinese() -> None:
    assert words_of("A Film, a film! x 12") == {"film"}
    assert words_of("好电影 film") == {"好电", "电影", "film"}


def test_words_that_tell_about_the_label_are_looked_at_first() -> None:
    dice = random.Random(3)
    texts = [f"{text} {'dreadful' if at % 2 else 'gorgeous'}" for at, text in enumerate(drawn(dice, 1_000))]
    train = Rows.of(ids=[str(at) for at in range(1_000)], texts=texts, labels=[at % 2 for at in range(1_000)])
    judged = [f"{text} {'dreadful' if at % 10 == 0 else ''}" for at, text in enumerate(drawn(dice, 1_000))]

    telling = telling_words(train)
    many = [f"{text} {' '.join(f'word{letter}' for letter in LETTERS)}" for text in judged]
    padded = [text if at % 3 else many[at] for at, text in enumerate(judged)]
    found = slices_of(padded, np.ones(1_000, dtype=bool), language="en", telling=telling)

    assert telling[:2] == ["dreadful", "gorgeous"]
    assert found is not None
    words = [group["name"] for group in found["groups"] if group["kind"] == "word"]
    assert "dreadful" in words, "too rare to be one of the 50 most frequent words"
    assert len(words) == 50
    unlabelled = Rows.of(ids=["a"], texts=["a film"])
    assert telling_words(unlabelled) == []


def test_values_of_a_column_are_slices() -> None:
    texts = drawn(random.Random(4), 300)
    groups = ["web" if at % 3 else "" for at in range(300)]

    found = slices_of(texts, np.array([at % 3 == 0 for at in range(300)]), language="en", groups=groups)

    assert found is not None
    (web,) = [group for group in found["groups"] if group["kind"] == "column"]
    assert (web["name"], web["rows"], web["accuracy"], web["is_worse"]) == ("web", 200, 0.0, True)


def test_chunks_and_pairs_count_as_one_and_later_rows_are_left_out() -> None:
    texts = drawn(random.Random(2), 300)
    pairs = [(text, "other words") for text in texts]
    whole, parts = SliceTally(language="en"), SliceTally(language="en")
    whole.add(pairs, np.arange(300) % 2 == 0)
    for start in range(0, 300, 100):
        parts.add(pairs[start : start + 100], np.arange(100) % 2 == 0)

    assert whole.result() == parts.result()
    many = slices_of(
        ["a film"] * (MOST_ROWS // 2) + ["the road"] * MOST_ROWS, np.ones(3 * MOST_ROWS // 2, dtype=bool), language="en"
    )
    assert many is not None
    assert many["rows"] == MOST_ROWS
