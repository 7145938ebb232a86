"""Texts that are segmented by jieba at run time."""

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from limbeck.errors import DependencyMissing
from limbeck.text.jieba_words import jieba_cut
from limbeck.text.segmenter import Segmenter, marked_jieba, opened
from limbeck.text.student_tokenizer import UNK_ID, StudentTokenizer
from limbeck.text.word_tokenizer import build_word_tokenizer

TEXTS = ["房间不错，酒店服务不错。", "酒店房间很小", "买了iPhone手机 5.5寸"]


def build(
    *texts: str, segmenter: Segmenter = "jieba", language: str = "zh", max_size: int = 1000, min_count: int = 1
) -> StudentTokenizer:
    return build_word_tokenizer(
        texts, language=language, max_size=max_size, min_count=min_count, lowercase=True, segmenter=segmenter
    )


def tokens(tokenizer: StudentTokenizer, text: str) -> list[str]:
    (row,) = tokenizer.encode([text], max_length=1000)
    return [tokenizer.vocabulary[number] for number in row]


def test_text_is_segmented_by_jieba_and_not_by_the_vocabulary() -> None:
    sentence = "研究生命起源"
    texts = [*["研究生"] * 50, *["命"] * 50, sentence, "生命"]

    by_jieba, by_vocabulary = (tokens(build(*texts, segmenter=way), sentence) for way in ("jieba", "longest_match"))

    assert by_jieba == jieba_cut()(sentence) == ["研究", "生命", "起源"]
    assert by_vocabulary == ["研究生", "命", "起源"]


def test_every_word_that_was_counted_is_found_again() -> None:
    tokenizer = build(*TEXTS)

    assert [tokens(tokenizer, text) for text in TEXTS] == [
        ["房间", "不错", ",", "酒店", "服务", "不错", "。"],
        ["酒店", "房间", "很小"],
        ["买", "了", "iphone", "手机", "5.5", "寸"],
    ]


def test_a_word_that_is_not_a_token_is_split_into_the_longest_tokens() -> None:
    tokenizer = build("浪费", "浪费", "浪费时间", "时", "间", min_count=2)

    assert jieba_cut()("浪费时间") == ["浪费时间"]
    assert tokens(tokenizer, "浪费时间") == ["浪费", "时", "间"]


def test_a_word_with_a_new_character_is_one_unknown() -> None:
    assert tokens(build("酒店不错"), "酒店龘不错") == ["酒店", "[UNK]", "不错"]


def test_jieba_is_given_text_in_the_form_of_the_tokenizer() -> None:
    tokenizer = build("买ｉＰｈｏｎｅ手机")

    assert tokens(tokenizer, "ＩＰＨＯＮＥ手机") == ["iphone", "手机"]


def test_the_mask_is_not_read_as_text() -> None:
    assert tokens(build("酒店不错"), "酒店[MASK]不错") == ["酒店", "[MASK]", "不错"]


@pytest.mark.parametrize("text", ["", " \n", "𠀀𠀁々〇", "\ud800酒店", "好" * 20_000, "酒\u0301店"])
def test_strange_texts_are_read(text: str) -> None:
    (row,) = build(*TEXTS, "好").encode([text], max_length=50)

    assert 1 <= len(row) <= 50


def test_the_file_itself_says_that_jieba_segments(tmp_path: Path) -> None:
    tokenizer = build(*TEXTS)

    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = StudentTokenizer.load(tmp_path / "tokenizer.json")

    assert json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))["segmenter"] == "jieba"
    assert loaded.encode(TEXTS, max_length=99) == tokenizer.encode(TEXTS, max_length=99)
    assert loaded.to_json() == tokenizer.to_json()
    assert loaded.vocabulary == tokenizer.vocabulary


def test_the_same_texts_give_the_same_file() -> None:
    texts = [f"word{number % 37} 房间{number % 11} x" for number in range(500)]

    assert build(*texts).to_json() == build(*texts).to_json()


def test_the_library_itself_refuses_the_file_rather_than_segment_differently() -> None:
    with pytest.raises(Exception, match="expected"):
        Tokenizer.from_str(build(*TEXTS).to_json())


def test_other_tokenizers_are_opened_as_they_are() -> None:
    english = build("a segmenter", language="en").to_json()
    chinese = build(*TEXTS, segmenter="longest_match").to_json()

    assert [opened(text).to_str() for text in (english, chinese)] == [english, chinese]
    assert "segmenter" in english  # a word of the vocabulary is not the mark


def test_english_does_not_need_jieba() -> None:
    ways: Sequence[Segmenter] = ("jieba", "longest_match")

    first, second = (build("it's a film", segmenter=way, language="en").to_json() for way in ways)

    assert first == second


def test_an_unknown_segmenter_is_refused() -> None:
    text = build(*TEXTS).to_json().replace('"segmenter": "jieba"', '"segmenter": "pkuseg"')

    with pytest.raises(ValueError, match="'pkuseg'"):
        StudentTokenizer.from_json(text)


def test_threads_may_share_one() -> None:
    tokenizer = build(*TEXTS)
    expected = tokenizer.encode(TEXTS * 20, max_length=99)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: tokenizer.encode(TEXTS * 20, max_length=99), range(24)))

    assert found == [expected] * 24
    assert UNK_ID not in {number for row in expected for number in row}


def test_without_jieba_the_extra_is_named_when_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    text = build(*TEXTS).to_json()
    monkeypatch.setitem(sys.modules, "jieba", None)

    with pytest.raises(DependencyMissing, match=r"limbeck\[zh\]") as caught:
        StudentTokenizer.from_json(text)

    assert (caught.value.package, caught.value.extra) == ("jieba", "zh")


def test_the_dictionary_is_loaded_with_the_tokenizer_silently_and_only_if_it_is_needed() -> None:
    program = """
import sys
from limbeck.text.student_tokenizer import StudentTokenizer
marked, plain = sys.argv[1:]
StudentTokenizer.from_json(plain)
assert "jieba" not in sys.modules
StudentTokenizer.from_json(marked)
from limbeck.text.jieba_words import _import_jieba, _segmenter
assert _segmenter.cache_info().currsize == 1
print(len(_segmenter(_import_jieba()).FREQ) > 300_000)
"""
    plain = build(*TEXTS, segmenter="longest_match").to_json()

    command = [sys.executable, "-W", "error", "-c", program, build(*TEXTS).to_json(), plain]
    done = subprocess.run(command, timeout=60, check=False, capture_output=True, text=True)

    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_the_mark_is_added_to_the_existing_json() -> None:
    assert json.loads(marked_jieba('{"version": "1.0"}')) == {"segmenter": "jieba", "version": "1.0"}
