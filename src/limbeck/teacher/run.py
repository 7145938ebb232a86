"""Room 2: prepares a teacher of any kind."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, fingerprint_of
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import RecipeInvalid
from limbeck.progress import Reporter
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.recipe.teacher import AnyMember, AnyTeacher, EnsembleTeacher, each_teacher
from limbeck.teacher.endpoints.asking import EndpointAnswers
from limbeck.teacher.kinds import kind_of
from limbeck.teacher.preparation import AskAndKeep, OpenTeacher, Preparation, ask_alone
from limbeck.training.tracks import NO_TRACKS, Tracks

__all__ = ["member_names", "opened", "prepare_teacher", "refuse_unusable"]

IMPORTABLE = "Python must find it: install its package, or put PYTHONPATH=. before the command."
CORRECT = "Correct these keys, or the function."
ASKING = (  # how an endpoint is asked: its answers do not depend on it
    *("url", "key_from", "name", "concurrency", "requests_per_minute", "tokens_per_minute", "timeout", "retries"),
    *("retry_seconds", "answer_retries", "prices", "max_requests", "max_tokens", "max_cost", "tokenizer", "uncovered"),
)


def prepare_teacher(
    section: AnyTeacher,
    *,
    corpus: Corpus,
    out: Path,
    key: Key,
    reporter: Reporter,
    tracks: Tracks = NO_TRACKS,
    pretrained: Path | None = None,
    members: Mapping[str, TeacherFolder] | None = None,
    ask: AskAndKeep = ask_alone,
) -> TeacherFolder:
    """The teacher that the section asks for, in its folder and evaluated on dev.

    `pretrained` is the folder of an encoder's pretrained checkpoint, if it was pretrained; `members` are those of an
    ensemble; `ask` stores the answers of a teacher while it is prepared.
    """
    given = Preparation(corpus, out, key, reporter, tracks, pretrained, members or {}, ask)
    return kind_of(section).prepare(section, given)


def opened(teacher: TeacherFolder, section: AnyTeacher | None = None) -> OpenTeacher:
    """A prepared teacher, opened for inference; for an ensemble, open its members instead.

    With its section in the recipe, address and limits of an endpoint are those of now: its answers do not depend on
    them, so it is not prepared again when they change.
    """
    found = kind_of(teacher.facts).open(teacher)
    if isinstance(found, EndpointAnswers) and isinstance(section, EndpointTeacher):
        return EndpointAnswers(section, found.questions)
    return found


def refuse_unusable(teacher: AnyTeacher, *, recipe: str) -> None:
    """Raise RecipeInvalid, with the key of each problem, for what would certainly fail later."""
    is_several = isinstance(teacher, EnsembleTeacher)
    problems = [
        f"teacher.members.{number}.{problem}" if is_several else f"teacher.{problem}"
        for number, member in enumerate(each_teacher(teacher))
        for problem in kind_of(member).problems(member)
    ]
    if problems:
        is_missing = any("ModuleNotFoundError" in problem for problem in problems)
        raise RecipeInvalid(recipe=recipe, problems=problems, advice=IMPORTABLE if is_missing else CORRECT)


def member_names(members: Sequence[AnyMember]) -> dict[str, AnyMember]:
    """A folder name for each: that of its checkpoint, file or function; for a student with its run's name in front.

    Members of the same name are distinguished by their settings, not by their position: removing one must not make the
    others change folders and be trained again. The same member twice gets a number.
    """
    plain = [_plain_name(member) for member in members]
    named: dict[str, AnyMember] = {}
    for member, name in zip(members, plain, strict=True):
        if plain.count(name) > 1:
            name = f"{name}-{fingerprint_of(member.model_dump_json(exclude=_not_in_name(member)))[:6]}"
        number = 1
        while (f"{name}-{number}" if number > 1 else name) in named:
            number += 1
        named[f"{name}-{number}" if number > 1 else name] = member
    return named


def _not_in_name(member: AnyMember) -> set[str]:
    """Keys that do not change answers; and keys added later, if not given, so that folders keep their names."""
    usual = {
        "pretraining": None,
        "pairs": "together",
        "fine_tunings": 1,
    }  # keys that were added later: with these values names are as before
    not_given = {key for key, value in usual.items() if getattr(member, key, value) == value}
    return {
        "near_chance",
        "processes",
        "compile",
        "seeds",
        "texts_per_call",
        *(ASKING if member.kind == "endpoint" else ()),
        *not_given,
    }


def _plain_name(member: AnyMember) -> str:
    """Only letters, digits and . _ -; never "." or "..", nor hidden: it must stay inside the folder of the run."""
    own = kind_of(member).name(member)
    return re.sub(r"^\.+$|^\.|^$|[^\w.-]", lambda found: "_" * max(len(found[0]), 1), own)
