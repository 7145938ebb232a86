from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.rows import content_key
from limbeck.augmentation import pos_swap
from limbeck.augmentation.pos_swap import tags_of_texts
from limbeck.augmentation.tagging import tag_texts


def keyed(*texts: str) -> dict[bytes, str]:
    return {content_key(text): text for text in texts}


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.arrow"))


@pytest.fixture
def tagged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the tagger was given."""
    given: list[str] = []

    def watched(tagger_and_language: Any, texts: list[str]) -> list[str]:
        given.extend(texts)
        return tag_texts(tagger_and_language, texts)

    monkeypatch.setattr(pos_swap, "tag_texts", watched)
    return given


def test_a_text_is_tagged_once(make_context: Any, tagged: list[str]) -> None:
    first = tags_of_texts(keyed("a good film", "so bad"), "hanta", make_context())
    again = tags_of_texts(keyed("so bad", "a good film", "a new one"), "hanta", make_context())

    assert tagged == ["a good film", "so bad", "a new one"]
    assert first.items() <= again.items()
    assert first[content_key("a good film")] == "AT0 AJ0 NN1"


def test_another_tagger_tags_again(make_context: Any, tagged: list[str]) -> None:
    tags_of_texts(keyed("film"), "hanta", make_context())
    tags_of_texts(keyed("film"), "jieba", make_context())

    assert tagged == ["film", "film"]


def test_a_damaged_file_is_skipped(make_context: Any, tagged: list[str]) -> None:
    context = make_context()
    tags_of_texts(keyed("film"), "hanta", context)
    [file] = files(context.store)
    content = file.read_bytes()
    file.write_bytes(content.replace(b"NN1", b"AJ0"))

    tags = tags_of_texts(keyed("film"), "hanta", context)

    assert tags == {content_key("film"): "NN1"}
    assert tagged == ["film", "film"]


def test_tags_are_stored_before_all_are_complete(
    make_context: Any, tagged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pos_swap, "TEXTS_AT_ONCE", 1)
    monkeypatch.setattr(pos_swap, "TASKS_PER_FILE", 2)
    context = make_context()

    tags_of_texts(keyed("one", "two", "three", "four", "five"), "hanta", context)
    count = len(files(context.store))
    files(context.store)[0].unlink()
    tags_of_texts(keyed("one", "two", "three", "four", "five"), "hanta", context)

    assert count == 3
    assert len(tagged) in (6, 7)
