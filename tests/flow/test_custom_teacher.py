"""A function of the user's own teaches from csv to exported student; a run that failed goes on without asking twice."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import limbeck
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.doctor.run import examine
from limbeck.errors import RecipeInvalid
from limbeck.pipeline import run
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage
from limbeck.teacher.chance import TeacherNearChance
from limbeck.teacher.custom import CustomTeacherUnusable

MODULE = """
from pathlib import Path

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

ASKED = []
FAILS_AT = []


def bag_of_words(labels, *, path, turned=False):
    lines = [line.rpartition(",") for line in Path(path).read_text(encoding="utf-8").splitlines()[1:]]
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    model.fit([text for text, _, _ in lines], [label for _, _, label in lines])
    order = [list(model.classes_).index(label) for label in labels]

    def answer(texts):
        if FAILS_AT and len(ASKED) >= FAILS_AT[0]:
            raise ConnectionError("the service is away")
        ASKED.extend(texts)
        return model.predict_proba(texts)[:, order[::-1] if turned else order]

    return answer
"""
SMALL = ["student.word_vectors=random", "evaluation.latency_rows=4", "export.int8_agreement=0.0"]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`bag_teacher`, importable for the time of a test."""
    (tmp_path / "bag_teacher.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import bag_teacher  # type: ignore[import-not-found]  # written above

    yield bag_teacher
    sys.modules.pop("bag_teacher", None)


@pytest.fixture
def recipe(write_recipe: Callable[[Path], Path], tmp_path: Path) -> Path:
    return write_recipe(tmp_path / "data")


def custom(recipe: Path, **keys: Any) -> str:
    options = {"path": str(recipe.parent / "toy.csv"), **keys.pop("options", {})}
    table = {"kind": "custom", "call": "bag_teacher:bag_of_words", "texts_per_call": 16, **keys}
    return f"teacher={_inline({**table, 'options': options})}"


def _inline(table: dict[str, Any]) -> str:
    """As TOML writes it; its texts, numbers and truths are those of JSON."""
    values = {key: _inline(value) if isinstance(value, dict) else json.dumps(value) for key, value in table.items()}
    return "{" + ", ".join(f"{key} = {value}" for key, value in values.items()) + "}"


def test_from_csv_to_exported_student(own: Any, recipe: Path, tmp_path: Path) -> None:
    done = run(recipe, overrides=[custom(recipe), *SMALL], out=tmp_path / "runs" / "one", reporter=SilentReporter())

    assert len(own.ASKED) == len({*own.ASKED}), "each text is asked once, those of dev too"
    teacher = next(model for model in done.report["models"] if model["role"] == "teacher")
    assert (teacher["name"], teacher["kind"]) == ("bag_of_words", "custom")
    assert teacher["cost_unknown"] == "it is a function of your own"
    assert teacher["accuracy"] >= 0.9
    assert "it is a function of your own" in (done.folder / "report" / "report.html").read_text(encoding="utf-8")
    assert limbeck.load(done.models["bilstm-int8"]).predict(["a gorgeous film"]) == ["positive"]

    asked = len(own.ASKED)
    settings = ["teacher.near_chance=warn", "teacher.texts_per_call=5", "distillation.seeds=[1]"]
    run(done.folder, overrides=settings, until=Stage.LABELING, reporter=SilentReporter())
    run(
        recipe,
        overrides=[custom(recipe)],
        out=tmp_path / "runs" / "two",
        until=Stage.LABELING,
        reporter=SilentReporter(),
    )
    assert len(own.ASKED) == asked, "another run with the same function finds its answers in the store"


def test_a_failed_run_goes_on_where_it_was(own: Any, recipe: Path, tmp_path: Path) -> None:
    own.FAILS_AT.append(60)
    go: Any = {"overrides": [custom(recipe)], "out": tmp_path / "run", "reporter": SilentReporter()}

    with pytest.raises(CustomTeacherUnusable, match="ConnectionError: the service is away"):
        run(recipe, **go, until=Stage.LABELING)
    before = len(own.ASKED)
    own.FAILS_AT.clear()
    run(recipe, **go, until=Stage.LABELING)

    assert before >= 60
    assert len(own.ASKED) == len({*own.ASKED})
    labels = TeacherLabels(tmp_path / "run" / "labels")
    assert sum(labels.facts["uncovered"].values()) == 0


def test_columns_in_the_wrong_order_stop_the_run(own: Any, recipe: Path, tmp_path: Path) -> None:
    turned = custom(recipe, options={"turned": True})

    with pytest.raises(TeacherNearChance, match="classes look swapped"):
        run(recipe, overrides=[turned], out=tmp_path / "run", reporter=SilentReporter())
    assert len(own.ASKED) < 60, "dev alone was asked"
    found = examine(str(recipe), changes=[turned, *SMALL[:1]], reporter=SilentReporter())
    (order,) = [finding for finding in found.findings if finding.check == "label-order"]
    assert "order of `labels`" in order.advice


@pytest.mark.usefixtures("own")
def test_it_may_be_a_member(recipe: Path, tmp_path: Path) -> None:
    table = custom(recipe).removeprefix("teacher=")
    turned = custom(recipe, options={"turned": False}, name="again").removeprefix("teacher=")
    ensemble = f"teacher={{kind='ensemble', combine='weighted', members=[{table}, {turned}]}}"

    run(recipe, overrides=[ensemble], out=tmp_path / "run", until=Stage.LABELING, reporter=SilentReporter())

    facts = TeacherFolder(tmp_path / "run" / "teacher").facts
    assert list(facts.members) == ["bag_of_words", "again"]
    assert facts.weights == [0.5, 0.5]


@pytest.mark.parametrize("asks", [True, False])
def test_one_that_cannot_be_imported_is_reported_before_anything_is_read(
    asks: bool, recipe: Path, tmp_path: Path
) -> None:
    missing = "teacher={kind='custom', call='nowhere.at_all:teacher'}"

    with pytest.raises(RecipeInvalid, match=r"teacher.call: 'nowhere.at_all:teacher' cannot be used"):
        run(recipe, overrides=[missing], out=tmp_path / "run", reporter=SilentReporter())
    assert not (tmp_path / "run").exists()
    found = examine(str(recipe), changes=[missing, *SMALL[:1]], asks=asks, reporter=SilentReporter())
    errors = [finding for finding in found.findings if finding.level == "error"]
    assert [(finding.check, "No module named 'nowhere'" in finding.evidence) for finding in errors] == [
        ("teacher", True)
    ]


def test_the_doctor_asks_a_sound_one_and_finds_nothing_wrong(own: Any, recipe: Path) -> None:
    found = examine(str(recipe), changes=[custom(recipe), *SMALL[:1]], reporter=SilentReporter())

    assert {"label-order", "teacher-chance", "teacher-steady"} <= {*found.checked}
    assert [
        finding for finding in found.findings if finding.check in ("teacher", "label-order", "teacher-chance")
    ] == []
    assert own.ASKED
