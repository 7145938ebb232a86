"""Tokens by the short way are those of transformers' own, and tokenizers without a short way keep theirs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import CanineTokenizer, PreTrainedTokenizerFast

from limbeck.recipe.teacher import LongTexts
from limbeck.teacher.loading import load_encoder
from limbeck.teacher.tokens import MASK, Tokens, tokens_of

TEXTS = ["the film is gorgeous", "", "a dreadful story with a long long evening and an old camera", "blue", "[SEP] é ü"]
CUT: dict[str, Any] = {"max_length": 8, "long_texts": "head", "head_share": 0.25}


@pytest.fixture
def tokenizer(tiny_teacher_folder: Path) -> Any:
    return load_encoder(tiny_teacher_folder, max_length=16, arithmetic="fp32").tokenizer


def without_mask(columns: Any) -> list[dict[str, list[int]]]:
    names = [name for name in columns if name != MASK]
    return [{name: columns[name][row] for name in names} for row in range(len(columns["input_ids"]))]


@pytest.mark.parametrize("pairs", [None, TEXTS[::-1]])
@pytest.mark.parametrize("names", [["input_ids", "token_type_ids", "attention_mask"], ["input_ids"]])
def test_tokens_are_those_that_transformers_gives(tokenizer: Any, pairs: list[str] | None, names: list[str]) -> None:
    tokenizer.model_input_names = names

    found = tokens_of(tokenizer, TEXTS, pairs, **CUT)

    usual = tokenizer(TEXTS, pairs, truncation=True, max_length=8)
    assert found.rows() == without_mask(usual)
    assert found.lengths.tolist() == [len(ids) for ids in usual["input_ids"]]
    assert found.lengths.max() == 8


@pytest.mark.parametrize("first", ["head", "head_and_tail"])
def test_one_way_of_cutting_leaves_nothing_behind_for_the_other(tokenizer: Any, first: LongTexts) -> None:
    """The backend keeps what it was set to."""
    expected = {}
    for way in ("head", "head_and_tail"):
        expected[way] = tokens_of(tokenizer, TEXTS, None, max_length=8, long_texts=way, head_share=0.25).rows()

    other: LongTexts = "head" if first == "head_and_tail" else "head_and_tail"
    for way in (first, other, first):
        found = tokens_of(tokenizer, TEXTS, None, max_length=8, long_texts=way, head_share=0.25).rows()
        assert found == expected[way]


def test_a_tokenizer_without_a_backend_is_asked_in_its_own_way() -> None:
    tokenizer = CanineTokenizer()

    found = tokens_of(tokenizer, ["film", "a long film"], None, **CUT)

    usual = tokenizer(["film", "a long film"], truncation=True, max_length=8)
    assert [row["input_ids"] for row in found.rows()] == usual["input_ids"]
    assert found.lengths.tolist() == [6, 8]


def test_a_family_that_does_more_than_its_backend_is_asked_in_its_own_way(tokenizer: Any) -> None:
    class Shouting(PreTrainedTokenizerFast):  # type: ignore[misc]  # transformers has no types
        def _encode_plus(self, text: Any, *rest: Any, **options: Any) -> Any:
            return super()._encode_plus([f"film {each}" for each in text], *rest, **options)

    shouting = Shouting(tokenizer_object=tokenizer.backend_tokenizer, pad_token="[PAD]")

    (row,) = tokens_of(shouting, ["blue"], None, **CUT).rows()

    assert row["input_ids"] == tokenizer(["film blue"])["input_ids"][0]


def test_rows_stay_what_they_were() -> None:
    rows = [{"input_ids": [5, 6, 7], "token_type_ids": [0, 0, 1]}, {"input_ids": [8], "token_type_ids": [1]}]

    tokens = Tokens.of(rows)

    assert tokens.rows() == rows
    assert tokens.starts.tolist() == [0, 3]
    np.testing.assert_array_equal(tokens.columns["token_type_ids"], [0, 0, 1, 1])


def test_no_texts_have_no_tokens(tokenizer: Any) -> None:
    assert tokens_of(tokenizer, [], None, **CUT).rows() == []
