"""`[teacher]`: five kinds, an encoder by default; and what must fit the rest of the recipe."""

from pathlib import Path
from typing import Any

import pytest

from limbeck.errors import RecipeInvalid
from limbeck.recipe.load import load_recipe, parse_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.teacher import EncoderTeacher, EnsembleTeacher, FileTeacher, Pretraining, StudentTeacher
from limbeck.recipe.toml import to_toml
from limbeck.training.steps import Hyperparameters

FILE = {"kind": "file", "path": "said.csv"}
STUDENT = {"kind": "student", "path": "runs/big/students/bilstm"}
CUSTOM = {"kind": "custom", "call": "pkg.mod:function", "options": {"depth": 3, "words": ["a"]}}
ENSEMBLE = {"kind": "ensemble", "members": [{"checkpoint": "a"}, FILE]}
PRETRAINED = {"checkpoint": "a", "pretraining": {"epochs": 5, "learning_rate": 5e-5}}
SEVERAL = {"kind": "ensemble", "members": [PRETRAINED, FILE, {"checkpoint": "b"}]}

APART = {"checkpoint": "a", "pairs": "apart"}
PAIRS = {"train": "rows.csv", "pair": "second"}


def recipe(teacher: Any, **sections: Any) -> Recipe:
    return parse_recipe({"corpus": {"train": "rows.csv"}, "teacher": teacher, **sections}, recipe="r.toml")


def test_a_teacher_without_a_kind_is_an_encoder() -> None:
    assert isinstance(recipe({"checkpoint": "a"}).teacher, EncoderTeacher)
    assert isinstance(recipe({}).teacher, EncoderTeacher)


def test_a_file_and_an_ensemble_are_reported_by_their_kind() -> None:
    teacher = recipe(ENSEMBLE).teacher

    assert isinstance(recipe(FILE).teacher, FileTeacher)
    assert isinstance(teacher, EnsembleTeacher)
    assert [member.kind for member in teacher.members] == ["encoder", "file"]


def test_a_plain_text_is_the_path_of_a_student() -> None:
    teacher = recipe("runs/big/students/bilstm").teacher

    assert teacher == recipe(STUDENT).teacher
    assert isinstance(teacher, StudentTeacher)
    assert teacher.path == "runs/big/students/bilstm"


def test_a_student_may_be_one_of_several_in_either_form() -> None:
    teacher = recipe({"kind": "ensemble", "members": ["runs/a/models/bag", STUDENT, {"checkpoint": "b"}]}).teacher

    assert isinstance(teacher, EnsembleTeacher)
    assert [member.kind for member in teacher.members] == ["student", "student", "encoder"]


@pytest.mark.parametrize("pretraining", [{}, {"epochs": 5, "max_length": 64}])
def test_a_table_of_pretraining_turns_it_on_also_an_empty_one(pretraining: dict[str, Any]) -> None:
    teacher = recipe({"checkpoint": "a", "pretraining": pretraining}).teacher

    assert isinstance(teacher, EncoderTeacher)
    assert teacher.pretraining == Pretraining(**pretraining)


def test_an_encoder_of_several_seeds_is_an_ensemble_that_teaches_the_mean_of_logits() -> None:
    teacher = recipe({"checkpoint": "a", "epochs": 2, "seeds": [3, 5], "near_chance": "warn"}).teacher

    assert isinstance(teacher, EnsembleTeacher)
    assert (teacher.combine, teacher.near_chance) == ("mean_logits", "warn")
    one: dict[str, Any] = {"checkpoint": "a", "epochs": 2, "near_chance": "warn"}
    assert teacher.members == [EncoderTeacher(**one, seed=seed) for seed in (3, 5)]


@pytest.mark.parametrize(
    ("members", "is_of_seeds"),
    [
        ([{"seed": 0}, {"seed": 1}], True),
        ([{"seed": 0}, {"seed": 1, "epochs": 5}], False),
        ([FILE, FILE], False),
    ],
)
def test_members_that_differ_by_their_seed_alone_are_known(members: list[Any], is_of_seeds: bool) -> None:
    teacher = recipe({"kind": "ensemble", "members": members}).teacher

    assert isinstance(teacher, EnsembleTeacher)
    assert teacher.is_of_seeds == is_of_seeds


def test_nothing_is_pretrained_unless_it_is_asked_for() -> None:
    teacher = recipe({"checkpoint": "a"}).teacher

    assert isinstance(teacher, EncoderTeacher)
    assert teacher.pretraining is None


def test_pretraining_has_all_that_a_training_reads() -> None:
    settings: Hyperparameters = Pretraining()

    assert settings.patience is None
    assert settings.accumulation_steps == 1


@pytest.mark.parametrize(
    "teacher", [{"checkpoint": "a"}, PRETRAINED, FILE, STUDENT, "runs/big/models/bilstm", ENSEMBLE, SEVERAL]
)
def test_a_written_recipe_is_read_back_the_same(teacher: Any) -> None:
    import tomllib

    before = recipe(teacher)

    assert parse_recipe(tomllib.loads(to_toml(before)), recipe="r.toml") == before


@pytest.mark.parametrize(
    ("teacher", "complaint"),
    [
        ({"kind": "fle", "path": "x"}, "teacher.kind: unknown kind 'fle' (did you mean 'file'?)"),
        ({"epocs": 3}, "teacher.epocs: unknown key (did you mean 'epochs'?)"),
        ({"pretraining": {"epocs": 3}}, "teacher.pretraining.epocs: unknown key (did you mean 'epochs'?)"),
        ({"pretraining": {"masked_fraction": 1.5}}, "teacher.pretraining.masked_fraction"),
        ({"train": "none", "pretraining": {}}, 'train = "none" does not fine-tune it: set train = "all"'),
        ({**FILE, "pretraining": {}}, "teacher.pretraining: unknown key"),
        ({"kind": "file"}, "teacher.path: missing"),
        ({"kind": "student"}, "teacher.path: missing"),
        ({"kind": "student", "path": "a", "epochs": 3}, "teacher.epochs: unknown key (known: kind, near_chance, path)"),
        (
            {"kind": "studnet"},
            "(did you mean 'student'?); known kinds: encoder, file, student, custom, linear, endpoint, ensemble",
        ),
        (5, "teacher: should be a table"),
        (["a"], "teacher: should be a table"),
        ("", "teacher: string should have at least 1 character (found '')"),
        ({"kind": "ensemble", "members": [5, {}]}, "teacher.members.0: should be a table"),
        ({"kind": "ensemble", "members": [{}]}, "teacher.members"),
        ({"kind": "ensemble", "members": [{"seeds": [0, 1]}, {}]}, "a member has one seed"),
        ({"seeds": [0]}, "teacher.seeds"),
        ({"seeds": [0, 1, 0]}, "seeds should all be different (found [0, 1, 0])"),
        ({"seeds": [0, 1], "train": "none"}, "seeds have no effect"),
        ({"kind": "ensemble", "members": [{"epocs": 1}, {}]}, "teacher.members.0.epocs: unknown key"),
        ({"kind": "ensemble", "members": [{"kind": "ensemble"}, {}]}, "teacher.members.0.kind: unknown kind"),
        (
            {"kind": "ensemble", "members": [FILE, {**FILE, "uncovered": "skip"}]},
            "must agree on `uncovered`",
        ),
    ],
)
def test_a_wrong_teacher_is_reported_where_and_what(teacher: Any, complaint: str) -> None:
    with pytest.raises(RecipeInvalid) as raised:
        recipe(teacher)

    assert complaint in str(raised.value)


@pytest.mark.parametrize(
    ("sections", "complaint"),
    [
        ({"corpus": {"train": "rows.csv", "pair": "b"}}, "`pair` of a teacher that is a file"),
        ({"student": {"vocabulary": {"kind": "pieces"}}}, "pieces"),
        ({"labeling": {"features": "mean"}}, "labeling.features"),
    ],
)
def test_what_a_file_cannot_give_is_refused_before_anything_runs(sections: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RecipeInvalid, match=complaint):
        parse_recipe({"corpus": {"train": "rows.csv"}, "teacher": FILE, **sections}, recipe="r.toml")


@pytest.mark.parametrize("kind", ["bilstm", "transformer"])
def test_a_student_lends_no_pieces(kind: str) -> None:
    wanted = {"bilstm": "pieces", "transformer": "teacher"}[kind]

    with pytest.raises(RecipeInvalid, match="uses the pieces of an encoder, but the teacher is not one"):
        recipe(STUDENT, student={"kind": kind, "vocabulary": {"kind": wanted}})


def test_a_student_has_features_to_give_but_several_have_none_together() -> None:
    assert recipe(STUDENT, labeling={"features": "cls"}).labeling.features == "cls"
    with pytest.raises(RecipeInvalid, match="single encoder or student only"):
        recipe({"kind": "ensemble", "members": [STUDENT, STUDENT]}, labeling={"features": "cls"})


@pytest.mark.parametrize(
    ("sections", "complaint"),
    [
        ({"student": {"vocabulary": {"kind": "pieces"}}}, "uses the pieces of an encoder"),
        ({"labeling": {"features": "cls"}}, "single encoder or student only"),
        ({"distillation": {"losses": [{"kind": "hidden_mse"}, {"kind": "soft_targets"}]}}, "only a single encoder"),
    ],
)
def test_a_function_has_logits_alone_to_give(sections: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RecipeInvalid, match=complaint):
        recipe(CUSTOM, **sections)


@pytest.mark.parametrize("call", ["no_colon", "pkg/mod.py:function", "pkg.mod:"])
def test_a_call_names_module_and_function(call: str) -> None:
    with pytest.raises(RecipeInvalid, match=r"teacher\.call: "):
        recipe({**CUSTOM, "call": call})


@pytest.mark.parametrize("teacher", [CUSTOM, {"kind": "ensemble", "members": [CUSTOM, FILE]}])
def test_a_function_with_its_options_is_written_out_and_read_back(teacher: dict[str, Any], tmp_path: Path) -> None:
    given = recipe(teacher)
    (tmp_path / "r.toml").write_text(to_toml(given), encoding="utf-8")

    assert load_recipe(tmp_path / "r.toml", locate=False).recipe == given


def test_an_encoder_among_the_members_lends_its_pieces() -> None:
    assert recipe(ENSEMBLE, student={"vocabulary": {"kind": "pieces"}}).student.vocabulary.kind == "pieces"


def test_the_paths_of_all_members_are_made_absolute() -> None:
    located = recipe(ENSEMBLE).located(lambda path, required=True, **_: f"/there/{path}" if required else path)

    assert isinstance(located.teacher, EnsembleTeacher)
    assert located.teacher.members[1].path == "/there/said.csv"  # type: ignore[union-attr]  # the second is the file


def test_a_student_that_is_nowhere_is_reported_with_what_may_have_been_meant(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("text,label\n", encoding="utf-8")
    (tmp_path / "r.toml").write_text('teacher = "bert-base"\n[corpus]\ntrain = "rows.csv"\n', encoding="utf-8")

    with pytest.raises(RecipeInvalid) as raised:
        load_recipe(tmp_path / "r.toml")

    (problem,) = raised.value.problems
    assert problem.startswith("no folder of a student 'bert-base'")
    assert '[teacher] checkpoint = "…"' in problem


def test_the_folder_of_a_student_is_made_absolute(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("text,label\n", encoding="utf-8")
    (tmp_path / "runs").mkdir()
    (tmp_path / "r.toml").write_text('teacher = "runs"\n[corpus]\ntrain = "rows.csv"\n', encoding="utf-8")

    teacher = load_recipe(tmp_path / "r.toml").recipe.teacher

    assert isinstance(teacher, StudentTeacher)
    assert teacher.path == str(tmp_path / "runs")


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({}, 'teacher.pairs = "apart" is for rows of two texts: remove it, or set corpus.pair'),
        ({"corpus": PAIRS, "student": {"kind": "transformer"}}, "a transformer reads both texts of a row together"),
        ({"corpus": PAIRS, "teacher": {**APART, "train": "none"}}, 'pairs = "apart" gives an encoder a new head'),
        (
            {"teacher": {"kind": "ensemble", "members": [{"checkpoint": "a"}, APART]}},
            'teacher.pairs = "apart" is for rows of two texts',
        ),
    ],
)
def test_texts_are_read_apart_where_there_are_two_and_the_student_does_so_too(
    sections: dict[str, Any], message: str
) -> None:
    with pytest.raises(RecipeInvalid) as raised:
        parse_recipe({"corpus": {"train": "rows.csv"}, "teacher": APART, **sections}, recipe="r.toml")

    assert message in str(raised.value)


def test_texts_are_read_together_unless_one_asks() -> None:
    together, apart = (
        parse_recipe({"corpus": PAIRS, "teacher": teacher}, recipe="r.toml").teacher for teacher in ({}, APART)
    )

    assert isinstance(together, EncoderTeacher)
    assert isinstance(apart, EncoderTeacher)
    assert (together.pairs, apart.pairs) == ("together", "apart")
