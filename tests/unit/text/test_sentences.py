import pytest

from limbeck.text.sentences import split_paragraphs, split_sentences, word_count


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("I liked it. You did not! Why? Well…", ["I liked it.", "You did not!", "Why?", "Well…"]),
        ("Mr. Smith met Dr. Jones in the U.S. Army.", ["Mr. Smith met Dr. Jones in the U.S. Army."]),
        ("See e.g. Alien, i.e. Ridley's.", ["See e.g. Alien, i.e. Ridley's."]),
        ("By J. R. R. Tolkien. So am I. Really.", ["By J. R. R. Tolkien.", "So am I.", "Really."]),
        ("It gets 3.5 of 5. Fine.", ["It gets 3.5 of 5.", "Fine."]),
        ("He said no. No. 5 is alive.", ["He said no.", "No. 5 is alive."]),
        ("Wait... what? oh well.", ["Wait... what? oh well."]),
        ("Wait... What? Oh.", ["Wait...", "What?", "Oh."]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("(It was bad.) “Really?” She laughed.", ["(It was bad.)", "“Really?”", "She laughed."]),
        ('Bad!!! "The end" (Not.) fine', ["Bad!!!", '"The end" (Not.) fine']),
        ("10/10. 2 thumbs up!", ["10/10.", "2 thumbs up!"]),
        ("Die Katze. Über alles.", ["Die Katze.", "Über alles."]),
    ],
)
def test_english_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text, language="en") == sentences


def test_sentences_of_other_languages() -> None:
    expected = {
        "Das ist, z. B. hier, gut. Nr. 5 bzw. 6 nicht! „Ja“, sagte er. Über alles.": [
            *("Das ist, z. B. hier, gut.", "Nr. 5 bzw. 6 nicht!", "„Ja“, sagte er.", "Über alles."),
        ],
        "Mme. Dupont est venue. « Non ! » Elle part.": ["Mme. Dupont est venue.", "« Non ! »", "Elle part."],
        "La Sra. Ruiz vino. ¿Qué pasó? ¡Nada!": ["La Sra. Ruiz vino.", "¿Qué pasó?", "¡Nada!"],
        "Il Dott. Rossi è qui. È vero. Così…": ["Il Dott. Rossi è qui.", "È vero.", "Così…"],
        "A Dra. Lima saiu. Água não há.": ["A Dra. Lima saiu.", "Água não há."],
        "Это ул. Ленина. Он ушёл… и вернулся. Всё!": ["Это ул. Ленина.", "Он ушёл… и вернулся.", "Всё!"],
        "أين الطعام؟ كان باردا. لا بأس!": ["أين الطعام؟", "كان باردا.", "لا بأس!"],
        "सूप ठंडा था। कोई नहीं आया॥ ठीक है।": ["सूप ठंडा था।", "कोई नहीं आया॥", "ठीक है।"],
        "スープが冷たい。「誰も来ない！」もう行かない。": ["スープが冷たい。", "「誰も来ない！」", "もう行かない。"],
        "수프가 차가웠어요. 아무도 안 왔어요! 네.": ["수프가 차가웠어요.", "아무도 안 왔어요!", "네."],
        "Łódź jest ładna. Świetnie! źle": ["Łódź jest ładna.", "Świetnie! źle"],
    }

    assert {text: split_sentences(text, language="en") for text in expected} == expected


@pytest.mark.parametrize(
    "mark", ["<br />", "<br/>", "<br>", "<BR  />", "</br>", '<br clear="all">', "&lt;br&gt;", "\n"]
)
def test_breaks_end_a_sentence_in_any_spelling(mark: str) -> None:
    assert split_sentences(f"first line{mark}{mark} second line", language="en") == ["first line", "second line"]


def test_other_tags_are_not_breaks() -> None:
    assert split_sentences("a <brown> fox <b>runs</b>", language="en") == ["a <brown> fox <b>runs</b>"]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("房间太小。其他的都一般。。。。", ["房间太小。", "其他的都一般。。。。"]),
        ("好！真的？是；对…没有了", ["好！", "真的？", "是；", "对…", "没有了"]),
        ("他说：“不错。”我同意。（真的。）完", ["他说：“不错。”", "我同意。", "（真的。）", "完"]),
        ("屏幕5.5寸!不错?  还行\n价格 便宜", ["屏幕5.5寸!", "不错?", "还行", "价格 便宜"]),
    ],
)
def test_chinese_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text, language="zh") == sentences


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("text", ["", "   \n\t<br />\n  ", "\u3000"])
def test_nothing_gives_no_sentence(text: str, language: str) -> None:
    assert split_sentences(text, language=language) == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_only_white_space_is_lost(language: str) -> None:
    text = " A b.  C\td! \u3000“E.” f… 好。吗？ "

    kept = "".join(split_sentences(text, language=language))

    assert "".join(kept.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        ("One. Two.\nStill one.\n\n  \nThree.", ["One. Two. Still one.", "Three."]),
        ("One.\nTwo.\r\nThree.", ["One.", "Two.", "Three."]),
        ("\n\nOne.\nTwo.\n\n", ["One.", "Two."]),  # no empty line between others
        ("One.<br /><br />Two.<br />Still two.", ["One.", "Two. Still two."]),
        ("One.<br>Two.&lt;br/&gt;Three.", ["One.", "Two.", "Three."]),
        ("One.<br />\nTwo.", ["One.", "Two."]),  # the break and the line end after it are one
        ("好。\n\n很好。\n真的", ["好。", "很好。 真的"]),
        (" only  one ", ["only one"]),
        (" \n<br />\n ", []),
    ],
)
def test_paragraphs_end_at_empty_lines_or_else_at_every_line(text: str, paragraphs: list[str]) -> None:
    assert split_paragraphs(text) == paragraphs


def test_words_are_counted_between_white_space_and_characters_in_chinese() -> None:
    assert word_count("  it 's  a film . ", language="en") == 5
    assert word_count(" 房间 太小。", language="zh") == 5
    assert word_count("", language="en") == 0
