"""Recipes that say only how they differ from others, and methods on top of data."""

from pathlib import Path

import pytest

from limbeck.errors import RecipeInvalid
from limbeck.recipe.builtin import builtin_methods, builtin_recipes, data_and_method
from limbeck.recipe.extends import merged, read_recipe
from limbeck.recipe.load import RecipeNotFound, load_recipe
from limbeck.recipe.student import BiLstm, Transformer
from limbeck.recipe.teacher import EncoderTeacher

DATA = '[corpus]\ntrain = "train.csv"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("LIMBECK_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.csv").write_text("text,label\n", encoding="utf-8")
    return tmp_path


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_recipe_has_what_it_extends_and_its_own_keys_go_before(folder: Path) -> None:
    write(folder, "base.toml", DATA + "[student]\nhidden_size = 7\ndense_size = 9\n")
    own = write(folder, "own.toml", 'extends = "base.toml"\n[student]\ndense_size = 5\n')

    student = load_recipe(own).recipe.student

    assert isinstance(student, BiLstm)
    assert (student.hidden_size, student.dense_size) == (7, 5)


def test_of_several_the_later_goes_before_the_earlier(folder: Path) -> None:
    write(folder, "one.toml", DATA + "[distillation]\nepochs = 1\nbatch_size = 1\n")
    write(folder, "two.toml", "[distillation]\nepochs = 2\n")
    own = write(folder, "own.toml", 'extends = ["one.toml", "two.toml"]\n')

    section = load_recipe(own).recipe.distillation

    assert (section.epochs, section.batch_size) == (2, 1)


def test_lists_are_replaced_not_joined() -> None:
    below = {"distillation": {"losses": [{"kind": "hard_labels"}], "epochs": 3}}
    above = {"distillation": {"losses": [{"kind": "logit_mse"}]}}

    assert merged(below, above) == {"distillation": {"losses": [{"kind": "logit_mse"}], "epochs": 3}}


def test_stages_take_the_place_of_losses_and_the_other_way_round() -> None:
    losses, stages = {"distillation": {"losses": [1]}}, {"distillation": {"stages": [2]}}

    assert merged(losses, stages) == stages
    assert merged(stages, losses) == losses


def test_a_table_of_another_kind_takes_the_whole_place() -> None:
    below = {"student": {"kind": "bilstm", "hidden_size": 7}}

    assert merged(below, {"student": {"kind": "bag"}}) == {"student": {"kind": "bag"}}
    assert merged(below, {"student": {"hidden_size": 8}}) == {"student": {"kind": "bilstm", "hidden_size": 8}}


def test_a_student_without_a_kind_is_a_bilstm_and_lends_a_transformer_nothing() -> None:
    assert merged({"student": {"hidden_size": 7}}, {"student": {"kind": "transformer"}}) == {
        "student": {"kind": "transformer"}
    }


def test_merging_changes_neither_of_the_two() -> None:
    below, above = {"a": {"b": 1}}, {"a": {"c": 2}}

    merged(below, above)

    assert below == {"a": {"b": 1}}
    assert above == {"a": {"c": 2}}


def test_a_method_can_be_extended_by_its_name(folder: Path) -> None:
    own = write(folder, "own.toml", 'extends = "tinybert"\n' + DATA)

    recipe = load_recipe(own).recipe

    assert isinstance(recipe.student, Transformer)
    assert (recipe.student.layers, recipe.student.width) == (4, 312)
    assert [len(stage.losses) for stage in recipe.distillation.stages] == [3, 1]


OF_CLASSES = ("distilbert", "fitnets", "kd", "minilm", "minilm-v2", "pkd", "tinybert", "tinybert-augmented")
# They read both texts of a pair at once.
OF_TRANSFORMERS = ("distilbert", "minilm", "minilm-v2", "pkd", "tinybert", "tinybert-augmented")


@pytest.mark.parametrize("method", [method.name for method in builtin_methods()])
def test_every_method_goes_on_top_of_every_recipe_of_the_package_that_has_one_encoder(method: str) -> None:
    for data in builtin_recipes():
        recipe = load_recipe(data.name, locate=False).recipe
        teacher = recipe.teacher
        if not isinstance(teacher, EncoderTeacher):  # a file, or several that have no layers in common
            continue
        if recipe.corpus.is_score and method in OF_CLASSES:
            with pytest.raises(RecipeInvalid, match="compares probabilities of classes"):
                load_recipe(f"{data.name}-{method}", locate=False)
            continue
        overrides = ["teacher.pairs=together"] if teacher.pairs == "apart" and method in OF_TRANSFORMERS else []
        loaded = load_recipe(f"{data.name}-{method}", overrides=overrides, locate=False)

        assert loaded.name == f"{data.name}-{method}"


def test_the_longer_name_of_a_method_is_not_mistaken_for_the_shorter() -> None:
    both = data_and_method("sst2-minilm-v2")

    assert both is not None
    assert [part.name for part in both] == ["sst2", "minilm-v2"]


def test_a_method_alone_cannot_be_run() -> None:
    with pytest.raises(RecipeInvalid, match='extends = "tang"'):
        load_recipe("tang")


def test_a_mistyped_method_is_reported() -> None:
    with pytest.raises(RecipeNotFound, match="tang"):
        load_recipe("sst2-tnag")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('extends = "spdk"', "did you mean 'spkd'"),
        ("extends = 3", "should be the name of a recipe"),
        ("extends = [1]", "should be the name of a recipe"),
    ],
)
def test_what_cannot_be_extended_is_reported(folder: Path, line: str, problem: str) -> None:
    own = write(folder, "own.toml", f"{line}\n{DATA}")

    with pytest.raises(RecipeInvalid, match=problem):
        load_recipe(own)


def test_recipes_that_extend_each_other_are_refused(folder: Path) -> None:
    write(folder, "one.toml", 'extends = "two.toml"\n')
    two = write(folder, "two.toml", 'extends = "one.toml"\n')

    with pytest.raises(RecipeInvalid, match="cycle"):
        read_recipe(two)
