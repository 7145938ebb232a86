"""Rows as tokens: words or framed, single or in pairs, each with what belongs to it."""

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation import training_rows as room
from limbeck.distillation.training_rows import TrainingRows, training_rows_of
from limbeck.text.framed_tokenizer import FramedTokenizer
from limbeck.text.student_tokenizer import StudentTokenizer

Row = tuple[str, str]


def read(
    rows: Any, vocabulary: VocabularyFolder, *, kind: Literal["words", "framed"], max_length: int = 12, **rest: Any
) -> TrainingRows:
    settings = {"labels": None, "with_features": False, "classes": 2, "device": torch.device("cpu"), **rest}
    return training_rows_of(rows, tokenizer=vocabulary.tokenizer, kind=kind, max_length=max_length, **settings)


@pytest.fixture
def pairs(make_corpus: Callable[..., Corpus], toy_rows: tuple[Row, ...], tmp_path: Path) -> Corpus:
    return make_corpus(tmp_path / "pairs", train=toy_rows[:20], dev=toy_rows[20:30], pairs=True)


def test_words_are_read_as_the_students_tokenizer_reads_them(toy_corpus: Corpus, vocabulary: VocabularyFolder) -> None:
    rows = toy_corpus.splits["train"]

    training_rows = read(rows, vocabulary, kind="words")

    expected = StudentTokenizer.load(vocabulary.tokenizer).encode(rows.texts, max_length=12)
    inputs = training_rows.inputs(np.array([3, 0]))
    assert inputs.keys() == {"input_ids", "attention_mask"}
    for row, place in enumerate([3, 0]):
        length = int(inputs["attention_mask"][row].sum())
        assert inputs["input_ids"][row, :length].tolist() == expected[place]
        assert not inputs["input_ids"][row, length:].any()
    assert training_rows.lengths().tolist() == [len(ids) for ids in expected]
    assert max(training_rows.lengths()) == 12


def test_a_student_of_words_reads_the_two_texts_of_a_pair_separately(
    pairs: Corpus, vocabulary: VocabularyFolder
) -> None:
    training_rows = read(pairs.splits["train"], vocabulary, kind="words")

    inputs = training_rows.inputs(np.array([0, 1]))
    texts = training_rows.columns["input_ids"].lengths
    assert inputs.keys() == {"input_ids", "attention_mask", "pair_ids", "pair_mask"}
    assert inputs["pair_mask"][0].sum() == texts[1]  # a row's second text is the next row's text
    assert inputs["pair_ids"][0, : texts[1]].tolist() == inputs["input_ids"][1, : texts[1]].tolist()
    assert training_rows.lengths().tolist() == np.maximum(texts, np.roll(texts, -1)).tolist()


def test_framed_texts_are_between_the_teachers_special_tokens(
    toy_corpus: Corpus, teacher_tokens: VocabularyFolder
) -> None:
    rows = toy_corpus.splits["train"]

    training_rows = read(rows, teacher_tokens, kind="framed")

    expected = FramedTokenizer.load(teacher_tokens.tokenizer).encode(rows.texts, max_length=12)
    inputs = training_rows.inputs(np.arange(len(rows)))
    assert inputs.keys() == {"input_ids", "attention_mask"}
    assert [
        ids[: int(mask.sum())].tolist() for ids, mask in zip(inputs["input_ids"], inputs["attention_mask"], strict=True)
    ] == expected
    assert training_rows.lengths().tolist() == [len(ids) for ids in expected]


def test_a_framed_pair_is_one_row_with_types(pairs: Corpus, teacher_tokens: VocabularyFolder) -> None:
    rows = pairs.splits["train"]

    training_rows = read(rows, teacher_tokens, kind="framed", max_length=40)

    ids, types = FramedTokenizer.load(teacher_tokens.tokenizer).encode_pairs(
        rows.texts, rows.pairs or [], max_length=40
    )
    inputs = training_rows.inputs(np.array([4, 7]))
    assert inputs.keys() == {"input_ids", "attention_mask", "token_type_ids"}
    for row, place in enumerate([4, 7]):
        length = len(ids[place])
        assert inputs["input_ids"][row, :length].tolist() == ids[place]
        assert inputs["token_type_ids"][row, :length].tolist() == types[place]
        assert not inputs["token_type_ids"][row, length:].any()
    assert {0, 1} == set(types[4])
    assert training_rows.lengths().tolist() == [len(row) for row in ids]


def test_padding_is_the_token_that_the_tokenizer_says(
    toy_corpus: Corpus, teacher_tokens: VocabularyFolder, tmp_path: Path
) -> None:
    """RoBERTa's is 1."""
    text = teacher_tokens.tokenizer.read_text(encoding="utf-8").replace('"pad_id":0', '"pad_id":1')
    changed = text.replace('"pad_id": 0', '"pad_id": 1')
    (tmp_path / "tokenizer.json").write_text(changed, encoding="utf-8")

    training_rows = read(toy_corpus.splits["train"], VocabularyFolder(tmp_path), kind="framed")

    inputs = training_rows.inputs(np.arange(20))
    assert training_rows.pad == 1
    assert (inputs["input_ids"][inputs["attention_mask"] == 0] == 1).all()


def test_many_rows_are_tokenised_some_at_a_time_and_stay_in_order(
    toy_corpus: Corpus,
    pairs: Corpus,
    vocabulary: VocabularyFolder,
    teacher_tokens: VocabularyFolder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def all_ways() -> list[TrainingRows]:
        both = (toy_corpus.splits["train"], pairs.splits["train"])
        of_words = [read(rows, vocabulary, kind="words") for rows in both]
        return [*of_words, *(read(rows, teacher_tokens, kind="framed") for rows in both)]

    whole = all_ways()
    monkeypatch.setattr(room, "ROWS_AT_ONCE", 7)
    again = all_ways()

    for one, other in zip(whole, again, strict=True):
        assert one.columns.keys() == other.columns.keys()
        for name, column in one.columns.items():
            assert torch.equal(column.flat, other.columns[name].flat), name
            assert column.lengths.tolist() == other.columns[name].lengths.tolist()


def test_of_framed_pairs_only_some_are_in_memory_as_lists(
    pairs: Corpus, teacher_tokens: VocabularyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Block(list[Any]):
        """A list that can be watched."""

    made: list[weakref.ref[Block]] = []
    most, encode_pairs = 0, FramedTokenizer.encode_pairs

    def watched(*arguments: Any, **options: Any) -> Any:
        nonlocal most
        block = Block(encode_pairs(*arguments, **options))
        made.append(weakref.ref(block))
        most = max(most, sum(reference() is not None for reference in made))
        return block

    monkeypatch.setattr(room, "ROWS_AT_ONCE", 5)
    monkeypatch.setattr(FramedTokenizer, "encode_pairs", watched)
    read(pairs.splits["train"], teacher_tokens, kind="framed")

    assert len(made) == 4
    assert most <= 2  # the one before, until the next one has its name


def test_the_teachers_logits_follow_the_row_id_and_not_the_position(
    toy_corpus: Corpus, vocabulary: VocabularyFolder, make_labels: Callable[..., TeacherLabels]
) -> None:
    rows = toy_corpus.splits["train"]
    labels = make_labels(rows, width=4)
    order = np.random.default_rng(0).permutation(len(rows))

    training_rows = read(rows.select(order), vocabulary, kind="words", labels=labels, with_features=True)

    np.testing.assert_array_equal(training_rows.teacher_logits.numpy(), labels.for_rows(rows.ids)[order])
    assert training_rows.teacher_features is not None
    np.testing.assert_array_equal(training_rows.teacher_features.numpy(), labels.features_for(rows.ids)[order])
    assert training_rows.labels.tolist() == rows.labels[order].tolist()


def test_without_a_teacher_its_logits_are_zero(toy_corpus: Corpus, vocabulary: VocabularyFolder) -> None:
    training_rows = read(toy_corpus.splits["dev"], vocabulary, kind="words", classes=3)

    assert training_rows.teacher_logits.shape == (50, 3)
    assert not training_rows.teacher_logits.any()
    assert training_rows.teacher_features is None
    assert len(training_rows) == 50


def test_foreign_rows_come_last_and_have_equal_probabilities_for_all_labels(
    toy_corpus: Corpus, vocabulary: VocabularyFolder
) -> None:
    rows, foreign = toy_corpus.splits["train"], Rows.of(ids=list("abc"), texts=["x y", "z", "w"])

    training_rows = read(rows, vocabulary, kind="words", labels=AnswersOfOne(), foreign=[foreign])

    assert len(training_rows) == len(rows) + 3
    assert training_rows.teacher_logits[:-3].eq(1).all()
    assert training_rows.teacher_logits[-3:].eq(0).all()
    assert training_rows.labels[-3:].tolist() == [-1, -1, -1]


class AnswersOfOne:
    def for_rows(self, ids: Any) -> Any:
        return np.ones((len(ids), 2), np.float32)
