"""A student's inputs: under the names of its network's inputs, padded with its own padding."""

from pathlib import Path

import numpy as np
import pytest
from transformers import BertTokenizer

from limbeck.text.framing import framed_teacher_tokenizer
from limbeck.text.student_reader import StudentReader, has_token_types
from limbeck.text.word_tokenizer import build_word_tokenizer

WORDS = ["a", "fine", "film", "dull", "road"]


@pytest.fixture
def words(tmp_path: Path) -> StudentReader:
    """[PAD] [UNK] [MASK] and the words, from 3 on."""
    tokenizer = build_word_tokenizer(WORDS, language="en", max_size=20, min_count=1, lowercase=True)
    tokenizer.save(tmp_path / "tokenizer.json")
    return StudentReader.load(tmp_path / "tokenizer.json", is_framed=False, max_length=3)


@pytest.fixture
def framed(tmp_path: Path) -> StudentReader:
    """A BERT's, whose padding is not 0."""
    special = ["[CLS]", "[SEP]", "[UNK]", "[MASK]", "[PAD]"]
    tokenizer = BertTokenizer(vocab={piece: number for number, piece in enumerate([*special, *WORDS])})
    json_text = tokenizer.backend_tokenizer.to_str()
    framed = framed_teacher_tokenizer(json_text, pad_id=4, mask_token="[MASK]", has_types=True)
    framed.save(tmp_path / "tokenizer.json")
    return StudentReader.load(tmp_path / "tokenizer.json", is_framed=True, max_length=7)


def test_texts_are_padded_at_the_end_and_the_mask_says_where(words: StudentReader) -> None:
    rows = words.read(["film", "a fine film and more"], None)

    batch = rows.batch([0, 1], with_types=False)

    assert rows.lengths.tolist() == [1, 3]
    assert batch["attention_mask"].tolist() == [[1, 0, 0], [1, 1, 1]]
    assert batch["input_ids"][0].tolist()[1:] == [0, 0]
    assert batch.keys() == {"input_ids", "attention_mask"}


def test_word_students_read_two_texts_separately_and_the_longer_one_gives_the_length(words: StudentReader) -> None:
    rows = words.read(["film", "a fine"], ["a dull road", "road"])

    batch = rows.batch(np.array([1, 0]), with_types=False)

    assert rows.lengths.tolist() == [3, 2]
    assert batch["attention_mask"].tolist() == [[1, 1], [1, 0]]
    assert batch["pair_mask"].tolist() == [[1, 0, 0], [1, 1, 1]]


def test_in_a_frame_two_texts_are_one_row_padded_with_its_own_padding(framed: StudentReader) -> None:
    batch = framed.read(["film", "a"], ["dull road", "film"]).batch([0, 1], with_types=True)

    assert batch["input_ids"].tolist() == [[0, 7, 1, 8, 9, 1], [0, 5, 1, 7, 1, 4]]
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0]]
    assert batch["attention_mask"].tolist() == [[1] * 6, [1] * 5 + [0]]


def test_types_are_omitted_for_a_network_that_has_none(framed: StudentReader) -> None:
    rows = framed.read(["film"], ["road"])

    assert rows.batch([0], with_types=False).keys() == {"input_ids", "attention_mask"}


def test_single_texts_in_a_frame_have_no_types(framed: StudentReader) -> None:
    assert framed.read(["film"], None).batch([0], with_types=True)["input_ids"].tolist() == [[0, 7, 1]]


@pytest.mark.parametrize("count", [0, 1])
def test_no_rows_and_one_row_are_read_too(words: StudentReader, count: int) -> None:
    rows = words.read(["film"] * count, None)

    assert len(rows.lengths) == count
    assert rows.batch(range(count), with_types=False)["input_ids"].shape == (count, count)


def test_bert_distinguishes_second_texts_by_type_and_distilbert_does_not() -> None:
    from transformers import BertConfig, DistilBertConfig

    assert has_token_types(BertConfig())
    assert not has_token_types(DistilBertConfig())
