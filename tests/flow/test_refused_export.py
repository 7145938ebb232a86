"""A run in which the files of some students are refused: it goes on with the others, unless none is left."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import limbeck
from limbeck.doctor.run import examine
from limbeck.export import run as export_run
from limbeck.export.parity import ExportRefused
from limbeck.pipeline import run
from limbeck.progress import SilentReporter, Style
from limbeck.recipe.stages import Stage

QUICK = ["teacher.epochs=8", "distillation.epochs=3", "teacher.near_chance='warn'", "candidates=[{kind='ngrams'}]"]


class Told(SilentReporter):
    """Remembers what was made, and the warnings."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.warnings: list[str] = []

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        del text
        self.made += [] if is_reused else [name]

    def note(self, text: str, *, style: Style = "") -> None:
        self.warnings += [text] if style == "warning" else []


@contextmanager
def refusing(*names: str) -> Iterator[None]:
    """As if the files of these students ("bilstm fp32") were wrong."""

    def refuse(_section: Any, parity: Any, *, precision: str, student: Path, scale: Any) -> None:
        assert scale is None
        if f"{student.parent.name} {precision}" in names:
            raise ExportRefused(
                student=student, precision=precision, measure="made up", found="3", allowed="1", rows=parity.rows
            )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export_run, "refuse_different", refuse)
        yield


def go(recipe: Path, out: Path, *overrides: str, until: Stage | None = None) -> Told:
    told = Told()
    run(recipe, overrides=[*QUICK, *overrides], out=out, until=until, reporter=told)
    return told


@pytest.fixture(scope="module")
def recipe(write_recipe: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("refused") / "data")


@pytest.fixture(scope="module")
def trained(recipe: Path) -> Path:
    """A run until its students."""
    go(recipe, recipe.parent / "trained", until=Stage.DISTILLATION)
    return recipe.parent / "trained"


@pytest.fixture(scope="module")
def finished(recipe: Path, trained: Path) -> tuple[Path, Told]:
    """The run, continued with a file that is refused."""
    out = recipe.parent / "finished"
    shutil.copytree(trained, out)
    with refusing("bilstm int8"):
        return out, go(recipe, out)


def report_of(out: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((out / "report" / "report.json").read_text(encoding="utf-8"))
    return report


def test_the_others_are_reported_and_the_best_of_them_ships(finished: tuple[Path, Told]) -> None:
    out, _ = finished

    names = [entry["name"] for entry in report_of(out)["models"][2:]]
    assert names == ["bilstm-alone", "ngrams-alone-int8", "bilstm", "ngrams", "ngrams-int8", "blend-int8"]
    assert {path.name for path in (out / "models").iterdir()} == {"best", *names}
    assert limbeck.load(out / "models" / "best").labels
    members = {member.folder for member in limbeck.load(out / "models" / "blend-int8").facts.members}
    assert members == {"ngrams-alone-int8", "ngrams-int8"}


def test_what_is_left_out_is_told_at_once_and_in_the_report_and_by_the_doctor(finished: tuple[Path, Told]) -> None:
    out, told = finished

    (warning,) = [text for text in told.warnings if "left out" in text]
    assert "bilstm-int8 is left out of this run" in warning
    assert "made up" in warning
    (refused,) = report_of(out)["refused"]
    assert (refused["name"], refused["precision"]) == ("bilstm-int8", "int8")
    assert "bilstm-int8 is left out because its int8 file" in (out / "report" / "report.html").read_text(
        encoding="utf-8"
    )
    examination = examine(str(out), reporter=SilentReporter())
    assert [finding.what for finding in examination.findings if finding.check == "refused"] == [
        "bilstm-int8 is left out because its export was refused"
    ]
    assert "bilstm-int8" not in (out / "models" / "bilstm" / "README.md").read_text(encoding="utf-8")


def test_a_second_run_says_the_same_and_makes_nothing_else(recipe: Path, finished: tuple[Path, Told]) -> None:
    out, told = finished
    before = report_of(out)

    with refusing("bilstm int8"):
        again = go(recipe, out)

    assert again.made == ["exports/bilstm-int8/0"]  # tried again
    assert [text for text in again.warnings if "left out" in text] == [
        text for text in told.warnings if "left out" in text
    ]
    assert report_of(out) == before


def test_once_the_file_is_accepted_it_is_part_of_the_run_again(recipe: Path, finished: tuple[Path, Told]) -> None:
    out = recipe.parent / "accepted"
    shutil.copytree(finished[0], out)

    made = go(recipe, out).made

    assert [name for name in made if not name.startswith("models")] == [
        *("exports/bilstm-int8/0", "exports/blend-int8/0", "report")
    ]
    assert report_of(out)["refused"] == []
    with refusing("bilstm int8"):
        go(recipe, out, "export.parity_rows=999", until=Stage.EXPORT)
    assert not (out / "models" / "bilstm-int8").exists()  # it would look like a current one


def test_a_single_student_that_is_left_has_no_blend(recipe: Path, trained: Path) -> None:
    out = recipe.parent / "single"
    shutil.copytree(trained, out)

    with refusing("ngrams fp32", "ngrams int8", "ngrams-alone int8", "bilstm-alone fp32"):
        told = go(recipe, out)

    assert [entry["name"] for entry in report_of(out)["models"][2:]] == ["bilstm", "bilstm-int8"]
    assert any("no blend" in text for text in told.warnings)
    assert len(report_of(out)["refused"]) == 4
    assert (out / "models" / "best").is_dir()


def test_where_no_distilled_student_is_left_the_run_ends_with_the_error(recipe: Path, trained: Path) -> None:
    out = recipe.parent / "none"
    shutil.copytree(trained, out)

    with refusing("bilstm fp32", "bilstm int8", "ngrams fp32", "ngrams int8"), pytest.raises(ExportRefused):
        go(recipe, out)

    assert not (out / "report").exists()


def test_the_only_file_that_was_asked_for_is_not_left_out_but_an_error(recipe: Path, trained: Path) -> None:
    out, told = recipe.parent / "only", Told()
    shutil.copytree(trained, out)
    only = [*QUICK, "candidates=[]", 'export.precisions=["int8"]']

    with refusing("bilstm int8"), pytest.raises(ExportRefused, match="bilstm"):
        run(recipe, overrides=only, out=out, reporter=told)

    assert not any("left out" in text for text in told.warnings)
