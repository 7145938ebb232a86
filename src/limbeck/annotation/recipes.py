"""The recipe of a run on a model's labels: written once, then the user's own."""

import csv
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from limbeck.artifacts.run_folder import RUNS, refuse_other_data
from limbeck.drafting.draft import draft_recipe
from limbeck.drafting.draft_transfer import value
from limbeck.drafting.inspection import inspect_file
from limbeck.errors import DataError
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.recipe.extends import read_recipe
from limbeck.recipe.load import parse_recipe
from limbeck.recipe.toml import apply_overrides

DRAFT = "draft.csv"


class Asking(Protocol):
    """What the user asks for."""

    @property
    def classes(self) -> tuple[str, ...]: ...
    @property
    def url(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def key_from(self) -> str | None: ...
    @property
    def multi_label(self) -> bool: ...
    @property
    def pair(self) -> Any: ...
    @property
    def overrides(self) -> Sequence[str]: ...


class RecipeOfOtherLabels(DataError):
    """The recipe that exists is not for these classes and this model."""

    def __init__(self, *, recipe: Path, what: str, found: str) -> None:
        super().__init__(
            f"'{recipe}' already exists, and is not the recipe of this run",
            found=f"its {what} is {found!r}",
            advice=f"Move it away, or run it as it is: limbeck run {recipe}",
        )


def refuse_other_recipe(recipe: Path, wanted: Asking) -> None:
    """Raise RecipeOfOtherLabels if a recipe is there that was written for something else."""
    if not recipe.exists():
        return
    raw = read_recipe(recipe)
    corpus, teacher = raw.get("corpus") or {}, raw.get("teacher") or {}
    expected = {
        "corpus.label": (corpus.get("label"), list(wanted.classes)),
        "corpus.multi_label": (corpus.get("multi_label", False), wanted.multi_label),
        "teacher.kind": (teacher.get("kind"), "endpoint"),
        "teacher.model": (teacher.get("model"), wanted.model),
    }
    for what, (found, needed) in expected.items():
        if found != needed:
            raise RecipeOfOtherLabels(recipe=recipe, what=what, found=found)


def section_in(recipe: Path, wanted: Asking) -> EndpointTeacher:
    """`[teacher]`: that of the recipe, which the user may have improved, or a new one."""
    given: dict[str, Any] = {"kind": "endpoint", "model": wanted.model}
    if recipe.exists():
        given |= read_recipe(recipe)["teacher"]
    given |= {"url": wanted.url, **({"key_from": wanted.key_from} if wanted.key_from else {})}
    of_teacher = [override for override in wanted.overrides if override.strip().startswith("teacher.")]
    raw = apply_overrides({"corpus": {"train": "-"}, "teacher": given}, of_teacher, recipe=str(recipe))
    parsed = parse_recipe(raw, recipe=str(recipe)).teacher
    assert isinstance(parsed, EndpointTeacher)
    if parsed.examples_from_train:
        what = "examples_from_train needs labelled rows, and there are none"
        raise DataError(what, advice="Write the examples into the recipe: [[teacher.examples]]")
    return parsed


def written_recipe(recipe: Path, folder: Path, section: EndpointTeacher, wanted: Asking, *, data: Path) -> None:
    """Write the recipe, unless there is one already."""
    train = folder / "train.csv"
    refuse_other_data(RUNS / recipe.stem, train=train, recipe=None)
    if recipe.exists():
        return
    drafted = _drafted(train, folder, section, wanted, recipe=recipe)
    head = [
        f"# Labels by {section.shown_name} for the texts of {data.name}; it is asked once for every text.",
        "# Say more about the task in [teacher], then run the same command again.",
    ]
    text = "\n".join([*head, drafted])
    parse_recipe(tomllib.loads(text), recipe=str(recipe))
    recipe.write_text(text, encoding="utf-8")


def _drafted(train: Path, folder: Path, section: EndpointTeacher, wanted: Asking, *, recipe: Path) -> str:
    """As for labelled rows, of which it has the sizes; nothing is copied or gathered, for which the model would have to
    be asked too."""
    scratch = folder / DRAFT
    try:
        _with_labels(train, scratch, wanted)
        found = inspect_file(scratch, text="text", pair="pair" if wanted.pair is not None else None, label="label")
    finally:
        scratch.unlink(missing_ok=True)
    plain: dict[str, Any] = {
        "path": train,
        "label": list(wanted.classes),
        "labels": {name: found.labels.get(name, 0) for name in wanted.classes},
        "multi_label": wanted.multi_label,
        "label_separator": None,
        "label_names": {},
        "beside": {},
        "scores": {name: name for name in wanted.classes},
        "given": {"test": folder / "test.csv"},
        "notes": (),
    }
    found = type(found)(**{**found.__dict__, **plain})
    text = draft_recipe(
        train, found, data_path=str(train), recipe_path=str(recipe), folder=Path(), teacher_section=_teacher(section)
    )
    remark = "# Whose labels these are: the report says it first."
    return text.replace("[corpus]\n", f"[corpus]\n{remark}\nlabelled_by = {value(str(folder / 'labels.json'))}\n", 1)


def _teacher(section: EndpointTeacher) -> list[str]:
    """The section, with the keys to improve it by as comments."""
    given = section.model_dump(mode="json", exclude_defaults=True, exclude={"prices", "calibration"})
    lines = [f"{name} = {value(one)}" for name, one in given.items() if not isinstance(one, dict | list)]
    prices = section.prices.model_dump() if section.prices else {}
    return [
        "[teacher]",
        *lines,
        *([] if "instruction" in given else ['# instruction = "Classify the text."  # say here what the task is']),
        '# descriptions = { CLASS = "what belongs to it" }',
        'calibration = "none"  # there are no other labels that its probabilities could be compared with',
        *(["prices = { " + ", ".join(f"{name} = {one}" for name, one in prices.items()) + " }"] if prices else []),
    ]


def _with_labels(train: Path, scratch: Path, wanted: Asking) -> None:
    """The rows with their labels in one column."""
    with train.open(encoding="utf-8", newline="") as source, scratch.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", *(["pair"] if wanted.pair is not None else []), "label"])
        for row in csv.DictReader(source):
            shares = {name: float(row[name]) for name in wanted.classes}
            names = [name for name, share in shares.items() if share >= 0.5] if wanted.multi_label else []
            label = "|".join(names) if wanted.multi_label else max(shares, key=lambda name: shares[name])
            writer.writerow([row["text"], *([row["pair"]] if wanted.pair is not None else []), label])
