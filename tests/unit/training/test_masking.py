"""Masks: how many, where, what is seen in their places, and that a seed fixes all of it."""

from typing import Any

import numpy as np
import pytest

from limbeck.training.masking import Masked, MaskingVocabulary, masked

MASK, START, END, PADDING, UNKNOWN = 4, 2, 3, 0, 1
ORDINARY = np.arange(5, 1_000)
TOKENS = MaskingVocabulary(mask=MASK, ordinary=ORDINARY, is_ordinary=np.arange(1_000) >= 5)


def rows_of(*lengths: int) -> tuple[Any, Any]:
    """Rows of so many ordinary tokens, all different, between a start and an end, and where no padding is."""
    width = max(lengths) + 2
    ids = np.full((len(lengths), width), PADDING)
    for row, length in enumerate(lengths):
        ids[row, : length + 2] = [START, *(100 + np.arange(length)), END]
    return ids, ids != PADDING


def mask(*lengths: int, fraction: float = 0.15, seed: int = 0) -> tuple[Any, Masked]:
    ids, inside = rows_of(*lengths)
    return ids, masked(ids, inside, TOKENS, fraction=fraction, seed=[seed])


def test_of_each_row_a_share_is_to_be_guessed_and_at_least_one_token() -> None:
    _, guesses = mask(40, 10, 3, 1)

    assert np.bincount(guesses.rows).tolist() == [6, 2, 1, 1]  # 0.15 of each, rounded


def test_a_row_without_an_ordinary_token_is_left_in_peace() -> None:
    ids = np.array([[START, UNKNOWN, UNKNOWN, END], [START, 100, 101, END]])

    guesses = masked(ids, ids != PADDING, TOKENS, fraction=0.9, seed=[0])

    assert guesses.rows.tolist() == [1, 1]
    assert guesses.ids[0].tolist() == ids[0].tolist()


def test_special_tokens_and_padding_are_never_touched() -> None:
    ids, guesses = mask(*[5, 60] * 50, fraction=0.99)

    is_special = ids < 5
    assert (guesses.ids[is_special] == ids[is_special]).all()
    assert not is_special[guesses.rows, guesses.columns].any()


def test_padding_with_an_ordinary_id_is_not_touched_either() -> None:
    ids = np.full((1, 8), 100)
    inside = np.arange(8)[None] < 5

    guesses = masked(ids, inside, TOKENS, fraction=0.99, seed=[0])

    assert sorted(guesses.columns.tolist()) == [0, 1, 2, 3, 4]


def test_the_answers_are_what_stood_there_and_everything_else_is_as_it_was() -> None:
    ids, guesses = mask(*[50] * 100)

    assert (guesses.answers == ids[guesses.rows, guesses.columns]).all()
    changed = ids != guesses.ids
    changed[guesses.rows, guesses.columns] = False
    assert not changed.any()


def test_eight_in_ten_are_seen_as_a_mask_one_as_another_token_and_one_as_it_is() -> None:
    _, guesses = mask(*[100] * 1_000)

    seen = guesses.ids[guesses.rows, guesses.columns]
    assert len(seen) == 15_000
    assert (seen == MASK).mean() == pytest.approx(0.8, abs=0.01)
    assert (seen == guesses.answers).mean() == pytest.approx(0.1, abs=0.01)
    others = seen[(seen != MASK) & (seen != guesses.answers)]
    assert others.min() >= 5  # never a special token
    assert len(np.unique(others)) > 500


def test_every_place_is_as_likely() -> None:
    _, guesses = mask(*[20] * 10_000)  # 3 in each

    counts = np.bincount(guesses.columns, minlength=21)[1:]
    assert counts.min() > 1_350
    assert counts.max() < 1_650


def test_the_same_seed_masks_the_same_and_another_one_does_not() -> None:
    _, first = mask(*[30] * 20, seed=1)
    _, again = mask(*[30] * 20, seed=1)
    _, other = mask(*[30] * 20, seed=2)

    assert (first.ids == again.ids).all()
    assert (first.columns == again.columns).all()
    assert (first.columns != other.columns).any()


def test_a_tokenizer_tells_which_tokens_are_special(tiny_teacher_folder: Any) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_teacher_folder)

    tokens = MaskingVocabulary.of(tokenizer)

    assert tokens.mask == tokenizer.convert_tokens_to_ids("[MASK]")
    assert not set(tokenizer.convert_ids_to_tokens(tokens.ordinary)) & set(tokenizer.all_special_tokens)
    assert len(tokens.ordinary) == len(tokenizer) - 5
    assert tokens.is_ordinary[tokenizer.convert_tokens_to_ids("film")]
