import pytest

from limbeck.text.folding import folded, folded_letters


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A Gorgeous film", "a  gorgeous\tFILM\n"),
        ("ＡＢＣ１２３！", "abc123!"),
        ("房间 太小。", "房间\u3000太小。"),
        ("Straße", "STRASSE"),
        ("cafe\u0301", "CAFÉ"),
        ("ᾳ", "ΑΙ"),
        ("it\u00a0is", "it is"),
    ],
)
def test_texts_that_differ_only_in_case_width_or_spacing_are_equal(one: str, other: str) -> None:
    assert folded(one) == folded(other)


def test_other_differences_remain() -> None:
    assert folded("a good film.") != folded("a good film")
    assert folded("résumé") != folded("resume")


@pytest.mark.parametrize("text", ["A  Gorgeous\tfilm", "ＡＢ　Straße ﬁn"])
def test_letters_are_folded_without_losing_white_space(text: str) -> None:
    assert "".join(folded_letters(text).split()) == folded(text)
    assert len(folded_letters(text).split()) == len(text.split())


def test_folding_twice_changes_nothing_more() -> None:
    text = "ẞ ΐ ŉ ﬁ ᾳ Ａ ½"

    assert folded(folded(text)) == folded(text)
