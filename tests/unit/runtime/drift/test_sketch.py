"""The sketch of dev: no text is in it, and frequent tokens are counted in other rows than they are chosen by."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.dev_sketch import MOST_TOKENS, QUANTILES
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.runtime.drift.sketch import dev_sketch, marked, quantile_sketch, text_numbers
from limbeck.runtime.unknown_words import WordCounter, word_counter

MakeModel = Callable[..., ModelFolder]


@pytest.fixture
def counter(model_folder: Path) -> WordCounter:
    model = ModelFolder(model_folder)
    found = word_counter(model, model.facts())
    assert found is not None
    return found


def test_numbers_of_texts(counter: WordCounter) -> None:
    found = text_numbers([" gorgeous xyzzy ", "film film film"], counter)

    assert found.characters.tolist() == [14, 14]
    assert found.unknown is not None
    assert found.unknown.tolist() == [0.5, 0.0]
    assert [len(tokens) for tokens in found.tokens] == [2, 1]


def test_both_texts_of_a_pair_count(pair_model_folder: Path) -> None:
    model = ModelFolder(pair_model_folder)

    found = text_numbers([("gorgeous", "xyzzy"), ("the", "film")], word_counter(model, model.facts()))

    assert found.characters.tolist() == [13, 7]
    assert found.unknown is not None
    assert found.unknown.tolist() == [0.5, 0.0]


def test_a_model_that_knows_no_words_has_lengths_alone() -> None:
    found = text_numbers(["a film"], None)

    assert (found.unknown, found.tokens) == (None, ())
    assert dev_sketch(["a film"], None, given=np.array([[True]])).tokens == ()


def test_quantiles_are_numbers_that_occur() -> None:
    found = quantile_sketch(np.array([3.0, 1.0, 2.0]))

    assert (len(found.quantiles), found.mean, set(found.quantiles)) == (QUANTILES, 2.0, {1.0, 2.0, 3.0})
    assert found.quantiles[0] == 1
    assert found.quantiles[-1] == 3


def test_tokens_are_chosen_by_every_second_row_and_counted_in_the_others(counter: WordCounter) -> None:
    texts = ["gorgeous film", "the film", "gorgeous road", "gorgeous road"] * 50

    found = dev_sketch(texts, counter, given=marked(np.array([0, 1] * 100), classes=2))

    first, gorgeous = (sorted(text_numbers([text], counter).tokens[0]) for text in ("film", "gorgeous"))
    shares = dict(found.tokens)
    assert found.token_rows == 100
    assert shares[first[0]] == 0.5
    assert gorgeous[0] not in shares, "all rows that tokens are chosen by have it: nothing could be more frequent"
    assert len(shares) <= MOST_TOKENS
    assert found.predicted == (0.5, 0.5)


def test_labels_are_marked_from_numbers_and_from_sets() -> None:
    assert marked(np.array([1, 0]), classes=2).tolist() == [[False, True], [True, False]]
    assert marked(np.array([[1, 1], [0, 0]]), classes=2).tolist() == [[True, True], [False, False]]
