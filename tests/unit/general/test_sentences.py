"""General text as sentences: cut, not truncated; each once; in an order that depends on the seed alone."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from limbeck.general import processes
from limbeck.general import sentences as room
from limbeck.general.sentences import NoSentences, cut_texts, sentences_of
from limbeck.progress import SilentReporter
from limbeck.recipe.general import General
from limbeck.recipe.transfer import Transfer

LONG = "The film was slow. " * 40 + "Nobody expected the quiet ending of this story."


@dataclass(frozen=True)
class Lines:
    """A source of texts."""

    lines: tuple[str, ...]
    name: str = "lines.txt"
    size: int = 100

    def texts(self, watch: Callable[[int], None]) -> Iterable[tuple[str, str | None]]:
        watch(self.size)
        return ((line, None) for line in self.lines)


def sections(**keys: Any) -> tuple[General, Transfer]:
    general = {
        "name": "toy",
        "fragments": 0.0,
        **{key: keys.pop(key) for key in list(keys) if key in General.model_fields},
    }
    return General.model_validate(general), Transfer.model_validate({"files": ["x"], "split_sentences": True, **keys})


def gathered(*sources: Lines, **keys: Any) -> tuple[list[str], dict[str, int]]:
    section, text = sections(**keys)
    with SilentReporter().bar("cutting", total=1, unit="bytes") as bar:
        found, counts = sentences_of(section, text, list(sources), bar=bar)
    return found, dict(counts)


def test_a_long_text_is_cut_to_its_end_and_a_sentence_is_read_once() -> None:
    found, counts = gathered(Lines((LONG,)))

    assert sorted(found) == ["Nobody expected the quiet ending of this story.", "The film was slow."]
    assert counts == {"texts": 1, "sentences": 41, "different": 2}


def test_the_order_depends_on_the_seed_and_not_on_the_files() -> None:
    first, second = Lines(tuple(f"this is text number {n}" for n in range(30))), Lines(("one more text here",))

    assert gathered(first, second)[0] == gathered(second, first)[0]
    assert gathered(first, second)[0] != gathered(first, second, seed=1)[0]
    assert sorted(gathered(first, second)[0]) == sorted(gathered(first, second, seed=1)[0])


def test_lengths_rows_and_share_hold() -> None:
    source = Lines(tuple(f"word {'and word ' * n}end" for n in range(1, 40)))

    kept, _ = gathered(source, min_words=6, max_words=12, rows=2)

    assert len(kept) == 2
    assert {len(text.split()) for text in kept} <= set(range(6, 13))
    assert 5 < gathered(source, share=0.5)[1]["texts"] < 35


def test_fragments_are_words_that_follow_each_other() -> None:
    section, text = sections(fragments=1.0, fragment_words=[2, 4])
    sentence = "one two three four five six seven"

    found = cut_texts(section, text, [f"{sentence} {n}" for n in range(50)])

    assert {len(words.split()) for words in found} == {2, 3, 4}
    assert all(words in f"{sentence} {n}" for n, words in enumerate(found))
    assert cut_texts(section, text, ["one two"]) == ["one two"], "it is as short as a fragment"


def test_chinese_fragments_are_characters() -> None:
    section, text = sections(language="zh", fragments=1.0, fragment_words=[2, 3])

    assert {len(words) for words in cut_texts(section, text, [f"今天的天气非常好{n}。" for n in range(20)])} == {2, 3}


def test_processes_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "TEXTS_AT_ONCE", 3)
    source = Lines(tuple(f"Here is number {n}. And a second one, {n}." for n in range(10)))
    alone = gathered(source)

    monkeypatch.setattr(processes, "BYTES_FOR_PROCESSES", 1)
    monkeypatch.setattr(processes, "cpu_count", lambda: 2)

    assert gathered(source) == alone


def test_too_little_text_is_an_error_with_its_counts() -> None:
    with pytest.raises(NoSentences, match=r"too few sentences in lines\.txt") as caught:
        gathered(Lines(("short",)), min_words=3)

    assert "texts 1" in str(caught.value)
