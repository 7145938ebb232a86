"""A checkpoint's classification head: its classes against those of the corpus, by name and in order."""

import json
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import zip_longest
from typing import Any

import torch
from torch import nn

from limbeck.errors import TeacherError, did_you_mean, some

UNKNOWN = "?"
UNNAMED = re.compile(r"label[\s_-]*\d+", re.IGNORECASE)  # how transformers names classes without names
SHORTEST_PREFIX = 3  # letters: "pos" may mean "positive"


class ClassesDiffer(TeacherError):
    """A checkpoint that is used without training does not have the corpus's classes in the same order."""

    def __init__(
        self, *, checkpoint: str, difference: str, theirs: Sequence[str], ours: Sequence[str], guess: Mapping[str, str]
    ) -> None:
        self.theirs, self.ours, self.guess = tuple(theirs), tuple(ours), dict(guess)
        advice = f'Set teacher.train = "all": a checkpoint of {len(theirs)} classes cannot be used as it is here.'
        if len(theirs) == len(ours):
            unsure = "with a class of the corpus in place of each ?" if "?" in guess.values() else "if this is correct"
            advice = f"Put this line into [teacher], {unsure}: label_names = {_inline_table(guess)}"
        super().__init__(
            f"the classes of '{checkpoint}' are not those of the corpus: {difference}",
            found=numbered_lists(theirs, ours),
            advice=advice,
        )


class LabelNamesUnfit(TeacherError):
    """`label_names` in the recipe does not give each class of the checkpoint one class of the corpus."""

    def __init__(self, *, checkpoint: str, problems: Sequence[str], theirs: Sequence[str], ours: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            f"teacher.label_names does not fit '{checkpoint}': {some(problems)}",
            found=numbered_lists(theirs, ours),
            advice="Name each class of the checkpoint once, and map each to another class of the corpus.",
        )


def numbered_lists(theirs: Sequence[str], ours: Sequence[str], *, whose: str = "the checkpoint", most: int = 40) -> str:
    """The classes of a model and of the corpus side by side, numbered, for a message."""
    left = [whose, *(f"{number}  {name}" for number, name in enumerate(theirs))]
    right = ["the corpus", *(f"{number}  {name}" for number, name in enumerate(ours))]
    width = max(len(line) for line in left)
    lines = [f"{one.ljust(width)}    {two}".rstrip() for one, two in zip_longest(left, right, fillvalue="")]
    more = len(lines) - 1 - most
    return "\n".join(lines if more <= 0 else [*lines[: most + 1], f"… and {more:,} more"])


def _inline_table(names: Mapping[str, str]) -> str:
    """A TOML inline table; its strings are written as in JSON."""
    entries = (f"{json.dumps(a, ensure_ascii=False)} = {json.dumps(b, ensure_ascii=False)}" for a, b in names.items())
    return "{ " + ", ".join(entries) + " }"


def classes_of(config: Any) -> list[str]:
    """The names of a checkpoint's classes, in the order of its logits."""
    return [str(config.id2label[number]) for number in range(config.num_labels)]


def class_order(
    theirs: Sequence[str], ours: Sequence[str], *, label_names: Mapping[str, str], checkpoint: str
) -> list[int]:
    """For each class of the corpus, the index of the same class in the checkpoint.

    `label_names` maps theirs → ours; without it the names must be the same in the same order.
    """
    if label_names:
        problems = _problems_of(label_names, theirs=theirs, ours=ours)
        if problems:
            raise LabelNamesUnfit(checkpoint=checkpoint, problems=problems, theirs=theirs, ours=ours)
        number_of = {label_names[name]: number for number, name in enumerate(theirs)}
        return [number_of[name] for name in ours]
    if list(theirs) != list(ours):
        difference, guess = how_they_differ(theirs, ours), guessed_names(theirs, ours)
        raise ClassesDiffer(checkpoint=checkpoint, difference=difference, theirs=theirs, ours=ours, guess=guess)
    return list(range(len(ours)))


def how_they_differ(theirs: Sequence[str], ours: Sequence[str]) -> str:
    """In words, for a message."""
    if len(theirs) != len(ours):
        return f"it has {len(theirs)}, the corpus has {len(ours)}"
    if sorted(theirs) == sorted(ours):
        return "the same names in another order (a permutation)"
    if all(UNNAMED.fullmatch(name) for name in theirs):
        return "its names do not say what they mean"
    spelled = [_normalised(name) for name in theirs], [_normalised(name) for name in ours]
    if spelled[0] == spelled[1]:
        return "the same names in another spelling"
    if sorted(spelled[0]) == sorted(spelled[1]):
        return "the same names in another spelling and another order (a permutation)"
    return "other names"


def guessed_names(theirs: Sequence[str], ours: Sequence[str]) -> dict[str, str]:
    """The likely corpus class of each of their classes, by its name; UNKNOWN if no name is similar."""
    guessed: dict[str, str] = {}
    for match in (_same, _same_but_for_spelling, _close):
        for name in theirs:
            left = [ours_name for ours_name in ours if ours_name not in guessed.values()]
            found = match(name, left) if name not in guessed else None
            if found is not None:
                guessed[name] = found
    return {name: guessed.get(name, UNKNOWN) for name in theirs}


def final_layer(model: Any) -> nn.Linear:
    """The layer whose outputs are the logits: the last one outside the encoder with as many outputs as classes."""
    inside = {id(module) for module in model.base_model.modules()}
    layers = [
        module
        for module in model.modules()
        if isinstance(module, nn.Linear) and id(module) not in inside and module.out_features == model.config.num_labels
    ]
    if not layers:
        raise TypeError(f"{type(model).__name__} has no linear layer for its classes")
    return layers[-1]


def put_in_order(model: Any, order: Sequence[int]) -> None:
    """Reorder the outputs of the head, so that class `order[n]` becomes class n."""
    layer = final_layer(model)
    with torch.no_grad():
        layer.weight.copy_(layer.weight[list(order)])
        if layer.bias is not None:
            layer.bias.copy_(layer.bias[list(order)])


def start_afresh(model: Any) -> list[str]:
    """Reinitialise the final layer, as transformers does for a checkpoint without a head; returns its weights' names.

    Other layers of the head stay: they do not depend on the classes.
    """
    layer = final_layer(model)
    nn.init.normal_(layer.weight, std=getattr(model.config, "initializer_range", 0.02))
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    own = {id(parameter) for parameter in layer.parameters()}
    return [name for name, parameter in model.named_parameters() if id(parameter) in own]


def name_classes(model: Any, labels: Sequence[str]) -> None:
    """Write the classes into the model's config."""
    model.config.id2label = dict(enumerate(labels))
    model.config.label2id = {label: number for number, label in enumerate(labels)}


def _problems_of(label_names: Mapping[str, str], *, theirs: Sequence[str], ours: Sequence[str]) -> list[str]:
    """Why these names are not a one-to-one mapping from their classes to ours."""
    given = list(label_names.values())
    twice = sorted({name for name in given if given.count(name) > 1})
    return [
        *(f"the checkpoint has two classes '{name}'" for name in sorted({n for n in theirs if theirs.count(n) > 1})),
        *(f"the checkpoint has no '{name}'{did_you_mean(name, theirs)}" for name in label_names if name not in theirs),
        *(f"'{name}' of the checkpoint is missing" for name in theirs if name not in label_names),
        *(f"the corpus has no '{name}'{did_you_mean(name, ours)}" for name in dict.fromkeys(given) if name not in ours),
        *(f"'{name}' of the corpus is given twice" for name in twice),
        *(f"'{name}' of the corpus is missing" for name in ours if name not in given),
    ]


def _normalised(name: str) -> str:
    """Without case, punctuation and spaces, and without a leading "label"."""
    letters = "".join(character for character in name.casefold() if character.isalnum())
    return letters.removeprefix("label") or letters


def _same(name: str, ours: Sequence[str]) -> str | None:
    return name if name in ours else None


def _same_but_for_spelling(name: str, ours: Sequence[str]) -> str | None:
    found = [other for other in ours if _normalised(other) == _normalised(name)]
    return found[0] if len(found) == 1 else None


def _close(name: str, ours: Sequence[str]) -> str | None:
    """The only name that is a prefix of the other or has it as a prefix; else one that differs in few letters."""
    by_spelling = {_normalised(other): other for other in ours}
    wanted = _normalised(name)
    prefixed = [spelled for spelled in by_spelling if _is_prefix(spelled, wanted) or _is_prefix(wanted, spelled)]
    found = prefixed if len(prefixed) == 1 else get_close_matches(wanted, list(by_spelling), n=1, cutoff=0.6)
    return by_spelling[found[0]] if found else None


def _is_prefix(short: str, long: str) -> bool:
    return len(short) >= SHORTEST_PREFIX and long.startswith(short)
