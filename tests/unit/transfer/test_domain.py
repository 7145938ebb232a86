"""How many words unlabelled text shares with the corpus."""

from typing import TYPE_CHECKING

from limbeck.transfer.domain import domain_of
from limbeck.transfer.shingles import Piece

if TYPE_CHECKING:
    from tests.unit.conftest import ReadCorpus


def test_running_words_and_distinct_ones_are_counted_without_case(read_rows: "ReadCorpus") -> None:
    train: list[tuple[str, ...]] = [("a good film", "1"), ("a bad film", "0")]
    corpus = read_rows(train=train, dev=[("good acting", "1")])

    domain = domain_of([("A good, GOOD book", None), ("nothing", None)], corpus=corpus)

    assert domain == {
        "words_in_train": 0.6,  # a good good, but not book and nothing
        "dev_words_in_train": 0.5,
        "train_words_found": 0.5,  # a and good of a, good, bad, film
    }


def test_in_chinese_two_neighbouring_characters_are_a_word(read_rows: "ReadCorpus") -> None:
    train: list[tuple[str, ...]] = [("房间很大", "1"), ("iPhone不好", "0")]
    corpus = read_rows(train=train, dev=[("很小", "1")])

    domain = domain_of([("房间小，IPHONE 好", None)], corpus=corpus)

    # 房间 间小 iphone 好, of which 房间 and iphone are known; train has 房间 间很 很大 iphone 不好.
    assert (domain["words_in_train"], domain["train_words_found"]) == (0.5, 0.4)


def test_both_texts_of_a_pair_count(read_rows: "ReadCorpus") -> None:
    train: list[tuple[str, ...]] = [("why", "how", "0"), ("who", "what", "1")]
    pieces: list[Piece] = [("why", "what"), ("when", "where")]

    domain = domain_of(pieces, corpus=read_rows(train=train, dev=[("when", "what", "0")]))

    assert domain == {"words_in_train": 0.5, "dev_words_in_train": 0.5, "train_words_found": 0.5}


def test_text_without_a_word_shares_none(read_rows: "ReadCorpus") -> None:
    corpus = read_rows(train=[("good", "1"), ("bad", "0")], dev=[("good", "1")])

    assert domain_of([("...", None)], corpus=corpus)["words_in_train"] == 0.0
