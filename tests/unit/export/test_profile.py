"""The profile that is written at export: numbers of the exported file on dev, and the same ones every time."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.artifacts.model_profile import ModelProfile, read_profile
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.distillation.size_limit import PROFILE
from limbeck.export.blend import export_blend
from limbeck.export.profile import Origin, answers_fingerprint, origin_of, profile_rows, write_profile
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.runtime.classifier import load
from limbeck.runtime.probabilities import confidence

MakeModel = Callable[..., ModelFolder]
KEY = Key(section={}, inputs={})
TEXTS = ["gorgeous gorgeous", "a film", "dreadful", "gorgeous film", "the zebra", "gorgeous dreadful gorgeous"] * 8
ROWS = Rows.of(
    ids=[f"dev-{number}" for number in range(48)],
    texts=[f"{text} {number // 6 * 'film '}".strip() for number, text in enumerate(TEXTS)],
    labels=[1, 0, 0, 1, 0, 0] * 8,
)


def teacher_of(folder: Path, ids: list[str], logits: list[list[float]]) -> TeacherLabels:
    with written_atomically(folder, kind="labels", key=KEY) as scratch:
        save_teacher_labels(scratch, ids=ids, logits=np.array(logits, dtype=np.float32), facts={})
    return TeacherLabels(folder)


def profiled(model: ModelFolder, rows: Rows, origin: Origin, *, examples: int = 0) -> ModelProfile:
    facts, classifier = model.facts(), load(model.folder)
    write_profile(model.folder, facts, rows=rows, logits_of=classifier.logits, origin=origin, examples=examples)
    return read_profile(model.folder / "profile.json", labels=facts.labels, pair=facts.pair)


def test_its_numbers_are_those_of_the_file_at_its_temperature(make_model: MakeModel, tmp_path: Path) -> None:
    model = make_model("one", temperature=2.0)
    perfect = teacher_of(tmp_path / "labels", ROWS.ids, (6.0 * np.eye(2)[ROWS.labels] - 3).tolist())

    found = profiled(model, ROWS, origin_of(ROWS, classes=2, teacher=perfect))

    sure = confidence(load(model.folder).predict_proba(ROWS.texts), multi_label=False)
    right = load(model.folder).logits(ROWS.texts).argmax(axis=1) == ROWS.labels
    assert found.rows == 48
    np.testing.assert_allclose(found.confidence_quantiles, np.quantile(sure, np.linspace(0, 1, 101)), rtol=1e-6)
    np.testing.assert_allclose(found.confidence_histogram, np.histogram(sure, 10, (0, 1))[0] / 48, rtol=1e-6)
    assert found.label_shares == (0.66666667, 0.33333333)
    assert found.unknown_words is not None
    assert 0 < found.unknown_words < 0.5
    assert found.cascade is not None
    assert found.cascade.rows == 48
    assert found.cascade.student_accuracy == pytest.approx(right.mean())
    assert found.cascade.teacher_accuracy == 1.0
    assert found.cascade.points[0].asked_share == 0.0
    assert found.cascade.points[-1].asked_share == 1.0
    at = found.cascade.cheapest
    assert at.accuracy == 1.0
    assert at.asked_share == pytest.approx(np.mean(sure <= at.threshold))


def test_the_curve_is_about_rows_that_the_teacher_answered(make_model: MakeModel, tmp_path: Path) -> None:
    some = teacher_of(tmp_path / "some", ROWS.ids[:12], [[0.0, 1.0]] * 12)
    none = teacher_of(tmp_path / "none", ["another"], [[0.0, 1.0]])

    of_some = profiled(make_model("one"), ROWS, Origin(teacher=some)).cascade

    assert of_some is not None
    assert of_some.rows == 12
    assert profiled(make_model("two"), ROWS, Origin(teacher=none)).cascade is None
    assert profiled(make_model("three"), ROWS, Origin()).label_shares is None


def test_rows_without_labels_have_no_curve(make_model: MakeModel, tmp_path: Path) -> None:
    rows = Rows.of(ids=ROWS.ids, texts=ROWS.texts)
    teacher = teacher_of(tmp_path / "labels", ROWS.ids, [[0.0, 1.0]] * 48)

    found = profiled(make_model("one"), rows, origin_of(rows, classes=2, teacher=teacher))

    assert (found.rows, found.cascade, found.label_shares) == (48, None, None)


def test_several_labels_per_row_have_one_confidence(make_model: MakeModel, tmp_path: Path) -> None:
    sets = np.eye(2, dtype=np.int64)[ROWS.labels]
    rows = Rows.of(ids=ROWS.ids, texts=ROWS.texts, labels=sets)
    model = make_model("sets", multi_label=True)
    teacher = teacher_of(tmp_path / "labels", ROWS.ids, (6.0 * sets - 3).tolist())

    found = profiled(model, rows, origin_of(rows, classes=2, teacher=teacher))

    sure = confidence(load(model.folder).predict_proba(rows.texts), multi_label=True)
    assert found.confidence_quantiles[50] == pytest.approx(np.median(sure))
    assert found.cascade is not None
    assert found.cascade.teacher_accuracy == 1.0


def test_examples_are_short_ones_of_every_label_and_none_unless_asked_for(make_model: MakeModel) -> None:
    long = Rows.of(ids=["a", "b", "c", "d"], texts=["x" * 900, "two", "three", "four"], labels=[0, 1, 1, 0])

    found = profiled(make_model("one"), long, Origin(), examples=3)

    assert set(found.examples) == {"two", "three", "four"}
    assert found.examples[:2] in (("four", "three"), ("four", "two"))
    assert profiled(make_model("two"), long, Origin()).examples == ()


def test_examples_are_the_surest_right_ones_of_the_shorter_third(make_model: MakeModel) -> None:
    texts = [
        "gorgeous gorgeous film gorgeous",  # the surest of the short ones
        "a gorgeous film",
        "dreadful film here",  # mislabelled
        "gorgeous gorgeous",  # two words
        *["gorgeous gorgeous gorgeous film " * 3] * 8,
        "a dreadful film",
        "a dreadful dreadful film",
        *["dreadful dreadful dreadful film " * 3] * 4,
    ]
    rows = Rows.of(ids=[str(n) for n in range(18)], texts=texts, labels=[1] * 12 + [0] * 6)

    found = profiled(make_model("one"), rows, Origin(), examples=3).examples

    assert found == ("a dreadful dreadful film", "gorgeous gorgeous film gorgeous", "a dreadful film")
    again = profiled(make_model("two"), rows, Origin(), examples=18).examples
    assert again[:3] == found
    assert again[-1] == "dreadful film here"
    assert len(set(again)) == len(again)


def test_examples_without_labels_are_of_every_answer(make_model: MakeModel) -> None:
    rows = Rows.of(ids=["a", "b", "c"], texts=["so gorgeous film", "so dreadful film", "very gorgeous film"])

    found = profiled(make_model("one"), rows, Origin(), examples=2).examples

    assert found == ("so dreadful film", "so gorgeous film")


def test_the_largest_profile_is_as_small_as_a_limited_model_plans_for(make_model: MakeModel, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = Rows.of(ids=[str(n) for n in range(3_000)], texts=["a"] * 3_000, labels=random.integers(0, 2, 3_000))
    teacher = teacher_of(tmp_path / "labels", rows.ids, random.normal(size=(3_000, 2)).tolist())
    model = make_model("one")

    write_profile(
        model.folder,
        model.facts(),
        rows=rows,
        logits_of=lambda asked: random.normal(size=(len(asked), 2)).astype(np.float32),
        origin=origin_of(rows, classes=2, teacher=teacher),
    )

    assert 2_000 < (model.folder / "profile.json").stat().st_size <= PROFILE


def test_at_most_two_thousand_labelled_rows_are_read() -> None:
    rows = Rows.of(ids=[str(n) for n in range(5_000)], texts=["a"] * 5_000, labels=[-1, 0] * 2_500)

    places = profile_rows(rows)

    assert len(places) == 2_000
    assert (places % 2 == 1).all()


def test_the_fingerprint_of_the_answers_is_that_of_dev_alone(tmp_path: Path) -> None:
    more = teacher_of(tmp_path / "more", [*ROWS.ids, "train-1"], [[0.0, 1.0]] * 49)
    same = teacher_of(tmp_path / "same", ["train-2", *ROWS.ids], [[9.0, 1.0], *[[0.0, 1.0]] * 48])
    other = teacher_of(tmp_path / "other", ROWS.ids, [[0.5, 1.0]] * 48)

    assert answers_fingerprint(more, ROWS) == answers_fingerprint(same, ROWS)
    assert answers_fingerprint(more, ROWS) != answers_fingerprint(other, ROWS)


@pytest.mark.parametrize("labelled", [True, False])
def test_a_blend_has_the_profile_of_the_blend(make_model: MakeModel, tmp_path: Path, labelled: bool) -> None:
    rows = ROWS if labelled else Rows.of(ids=ROWS.ids, texts=ROWS.texts)
    models = [make_model("one", weight=1.0, temperature=2.0), make_model("two", weight=3.0)]

    blend = export_blend(
        Export(), models=models, name="blend", rows=rows, out=tmp_path / "blend", key=KEY, reporter=SilentReporter()
    )

    profile, facts = blend.profile(), blend.facts()
    assert profile is not None
    assert isinstance(facts, ModelFacts)
    sure = confidence(load(blend.folder).predict_proba(rows.texts), multi_label=False)
    np.testing.assert_allclose(profile.confidence_quantiles[::10], np.quantile(sure, np.linspace(0, 1, 11)), rtol=1e-5)
    assert not list(blend.folder.glob("*/profile.json"))
