import numpy as np

from limbeck.augmentation.masked_predictions import TextFrame
from limbeck.augmentation.piece_words import Blank

CLS, SEP, MASK, PAD = 101, 102, 103, 0


def frame(max_length: int = 64) -> TextFrame:
    return TextFrame([CLS], [SEP], MASK, PAD, True, max_length - 2)


def test_a_row_has_one_word_masked() -> None:
    made = frame().masked([[7, 8, 9]], [(0, Blank(0, 0, 1, "word")), (0, Blank(2, 2, 3, "word"))])

    assert made.inputs["input_ids"].tolist() == [[CLS, MASK, 8, 9, SEP], [CLS, 7, 8, MASK, SEP]]
    assert made.rows.tolist() == [0, 1]
    assert made.columns.tolist() == [1, 3]


def test_all_characters_of_a_word_are_masked_at_once() -> None:
    made = frame().masked([[7, 8, 9]], [(0, Blank(0, 1, 3, "han"))])

    assert made.inputs["input_ids"].tolist() == [[CLS, 7, MASK, MASK, SEP]]
    assert made.rows.tolist() == [0, 0]
    assert made.columns.tolist() == [2, 3]


def test_shorter_rows_are_padded() -> None:
    made = frame().masked([[7], [7, 8, 9]], [(1, Blank(0, 0, 1, "word")), (0, Blank(0, 0, 1, "word"))])

    assert made.inputs["input_ids"].tolist() == [[CLS, MASK, 8, 9, SEP], [CLS, MASK, SEP, PAD, PAD]]
    assert made.inputs["attention_mask"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert not made.inputs["token_type_ids"].any()


def test_of_a_long_text_the_model_reads_what_stands_around_the_word() -> None:
    text = list(range(1, 31))
    blanks = [(0, Blank(at, at, at + 1, "word")) for at in range(30)]

    made = frame(max_length=10).masked([text], blanks)

    ids = made.inputs["input_ids"]
    assert ids.shape == (30, 10)
    assert (ids[made.rows, made.columns] == MASK).all()
    assert (np.sort(ids, axis=1)[:, -3:] == [CLS, SEP, MASK]).all()
    assert ids[0].tolist() == [CLS, MASK, 2, 3, 4, 5, 6, 7, 8, SEP]
    assert ids[15].tolist() == [CLS, 12, 13, 14, 15, MASK, 17, 18, 19, SEP]
    assert ids[29].tolist() == [CLS, 23, 24, 25, 26, 27, 28, 29, MASK, SEP]


class ToyTokenizer:
    """Puts two tokens before a text and one behind it."""

    mask_token_id = 9
    pad_token_id = None

    def __call__(self, text: str, *, return_special_tokens_mask: bool) -> dict[str, list[int]]:
        assert text
        assert return_special_tokens_mask
        return {"input_ids": [1, 2, 50, 51, 3], "special_tokens_mask": [1, 1, 0, 0, 1]}


def test_the_frame_is_what_the_tokenizer_puts_around_a_text() -> None:
    assert TextFrame.of(ToyTokenizer(), max_length=10) == TextFrame([1, 2], [3], 9, 0, False, 7)
