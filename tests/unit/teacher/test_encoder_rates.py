"""The timing of an encoder for `minutes`: it must not take the minutes itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.teacher import encoder_teacher
from limbeck.teacher.encoder_teacher import MOST_SECONDS, PROBE_ROWS, STEPS, encoder_rates


@pytest.mark.parametrize(("pace", "is_long"), [(1_000.0, False), (2.0, True)])
def test_long_texts_are_timed_by_a_few_of_them(
    toy_corpus: Corpus, tiny_teacher_folder: Path, monkeypatch: pytest.MonkeyPatch, *, pace: float, is_long: bool
) -> None:
    """On a machine that reads so many rows a second."""
    section = EncoderTeacher.model_validate({"checkpoint": str(tiny_teacher_folder), "batch_size": 20})
    rows, timed = toy_corpus.splits["train"], []

    def at_this_pace(work: Callable[[], object], *, rows: int) -> float:
        work()
        timed.append(rows)
        return pace

    monkeypatch.setattr(encoder_teacher, "per_second", at_this_pace)
    assert encoder_rates(section, toy_corpus, rows, rows) == (pace, pace)

    asked, steps = [16, len(rows)], [2 * PROBE_ROWS, 20 * STEPS]
    assert timed == ([asked[0], steps[0]] if is_long else [*asked, *steps])
    assert (len(rows) / pace > MOST_SECONDS) == is_long


def test_a_rate_is_measured(toy_corpus: Corpus, tiny_teacher_folder: Path) -> None:
    section = EncoderTeacher.model_validate({"checkpoint": str(tiny_teacher_folder)})

    rates = encoder_rates(section, toy_corpus, toy_corpus.splits["train"], toy_corpus.splits["dev"])

    assert rates is not None
    assert min(rates) > 0
