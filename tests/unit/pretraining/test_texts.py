"""The texts that are read: each once, the training rows first, a small part held back."""

from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from limbeck.artifacts.rows import Rows
from limbeck.pretraining.texts import TextRows, chosen_texts, token_rows
from limbeck.progress import SilentReporter


def rows(*texts: str, pairs: list[str] | None = None, name: str = "train") -> Rows:
    return Rows.of(ids=[f"{name}-{number}" for number in range(len(texts))], texts=texts, pairs=pairs)


@pytest.fixture(scope="module")
def tokenizer(tiny_teacher_folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(tiny_teacher_folder)


def cut(given: Rows, tokenizer: Any, *, max_length: int = 16, seed: int = 0) -> TextRows:
    return token_rows(given, tokenizer, max_length=max_length, seed=seed, reporter=SilentReporter())


def test_equal_texts_are_read_once() -> None:
    chosen = chosen_texts([rows("a film", "a road", "a film"), rows("a road", "a city")], max_rows=None, seed=0)

    assert chosen.texts == ["a film", "a road", "a city"]


def test_where_there_are_too_many_the_training_rows_come_first() -> None:
    train, transfer = [f"train {number}" for number in range(10)], [f"other {number}" for number in range(50)]

    def chosen(max_rows: int, seed: int = 0) -> list[str]:
        return chosen_texts([rows(*train), rows(*transfer)], max_rows=max_rows, seed=seed).texts

    assert set(chosen(4)) < set(train)
    assert chosen(30)[:10] == train
    assert len(chosen(30)) == 30
    assert chosen(30) == chosen(30)
    assert chosen(30) != chosen(30, seed=1)


def test_a_text_has_its_special_tokens_and_is_cut_at_its_end(tokenizer: Any) -> None:
    texts = cut(rows("a film", "a long long road with a garden", "quiet"), tokenizer, max_length=6)

    batch = texts.batch(texts.read[:2] if 1 in texts.read[:2] else texts.read)
    shown = [tokenizer.convert_ids_to_tokens(row) for row in batch["input_ids"]]
    assert ["[CLS]", "a", "long", "long", "road", "[SEP]"] in shown
    assert batch["attention_mask"].sum(axis=1).max() == 6


def test_a_pair_is_read_as_one_row_with_both_texts_distinguished(tokenizer: Any) -> None:
    texts = cut(rows("a film", "a road", pairs=["a city", "quiet"]), tokenizer)

    batch = texts.batch(texts.read)
    ids, types = batch["input_ids"][0], batch["token_type_ids"][0]
    assert tokenizer.convert_ids_to_tokens(ids).count("[SEP]") == 2
    assert types.sum() == (len(ids) - list(ids).index(tokenizer.sep_token_id) - 1)


def test_texts_with_nothing_to_guess_are_left_out(tokenizer: Any) -> None:
    texts = cut(rows("a film", "电", "a road", ""), tokenizer)

    assert len(texts.read) + len(texts.held_back) == 2


def test_a_fiftieth_is_held_back_and_not_read(tokenizer: Any) -> None:
    given = rows(*(f"film {number}" for number in range(300)))

    texts, again, other = cut(given, tokenizer), cut(given, tokenizer), cut(given, tokenizer, seed=1)

    assert len(texts.held_back) == 6
    assert sorted([*texts.read, *texts.held_back]) == list(range(300))
    assert texts.held_back.tolist() == again.held_back.tolist() != other.held_back.tolist()


def test_no_more_than_two_thousand_are_held_back(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limbeck.pretraining.texts.MOST_HELD_BACK", 3)

    assert len(cut(rows(*(f"film {number}" for number in range(300))), tokenizer).held_back) == 3
