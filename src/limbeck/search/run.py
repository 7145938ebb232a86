"""`limbeck search`: labels are made once, then one student after the other is trained, exported and timed."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from limbeck.artifacts.atomic_folder import why_redo, written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, read_manifest
from limbeck.artifacts.model_folder import README, copy_model, open_model
from limbeck.artifacts.run_folder import SEARCHED, open_run
from limbeck.errors import LimbeckError
from limbeck.pipeline import run
from limbeck.progress import Reporter, SilentReporter, TerminalReporter
from limbeck.recipe.load import load_recipe
from limbeck.recipe.stages import Stage
from limbeck.search import show
from limbeck.search.choice import CostLimits, Trial, chosen, fits, front, nearest
from limbeck.search.space import Space
from limbeck.search.study import DEFAULTS, RECIPE, Proposal, Study, refuse_without_optuna
from limbeck.search.trial import FOLDER, timed_rows, tried

TRIALS = 40
MOST_FAILURES = 10  # one after the other: the next one would fail as well


class SearchFailed(LimbeckError):
    """No student could be made."""

    def __init__(self, *, trials: int, reasons: Sequence[str]) -> None:
        """`reasons` are those of the last trials, each in one line after the name of its folder."""
        super().__init__(
            f"none of {trials:,} trials has given a model",
            found="\n".join(dict.fromkeys(reasons)),
            advice="Raise the limits, or correct the recipe: `limbeck run` with it shows the same problem.",
        )


@dataclass(frozen=True)
class Search:
    """What a search has found."""

    recipe: str
    folder: Path  # runs/NAME/search
    limits: CostLimits
    trials: list[Trial]
    changes: tuple[str, ...] = ()
    out: Path | None = None  # the run folder, if one was given

    @property
    def chosen(self) -> Trial | None:
        """The most accurate trial within the limits; None if none is within them."""
        return chosen(self.trials, self.limits)

    @property
    def nearest(self) -> Trial | None:
        """The trial that misses the limits by least."""
        return nearest(self.trials, self.limits)

    @property
    def front(self) -> list[Trial]:
        """The fastest trials for their accuracy; the chosen one is always among them."""
        small = [trial for trial in self.trials if fits(trial, CostLimits(max_mb=self.limits.max_mb))]
        return front(small or self.trials)

    @property
    def model(self) -> Path:
        """The chosen model, if there is one."""
        return self.folder.parent / "models" / SEARCHED

    @property
    def command(self) -> str | None:
        """The command that makes the chosen student as a run."""
        return show.command(self.recipe, self.chosen, changes=self.changes, out=self.out) if self.chosen else None


def search(
    recipe: str,
    *,
    limits: CostLimits,
    trials: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    changes: Sequence[str] = (),
    out: Path | None = None,
    reporter: Reporter | None = None,
    transfer: Sequence[Path] = (),
    test: Path | None = None,
    dev: Path | None = None,
    encoding: str | None = None,
) -> Search:
    """Find the most accurate student of a recipe within the limits; the same call goes on with an earlier search.

    `trials` is their number with those of earlier calls, `minutes` a time for this call, after which no new trial
    begins; whichever is reached first ends the search. The last four are for a file of rows in place of a recipe, as
    for `limbeck run`.
    """
    reporter = reporter or TerminalReporter()
    refuse_without_optuna()
    main = run(
        recipe,
        overrides=changes,
        out=out,
        until=Stage.LABELING,
        reporter=reporter,
        transfer=transfer,
        test=test,
        dev=dev,
        encoding=encoding,
    ).folder
    folder = main / FOLDER
    most = trials if trials is not None else None if minutes is not None else TRIALS
    ends = time.monotonic() + 60 * minutes if minutes is not None else None
    with open_run(folder, reporter=SilentReporter(), facts={}):
        study = Study(folder, space=Space(load_recipe(main).recipe), limits=limits, labels=main / "labels", seed=seed)
        found = Search(recipe, folder, limits, study.trials, tuple(changes), out)
        _try_students(found, study, most=most, ends=ends, reporter=reporter)
        if not any(trial.state == "finished" for trial in found.trials):
            failed = [trial for trial in found.trials if trial.reason][-3:]
            reasons = [f"{trial.folder}: {trial.reason.splitlines()[0]}" for trial in failed]
            raise SearchFailed(trials=len(found.trials), reasons=reasons)
        _write(found)
    _ship(found)
    return found


def _try_students(found: Search, study: Study, *, most: int | None, ends: float | None, reporter: Reporter) -> None:
    """One student after the other, until there are enough or the time is over; files are written after each."""
    main = found.folder.parent
    rows, begun, started = timed_rows(Corpus(main / "corpus")), len(found.trials), time.monotonic()
    while not _is_over(found.trials, begun=begun, most=most, ends=ends):
        proposal = study.propose()
        number = _number(len(found.trials) + 1, most)
        reporter.stage(f"{FOLDER}/{proposal.folder}", f"{number}: {_announced(proposal)}")
        trial = tried(proposal, main=main, rows=rows, reporter=SilentReporter())
        study.keep(proposal, trial)
        found.trials.append(trial)
        _write(found)
        reporter.note(_progress(found, trial, begun=begun, most=most, seconds=time.monotonic() - started))


def _is_over(trials: Sequence[Trial], *, begun: int, most: int | None, ends: float | None) -> bool:
    """Enough trials, no time left, or too many failures; those of earlier calls do not count as failures."""
    last = trials[begun:][-MOST_FAILURES:]
    if len(last) == MOST_FAILURES and all(trial.state == "failed" for trial in last):
        return True
    return (most is not None and len(trials) >= most) or (ends is not None and time.monotonic() >= ends)


def _announced(proposal: Proposal) -> str:
    """What is tried."""
    what = {RECIPE: f"the recipe's own {proposal.kind}", DEFAULTS: f"{proposal.kind} with its defaults"}
    return what.get(proposal.origin) or " ".join(proposal.overrides)


def _progress(found: Search, trial: Trial, *, begun: int, most: int | None, seconds: float) -> str:
    """A line after each trial: its numbers, the best so far, and the rate."""
    done = len(found.trials)
    own = show.numbers(trial) if trial.state == "finished" else f"failed: {trial.reason.splitlines()[0]}"
    is_within = fits(trial, found.limits) or trial.state != "finished"
    best = found.chosen
    so_far = f"best so far: {best.kind}, {show.numbers(best)}" if best else f"none within {found.limits} yet"
    rate = 60 * (done - begun) / max(seconds, 1e-9)
    left = f", {(most - done) / rate:,.0f} min left" if most is not None and most > done else ""
    above = "" if is_within else " (above the limits)"
    took = f"in {trial.seconds:,.0f} s"
    return f"  {_number(done, most)}: {trial.kind} {own}{above}, {took}; {so_far}; {rate:,.1f} trials/min{left}"


def _number(trial: int, most: int | None) -> str:
    return f"{trial}/{most}" if most is not None else f"{trial}"


def _write(found: Search) -> None:
    """search.json, front.svg and front.html, each replaced in one step."""
    best = found.chosen
    data = {
        "recipe": found.recipe,
        "limits": asdict(found.limits),
        "chosen": best.folder if best else None,
        "command": found.command,
        "front": [trial.folder for trial in found.front],
        "trials": [trial.as_json() for trial in found.trials],
    }
    drawn = show.picture(found.trials, chosen=best, limits=found.limits)
    title = f"{found.folder.parent.resolve().name}: search"
    for name, text in {
        "search.json": json.dumps(data, indent=1, ensure_ascii=False) + "\n",
        "front.svg": drawn,
        "front.html": show.page(title, drawn),
    }.items():
        scratch = found.folder / f"{name}.partial"
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(found.folder / name)


def _ship(found: Search) -> None:
    """Copy the chosen model to where users look for models, with a card."""
    best, main = found.chosen, found.folder.parent
    if best is None:
        return
    model = open_model(found.folder / best.folder / best.model)
    fingerprints = {
        "export": read_manifest(model.folder, kind="model").fingerprint,
        "labels": read_manifest(main / "labels", kind="labels").fingerprint,
    }
    key = Key(section={}, inputs=fingerprints)
    with open_run(main, reporter=SilentReporter(), facts={}):
        if why_redo(found.model, kind="model", key=key) is not None:
            found.model.parent.mkdir(exist_ok=True)
            with written_atomically(found.model, kind="model", key=key) as scratch:
                copy_model(model, scratch)
        again = found.command or ""
        text = show.card(best, limits=found.limits, count=len(found.trials), again=again)
        (found.model / README).write_text(text + "\n", encoding="utf-8")
