"""The settings in keys: every field of a recipe changed by itself, and what that changes."""

import copy
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal, get_args, get_origin

import pytest

from limbeck.errors import RecipeInvalid
from limbeck.pipeline.keys import settings_of
from limbeck.recipe.base import Section
from limbeck.recipe.decisions import ArtifactName, decisions, sections_in, settings
from limbeck.recipe.load import parse_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.teacher import AnyTeacher, EnsembleTeacher

Raw = dict[str, Any]
WORDS: Raw = {
    "corpus": {"train": "train.csv"},
    "transfer": {"files": ["more.txt"], "rows": 10, "pool": 40},
    "augmentation": {
        "methods": [
            {"kind": "masking"},
            {"kind": "word_vectors", "path": "vectors.txt"},
            {"kind": "masked_lm", "word_vectors": "vectors.txt"},
            {"kind": "ngram"},
        ]
    },
    "teacher": {"long_texts": "head_and_tail", "pretraining": {}},
    "student": {"word_vectors": "vectors.txt"},
    "distillation": {"losses": [{"kind": "logit_mse"}, {"kind": "hard_labels"}, {"kind": "soft_targets"}]},
}
SCHEDULE = {"kind": "linear", "start": 4.0, "end": 1.0}
TRANSFORMER: Raw = {
    "corpus": {"train": "train.csv"},
    "teacher": {"long_texts": "head_and_tail"},
    "student": {"kind": "transformer", "width": 64, "heads": 4, "max_length": 64, "vocabulary": {"kind": "pieces"}},
    "distillation": {"stages": [{"losses": [{"kind": "soft_targets", "temperature": SCHEDULE}]}]},
}
FILES: Raw = {
    "corpus": {"train": "train.csv", "pair": "second"},
    "teacher": {
        "kind": "ensemble",
        "members": [{"kind": "file", "path": "a.csv", "pair": "second"}, {"kind": "student", "path": "runs/a"}],
    },
    "student": {"kind": "textcnn"},
}
LIMITED: Raw = {**TRANSFORMER, "student": {**TRANSFORMER["student"], "max_size_mb": 20.0}}
SEVERAL: Raw = {**WORDS, "candidates": [{"kind": "bag"}, {"kind": "textcnn", "word_vectors": "vectors.txt"}]}
READY: Raw = {"corpus": {"train": "train.csv"}, "teacher": {"train": "none"}, "student": {"kind": "bag"}}
RECIPES = {"words": WORDS, "transformer": TRANSFORMER, "files": FILES}
# Other values where those that `others` tries do not fit.
VALUES: Raw = {
    "corpus.only_labels": ["yes", "no"],
    "transfer.form": "as_is",
    "student.teacher_layers": "last",
}
GO_WITH_ANOTHER = {  # fields that cannot be changed alone
    *("corpus.hub", "corpus.pair", "transfer.pair", "teacher.pairs", "teacher.members.pair", "teacher.seeds"),
    *(
        "teacher.head",
        "teacher.fine_tunings",
        "corpus.task",
        "corpus.score_range",
        "transfer.partners",
        "student.pairing",
    ),
    "student.vocabulary.general_words",
    "distillation.optimizer",
    "distillation.teach_foreign",
    "distillation.losses.every",
    *(f"distillation.losses.{key}" for key in ("row_temperatures", "spread", "power")),
    *(f"distillation.stages.losses.{key}" for key in ("row_temperatures", "spread", "power")),
    *("distillation.pruning", "student.layer_groups", "student.embedding_size"),
}


def parsed(raw: Raw) -> Recipe:
    return parse_recipe(raw, recipe="toy")


def changed(raw: Raw, path: str, value: Any) -> Recipe:
    """The recipe with one key set; numbers in the path are places in lists."""
    copied = copy.deepcopy(raw)
    *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
    here: Any = copied
    for step in steps:
        here = here[step] if isinstance(step, int) else here.setdefault(step, {})
    here[last] = value
    return parsed(copied)


def fields_of(section: Section, path: str = "") -> Iterator[tuple[str, Section, str]]:
    """Path, section and name of every field that is not a table."""
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        items = value if isinstance(value, list) else [value]
        for number, item in enumerate(items):
            if isinstance(item, Section):
                yield from fields_of(item, f"{path}{name}.{number}." if isinstance(value, list) else f"{path}{name}.")
        if name != "kind" and not sections_in(field.annotation):
            yield f"{path}{name}", section, name


def others(section: Section, name: str) -> list[Any]:
    """Values that a field might have, by the present one and its type."""
    value = getattr(section, name)
    match value:
        case bool():
            return [not value]
        case int():
            return [other for other in (value + 1, value * 2, max(1, value // 2)) if other != value]
        case float():
            return [value / 2 or 0.25, value + 0.25, value * 2]
        case str():
            return [*_choices(type(section).model_fields[name].annotation, value), f"{value}x", True]
        case list():
            return [[*value, 7], value[:1], ["x"]]
        case dict():
            return [{"a": "b"}, {"a": 1}]
        case _:
            return [8, 0.5, "x", ["x"], {"a": "b"}]


def _choices(annotation: Any, value: str) -> list[str]:
    if get_origin(annotation) is Literal:
        return [choice for choice in get_args(annotation) if choice != value]
    return [choice for part in get_args(annotation) for choice in _choices(part, value)]


def with_another_value(raw: Raw, path: str, section: Section, name: str) -> Recipe | None:
    """The recipe with another valid value of this field; None where none was found."""
    for value in [VALUES[path]] if path in VALUES else others(section, name):
        with suppress(RecipeInvalid):
            return changed(raw, path, value)
    return None


@pytest.mark.parametrize("name", RECIPES)
def test_a_field_changes_the_keys_that_its_marker_names_and_no_others(name: str) -> None:
    """Every field of the recipe that is not a table, one at a time, to another valid value."""
    raw = RECIPES[name]
    base = parsed(raw)
    known = {(decision.path, decision.section): decision for decision in decisions(Recipe)}
    wrong, unchanged = {}, set()
    for path, section, field in fields_of(base):
        plain = ".".join(step for step in path.split(".") if not step.isdigit())
        recipe = with_another_value(raw, path, section, field)
        if recipe is None:
            unchanged.add(plain)
            continue
        decision = known[plain, type(section)]
        found = {name for name in get_args(ArtifactName) if settings(recipe, name) != settings(base, name)}
        is_read = not decision.by_content and field not in section.fields_without_effect
        if found != (decision.artifacts if is_read else set()):
            wrong[path] = found

    assert wrong == {}
    assert unchanged <= GO_WITH_ANOTHER


# ---- by hand: what a run does, the conditions included ----


def teacher_settings(teacher: AnyTeacher) -> list[Raw]:
    members = teacher.members if isinstance(teacher, EnsembleTeacher) else []
    return [settings(section, "teacher") for section in (teacher, *members)]


def keys_of(recipe: Recipe) -> dict[str, Any]:
    """The settings in the keys of a run."""
    names = [name for name in get_args(ArtifactName) if name not in ("teacher", "members", "sized_vocabulary")]
    return {**{name: settings_of(recipe, name) for name in names}, "teacher": teacher_settings(recipe.teacher)}


@pytest.mark.parametrize(
    ("raw", "path", "value", "rebuilt"),
    [
        (WORDS, "name", "other", ""),
        (WORDS, "corpus.train", "moved/train.csv", ""),
        (WORDS, "corpus.dev_fraction", 0.2, "corpus"),
        (WORDS, "transfer.rows", 20, "transfer chosen"),
        (WORDS, "transfer.min_words", 3, "transfer"),
        (WORDS, "augmentation.processes", 2, ""),
        (WORDS, "augmentation.copies", 2, "augmented"),
        (WORDS, "augmentation.methods.1.path", "moved/vectors.txt", ""),
        (WORDS, "augmentation.methods.1.neighbours", 3, "augmented"),
        (WORDS, "teacher.epochs", 2, "teacher"),
        (READY, "teacher.epochs", 2, ""),
        (READY, "teacher.seed", 2, ""),
        (READY, "teacher.max_length", 64, "teacher"),
        (READY, "teacher.label_names", {"a": "b"}, "teacher"),
        (WORDS, "teacher.head_share", 0.5, "teacher"),
        (READY, "teacher.head_share", 0.5, ""),
        (WORDS, "teacher.near_chance", "warn", ""),
        (WORDS, "teacher.processes", 2, ""),
        (WORDS, "distillation.processes", 2, ""),
        (WORDS, "teacher.compile", True, ""),
        (WORDS, "teacher.checkpoint", "moved/bert", ""),
        (WORDS, "teacher.pretraining.epochs", 1, "pretrained"),
        (FILES, "teacher.members.0.uncovered", "skip", "labels"),
        (FILES, "teacher.members.0.least_probability", 1e-4, "teacher"),
        (FILES, "teacher.members.0.near_chance", "warn", ""),
        (FILES, "teacher.combine", "weighted", "teacher"),
        (WORDS, "labeling.tokens_per_batch", 64, ""),
        (WORDS, "labeling.rows_per_shard", 7, ""),
        (WORDS, "labeling.store", "elsewhere", ""),
        (WORDS, "labeling.features", "none", ""),  # what "auto" comes to
        (WORDS, "labeling.features", "mean", "labels"),
        (WORDS, "distillation.losses.0", {"kind": "spkd"}, "labels students"),
        (WORDS, "student.hidden_size", 9, "vocabulary students baseline"),
        (WORDS, "student.dropout", 0.1, "students baseline"),
        (WORDS, "student.max_length", 9, "students baseline"),
        (WORDS, "student.word_vectors", "moved/vectors.txt", ""),
        (WORDS, "student.word_vectors", "random", "students baseline"),
        (WORDS, "student.pooling", "last", "students baseline"),
        (WORDS, "student.pooling", "attention", "vocabulary students baseline"),
        (WORDS, "student.max_size_mb", 5.0, "vocabulary report"),
        (TRANSFORMER, "student.layers", 2, "students baseline"),
        (LIMITED, "student.layers", 2, "vocabulary students baseline"),
        (LIMITED, "student.dropout", 0.0, "students baseline"),
        (TRANSFORMER, "student.family", "distilbert", "vocabulary students baseline"),
        (TRANSFORMER, "student.vocabulary.min_count", 3, "vocabulary students baseline"),
        (WORDS, "distillation.seeds", [0, 1, 2], ""),
        (WORDS, "distillation.baseline", False, ""),
        (WORDS, "distillation.at_once", 2, ""),
        (WORDS, "distillation.batch_size", 64, "students baseline"),
        (WORDS, "distillation.average", 0.9, "students baseline"),
        (WORDS, "distillation.losses.0.weight", 2.0, "students"),
        (TRANSFORMER, "distillation.stages.0.epochs", 1, "students"),
        (TRANSFORMER, "distillation.epochs", 1, "students baseline"),
        (WORDS, "export.precisions", ["fp32"], ""),
        (LIMITED, "export.precisions", ["fp32"], "vocabulary"),
        (WORDS, "export.calibrate", False, "exports"),
        (WORDS, "evaluation.threads", 4, "report"),
        (WORDS, "tracking.trackers", ["tensorboard"], ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_rebuilt_for_a_change(raw: Raw, path: str, value: Any, rebuilt: str) -> None:
    before, after = keys_of(parsed(raw)), keys_of(changed(raw, path, value))

    assert {name for name in before if before[name] != after[name]} == set(rebuilt.split())


# ---- candidates: each has keys as if it were the only student ----


def keys_of_each(recipe: Recipe) -> dict[str, dict[str, Any]]:
    return {one.student.kind: keys_of(one) for one in recipe.for_each_student()}


def test_candidates_are_in_no_key_of_the_main_student_or_of_other_artifacts() -> None:
    assert keys_of(parsed(SEVERAL)) == keys_of(parsed(WORDS))
    assert not any("candidates" in found for found in keys_of(parsed(WORDS)).values())
    assert keys_of_each(parsed(SEVERAL))["bilstm"] == keys_of(parsed(WORDS))


def test_a_candidate_has_the_keys_that_it_would_have_as_the_student() -> None:
    alone = keys_of(parsed({**WORDS, "student": {"kind": "bag"}}))

    assert keys_of_each(parsed(SEVERAL))["bag"] == alone


@pytest.mark.parametrize(
    ("path", "value", "rebuilt"),
    [
        ("candidates.0.dropout", 0.1, {"bag": {"students", "baseline"}}),
        ("candidates.1.filters", 9, {"textcnn": {"vocabulary", "students", "baseline"}}),
        ("student.dropout", 0.1, {"bilstm": {"students", "baseline"}}),
        ("export.blend", False, {}),
    ],
)
def test_a_changed_candidate_changes_its_own_keys(path: str, value: Any, rebuilt: dict[str, set[str]]) -> None:
    before, after = keys_of_each(parsed(SEVERAL)), keys_of_each(changed(SEVERAL, path, value))

    found = {
        kind: different
        for kind in before
        if (different := {name for name in before[kind] if before[kind][name] != after[kind][name]})
    }
    assert found == rebuilt
