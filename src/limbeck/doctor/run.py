"""The doctor: every check on a recipe or a run, what it found, and what it could not look at."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from limbeck.doctor import corpus, extra_text, levers, outcome, reading, teacher, training
from limbeck.doctor.finding import Examination, Finding, Kind, print_examination, worst_first
from limbeck.doctor.known import Known, NotThere
from limbeck.doctor.of_recipe import known_of_recipe
from limbeck.doctor.of_run import known_of_run
from limbeck.errors import ArtifactMissing
from limbeck.progress import Reporter, Style, TerminalReporter
from limbeck.recipe.files import at_home
from limbeck.recipe.load import load_recipe

CHECKS: dict[str, Callable[[Known], list[Finding]]] = {
    "overlap": corpus.overlap,
    "contradictions": corpus.contradictions,
    "balance": corpus.balance,
    "transfer-overlap": extra_text.transfer_overlap,
    "domain": extra_text.domain,
    "copies": extra_text.copies,
    "label-order": teacher.label_order,
    "teacher-chance": teacher.near_chance,
    "teacher-steady": teacher.steady,
    "teacher-length": reading.teacher_length,
    "student-length": reading.student_length,
    "unknown-words": reading.unknown_words,
    "size": reading.size,
    "empty-losses": training.empty,
    "drowned-losses": training.drowned,
    "epochs": training.epochs,
    "overfitting": training.overfitting,
    "gain": outcome.gain,
    "noise": outcome.noise,
    "headroom": levers.headroom,
    "int8": outcome.int8,
}
WHILE_LOOKING: dict[Kind, list[str]] = {
    "recipe": ["recipe"],
    "run": ["manifest"],
}  # checks that are made while the parts are gathered


class BarsOnly(TerminalReporter):
    """Shows that something is going on; what there is to say, the findings say."""

    def note(self, text: str, *, style: Style = "") -> None:
        """Drop the line."""

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        """Drop the line."""


def doctor(
    target: str,
    *,
    console: Console,
    changes: Sequence[str] = (),
    asks: bool = True,
    as_json: bool = False,
    called: str | None = None,
    reporter: Reporter | None = None,
) -> bool:
    """Examine a recipe or a run and print what was found, under another name if it is `called` so.

    False if there are errors.
    """
    found = examine(target, changes=changes, asks=asks, reporter=reporter or BarsOnly())
    found = replace(found, target=called or target)
    if as_json:
        console.print_json(data=found.as_json())
    else:
        print_examination(found, console)
    return not found.has_errors


def examine(target: str, *, changes: Sequence[str] = (), asks: bool = True, reporter: Reporter) -> Examination:
    """Examine the run in this folder, or the recipe of this name; of a run with changes, its changed recipe."""
    folder = at_home(Path(target))
    if not changes and _is_run(folder):
        return examined(known_of_run(folder, asks=asks), target=target)
    loaded = load_recipe(target, overrides=changes)
    with TemporaryDirectory(prefix="limbeck-doctor-") as scratch:
        return examined(known_of_recipe(loaded, scratch=Path(scratch), asks=asks, reporter=reporter), target=target)


def examined(known: Known, *, target: str) -> Examination:
    """Make every check on what is known."""
    findings, checked, not_checked = list(known.found), [], {}
    for name, check in CHECKS.items():
        try:
            findings += check(known)
        except NotThere as reason:
            not_checked[name] = str(reason)
        else:
            checked.append(name)
    kind: Kind = "recipe" if known.folder is None else "run"
    return Examination(target, kind, worst_first(findings), [*WHILE_LOOKING[kind], *checked], not_checked)


def _is_run(folder: Path) -> bool:
    """Whether it is one. Raises where a run was meant, and there is none."""
    if (folder / "run.json").is_file():
        return True
    is_path = folder.suffix == "" and len(folder.parts) > 1
    if folder.is_dir() or (is_path and not folder.exists()):
        reason = "it has no run.json" if folder.is_dir() else "there is no such folder"
        advice = "Give the folder of a run, runs/NAME, or a recipe: a .toml file or the name of a built-in one."
        raise ArtifactMissing(folder=folder, kind="run", reason=reason, advice=advice)
    return False
