"""`[distillation]`: losses or stages, and what teacher, labels and student must have for them."""

import tomllib
from typing import Any

import pytest

from limbeck.errors import RecipeInvalid
from limbeck.recipe.load import parse_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.toml import to_toml

FILE = {"kind": "file", "path": "said.csv"}
STUDENT = {"kind": "student", "path": "runs/big/students/bilstm"}
ENSEMBLE = {"kind": "ensemble", "members": [{"checkpoint": "a"}, {"checkpoint": "b"}]}
TRANSFORMER = {"kind": "transformer"}
NEAREST = {"files": ["a.txt"], "rows": 10, "choice": "nearest"}
TINYBERT = [
    {"epochs": 10, "learning_rate": 5e-5, "losses": [{"kind": "hidden_mse"}, {"kind": "attention_mse"}]},
    {"learning_rate": 3e-5, "warmup_fraction": 0.1, "losses": [{"kind": "soft_targets", "temperature": 1.0}]},
]


def recipe(*kinds: str, corpus: dict[str, Any] | None = None, **sections: Any) -> Recipe:
    """A recipe with these losses, if any are named."""
    if kinds:
        sections["distillation"] = {"losses": [{"kind": kind} for kind in kinds]}
    return parse_recipe({"corpus": {"train": "rows.csv", **(corpus or {})}, **sections}, recipe="r.toml")


def refusal(*kinds: str, **sections: Any) -> str:
    with pytest.raises(RecipeInvalid) as raised:
        recipe(*kinds, **sections)
    (problem,) = raised.value.problems
    return problem


def test_without_a_word_about_it_the_student_learns_the_teachers_logits() -> None:
    section = recipe().distillation

    assert [loss.kind for loss in section.losses] == ["logit_mse"]
    assert section.stages == []
    assert section.needs == {"logits"}


def test_stages_bring_losses_of_their_own() -> None:
    section = recipe(student=TRANSFORMER, distillation={"stages": TINYBERT}).distillation

    assert [loss.kind for loss in section.every_loss] == ["hidden_mse", "attention_mse", "soft_targets"]
    assert section.needs == {"layers", "logits"}
    first, second = section.stages
    assert (first.epochs, first.learning_rate, first.warmup_fraction, first.batch_size) == (10, 5e-5, None, None)
    assert (second.epochs, second.warmup_fraction) == (3, 0.1)  # TinyBERT's three


def test_losses_and_stages_exclude_each_other() -> None:
    problem = refusal(student=TRANSFORMER, distillation={"losses": [{"kind": "logit_mse"}], "stages": TINYBERT})

    assert problem == "distillation: losses and stages exclude each other: put the losses into the stages"


def test_processes_are_for_one_student_or_for_one_each() -> None:
    problem = refusal(distillation={"processes": 2, "at_once": 4})

    assert problem is not None
    assert "processes = 2 train one student together, at_once = 4 trains students side by side" in problem
    assert recipe(distillation={"processes": 2, "at_once": 1}).distillation.processes == 2


@pytest.mark.parametrize(
    "stages", [TINYBERT, [{"losses": [{"kind": "logit_mse", "weight": {"kind": "linear", "end": 1.0}}]}]]
)
def test_a_recipe_with_stages_is_read_back_the_same(stages: list[Any]) -> None:
    """The run folder holds the resolved recipe, and a run can go on from it."""
    before = recipe(student=TRANSFORMER, distillation={"stages": stages})

    written = to_toml(before)

    assert "[[distillation.losses]]" not in written
    assert parse_recipe(tomllib.loads(written), recipe="again.toml") == before


def test_a_stage_without_losses_or_with_an_empty_list_is_refused() -> None:
    assert refusal(distillation={"stages": [{}]}) == "distillation.stages.0.losses: missing, but required"
    assert refusal(distillation={"stages": [{"losses": []}]}).startswith("distillation.stages.0.losses: should not be")


@pytest.mark.parametrize("average", [0, 1.0, 1000])
def test_an_average_is_a_decay_between_zero_and_one(average: float) -> None:
    assert refusal(distillation={"average": average}).startswith("distillation.average: ")
    assert recipe(distillation={"average": 0.999}).distillation.average == 0.999
    assert recipe().distillation.average is None


# ---- layers ----


@pytest.mark.parametrize("kind", ["hidden_mse", "minilm", "fsp"])
@pytest.mark.parametrize("student", ["bilstm", "textcnn", "bag"])
def test_a_student_of_words_has_no_layers_to_compare(kind: str, student: str) -> None:
    problem = refusal("logit_mse", kind, student={"kind": student})

    assert problem.startswith(f"recipe: {kind} reads the student's layers, but a {student} has no layers")
    assert 'student.kind = "transformer"' in problem
    assert "spkd" in problem


@pytest.mark.parametrize("teacher", [FILE, STUDENT])
def test_only_an_encoder_has_layers(teacher: dict[str, Any]) -> None:
    problem = refusal("logit_mse", "hidden_mse", teacher=teacher)

    assert problem == "recipe: hidden_mse reads the teacher's layers, but only a single encoder has layers"


def test_several_teachers_have_no_layers_together() -> None:
    problem = refusal("logit_mse", "pkd", "minilm", teacher=ENSEMBLE, student=TRANSFORMER)

    assert problem == "recipe: pkd, minilm reads the teacher's layers, but only a single encoder has layers"


@pytest.mark.parametrize("kind", ["spkd", "hidden_mse"])
def test_where_seeds_make_several_teachers_it_is_said_that_one_seed_would_do(kind: str) -> None:
    problem = refusal("logit_mse", kind, teacher={"checkpoint": "a", "seeds": [0, 1]}, student=TRANSFORMER)

    assert problem.endswith(": set one teacher.seed instead of teacher.seeds")


def test_layers_are_compared_token_by_token() -> None:
    pieces = {**TRANSFORMER, "vocabulary": {"kind": "pieces"}}

    problem = refusal("logit_mse", "attention_mse", student=pieces)

    assert problem.endswith('set student.vocabulary.kind = "teacher"')
    assert recipe("logit_mse", "spkd", student=pieces).student.vocabulary.kind == "pieces"


def test_a_layer_in_one_stage_alone_is_enough_to_be_refused() -> None:
    assert "hidden_mse, attention_mse reads the student's layers" in refusal(distillation={"stages": TINYBERT})


def test_a_transformer_with_an_encoder_can_have_them_all() -> None:
    kinds = [
        "hidden_mse",
        "embedding_mse",
        "attention_mse",
        "hidden_cosine",
        "minilm",
        "minilm_v2",
        "pkd",
        "nst",
        "fsp",
    ]

    assert recipe("logit_mse", *kinds, student=TRANSFORMER).distillation.needs == {"logits", "layers"}


# ---- labels ----


@pytest.mark.parametrize("kind", ["jensen_shannon", "dkd", "dist", "standardised_logits"])
def test_losses_about_one_label_are_refused_where_rows_have_several(kind: str) -> None:
    problem = refusal(kind, corpus={"multi_label": True})

    assert problem.startswith(f"recipe: {kind} needs rows with one label")
    assert "soft_targets or logit_mse" in problem
    assert recipe("soft_targets", "logit_mse", "hard_labels", corpus={"multi_label": True}).corpus.multi_label


def test_temperatures_by_row_are_refused_where_rows_have_several_labels() -> None:
    losses = [{"kind": "soft_targets", "row_temperatures": "flsw"}]

    problem = refusal(distillation={"losses": losses}, corpus={"multi_label": True})

    assert "row_temperatures needs rows with one label" in problem


def test_all_such_losses_are_named() -> None:
    assert refusal("dkd", "dist", corpus={"multi_label": True}).startswith("recipe: dkd, dist need rows")


@pytest.mark.parametrize(
    ("sections", "whose"),
    [
        ({"transfer": {"files": ["a.txt"]}}, "transfer text has no labels"),
        ({"augmentation": {"methods": [{"kind": "delete"}]}}, "changed copies have no labels"),
    ],
)
def test_rows_without_labels_need_a_loss_on_what_the_teacher_said(sections: dict[str, Any], whose: str) -> None:
    problem = refusal("hard_labels", **sections)

    assert problem.startswith(f"recipe: {whose}")
    assert "add logit_mse or soft_targets" in problem
    assert recipe("hard_labels", "soft_targets", **sections)


# ---- features ----


@pytest.mark.parametrize("teacher", [FILE, ENSEMBLE])
def test_features_can_be_had_from_one_encoder_or_student_only(teacher: dict[str, Any]) -> None:
    problem = refusal("logit_mse", "spkd", "hint", teacher=teacher)

    assert problem == "recipe: features, for spkd, hint, are available from a single encoder or student only"
    assert recipe("logit_mse", "spkd", teacher=STUDENT).features == "cls"


def test_what_else_asks_for_features_is_named_too() -> None:
    assert 'for transfer.choice = "nearest",' in refusal(teacher=FILE, transfer=NEAREST)
    assert "for labeling.features," in refusal(teacher=FILE, labeling={"features": "cls"})


def test_features_that_are_not_kept_cannot_be_learned_from() -> None:
    problem = refusal("logit_mse", "spkd", labeling={"features": "none"})

    assert problem == 'recipe: spkd needs features, but labeling.features is "none": remove that key'


@pytest.mark.parametrize(
    ("kinds", "sections", "features"),
    [
        (["logit_mse"], {}, "none"),
        (["logit_mse", "spkd"], {}, "cls"),
        (["logit_mse", "hidden_mse"], {"student": TRANSFORMER}, "none"),
        (["logit_mse"], {"transfer": NEAREST}, "mean"),
        (["logit_mse", "hint"], {"transfer": NEAREST}, "cls"),
        (["logit_mse", "hint"], {"labeling": {"features": "mean"}}, "mean"),
        (["logit_mse"], {"labeling": {"features": "cls"}}, "cls"),
        (["logit_mse"], {"labeling": {"features": "none"}}, "none"),
    ],
)
def test_features_are_kept_as_they_are_needed(kinds: list[str], sections: dict[str, Any], features: str) -> None:
    assert recipe(*kinds, **sections).features == features


def test_a_loss_of_ones_own_can_ask_for_features() -> None:
    own = {"losses": [{"kind": "custom", "call": "my_losses:far", "features": True}]}

    assert recipe(distillation=own).features == "cls"
    assert "for custom," in refusal(distillation=own, teacher=FILE)


# ---- classes ----


@pytest.mark.parametrize("kinds", [["spkd"], ["hint", "rkd"]])
def test_a_student_of_words_must_be_taught_the_classes(kinds: list[str]) -> None:
    """Its classifier would stay random, and nothing would say so before the report."""
    problem = refusal(*kinds)

    assert problem.startswith(f"recipe: with {', '.join(kinds)} alone no classes are learned: add logit_mse")
    assert problem.endswith("to losses")


def test_the_last_stage_must_teach_the_classes() -> None:
    features, classes = {"losses": [{"kind": "spkd"}]}, {"losses": [{"kind": "hard_labels"}]}

    assert refusal(distillation={"stages": [classes, features]}).endswith("to the last training stage")
    assert recipe(distillation={"stages": [features, classes]}).distillation.stages


def test_a_transformer_may_have_its_classifier_from_the_teacher() -> None:
    assert recipe("hidden_mse", student=TRANSFORMER).distillation.needs == {"layers"}
