"""Every row of the tables of kinds gives what it promises; for one that does not, the test names what it lacks."""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

from limbeck.kinds import DEFAULT_STUDENT, LOSS_KINDS, STUDENT_KINDS, LossKind, StudentKind, kind_of_config, resolved
from limbeck.recipe.kinds import Loss, Student

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"[\w.]+:\w+")  # a name that a row gives
AUTO_CLASSES = ("model_type", "config_class", "model_class")  # transformers has them, or a kind gives all three
GENERIC_TERMS = ("LogitTerm", "LabelTerm", "FeatureTerm", "ProjectedFeatures")  # which hand over what a section sets
GIVEN_BY_TERM = {"class_weights", "labels"}


# ---- what a row lacks ----


def of_row(row: StudentKind | LossKind, *, optional: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(field, why) for each that is empty, or names what is not there."""
    for name in (field.name for field in fields(row)):
        value = getattr(row, name)
        if value is None and name in optional:
            continue
        if value in (None, "", ()):
            yield name, "the row leaves it empty"
        elif isinstance(value, str) and CODE.fullmatch(value):
            try:
                resolved(value)
            except (ImportError, AttributeError) as error:
                yield name, str(error)


def kind_in_recipe(section: Any) -> str | None:
    field = getattr(section, "model_fields", {}).get("kind")
    return get_args(field.annotation)[0] if field else None


def of_section(row: StudentKind) -> Iterator[tuple[str, str]]:
    section = resolved(row.section)
    if kind_in_recipe(section) != row.kind:
        yield "section", f"that of {row.section} is of the kind '{kind_in_recipe(section)}'"
    for name, keys in (("size_levers", row.size_levers), ("body_shape", row.body_shape or ())):
        for key in keys:
            if key not in section.model_fields:
                yield name, f"[student] of this kind has no key '{key}'"


def of_auto_classes(row: StudentKind) -> Iterator[tuple[str, str]]:
    given = [name for name in AUTO_CLASSES if getattr(row, name) is not None]
    yield from ((name, f"it has {given}") for name in AUTO_CLASSES if given and name not in given)
    if row.config_class is None or row.model_class is None:
        return
    config, model = resolved(row.config_class), resolved(row.model_class)
    if config.model_type != row.model_type:
        yield "model_type", f"{row.config_class} says '{config.model_type}'"
    if model.config_class is not config:
        yield "model_class", f"{row.model_class} is for another config"
    if not hasattr(config(), "pad_token_id"):
        yield "config_class", f"{row.config_class} has no __init__ of its own, so it does not have the shared keys"


def of_formulas(row: StudentKind) -> Iterator[tuple[str, str]]:
    wanted = {
        "multiply_adds": {"tokens", "classes", "exported"},
        "graph": {"pair"} if row.pairs == "together" else set(),
    }
    for name, parameters in wanted.items():
        if missing := parameters - set(inspect.signature(resolved(getattr(row, name))).parameters):
            yield name, f"{getattr(row, name)} takes no {', '.join(sorted(missing))}"


def lacking(row: StudentKind) -> list[str]:
    """One line for each thing that a kind of student does not give."""
    found = list(of_row(row, optional=(*AUTO_CLASSES, "native_plan", "body_shape")))
    if not found:
        found = [*of_section(row), *of_auto_classes(row), *of_formulas(row)]
    return [f"student kind '{row.kind}' has no {name}: {why}" for name, why in found]


def lacking_of_loss(row: LossKind) -> list[str]:
    """One line for each thing that a kind of loss does not give."""
    from limbeck.distillation.terms.term import Term
    from limbeck.recipe.losses import AnyLoss, LayerLoss

    found = list(
        of_row(
            row,
            optional=("function_of_sets", "function_of_scores", "mean_over", *(["function"] * (row.kind == "custom"))),
        )
    )
    if not found:
        section, term = resolved(row.section), resolved(row.term)
        if kind_in_recipe(section) != row.kind or not issubclass(section, AnyLoss):
            found.append(("section", f"that of {row.section} is of the kind '{kind_in_recipe(section)}'"))
        if not issubclass(term, Term):
            found.append(("term", f"{row.term} is not a Term"))
        if issubclass(section, LayerLoss) != (row.mean_over is not None):
            found.append(("mean_over", "a loss on layers, and no other, says what it is a mean over"))
        if row.function and term.__name__ in GENERIC_TERMS:
            taken = set(inspect.signature(inspect.unwrap(resolved(row.function))).parameters)
            settings = set(section.model_fields) - {"kind", "weight"}
            found += [("function", f"{row.function} takes no '{name}'") for name in sorted(settings - taken)]
    return [f"loss kind '{row.kind}' has no {name}: {why}" for name, why in found]


# ---- the rows there are ----


def test_every_kind_of_student_gives_all_that_a_kind_must_give() -> None:
    assert [line for row in STUDENT_KINDS.values() for line in lacking(row)] == []


def test_every_kind_of_loss_gives_all_that_a_kind_must_give() -> None:
    assert [line for row in LOSS_KINDS.values() for line in lacking_of_loss(row)] == []


def test_a_row_goes_by_its_own_kind() -> None:
    for table in (STUDENT_KINDS, LOSS_KINDS):
        assert [row.kind for row in table.values()] == list(table)


@pytest.mark.parametrize(("union", "table"), [(Student, STUDENT_KINDS), (Loss, LOSS_KINDS)], ids=["student", "loss"])
def test_a_recipe_may_ask_for_every_kind_and_for_no_other(union: Any, table: dict[str, Any]) -> None:
    sections = get_args(get_args(union)[0])

    assert [kind_in_recipe(section) for section in sections] == list(table)
    assert list(table).count(DEFAULT_STUDENT) == (table is STUDENT_KINDS)


def test_a_config_is_of_the_kind_that_wrote_it_and_any_other_of_a_transformer() -> None:
    for row in STUDENT_KINDS.values():
        assert kind_of_config(row.model_type or "bert") is row


def test_every_kind_of_student_keeps_the_contract() -> None:
    contract = (ROOT / "tests" / "contract" / "test_students.py").read_text(encoding="utf-8")
    missing = [row.kind for row in STUDENT_KINDS.values() if resolved(row.section).__name__ not in contract]

    assert missing == [], "each kind has an entry in STUDENTS"


# ---- rows that lack something ----


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"multiply_adds": ""}, "has no multiply_adds: the row leaves it empty"),
        ({"multiply_adds": None}, "has no multiply_adds: the row leaves it empty"),
        ({"multiply_adds": "limbeck.models.bag:bag"}, "has no multiply_adds: limbeck.models.bag:bag takes no"),
        ({"graph": "limbeck.export.bag_graph:wag_graph"}, "has no graph: module 'limbeck.export.bag_graph' has no"),
        ({"network": "limbeck.models.wag:wag"}, "has no network: No module named 'limbeck.models.wag'"),
        ({"title": ""}, "has no title"),
        ({"size_levers": ()}, "has no size_levers"),
        ({"size_levers": ("filters",)}, "has no size_levers: [student] of this kind has no key 'filters'"),
        ({"section": "limbeck.recipe.student:TextCnn"}, "has no section: that of"),
        ({"config_class": None}, "has no config_class"),
        ({"model_type": "limbeck_wag"}, "has no model_type"),
        ({"model_class": "limbeck.models.textcnn:TextCnnForSequenceClassification"}, "has no model_class"),
        ({"config_class": "limbeck.models.textcnn:TextCnnConfig"}, "has no model_type"),
    ],
)
def test_what_a_kind_of_student_lacks_is_reported_by_its_name(changed: dict[str, Any], reported: str) -> None:
    lines = lacking(replace(STUDENT_KINDS["bag"], **changed))

    assert any(line.startswith("student kind 'bag' ") and reported in line for line in lines), lines


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"function": None}, "has no function: the row leaves it empty"),
        ({"mean_over": "rows"}, "has no mean_over: a loss on layers, and no other"),
        ({"function": "limbeck.distillation.losses.logits:nothing"}, "has no function: module"),
        ({"function": "limbeck.distillation.losses.logits:logit_mse"}, "takes no 'temperature'"),
        ({"term": "limbeck.distillation.losses.logits:NoTerm"}, "has no term"),
        ({"term": "limbeck.recipe.losses:Dkd"}, "has no term: limbeck.recipe.losses:Dkd is not a Term"),
        ({"section": "limbeck.recipe.losses:Dist"}, "has no section"),
    ],
)
def test_what_a_kind_of_loss_lacks_is_reported_by_its_name(changed: dict[str, Any], reported: str) -> None:
    lines = lacking_of_loss(replace(LOSS_KINDS["dkd"], **changed))

    assert any(line.startswith("loss kind 'dkd' ") and reported in line for line in lines), lines


# ---- the lists of files in CONTRIBUTING.md ----


def files_for(heading: str, page: str) -> list[str]:
    """The paths that the section of a page names."""
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"`([\w./<>-]+/[\w./<>-]+)`", section)


@pytest.fixture(scope="module")
def listed() -> Callable[[str], list[str]]:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return partial(files_for, page=page)


def test_every_kind_of_student_has_the_files_that_contributing_names(listed: Callable[[str], list[str]]) -> None:
    paths = listed("Adding a student")
    assert "src/limbeck/kinds.py" in paths

    named = {path.replace("<kind>", kind) for path in paths for kind in STUDENT_KINDS}

    assert sorted(path for path in named if not (ROOT / path).exists()) == []


def test_what_a_row_names_is_in_those_files(listed: Callable[[str], list[str]]) -> None:
    paths = listed("Adding a student")
    for row in STUDENT_KINDS.values():
        own = {path.replace("<kind>", row.kind) for path in paths if "<kind>" in path}
        for name in (row.network, row.graph):
            assert f"src/{name.partition(':')[0].replace('.', '/')}.py" in own, name
        assert f"src/{row.section.partition(':')[0].replace('.', '/')}.py" in paths


def test_every_kind_of_loss_has_the_files_that_contributing_names(listed: Callable[[str], list[str]]) -> None:
    paths = listed("Adding a loss")
    assert "src/limbeck/kinds.py" in paths
    for row in LOSS_KINDS.values():
        if row.function is None:
            continue
        module, _, function = row.function.partition(":")
        group = module.rpartition(".")[2]

        named = [path.replace("<group>", group).replace("<function>", function) for path in paths]

        assert [path for path in named if not (ROOT / path).exists()] == [], row.kind
        for name in (module, *(part.partition(":")[0] for part in (row.section, row.term))):
            assert f"src/{name.replace('.', '/')}.py" in named, row.kind


def test_every_kind_is_on_the_page_about_it() -> None:
    models, losses = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("models.md", "distillation.md"))

    assert [kind for kind in STUDENT_KINDS if f"`{kind}`" not in models] == []
    assert [kind for kind in LOSS_KINDS if not re.search(f'[`"]{kind}[`"]', losses)] == []
