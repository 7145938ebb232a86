import pickle

from limbeck.augmentation.masked_lm import Candidates, HanWords, Packer
from limbeck.augmentation.prediction_store import TextPredictions

KNOWN = HanWords({"酒": 1, "酒店": 2, "早": 1, "早餐": 2, "好": 3, "差": 2}, ())


def candidates(packed: Candidates, key: bytes, position: int) -> list[str] | None:
    found = packed.of(key, position)
    return None if found is None else [packed.pool[place] for place in found]


def test_every_word_gets_its_own_candidates_back() -> None:
    packer = Packer(KNOWN, most=5)
    packer.add(b"one", ["a", "Film", ",", "good"], TextPredictions([1, 3], ["story actor", "bad"], [[], []]))
    packer.add(b"none", ["..."], TextPredictions([], [], []))
    packer.add(b"two", ["film", "AGAIN"], TextPredictions([0, 1], ["actor", "story bad"], [[], []]))

    packed: Candidates = pickle.loads(pickle.dumps(packer.packed))

    assert candidates(packed, b"one", 1) == ["Story", "Actor"]
    assert candidates(packed, b"one", 3) == ["bad"]
    assert candidates(packed, b"two", 0) == ["actor"]
    assert candidates(packed, b"two", 1) == ["STORY", "BAD"]
    assert len(packed.pool) == len(set(packed.pool))


def test_words_that_were_not_asked_about_have_none() -> None:
    packer = Packer(KNOWN, most=5)
    packer.add(b"one", ["a", "film"], TextPredictions([1], [""], [[]]))

    assert candidates(packer.packed, b"one", 0) is None
    assert candidates(packer.packed, b"other", 0) is None
    assert candidates(packer.packed, b"one", 1) == [], "asked about, and nothing found"


def test_characters_of_chinese_words_are_combined() -> None:
    packer = Packer(KNOWN, most=5)
    answer = TextPredictions([0, 0, 2], ["酒 早", "餐 店", "好 差 早"], [[2.0, 1.0], [3.0, 1.0], [3.0, 2.0, 1.0]])
    packer.add(b"zh", ["酒店", "的", "好"], answer)

    assert candidates(packer.packed, b"zh", 0) == ["早餐"], "the word itself is none of them"
    assert candidates(packer.packed, b"zh", 2) == ["差", "早"]


def test_a_chinese_word_has_at_most_the_given_number_of_candidates() -> None:
    packer = Packer(KNOWN, most=1)
    packer.add(b"zh", ["好"], TextPredictions([0], ["好 差 早"], [[3.0, 2.0, 1.0]]))

    assert candidates(packer.packed, b"zh", 0) == ["差"]
