"""Tang's complete procedure: one draw per word, texts of any length, pairs."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from limbeck.augmentation.copies import CopyMaker, Tally
from limbeck.augmentation.masking import DeleteWords, KeepNgram, MaskWords, SwapWords
from limbeck.augmentation.method import Rng, SourceText, WordMethod
from limbeck.augmentation.pos_swap import pos_swap
from limbeck.recipe.augmentation import PosSwap

WORDS = 10_000


@dataclass(frozen=True)
class Shout(WordMethod):
    """Marks which method changed which word, so that changes by two methods would show."""

    fraction: float
    kind: str = "shout"

    def change(self, source: SourceText, position: int, rng: Rng) -> str | None:
        del rng
        return source.cut.words[position].upper() + "!"


@dataclass(frozen=True)
class Refuse(WordMethod):
    """A method that changes no word."""

    fraction: float
    kind: str = "refuse"

    def change(self, source: SourceText, position: int, rng: Rng) -> str | None:
        del source, position, rng
        return None


def test_methods_on_words_share_one_draw(make_copies: Any, within_four_sigma: Any) -> None:
    """With one draw per method, a hundredth of the words would be drawn by both, and fewer than a fifth changed."""
    text = " ".join(["word"] * WORDS)

    [copy] = make_copies([MaskWords(0.1), Shout(0.1)], text)

    found = Counter(copy.sides[0].split())
    assert set(found) == {"word", "[MASK]", "WORD!"}
    assert within_four_sigma(found["[MASK]"], trials=WORDS, chance=0.1)
    assert within_four_sigma(found["WORD!"], trials=WORDS, chance=0.1)
    assert within_four_sigma(found["word"], trials=WORDS, chance=0.8)
    assert copy.changes == [found["[MASK]"], found["WORD!"]]


def test_a_word_that_one_method_does_not_change_is_not_passed_to_the_next(
    make_copies: Any, within_four_sigma: Any
) -> None:
    [copy] = make_copies([Refuse(0.5), Shout(0.1)], " ".join(["word"] * WORDS))

    assert within_four_sigma(copy.sides[0].count("!"), trials=WORDS, chance=0.1)
    assert copy.changes[0] == 0


def test_fractions_that_sum_to_one_change_every_word(make_copies: Any) -> None:
    [copy] = make_copies([MaskWords(0.3), Shout(0.3), DeleteWords(0.4)], " ".join(["word"] * WORDS))

    assert set(copy.sides[0].split()) == {"[MASK]", "WORD!"}
    assert sum(copy.changes) == WORDS


def test_the_three_methods_of_tang_together(
    make_context: Any, make_rows: Any, make_copies: Any, within_four_sigma: Any
) -> None:
    text = "a quiet story about an old man who sells music in the city ."
    swap = pos_swap(PosSwap(kind="pos_swap"), make_rows([text, "the new garden of a dreadful actor"]), make_context())
    length = len(text.split())

    copies = make_copies([MaskWords(0.1), swap, KeepNgram(0.25, 1, 5)], text, copies=4_000)

    shortened = [copy for copy in copies if len(copy.sides[0].split()) < length]
    masks = sum(copy.sides[0].split().count("[MASK]") for copy in copies if copy not in shortened)
    assert within_four_sigma(len(shortened), trials=4_000, chance=0.25)
    assert {len(copy.sides[0].split()) for copy in shortened} == {1, 2, 3, 4, 5}
    assert within_four_sigma(masks, trials=length * (4_000 - len(shortened)), chance=0.1)
    assert any("[MASK]" in copy.sides[0] for copy in shortened), "words are changed before the n-gram is cut"


def test_methods_on_texts_are_applied_in_order(make_copies: Any) -> None:
    first_cut = make_copies([KeepNgram(1.0, 1, 1), SwapWords(1.0)], "one two three", copies=50)
    first_swap = make_copies([SwapWords(1.0), KeepNgram(1.0, 1, 1)], "one two three", copies=50)

    assert {copy.changes[1] for copy in first_cut} == {0}, "a single word changes places with nothing"
    assert any(copy.changes[0] for copy in first_swap)


@pytest.mark.parametrize("text", ["", " ", "word", "."])
def test_the_shortest_texts_are_copied(make_copies: Any, text: str) -> None:
    methods = [MaskWords(0.5), DeleteWords(0.5), KeepNgram(0.5, 1, 5), SwapWords(0.5)]

    copies = make_copies(methods, text, copies=100)

    assert {copy.sides[0] for copy in copies} == ({text, "[MASK]"} if text.strip() else {text})


def test_of_a_pair_one_text_or_both_are_changed_a_third_each(make_copies: Any, within_four_sigma: Any) -> None:
    copies = make_copies([MaskWords(1.0)], "first", "second", copies=9_000)

    found = Counter(tuple(copy.sides) for copy in copies)
    assert set(found) == {("[MASK]", "second"), ("first", "[MASK]"), ("[MASK]", "[MASK]")}
    assert all(within_four_sigma(count, trials=9_000, chance=1 / 3) for count in found.values())


def test_both_texts_of_a_pair_are_always_changed_if_asked(make_copies: Any) -> None:
    copies = make_copies([MaskWords(1.0)], "first", "second", copies=50, sides="both")

    assert {tuple(copy.sides) for copy in copies} == {("[MASK]", "[MASK]")}


def test_copies_depend_only_on_seed_and_row_id(make_copies: Any) -> None:
    text = " ".join(f"word{number}" for number in range(50))
    methods = [MaskWords(0.1), KeepNgram(0.25, 1, 5)]

    same = [make_copies(methods, text, copies=5, seed=3, row_id="train-7") for _ in range(2)]
    other_row = make_copies(methods, text, copies=5, seed=3, row_id="train-8")
    other_seed = make_copies(methods, text, copies=5, seed=4, row_id="train-7")

    assert same[0] == same[1]
    assert len({tuple(copy.sides[0] for copy in copies) for copies in (same[0], other_row, other_seed)}) == 3


def test_more_copies_begin_with_the_same_ones(make_copies: Any) -> None:
    text = " ".join(f"word{number}" for number in range(50))

    few = make_copies([MaskWords(0.1)], text, copies=3)
    many = make_copies([MaskWords(0.1)], text, copies=6)

    assert many[:3] == few
    assert len({copy.sides[0] for copy in many}) == 6


def test_words_are_counted_where_they_could_be_changed() -> None:
    copy_maker = CopyMaker((MaskWords(1.0),), "en", 0)
    tally = Tally.of(copy_maker.methods)

    copies = list(copy_maker.copies_of("train-0", ["one", "two words"], tally, copies=300))

    assert tally.asked == len(copies) == 300
    assert tally.words == tally.words_changed[0] == sum(sum(copy.changes) for copy in copies)
    assert tally.copies_changed == [300]
    assert tally.seconds[0] > 0
