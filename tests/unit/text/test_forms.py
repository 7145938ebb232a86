"""The form of texts, and the steps that convert them to another form."""

import random
import unicodedata

import pytest

from limbeck.text.forms import Form, FormStep, as_normalizer, chosen_steps, form_of, in_form

ALL: list[FormStep] = ["narrow", "narrow_marks", "lowercase", "spaced"]
LOWER = [
    "a smart , sweet and playful romantic comedy .",
    "it 's slow -- very , very slow .",
    "not much wit ; no charm !",
] * 40
PLAIN = ["A smart, sweet and playful romantic comedy.", "It's slow -- very, very slow.", "Not much wit; no charm!"] * 40
CHINESE = ["房间很干净，服务也不错。", "iPhone 很好用！下次还买。", "太差了？真的（不推荐）"] * 40
WIDE = ["ＩＰＨＯＮＥ ６ 很好用。", "房间很干净，服务也不错。"] * 60


def characters() -> list[str]:
    """Every character that this Python knows, except surrogates."""
    known = (chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    return [character for character in known if unicodedata.category(character) != "Cn"]


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        ("lowercase", "Ein GRÜNER Film İ ΟΔΟΣ", "ein grüner film i\u0307 οδοσ"),
        ("narrow", "ＡＢｃ１２％＋\u3000好，很好！", "ABc12%+ 好，很好！"),
        ("narrow_marks", "好，很好！（真的？）。", "好,很好!(真的?)."),
        ("spaced", "Don't!", "Do n't !"),
    ],
)
def test_each_step_changes_what_it_is_for(step: FormStep, text: str, expected: str) -> None:
    assert in_form([step])(text) == expected


def test_steps_are_taken_in_their_own_order() -> None:
    assert in_form(["spaced", "lowercase", "narrow"])("ＤＯＮ＇Ｔ") == "do n't"


@pytest.mark.parametrize("steps", [[step] for step in ALL] + [ALL, []])
def test_a_tokenizer_takes_the_same_steps(steps: list[FormStep]) -> None:
    known, draw = characters(), random.Random(1)
    texts = [*LOWER, *PLAIN, *CHINESE, *WIDE, *("".join(draw.choices(known, k=50)) for _ in range(2_000))]
    common = [chr(code) for code in (*range(0x20, 0x7F), *range(0xFF01, 0xFF5F), 0x3000, 0x3002, 0x3A3, 0x4E00)]
    texts += ["".join(draw.choices(common, k=20)) for _ in range(2_000)]

    formed, normalized = in_form(steps), as_normalizer(steps).normalize_str

    assert [text for text in texts if formed(text) != normalized(text)] == []
    assert [text for text in texts if formed(formed(text)) != formed(text)] == []


def test_lower_case_is_the_same_for_every_single_character() -> None:
    formed, normalized = in_form(["lowercase"]), as_normalizer(["lowercase"]).normalize_str

    assert [character for character in characters() if formed(character) != normalized(character)] == []


def test_shares_are_counted_in_letters_marks_and_texts() -> None:
    form = form_of(["AB cd , efgh", "ijk, ＬＭ。"])

    assert form == Form(
        texts=2, letters=13, marks=2, upper_case=4 / 13, marks_apart=0.5, full_width=0.5, chinese_marks=0.5
    )
    assert form.shares() == {"upper_case": 0.3077, "marks_apart": 0.5, "full_width": 0.5, "chinese_marks": 0.5}


def test_without_texts_all_shares_are_zero() -> None:
    assert set(form_of([]).shares().values()) == {0.0}
    assert chosen_steps("auto", text=form_of(PLAIN), corpus=form_of([])) == []


def test_the_sample_is_taken_from_the_complete_list() -> None:
    assert form_of(["a"] * 50_000 + ["B" * 100_000] * 50_000).upper_case == pytest.approx(500 / 501)


@pytest.mark.parametrize(
    ("text", "corpus", "steps"),
    [
        (PLAIN, LOWER, ["lowercase", "spaced"]),
        (LOWER, LOWER, []),
        (PLAIN, PLAIN, []),
        (LOWER, PLAIN, []),  # lower case cannot be undone
        (WIDE, CHINESE, ["narrow"]),
        (CHINESE, WIDE, []),
        (PLAIN, CHINESE, []),
        (WIDE, PLAIN, ["narrow", "narrow_marks"]),
        (PLAIN, LOWER[:3], []),  # too few texts to know the form
    ],
)
def test_auto_takes_the_steps_that_are_needed_and_no_others(
    text: list[str], corpus: list[str], steps: list[FormStep]
) -> None:
    assert chosen_steps("auto", text=form_of(text), corpus=form_of(corpus)) == steps


def test_text_that_was_converted_needs_no_steps() -> None:
    formed = [in_form(["lowercase", "spaced"])(text) for text in PLAIN]

    assert chosen_steps("auto", text=form_of(formed), corpus=form_of(LOWER)) == []


def test_a_list_is_followed_and_chinese_marks_stay_if_the_corpus_has_them() -> None:
    text = form_of(WIDE)

    assert chosen_steps(["spaced", "narrow"], text=text, corpus=form_of(CHINESE)) == ["narrow", "spaced"]
    assert chosen_steps(["narrow"], text=text, corpus=form_of(PLAIN)) == ["narrow", "narrow_marks"]
    assert chosen_steps("as_is", text=text, corpus=form_of(PLAIN)) == []
