"""What `teacher=` may be: a checkpoint, a kind, a table of a recipe, or an object of this program that answers."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextlib import nullcontext as nothing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

import numpy as np

from limbeck.drafting.draft_teacher import NO_ENCODER, DraftedTeacher
from limbeck.recipe.toml import inline

CALL = "limbeck.estimator.given_teacher:answering"
Answer = Callable[[list[Any]], Any]

# Of the fits that run now, by a name that only this process has given: the classes as the run calls them, and who
# answers, in their order.
_answers: dict[str, tuple[list[str], Answer]] = {}


@dataclass(frozen=True)
class GivenTeacher:
    """A teacher as a draft and `--set` have it; inside of `answers`, an object can be asked."""

    drafted: DraftedTeacher | None  # None: the draft chooses
    overrides: list[str] = field(default_factory=list)
    answers: AbstractContextManager[object] = field(default_factory=nothing)
    is_custom: bool = False  # the recipe calls a function: ours, or one that the table of the user names


class _Answers:
    """The object under its name, while a fit runs."""

    def __init__(self, token: str, names: Sequence[str], answer: Answer) -> None:
        self._token, self._names, self._answer = token, list(names), answer

    def __enter__(self) -> None:
        _answers[self._token] = (self._names, self._answer)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _answers.pop(self._token, None)


def answering(labels: Sequence[str], *, token: str) -> Answer:
    """What a recipe's `call` names: the object, with its columns in the order that the run has."""
    names, answer = _answers[token]
    places = [names.index(label) for label in labels]
    return lambda texts: np.asarray(answer(texts))[:, places]


def given_teacher(teacher: Any, *, texts: list[Any], y: Any, classes: Any, names: Sequence[str]) -> GivenTeacher:
    """`texts` and `y` are the rows of the fit, `names` what the run calls the `classes`, in their order.

    An estimator that is not fitted learns from these rows, as a copy; a fitted one goes in a FrozenEstimator.
    """
    match teacher:
        case None:
            return GivenTeacher(None)
        case "linear":
            return GivenTeacher(NO_ENCODER, ['teacher.kind="linear"'])
        case str() | Path():
            return GivenTeacher(DraftedTeacher(str(teacher)), [f"teacher.checkpoint={inline(str(teacher))}"])
        case Mapping():
            kind = teacher.get("kind", "encoder")
            drafted = DraftedTeacher(str(teacher.get("checkpoint", ""))) if kind == "encoder" else NO_ENCODER
            return GivenTeacher(drafted, [f"teacher={inline({'kind': kind, **teacher})}"], is_custom=kind == "custom")
    answer = _answer_of(teacher, texts=texts, y=y, classes=list(classes), names=list(names))
    token = uuid4().hex
    table = {"kind": "custom", "call": CALL, "name": _name_of(teacher), "options": {"token": token}}
    return GivenTeacher(NO_ENCODER, [f"teacher={inline(table)}"], _Answers(token, names, answer), is_custom=True)


def _answer_of(teacher: Any, *, texts: list[Any], y: Any, classes: list[Any], names: list[str]) -> Answer:
    """A function from texts to probabilities in the order of `classes`."""
    if hasattr(teacher, "fit"):
        from sklearn.base import clone

        teacher = clone(teacher).fit(texts, y)
    if not hasattr(teacher, "predict_proba"):
        if not callable(teacher):
            raise TypeError(f"teacher must be a checkpoint, a table, a model or a function, not {teacher!r:.80}")
        answer: Answer = teacher
        return answer
    known = list(np.asarray(teacher.classes_).tolist())
    wanted = classes if set(classes) <= set(known) else names  # a model that is loaded has names
    if missing := [name for name in wanted if name not in known]:
        raise ValueError(f"the teacher does not know the class {missing[0]!r}; it has {known[:10]!r}")
    places = [known.index(name) for name in wanted]
    return lambda asked: np.asarray(teacher.predict_proba(asked))[:, places]


def _name_of(teacher: Any) -> str:
    """For the report."""
    return str(getattr(teacher, "__name__", type(teacher).__name__))
