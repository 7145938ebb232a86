"""The doctor: runs every check on a recipe or a run, and lists the findings and what could not be checked."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from limbeck.doctor import abstaining, corpus, extra_text, language_model, levers, outcome, reading, teacher, training
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
    "language-model": language_model.answers_of_model,
    "teacher-length": reading.teacher_length,
    "student-length": reading.student_length,
    "unknown-words": reading.unknown_words,
    "size": reading.size,
    "empty-losses": training.empty,
    "weak-losses": training.weak_losses,
    "student-chance": training.guessing,
    "epochs": training.epochs,
    "overfitting": training.overfitting,
    "refused": outcome.refused,
    "rival": outcome.rival,
    "teacher-below": outcome.teacher_below,
    "gain": outcome.gain,
    "noise": outcome.noise,
    "headroom": levers.headroom,
    "abstaining": abstaining.abstaining,
    "int8": outcome.int8,
}
WHILE_LOADING: dict[Kind, list[str]] = {
    "recipe": ["recipe"],
    "run": ["manifest"],
}  # checks that happen while the parts are loaded


class BarsOnly(TerminalReporter):
    """Shows progress bars, but no lines: the findings have what matters."""

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
    """Examine a recipe or a run and print the findings; `called` replaces the target's name in the output.

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
    """Examine the run in this folder, or the recipe of this name; for a run with changes, its changed recipe."""
    folder = at_home(Path(target))
    if not changes and _is_run(folder):
        return examined(known_of_run(folder, asks=asks), target=target)
    loaded = load_recipe(target, overrides=changes)
    with TemporaryDirectory(prefix="limbeck-doctor-") as scratch:
        return examined(known_of_recipe(loaded, scratch=Path(scratch), asks=asks, reporter=reporter), target=target)


def examined(known: Known, *, target: str) -> Examination:
    """Run every check."""
    findings, checked, not_checked = list(known.found), [], {}
    for name, check in CHECKS.items():
        try:
            findings += check(known)
        except NotThere as reason:
            not_checked[name] = str(reason)
        else:
            checked.append(name)
    kind: Kind = "recipe" if known.folder is None else "run"
    return Examination(target, kind, worst_first(findings), [*WHILE_LOADING[kind], *checked], not_checked)


def _is_run(folder: Path) -> bool:
    """Whether the folder is a run. Raises if the target can only be a run and is not one."""
    if (folder / "run.json").is_file():
        return True
    is_path = folder.suffix == "" and len(folder.parts) > 1
    if folder.is_dir() or (is_path and not folder.exists()):
        reason = "it has no run.json" if folder.is_dir() else "the folder does not exist"
        advice = "Give the folder of a run, runs/NAME, or a recipe: a .toml file or the name of a built-in one."
        raise ArtifactMissing(folder=folder, kind="run", reason=reason, advice=advice)
    return False
