from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from limbeck.augmentation import tagging
from limbeck.augmentation.pos_swap import tags_of_texts
from limbeck.augmentation.tagging import Tagger, open_tagger, refined, tag_texts, tagger_id
from limbeck.errors import DependencyMissing


def test_english_words_are_tagged_in_their_sentence() -> None:
    [tags, others] = tag_texts(("hanta", "en"), ["they work hard", "hard work ."])

    assert tags.split()[1].startswith("V")
    assert others.split()[1] == "NN1"


def test_german_and_dutch_words_are_tagged_by_their_own_models() -> None:
    [german] = tag_texts(("hanta", "de"), ["die schönen Filme laufen lange"])
    [dutch] = tag_texts(("hanta", "nl"), ["de mooie films duren lang"])
    [other] = tag_texts(("hanta", "fr"), ["they work hard"])

    assert [tag[:2] for tag in german.split()] == ["AR", "AD", "NN", "VV", "AD"]
    assert dutch.split()[2].startswith("N")
    assert other == tag_texts(("hanta", "en"), ["they work hard"])[0]


def test_each_word_has_one_tag() -> None:
    words = ["I", "don't", "think", "it’s", "x" * 500, "-lrb-", "😀", "中文", "..."]

    tags = open_tagger("hanta", language="en")(words)

    assert len(tags) == len(words)
    assert tags[1] == "VDB+XX0"
    assert tags[3] == "PNP+VBZ"
    assert tags[5] == open_tagger("hanta", language="en")(["("])[0]


@pytest.mark.parametrize(
    ("marks", "alike"),
    [(".!", True), (".?", True), (".,", False), (".:", False), (";:", True), (",;", False), ("`'", False)],
)
def test_marks_of_different_kinds_have_different_tags(marks: str, alike: bool) -> None:
    one, other = (open_tagger("hanta", language="en")(["good", "film", mark, "and", "more"])[2] for mark in marks)

    assert (one == other) is alike


def test_three_dots_do_not_end_up_as_a_comma_and_words_keep_their_tags() -> None:
    tags = open_tagger("hanta", language="en")(["well", ",", "they", "work", "...", "--", "hard", "."])

    assert tags[4] == tags[7] != tags[1]
    assert tags[5] not in (tags[1], tags[7])
    assert refined("film", "NN1") == "NN1"


def test_long_texts_are_tagged() -> None:
    assert len(open_tagger("hanta", language="en")(["good", "film", "!"] * 5_000)) == 15_000


def test_an_empty_text_has_no_tags() -> None:
    assert tag_texts(("hanta", "en"), ["", " "]) == ["", ""]
    assert tag_texts(("jieba", "zh"), [""]) == [""]


def test_chinese_words_are_tagged() -> None:
    [tags] = tag_texts(("jieba", "zh"), ["我喜欢酒店，very good 8"])

    assert tags.split() == ["r", "v", "n", "x", "eng", "eng", "m"]


def test_the_models_of_the_current_folder_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "morphmodel_en.pgz").write_bytes(b"no model")
    monkeypatch.chdir(tmp_path)

    assert tagging._hanta("en").tag_sent(["film"], taglevel=0) == ["NN1"]


def test_tags_are_stored_by_what_they_depend_on() -> None:
    ids = {tagger_id("hanta", language="en"), tagger_id("hanta", language="zh"), tagger_id("jieba", language="zh")}

    assert len(ids) == 3
    assert "-ger-" in tagger_id("hanta", language="de")  # not what the English model said of the same texts


@pytest.mark.parametrize(("tagger", "extra"), [("hanta", "augment"), ("jieba", "zh")])
def test_a_missing_tagger_is_reported_with_its_extra(
    tagger: Tagger, extra: str, make_context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(tagging, "version", version)

    with pytest.raises(DependencyMissing, match=rf"limbeck\[{extra}\]"):
        tags_of_texts({b"key": "a text"}, tagger, make_context())
