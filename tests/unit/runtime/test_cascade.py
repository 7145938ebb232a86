"""A cascade at work: who is asked, who answered, and what happens when the fallback does not."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limbeck
from limbeck.artifacts.model_folder import Abstention, ModelFolder
from limbeck.artifacts.model_profile import CascadeOnDev, CascadePoint
from limbeck.runtime.cascade import BUSY, RESTING, SILENT, Cascade, CascadeClassifier
from limbeck.runtime.circuit_breaker import CircuitBreaker
from limbeck.runtime.classifier import Classifier, load
from limbeck.runtime.fallbacks.fallback import FallbackFailed
from limbeck.runtime.probabilities import Floats, confidence
from limbeck.runtime.row import Row
from limbeck.runtime.thresholds import EQUAL, NEVER
from tests.unit.runtime.test_thresholds import EVEN, profile_of, with_profile

MakeModel = Callable[..., ModelFolder]
TEXTS = ["gorgeous gorgeous gorgeous", "a film", "dreadful", "gorgeous", "the road"]


class Recorded:
    """A fallback that gives every row the same probabilities, or fails."""

    name, slow_seconds = "recorded", None
    rows_at_once: int | None = None

    def __init__(self, answer: list[float], *, fails: bool = False) -> None:
        self.answer, self.fails, self.asked = answer, fails, list[list[Row]]()
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True

    def predict_proba(self, rows: list[Row]) -> Floats:
        self.asked.append(rows)
        if self.fails:
            raise FallbackFailed(name=self.name, reason="it sleeps")
        return np.array([self.answer] * len(rows), dtype=np.float32)


class Crashing(Recorded):
    """A fallback with a fault of its own."""

    def predict_proba(self, rows: list[Row]) -> Floats:
        raise RuntimeError(f"cannot read {rows}")


@pytest.fixture
def student(make_model: MakeModel) -> Classifier:
    return load(make_model("one").folder)


def cascaded(student: Classifier, fallback: Recorded, *, threshold: float = 0.8) -> CascadeClassifier:
    return CascadeClassifier(Cascade(student, fallback, threshold=threshold, breaker=CircuitBreaker(failures=2)))


def test_the_fallback_gets_what_the_student_is_not_sure_of(student: Classifier) -> None:
    fallback = Recorded([0.25, 0.75])
    model = cascaded(student, fallback, threshold=0.6)

    answers = model.answers(TEXTS)

    assert fallback.asked == [["a film", "the road"]]
    assert answers.answered_by == ["student", "fallback", "student", "student", "fallback"]
    expected = student.predict_proba(TEXTS)
    expected[[1, 4]] = [0.25, 0.75]
    np.testing.assert_array_equal(answers.probabilities, expected)
    assert answers.note is None
    assert model.predict(TEXTS) == ["positive", "positive", "negative", "positive", "positive"]
    assert (model.labels, model.facts, model.engine) == (student.labels, student.facts, student.engine)


@pytest.mark.parametrize(("threshold", "asked"), [(0.0, 0), (1.0, 5)])
def test_zero_is_never_and_one_is_always(student: Classifier, threshold: float, asked: int) -> None:
    model = cascaded(student, Recorded([0.25, 0.75]), threshold=threshold)

    assert int(model.answers(TEXTS).by_fallback.sum()) == asked


def test_a_confidence_at_the_threshold_is_not_sure(student: Classifier) -> None:
    (sure,) = confidence(student.predict_proba(["gorgeous"]), multi_label=False)

    model = cascaded(student, Recorded([0.25, 0.75]), threshold=float(sure))

    assert model.answers(["gorgeous"]).by_fallback.tolist() == [True]


def test_several_labels_per_row_are_sure_together(make_model: MakeModel) -> None:
    student = load(make_model("sets", multi_label=True).folder)
    sure = confidence(student.predict_proba(TEXTS), multi_label=True)

    answers = cascaded(student, Recorded([0.25, 0.75]), threshold=0.5).answers(TEXTS)

    assert answers.by_fallback.tolist() == (sure <= 0.5).tolist() == [False, True, False, False, True]
    assert cascaded(student, Recorded([0.7, 0.75]), threshold=0.5).predict(["a film"]) == [["negative", "positive"]]


def test_when_the_fallback_fails_the_student_answers_and_says_so(student: Classifier) -> None:
    answers = cascaded(student, Recorded([], fails=True)).answers(TEXTS)

    np.testing.assert_array_equal(answers.probabilities, student.predict_proba(TEXTS))
    assert not answers.by_fallback.any()
    assert answers.note == SILENT
    assert "it sleeps" in str(answers.failure)
    assert "recorded" not in SILENT


def test_after_failures_it_is_not_asked_for_a_while(student: Classifier) -> None:
    fallback = Recorded([0.25, 0.75], fails=True)
    model = cascaded(student, fallback)
    for _ in range(2):
        model.answers(["a film"])

    fallback.fails = False
    answers = model.answers(["a film"])

    assert len(fallback.asked) == 2
    assert answers.note == RESTING
    assert answers.failure is None
    assert model.answers(["gorgeous"]).note is None  # the student is sure by itself


def test_a_row_without_an_answer_stays_the_students(student: Classifier) -> None:
    cascade = cascaded(student, Recorded([])).cascade
    probabilities = student.predict_proba(["a film", "gorgeous", "the road"])
    found = np.array([[np.nan, np.nan], [0.25, 0.75]], dtype=np.float32)

    answers = cascade.merged(probabilities, np.array([True, False, True]), found)

    assert answers.by_fallback.tolist() == [False, False, True]
    assert answers.note == "the fallback gave no label for 1 of 2 rows: the student answered these"
    assert np.isfinite(answers.probabilities).all()


def test_a_fault_in_a_fallback_is_a_failure_that_names_it_and_opens_the_breaker(student: Classifier) -> None:
    model = cascaded(student, Crashing([]))

    for _ in range(2):
        answers = model.answers(["a film"])

    assert answers.answered_by == ["student"]
    assert answers.note == SILENT
    assert answers.failure is not None
    assert answers.failure.reason == "RuntimeError"
    assert isinstance(answers.failure.__cause__, RuntimeError)
    assert "a film" not in str(answers.failure)
    assert model.cascade.breaker.state == "open"


def test_who_stops_a_cascade_is_not_held_up_by_its_faults(student: Classifier) -> None:
    class Interrupted(Recorded):
        def predict_proba(self, rows: list[Row]) -> Floats:
            raise KeyboardInterrupt(len(rows))

    model = cascaded(student, Interrupted([]))

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            model.answers(["a film"])

    assert model.cascade.breaker.state == "open"


def test_a_question_from_before_the_pause_does_not_end_the_trial(student: Classifier) -> None:
    cascade = cascaded(student, Recorded([0.25, 0.75])).cascade
    breaker = cascade.breaker = CircuitBreaker(failures=2, pause=0)

    class Late(Recorded):
        def predict_proba(self, rows: list[Row]) -> Floats:
            for _ in range(2):
                breaker.failed(breaker.allows())
            assert breaker.allows()  # the trial of another thread
            return super().predict_proba(rows)

    cascade.fallback = Late([0.25, 0.75])
    cascade.asked(["a film"])

    assert breaker.state == "half-open"


def test_many_rows_are_asked_one_question_after_the_other(student: Classifier) -> None:
    """One that fails costs its own rows alone, and a long file does not use up the time-out of one question."""

    class FailsOnce(Recorded):
        rows_at_once = 2

        def predict_proba(self, rows: list[Row]) -> Floats:
            self.fails = len(self.asked) == 1
            return super().predict_proba(rows)

    fallback = FailsOnce([0.25, 0.75])
    rows = ["a film", "gorgeous", "the road", "dreadful", *["a road"] * 3, "gorgeous"]

    answers = cascaded(student, fallback, threshold=0.6).answers(rows)

    assert fallback.asked == [["a film", "the road"], ["a road"] * 2, ["a road"]]
    assert answers.by_fallback.tolist() == [True, False, True, False, False, False, True, False]
    assert answers.note == SILENT
    assert answers.failure is not None


def test_a_note_says_why_it_was_not_asked(student: Classifier) -> None:
    cascade = cascaded(student, Recorded([])).cascade
    probabilities = student.predict_proba(["a film"])

    assert cascade.merged(probabilities, np.array([True]), note=BUSY).note == BUSY
    assert cascade.merged(probabilities, np.array([False]), note=BUSY).note is None


def test_a_cascade_that_is_closed_closes_its_fallback(student: Classifier) -> None:
    fallback = Recorded([])

    cascaded(student, fallback).cascade.close()

    assert fallback.is_closed


def test_no_rows_have_no_answers(student: Classifier) -> None:
    answers = cascaded(student, Recorded([])).answers([])

    assert answers.probabilities.shape == (0, 2)
    assert answers.answered_by == []


def test_threads_share_a_cascade(student: Classifier) -> None:
    model = cascaded(student, Recorded([0.25, 0.75]))

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: model.answers(TEXTS).answered_by, range(50)))

    assert found == [found[0]] * 50


def test_load_gives_a_cascade_of_two_folders(make_model: MakeModel) -> None:
    student, teacher = make_model("one").folder, make_model("two", weight=4.0).folder

    model = limbeck.load(student, fallback=teacher, threshold=0.9)

    assert model.threshold == 0.9
    expected = limbeck.load(teacher).predict_proba(["gorgeous"])
    np.testing.assert_array_equal(model.predict_proba(["gorgeous"]), expected)
    assert isinstance(limbeck.load(student), Classifier)


def test_a_share_is_that_of_dev(model_folder: Path, toy_rows: tuple[tuple[str, str], ...]) -> None:
    texts = [text for text, _ in toy_rows[:20]]  # its dev

    for share in (0.0, 0.2, 0.5, 1.0):
        model = limbeck.load(model_folder, fallback=model_folder, share=share)
        assert model.answers(texts).by_fallback.mean() == pytest.approx(share, abs=0.051)


def test_a_cascade_without_rows_asks_nobody(student: Classifier) -> None:
    fallback = Recorded([])

    assert len(cascaded(student, fallback).cascade.answers([]).by_fallback) == 0
    assert fallback.asked == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 0.2}, 'share is about a fallback, and there is none\nSay .*: fallback="FOLDER" or fallback="http'),
        ({"threshold": 0.8}, "threshold is about a fallback"),
        ({"fallback": "here", "share": 2}, "share must be a number from 0 to 1, not 2\nA fifth is share=0.2"),
        ({"fallback": "here", "threshold": -1}, "threshold must be a number from 0 to 1, not -1"),
        ({"fallback": "here", "share": "0.2"}, "share must be a number from 0 to 1, not '0.2'"),
        ({"fallback": "here", "share": 0.1, "threshold": 0.5}, "share and threshold say the same thing"),
        ({"fallback": "here"}, r"share=0\.2|threshold=0\.8"),
    ],
)
def test_mistakes_in_the_options_are_limbeck_errors(
    make_model: MakeModel, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(limbeck.LimbeckError) as refused:
        limbeck.load(make_model("one").folder, **options)

    assert re.search(message, str(refused.value))
    assert "--" not in str(refused.value)
    assert isinstance(refused.value, ValueError) == (options != {"fallback": "here"})


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_a_cascade_has_everything_that_a_classifier_has(student: Classifier) -> None:
    fallback = Recorded([0.25, 0.75])
    model = cascaded(student, fallback, threshold=1.0)

    assert public(Classifier) - {"scores"} <= public(CascadeClassifier)  # a model of scores has no cascade
    for name in ("predict", "predict_proba", "logits", "explain"):
        assert signature(getattr(CascadeClassifier, name)) == signature(getattr(Classifier, name))
    np.testing.assert_array_equal(model.logits(TEXTS), student.logits(TEXTS))
    assert model.explain(["gorgeous film"], label="negative") == student.explain(["gorgeous film"], label="negative")
    assert model.folder == student.folder
    assert fallback.asked == []


def test_a_fallback_that_is_never_asked_is_said(make_model: MakeModel) -> None:
    equal = CascadePoint(threshold=0.0, asked_share=0.0, accuracy=0.9)
    profile = profile_of(EVEN, cascade=CascadeOnDev(9, (equal,), equal, student_accuracy=0.9, teacher_accuracy=0.9))
    known, unknown = with_profile(make_model("one"), profile).folder, make_model("two").folder

    assert limbeck.load(known, fallback=unknown).note == EQUAL
    assert limbeck.load(known, fallback=unknown, share=0.2).note is None
    assert limbeck.load(unknown, fallback=known, threshold=0).note == NEVER
    assert limbeck.load(unknown, fallback=known, threshold=0.5).note is None


def test_a_student_abstains_only_where_the_fallback_did_not_answer(student: Classifier) -> None:
    student.facts = replace(student.facts, abstain=Abstention("probability", 0.6, "nobody knows"))
    answering, silent = Recorded([0.25, 0.75]), Recorded([0.25, 0.75], fails=True)

    both, alone = (cascaded(student, fallback, threshold=0.6) for fallback in (answering, silent))

    assert student.predict(TEXTS) == ["positive", "nobody knows", "negative", "positive", "nobody knows"]
    assert both.predict(TEXTS) == ["positive", "positive", "negative", "positive", "positive"]
    assert alone.predict(TEXTS) == student.predict(TEXTS)
    found = both.scored(TEXTS)
    assert found is not None
    assert not found.withheld.any()
