"""Hashed n-grams: which there are, that their numbers are stable, and how far a text is read."""

import subprocess
import sys
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from tokenizers import Tokenizer

from limbeck.text import ngrams
from limbeck.text.ngrams import FIRST_BUCKET, NgramIds, NgramSettings, first_part, ngram_settings
from limbeck.text.student_tokenizer import UNK_ID, StudentTokenizer

MANY = 1 << 30  # so many buckets that no two n-grams of a test share one


def ids_of(text: str, *, max_length: int = 99, **settings: Any) -> list[int]:
    (row,) = NgramIds(NgramSettings(**{"buckets": MANY, **settings})).read([text], max_length=max_length)
    return row


def of_words(*words: str) -> set[int]:
    return {FIRST_BUCKET + crc32(word.encode()) % (MANY // 2) for word in words}


def of_parts(*parts: str) -> set[int]:
    return {first_part(MANY) + crc32(part.encode()) % (MANY // 2) for part in parts}


def test_a_word_has_itself_and_its_parts_between_its_ends() -> None:
    found = ids_of("cat", longest=4)

    parts = ["<c", "ca", "at", "t>", "<ca", "cat", "at>", "<cat", "cat>"]  # <cat> is the word itself
    assert set(found) == of_words("cat") | of_parts(*parts)
    assert len(found) == 1 + len(parts)


def test_marks_are_words_without_parts() -> None:
    assert set(ids_of("!?", words=1)) == of_words("!", "?")


def test_parts_may_be_left_out() -> None:
    assert set(ids_of("a cat", words=1, longest=0)) == of_words("a", "cat")


def test_runs_of_words_depend_on_their_order_but_not_on_spaces_between_them() -> None:
    one, other = ids_of("dog bites man", longest=0), ids_of("man bites dog", longest=0)

    assert len(one) == len(other) == 3 + 2
    assert set(one) & set(other) == of_words("dog", "bites", "man")
    assert len(ids_of("dog bites man", longest=0, words=3)) == 3 + 2 + 1
    assert ids_of("wow , man") == ids_of("wow,man")


def test_every_n_gram_counts_once() -> None:
    assert ids_of("no no no", longest=0) == [*dict.fromkeys(ids_of("no no", longest=0))]


def test_case_and_width_make_no_difference() -> None:
    assert ids_of("ＣＡＴ Éte\u0301") == ids_of("cat été")


def test_han_characters_are_words_and_their_runs_have_parts() -> None:
    found = ids_of("我们好 ok", words=1, longest=2)

    assert set(found) == of_words("我", "们", "好", "ok") | of_parts("我们", "们好", "<o", "ok", "k>")


def test_letters_keep_their_combining_marks() -> None:
    assert set(ids_of("हिन्दी", longest=0)) == of_words("हिन्दी")


def test_a_masked_word_says_nothing() -> None:
    assert ids_of("a [MASK] cat") == ids_of("a cat")


@pytest.mark.parametrize(("text", "read"), [("a b c d", "a b"), ("a,b", "a,"), ("我们好", "我们")])
def test_only_the_first_words_are_read(text: str, read: str) -> None:
    longer, shorter = ids_of(text, max_length=2, longest=0), ids_of(read, longest=0)

    assert longer == shorter


def test_half_of_the_buckets_are_for_words() -> None:
    found = ids_of("some words of a text, and their parts", buckets=10)

    assert all(FIRST_BUCKET <= number < FIRST_BUCKET + 10 for number in found)
    assert all(number < first_part(10) for number in ids_of("only these", buckets=10, longest=0))


def test_reading_again_and_clearing_the_memo_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, texts = NgramIds(NgramSettings(buckets=1000)), ["one two, three", "three two", "x" * 100]
    first = reader.read(texts, max_length=9)
    monkeypatch.setattr(ngrams, "MOST_PIECES", 1)

    assert reader.read(texts, max_length=9) == first == reader.read(texts, max_length=9)


def test_numbers_are_the_same_in_another_process() -> None:
    code = "from limbeck.text.ngrams import *; print(NgramIds(NgramSettings(9999)).read(['no cats'], max_length=9)[0])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == str(ids_of("no cats", buckets=9999))


def test_anything_can_be_read() -> None:
    assert ids_of("\ud800 \x00 \u200b") == ids_of("\ufffd")
    assert len(ids_of("x" * 100_000)) < 200


def test_the_students_tokenizer_opens_its_file(tmp_path: Path) -> None:
    settings = NgramSettings(buckets=500, words=3, form=("lowercase",))
    tokenizer = StudentTokenizer.from_json(settings.to_json())
    tokenizer.save(tmp_path / "tokenizer.json")

    loaded = StudentTokenizer.load(tmp_path / "tokenizer.json")

    assert ngram_settings(loaded.to_json()) == settings
    assert len(loaded) == len(loaded.vocabulary) == 503
    assert loaded.encode(["A cat", ""], max_length=9) == [NgramIds(settings).read(["a cat"], max_length=9)[0], [UNK_ID]]
    assert loaded.lengths(["a cat, no?", "a b c d e"], max_length=4) == [4, 4]
    with pytest.raises(Exception, match="expected"):
        Tokenizer.from_file(str(tmp_path / "tokenizer.json"))  # the library must not read it as anything else
