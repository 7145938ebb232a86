"""The study behind a search: which student is tried next, and a journal on disk that a later search goes on from.

Optuna's sampler proposes settings; every trial is kept in its journal with what was found. A study belongs to a recipe,
its labels and the limits. If only the limits are others, the trials are taken over; if the labels or the recipe's
students are others, its scores cannot be compared, and a new study begins.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.artifacts.manifest import fingerprint_of, read_manifest
from limbeck.errors import DependencyMissing
from limbeck.search.choice import CostLimits, Trial
from limbeck.search.space import Settings, Space

if TYPE_CHECKING:
    import optuna

JOURNAL = "journal.log"
FOUND, ORIGIN, FOLDER, ATTEMPT = "found", "origin", "folder", "attempt"  # of a trial in the journal
PLANNED, UNCHANGED = "planned", "unchanged"
RECIPE, DEFAULTS, SAMPLED = "recipe", "defaults", "sampled"  # origins
ATTEMPTS = 2  # of a trial that was stopped: a third would be stopped as well
SPACE_VERSION = 1  # raise it when settings of the search change: an older study cannot go on
STOPPED = f"it was stopped {ATTEMPTS} times"


@dataclass(frozen=True)
class Proposal:
    """A student to be tried."""

    asked: "optuna.Trial"
    origin: str
    folder: str
    kind: str
    overrides: list[str]


class Study:
    """The trials of a recipe's search, those of earlier calls included."""

    def __init__(self, folder: Path, *, space: Space, limits: CostLimits, labels: Path, seed: int) -> None:
        self.folder, self.space, self.limits = folder, space, limits
        self._optuna = _optuna()
        self._states = self._optuna.trial.TrialState
        storage = self._optuna.storages.JournalStorage(
            self._optuna.storages.journal.JournalFileBackend(str(folder / JOURNAL))
        )
        self._context = _context(space, labels)
        self._study = self._optuna.create_study(
            storage=storage, study_name=f"{self._context} {limits}", direction="maximize", load_if_exists=True
        )
        self._take_over(storage)
        self._close_stopped()
        self._plan()
        # The number of trials is in the seed: otherwise a search that goes on would try the same numbers again.
        sampler = self._optuna.samplers.TPESampler(seed=seed + len(self._study.trials))
        self._study.sampler = sampler

    @property
    def trials(self) -> list[Trial]:
        """Every trial that has ended, in order. One that was stopped and will be tried again is not among them."""
        ended = self._study.get_trials(deepcopy=False, states=[self._states.COMPLETE, self._states.FAIL])
        return [found for trial in ended if (found := _found(trial.user_attrs)) is not None]

    def propose(self) -> Proposal:
        """The next student: a planned one, or one that the sampler proposes."""
        asked = self._study.ask()
        origin = asked.user_attrs.get(ORIGIN, SAMPLED)
        max_mb = self.limits.max_mb
        settings = None if asked.user_attrs.get(UNCHANGED) else self.space.ask(asked)
        overrides = self.space.own(max_mb=max_mb) if settings is None else self.space.overrides(settings, max_mb=max_mb)
        folder = asked.user_attrs.get(FOLDER) or self._new_folder()
        asked.set_user_attr(ORIGIN, origin)
        asked.set_user_attr(FOLDER, folder)
        kind = self.space.recipe.student.kind if settings is None else str(settings["kind"])
        return Proposal(asked, origin, folder, kind, overrides)

    def keep(self, proposal: Proposal, trial: Trial) -> None:
        """Write down what was found about a proposed student."""
        proposal.asked.set_user_attr(FOUND, trial.as_json())
        if trial.state == "finished":
            for name, share in self.limits.excess(us=trial.us, mb=trial.mb).items():
                proposal.asked.set_constraint(name, share)
            self._study.tell(proposal.asked, trial.dev_score)
        else:
            self._study.tell(proposal.asked, state=self._states.FAIL)

    def _new_folder(self) -> str:
        """A name that no trial of any study has: another study's folders may still be there."""
        used = [int(path.name.partition("-")[2]) for path in self.folder.glob("trial-[0-9]*") if path.is_dir()]
        known = [trial.user_attrs.get(FOLDER, "") for trial in self._study.get_trials(deepcopy=False)]
        used += [int(name.partition("-")[2]) for name in known if name]
        return f"trial-{max(used, default=-1) + 1:04d}"

    def _take_over(self, storage: Any) -> None:
        """Trials of the same recipe with other limits: their numbers hold, and only the constraints are others."""
        if self._study.get_trials(deepcopy=False):
            return
        names = [name for name in self._optuna.get_all_study_names(storage) if name != self._study.study_name]
        of_folder: dict[str, Any] = {}
        for name in (name for name in names if name.startswith(f"{self._context} ")):
            for trial in self._optuna.load_study(study_name=name, storage=storage).get_trials():
                found = trial.user_attrs.get(FOUND)
                if found and found["state"] == "finished":
                    of_folder[found["folder"]] = trial
        for trial in of_folder.values():
            found = Trial.from_json(trial.user_attrs[FOUND])
            self._study.add_trial(
                self._optuna.create_trial(
                    params=trial.params,
                    distributions=trial.distributions,
                    value=trial.value,
                    user_attrs=trial.user_attrs,
                    constraints=self.limits.excess(us=found.us, mb=found.mb),
                )
            )

    def _close_stopped(self) -> None:
        """End the trials that an earlier call was stopped in; each is tried once more, in the same folder."""
        for trial in self._study.get_trials(states=[self._states.RUNNING]):
            self._study.tell(trial.number, state=self._states.FAIL)
            attempt = int(trial.user_attrs.get(ATTEMPT, 1))
            if attempt < ATTEMPTS:
                self._study.enqueue_trial(trial.params, user_attrs={**trial.user_attrs, ATTEMPT: attempt + 1})

    def _plan(self) -> None:
        """Enqueue the recipe's own student and every kind's defaults, if they are not in the study yet.

        With another limit of size they are other students: those that were taken over do not count.
        """
        max_mb, planned = self.limits.max_mb, self._planned()
        for name, settings in planned.items():
            overrides = self.space.overrides(settings, max_mb=max_mb) if settings else self.space.own(max_mb=max_mb)
            if not self._has(name, overrides):
                facts = {ORIGIN: RECIPE if name == RECIPE else DEFAULTS, UNCHANGED: not settings}
                self._study.enqueue_trial(settings, user_attrs={PLANNED: name, **facts})

    def _planned(self) -> dict[str, Settings]:
        """The settings of what is tried first: by kind, and the recipe's own student, which may have settings that the
        space does not know. It is not tried twice if it has its kind's defaults."""
        own = self._student(self.space.own())
        defaults = {kind: self.space.defaults(kind) for kind in self.space.kinds}
        same = [kind for kind, settings in defaults.items() if self._student(self.space.overrides(settings)) == own]
        return {
            RECIPE: defaults[same[0]] if same else {},
            **{kind: settings for kind, settings in defaults.items() if kind not in same},
        }

    def _has(self, name: str, overrides: list[str]) -> bool:
        """Whether a planned student is in the study, and was made in the way that it would be made now."""
        found = [trial.user_attrs for trial in self._study.get_trials(deepcopy=False)]
        return any(
            facts.get(PLANNED) == name and (FOUND not in facts or facts[FOUND]["overrides"] == overrides)
            for facts in found
        )

    def _student(self, overrides: Sequence[str]) -> tuple[Any, Any]:
        changed = self.space.changed(overrides)
        return changed.student, changed.distillation


def _found(facts: Mapping[str, Any]) -> Trial | None:
    """What is known about a trial that has ended. One without a result was stopped: None unless that was the last
    attempt."""
    if FOUND in facts:
        return Trial.from_json(facts[FOUND])
    if facts.get(ATTEMPT, 1) < ATTEMPTS:
        return None
    return Trial(
        folder=str(facts.get(FOLDER, "")), state="failed", origin=str(facts.get(ORIGIN, SAMPLED)), reason=STOPPED
    )


def _context(space: Space, labels: Path) -> str:
    """What scores depend on besides the settings that are tried."""
    recipe = space.recipe
    tables = recipe.model_dump(mode="json", include={"student", "candidates", "distillation", "export"})
    known = {"labels": read_manifest(labels, kind="labels").fingerprint, "space": SPACE_VERSION, **tables}
    return fingerprint_of(json.dumps(known, sort_keys=True))


def refuse_without_optuna() -> None:
    """Raise DependencyMissing if it is not installed, before a teacher is trained in vain."""
    if find_spec("optuna") is None:
        raise DependencyMissing(package="optuna", purpose="limbeck search", extra="search")


def _optuna() -> Any:
    """Optuna, without a line for every trial."""
    import optuna
    import optuna.storages.journal

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
