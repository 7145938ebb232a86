"""What stays of texts that are too long: how many tokens of each, and which."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from limbeck.teacher.tokens import head_and_tail, kept_places, shared_length

SPECIAL = None


def row(first: int, second: int | None = None) -> list[int | None]:
    """[CLS] text [SEP], or [CLS] text [SEP] text [SEP], with so many tokens of each."""
    one = [SPECIAL, *[0] * first, SPECIAL]
    return one if second is None else [*one, *[1] * second, SPECIAL]


def test_of_one_text_the_beginning_and_the_end_stay_between_the_special_tokens() -> None:
    kept = kept_places(row(100), max_length=10, head_share=0.25)

    assert kept == [0, *(1, 2), *(95, 96, 97, 98, 99, 100), 101]  # room for 8: two from the beginning, six from the end


def test_the_numbers_of_the_paper_are_met() -> None:
    """Sun et al. 2019, section 5.3.1: of 510 tokens the first 128 and the last 382."""
    kept = kept_places(row(1000), max_length=512, head_share=0.25)

    assert kept[1:129] == list(range(1, 129))
    assert kept[129:511] == list(range(619, 1001))


def test_special_tokens_stay_wherever_a_family_puts_them() -> None:
    """XLNet's are behind the text."""
    kept = kept_places([*[0] * 20, SPECIAL, SPECIAL], max_length=6, head_share=0.5)

    assert kept == [0, 1, 18, 19, 20, 21]


def test_a_row_that_fits_stays_as_it_is() -> None:
    assert kept_places(row(8), max_length=10, head_share=0.25) == list(range(10))
    assert kept_places(row(3, 4), max_length=10, head_share=0.25) == list(range(10))


def test_of_a_pair_the_longer_text_loses_its_middle_and_the_short_one_nothing() -> None:
    kept = kept_places(row(2, 50), max_length=11, head_share=0.5)

    # room for 8: two for the first text; six for the second, three from either end
    assert kept == [0, *(1, 2), 3, *(4, 5, 6), *(51, 52, 53), 54]


def test_of_two_long_texts_both_keep_a_beginning_and_an_end() -> None:
    kept = kept_places(row(30, 40), max_length=12, head_share=0.5)

    # room for 9: four of the shorter text, five of the longer one
    assert kept == [0, *(1, 2), *(29, 30), 31, *(32, 33), *(69, 70, 71), 72]


def test_one_token_from_each_end_stays_at_least() -> None:
    assert head_and_tail(range(10), 4, head_share=0.01) == [0, 7, 8, 9]
    assert head_and_tail(range(10), 4, head_share=0.99) == [0, 1, 2, 9]
    assert head_and_tail(range(10), 1, head_share=0.5) == [0]
    assert head_and_tail(range(10), 0, head_share=0.5) == []


def test_without_any_room_the_special_tokens_are_left() -> None:
    assert kept_places(row(5, 5), max_length=2, head_share=0.5) == [0, 6, 12]


@pytest.mark.parametrize("room", [0, 1, 2, 5, 6, 7, 12])
@pytest.mark.parametrize("sizes", [(10, 2), (2, 10), (7, 8), (8, 7), (5, 5), (1, 9), (9, 0)])
def test_a_pair_keeps_as_many_tokens_of_each_text_as_tokenizers_keep_from_its_beginning(
    sizes: tuple[int, int], room: int
) -> None:
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "[CLS]": 1, "[SEP]": 2}, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer.enable_truncation(room + 3)

    theirs = tokenizer.encode(" ".join("a" * sizes[0]), " ".join("a" * sizes[1])).sequence_ids

    ours = shared_length(*sizes, length=room)
    assert ours == (theirs.count(0), theirs.count(1))
    assert room < 2 or all(kept > 0 for kept, size in zip(ours, sizes, strict=True) if size)
