import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from limbeck.errors import DependencyMissing
from limbeck.text.forms import FormStep
from limbeck.text.segmenter import Segmenter
from limbeck.text.student_tokenizer import StudentTokenizer
from limbeck.text.word_tokenizer import build_word_tokenizer, count_words

Build = Callable[..., StudentTokenizer]


def build(
    *texts: str,
    language: str,
    max_size: int = 1000,
    min_count: int = 1,
    lowercase: bool = True,
    form: Sequence[FormStep] = (),
) -> StudentTokenizer:
    return build_word_tokenizer(
        texts, language=language, max_size=max_size, min_count=min_count, lowercase=lowercase, form=form
    )


english: Build = partial(build, language="en")
chinese: Build = partial(build, language="zh")


def tokens(tokenizer: StudentTokenizer, text: str) -> list[str]:
    (row,) = tokenizer.encode([text], max_length=1000)
    return [tokenizer.vocabulary[number] for number in row]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't.", "i do n't ."),
        ("It's fine; we'll see", "it 's fine ; we 'll see"),
        ("can't won't cannot", "ca n't wo n't can not"),
        ("you're I'm they've he'd mustn't've", "you 're i 'm they 've he 'd must n't 've"),
        ("'still' actors' o'clock", "' still ' actors ' o ' clock"),
        ("a well-acted 3.5 of 1,000... 80s 7/10", "a well - acted 3.5 of 1,000 . . . 80s 7 / 10"),
        ("the film 卧虎 rules", "the film 卧 虎 rules"),
        ("cliche\u0301 naïve", "cliché naïve"),
        ("❤️great 👍🏽", "❤ great 👍 🏽"),
        ("nul\x00byte zero\u200bwidth", "nul byte zero width"),
        ("“quoted” ``quoted'' `so'", '" quoted " " quoted " \' so \''),
    ],
)
def test_english_text_is_cut_into_words_and_marks(text: str, expected: str) -> None:
    assert tokens(english(text), text) == expected.split()


@pytest.mark.parametrize(
    ("raw", "spaced"),
    [
        ("It doesn't work, it's Tom’s!", "it does n't work , it 's tom 's !"),
        ("He said “No.”", "he said `` no . ''"),
    ],
)
def test_raw_and_spaced_text_give_the_same_ids(raw: str, spaced: str) -> None:
    tokenizer = english(raw)

    assert tokenizer.encode([raw], max_length=99) == tokenizer.encode([spaced], max_length=99)


def test_case_is_kept_when_asked_for() -> None:
    assert tokens(english("It DOESN'T", lowercase=False), "It DOESN'T") == ["It", "DOES", "N'T"]


def test_texts_are_converted_to_the_form_before_anything_else() -> None:
    texts = ["A film, ＧＯＯＤ film", "good films"]

    tokenizer = english(*texts, form=["narrow", "lowercase"], lowercase=False)

    assert tokens(tokenizer, "ＧＯＯＤ Film[MASK]") == ["good", "film", "[MASK]"]
    assert "GOOD" not in tokenizer.vocabulary
    again = StudentTokenizer.from_json(tokenizer.to_json())
    assert tokens(again, "ＧＯＯＤ Film") == ["good", "film"]


@pytest.mark.parametrize(
    "text", ["It's Tom’s film, isn't it?", "“Oh,” he said... (why-not?) 3.5--4", "I cannot. Mr. X"]
)
def test_separated_marks_are_the_same_words_as_before(text: str) -> None:
    assert tokens(english(text, form=["spaced"]), text) == tokens(english(text), text)


def test_a_form_applies_to_chinese_words_too() -> None:
    tokenizer = chinese("酒店wifi不错", form=["lowercase", "narrow"], lowercase=False)

    assert tokens(tokenizer, "ＷＩＦＩ WIFI") == ["wifi", "wifi"]


def test_an_empty_form_does_not_change_the_file() -> None:
    assert '"Lowercase"' not in english("a", lowercase=False).to_json()


@pytest.mark.parametrize("build", [english, chinese])
def test_words_are_numbered_by_descending_count_then_alphabetically(build: Build) -> None:
    tokenizer = build("b b b a c", "c a d")

    assert tokenizer.vocabulary == ["[PAD]", "[UNK]", "[MASK]", "b", "a", "c", "d"]


def test_rare_words_and_words_beyond_the_size_are_unknown() -> None:
    tokenizer = english("b b b a a c c d", max_size=5, min_count=2)

    assert tokenizer.vocabulary == ["[PAD]", "[UNK]", "[MASK]", "b", "a"]
    assert tokens(tokenizer, "a d c b") == ["a", "[UNK]", "[UNK]", "b"]


@pytest.mark.parametrize("build", [english, chinese])
def test_the_mask_is_recognised_and_padding_is_not(build: Build) -> None:
    tokenizer = build("good film 好 [ PAD ] [pad]")

    assert tokens(tokenizer, "good[MASK] film") == ["good", "[MASK]", "film"]
    assert 0 not in tokenizer.encode(["[PAD]"], max_length=9)[0]


@pytest.mark.parametrize("build", [english, chinese])
def test_the_same_texts_give_the_same_file(build: Build) -> None:
    texts = [f"word{number % 37} 房间{number % 11} x" for number in range(500)]

    assert build(*texts).to_json() == build(*texts).to_json()


@pytest.mark.parametrize("build", [english, chinese])
def test_without_texts_only_the_special_tokens_are_kept(build: Build) -> None:
    tokenizer = build("", "  ")

    assert tokenizer.vocabulary == ["[PAD]", "[UNK]", "[MASK]"]
    assert tokenizer.encode(["anything"], max_length=9) == [[1]]


@pytest.mark.parametrize("build", [english, chinese])
def test_strange_texts_are_counted(build: Build) -> None:
    tokenizer = build("\ud800 good \x00", "x" * 300_000, "好" * 10_000, "'" * 1_000, "1," * 1_000)

    assert "good" in tokenizer.vocabulary


def test_chinese_text_is_cut_into_the_words_jieba_found() -> None:
    tokenizer = chinese("房间不错，酒店服务不错。", "酒店房间很小")

    assert tokens(tokenizer, "房间不错，酒店很小。") == ["房间", "不错", ",", "酒店", "很小", "。"]


def test_characters_stay_when_their_words_are_too_rare() -> None:
    tokenizer = chinese("酒店不错", "酒店很好", min_count=2)

    assert tokens(tokenizer, "酒店不错") == ["酒店", "不", "错"]


def test_new_characters_in_a_row_are_one_unknown() -> None:
    assert tokens(chinese("酒店不错"), "酒店龘龘龘不错") == ["酒店", "[UNK]", "不错"]


def test_latin_runs_in_chinese_text_are_units_and_white_space_is_not_a_token() -> None:
    tokenizer = chinese("买了iPhone手机 5.5寸", "ＩＰＨＯＮＥ　好")

    assert tokens(tokenizer, "iphone手机\u30005.5 寸") == ["iphone", "手机", "5.5", "寸"]
    assert not any(token.isspace() for token in tokenizer.vocabulary)


def test_a_small_vocabulary_holds_the_most_frequent_characters() -> None:
    tokenizer = chinese("好好好坏坏中", max_size=5)

    assert sorted(tokenizer.vocabulary[3:]) == ["坏", "好"]


def test_without_jieba_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)

    with pytest.raises(DependencyMissing) as caught:
        chinese("酒店不错")

    assert (caught.value.package, caught.value.extra) == ("jieba", "zh")


def test_jieba_prints_nothing_and_serving_works_without_jieba() -> None:
    program = """
import sys
from limbeck.text.student_tokenizer import StudentTokenizer
from limbeck.text.word_tokenizer import build_word_tokenizer
tokenizer = build_word_tokenizer(["酒店不错"], language="zh", max_size=99, min_count=1, lowercase=True)
sys.modules["jieba"] = None
print(len(StudentTokenizer.from_json(tokenizer.to_json()).encode(["酒店不错"], max_length=9)[0]))
"""

    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, timeout=60, check=False, capture_output=True, text=True)

    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


@pytest.mark.parametrize(
    ("language", "segmenter", "texts"),
    [
        ("en", "longest_match", ["the film was long", "the film was short", "a film"]),
        ("zh", "longest_match", ["研究生命的起源很重要", "研究生命"]),
        ("zh", "jieba", ["研究生命的起源很重要", "研究生命"]),
    ],
)
def test_one_count_gives_a_tokenizer_of_every_size(language: str, segmenter: Segmenter, texts: list[str]) -> None:
    def rebuilt(size: int) -> StudentTokenizer:
        return build_word_tokenizer(
            texts, language=language, max_size=size, min_count=1, lowercase=True, segmenter=segmenter
        )

    of_size = count_words(texts, language=language, max_size=100, min_count=1, lowercase=True, segmenter=segmenter)

    for size in (100, 8, 12, 100, 9):  # in any order, and again
        assert of_size(size).to_json() == rebuilt(size).to_json()


def test_listed_chinese_words_are_tokens_and_so_are_their_characters() -> None:
    of_size = count_words(
        (), language="zh", max_size=20, min_count=2, lowercase=True, listed=["酒店", "干净", "服务员"]
    )
    tokenizer = of_size(20)

    words = [tokenizer.vocabulary[number] for number in tokenizer.encode(["酒店服务员干净"], max_length=9)[0]]

    assert words == ["酒店", "服务员", "干净"]
    assert "店" in tokenizer.vocabulary
