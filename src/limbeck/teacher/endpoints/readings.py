"""Probabilities of the classes from the answers of a language model: pure functions of a question and its answers."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.runtime.fallbacks.choices import MOSTLY, Choices, alternatives, bare
from limbeck.teacher.endpoints.questions import Question

Doubles = npt.NDArray[np.float64]
YES, NO = "yes", "no"
LINE = re.compile(r"^\W*(\w{1,4})\W+(yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True)
class ReadAnswer:
    """What an answer says: a probability for each class in the order of the corpus."""

    probabilities: Doubles
    unseen: int = 0  # classes that were not among the tokens that the server gave, and share what is left


def read_letters(question: Question, choice: dict[str, Any], labels: Sequence[str]) -> ReadAnswer | None:
    """One class, by the probabilities of the letters as the first token; None for what names no class."""
    choices = _choices(question, labels)
    found, given = choices.from_logprobs(choice)
    if found.sum() < MOSTLY:
        return None
    if len(choices.written(choice)) > 1:
        return None
    is_unseen = found == 0
    if is_unseen.any():
        least = found[~is_unseen].min()
        found[is_unseen] = min(max(1.0 - given, 0.0) / int(is_unseen.sum()), least)
    return ReadAnswer(_by_class(question, found / found.sum()), unseen=int(is_unseen.sum()))


def has_logprobs(choice: dict[str, Any]) -> bool:
    """Whether the server gave the probabilities of tokens."""
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    return isinstance(tokens, list) and bool(tokens) and bool(alternatives(tokens[0]))


def read_votes(question: Question, choices: Sequence[dict[str, Any]], labels: Sequence[str]) -> ReadAnswer | None:
    """One class: the share of the answers that name it, of those that name one; None if none does."""
    known = _choices(question, labels)
    named = [places for choice in choices if len(places := known.written(choice)) == 1]
    if not named:
        return None
    found = np.zeros(len(labels))
    for (place,) in named:
        found[place] += 1 / len(named)
    return ReadAnswer(_by_class(question, found))


def read_lines(question: Question, choice: dict[str, Any]) -> ReadAnswer | None:
    """Several classes, by the probabilities of yes and no after each letter; None unless each letter has a line."""
    found = dict(_answered_lines(question, choice))
    if len(found) < len(question.symbols):
        return None
    return ReadAnswer(_by_class(question, np.array([found[symbol] for symbol in question.symbols])))


def read_line_votes(question: Question, choices: Sequence[dict[str, Any]]) -> ReadAnswer | None:
    """Several classes: of each, the share of the answers that say yes; None if no answer has a line for each letter."""
    complete = []
    for choice in choices:
        lines = _written_lines(question, _text(choice))
        if len(lines) == len(question.symbols):
            complete.append([float(lines[symbol]) for symbol in question.symbols])
    return ReadAnswer(_by_class(question, np.mean(complete, axis=0))) if complete else None


def read_confidence(
    question: Question, choice: dict[str, Any], labels: Sequence[str], *, several: bool
) -> ReadAnswer | None:
    """What the model says of itself, as JSON; the other classes share the rest. None for anything else."""
    try:
        text = _text(choice)
        said = json.loads(text[text.index("{") : text.rindex("}") + 1])
        if several:
            found = np.array([_probability(said[symbol]) for symbol in question.symbols])
            return ReadAnswer(_by_class(question, found))
        (place,) = _choices(question, labels).places(str(said["answer"]))
        sure = _probability(said["confidence"])
    except (ValueError, KeyError, TypeError):
        return None
    others = len(question.symbols) - 1
    found = np.full(others + 1, (1 - sure) / max(others, 1))
    found[place] = sure
    return ReadAnswer(_by_class(question, found))


def _choices(question: Question, labels: Sequence[str]) -> Choices:
    return Choices(tuple(labels[number] for number in question.order), question.symbols)


def _by_class(question: Question, by_position: Doubles) -> Doubles:
    found = np.empty(len(by_position))
    found[list(question.order)] = by_position
    return found


def _probability(value: Any) -> float:
    if isinstance(value, bool) or not 0 <= float(value) <= 1:
        raise ValueError(value)
    return float(value)


def _text(choice: dict[str, Any]) -> str:
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    return text if isinstance(text, str) else ""


def _written_lines(question: Question, text: str) -> dict[str, bool]:
    """Letter → whether the answer says yes."""
    found = (LINE.match(line) for line in text.splitlines())
    return {line[1]: line[2].casefold() == YES for line in found if line and line[1] in question.symbols}


def _answered_lines(question: Question, choice: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """(letter, probability of yes) for each line, from the alternatives of the token that says yes or no."""
    try:
        tokens = choice["logprobs"]["content"]
    except (KeyError, TypeError):
        return
    line = ""
    for token in tokens if isinstance(tokens, list) else []:
        text = token.get("token") if isinstance(token, dict) else None
        if not isinstance(text, str):
            return
        word, symbol = bare(text).casefold(), bare(line)
        if word in (YES, NO) and symbol in question.symbols and (share := _share_of_yes(token)) is not None:
            yield symbol, share
        line = text.rpartition("\n")[2] if "\n" in text else line + text


def _share_of_yes(token: dict[str, Any]) -> float | None:
    """p(yes) / (p(yes) + p(no)) of this token; None if neither is among its alternatives."""
    mass = {YES: 0.0, NO: 0.0}
    for alternative, logprob in alternatives(token):
        word = bare(alternative).casefold()
        if word in mass:
            mass[word] += math.exp(min(logprob, 0.0))
    total = mass[YES] + mass[NO]
    return mass[YES] / total if total > 0 else None
