"""From a recipe's name to a validated recipe whose files all exist."""

import tomllib
from pathlib import Path

import pytest

from limbeck.errors import RecipeInvalid
from limbeck.recipe import load
from limbeck.recipe.builtin import BuiltinRecipe
from limbeck.recipe.load import RecipeNotFound, load_recipe, parse_recipe, recipe_source
from limbeck.recipe.student import BiLstm
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.recipe.toml import apply_overrides, to_toml

RECIPE = """
[corpus]
train = "train.csv"
dev = "dev.csv"

[transfer]
files = ["more/*.txt"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recipe and all its files; the working directory is another one."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.delenv("LIMBECK_DATA", raising=False)
    folder = tmp_path / "project"
    (folder / "more").mkdir(parents=True)
    (folder / "toy.toml").write_text(RECIPE, encoding="utf-8")
    for name in ("train.csv", "dev.csv", "more/one.txt"):
        (folder / name).write_text("text,label\n", encoding="utf-8")
    return folder


def test_a_recipe_gets_its_name_from_its_file_and_its_paths_become_absolute(folder: Path) -> None:
    loaded = load_recipe(folder / "toy.toml")

    assert loaded.name == "toy"
    assert loaded.source == folder / "toy.toml"
    assert loaded.recipe.corpus.train == str(folder / "train.csv")
    assert loaded.recipe.corpus.test is None
    assert loaded.recipe.transfer is not None
    assert loaded.recipe.transfer.files == [str(folder / "more" / "*.txt")]


def test_a_name_in_the_recipe_goes_before_the_name_of_the_file(folder: Path) -> None:
    loaded = load_recipe(folder / "toy.toml", overrides=["name=other"])

    assert loaded.name == "other"


def test_overrides_are_validated_like_the_file(folder: Path) -> None:
    overrides = ["student.hidden_size=0", "student.hiden_size=3"]

    with pytest.raises(RecipeInvalid) as caught:
        load_recipe(folder / "toy.toml", overrides=overrides)

    assert caught.value.problems == (
        "student.hidden_size: should be greater than or equal to 1 (found 0)",
        "student.hiden_size: unknown key (did you mean 'hidden_size'?)",
    )


def test_all_missing_files_are_reported_at_once_with_the_places_searched(folder: Path) -> None:
    (folder / "train.csv").rename(folder / "trains.csv")
    (folder / "more" / "one.txt").unlink()

    with pytest.raises(RecipeInvalid) as caught:
        load_recipe(folder / "toy.toml")

    first, second = caught.value.problems
    assert first == "no file 'train.csv' (did you mean 'trains.csv'?)"
    assert second == "no file 'more/*.txt'"
    assert f"Looked in {folder}, {folder.parent / 'elsewhere'}." in str(caught.value)
    assert "LIMBECK_DATA" in str(caught.value)


def test_files_need_not_exist_when_only_the_recipe_is_asked_for(folder: Path) -> None:
    (folder / "train.csv").unlink()

    loaded = load_recipe(folder / "toy.toml", locate=False)

    assert loaded.recipe.corpus.train == "train.csv"


def test_files_are_found_under_limbeck_data(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMBECK_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    (folder / "train.csv").rename(tmp_path / "data" / "train.csv")

    assert load_recipe(folder / "toy.toml").recipe.corpus.train == str(tmp_path / "data" / "train.csv")


def test_a_checkpoint_folder_beside_the_recipe_becomes_absolute(folder: Path) -> None:
    (folder / "my-teacher").mkdir()

    loaded = load_recipe(folder / "toy.toml", overrides=["teacher.checkpoint=my-teacher"])

    assert isinstance(loaded.recipe.teacher, EncoderTeacher)
    assert loaded.recipe.teacher.checkpoint == str(folder / "my-teacher")


def test_a_folder_called_like_the_end_of_a_hub_name_goes_before_the_hub(folder: Path) -> None:
    (folder / "hub-name").mkdir()
    (folder / "hub-name" / "config.json").touch()

    loaded = load_recipe(folder / "toy.toml", overrides=["teacher.checkpoint=some/hub-name"])

    assert isinstance(loaded.recipe.teacher, EncoderTeacher)
    assert loaded.recipe.teacher.checkpoint == str(folder / "hub-name")


def test_a_folder_that_holds_no_checkpoint_is_none(folder: Path) -> None:
    (folder / "hub-name").mkdir()

    loaded = load_recipe(folder / "toy.toml", overrides=["teacher.checkpoint=some/hub-name"])

    assert isinstance(loaded.recipe.teacher, EncoderTeacher)
    assert loaded.recipe.teacher.checkpoint == "some/hub-name"


def test_a_checkpoint_that_is_no_folder_is_left_to_the_hub(folder: Path) -> None:
    loaded = load_recipe(folder / "toy.toml", overrides=["teacher.checkpoint=some/hub-name"])

    assert isinstance(loaded.recipe.teacher, EncoderTeacher)
    assert loaded.recipe.teacher.checkpoint == "some/hub-name"


@pytest.mark.parametrize("word", ["teacher", "random"])
def test_word_vectors_by_a_key_word_are_no_file(folder: Path, word: str) -> None:
    loaded = load_recipe(folder / "toy.toml", overrides=[f"student.word_vectors={word}"])

    assert isinstance(loaded.recipe.student, BiLstm)
    assert loaded.recipe.student.word_vectors == word


def test_a_missing_file_of_word_vectors_is_a_problem(folder: Path) -> None:
    with pytest.raises(RecipeInvalid, match=r"no file 'glove\.txt'"):
        load_recipe(folder / "toy.toml", overrides=["student.word_vectors=glove.txt"])


def test_of_several_sources_of_word_vectors_the_files_are_found(folder: Path) -> None:
    (folder / "glove.txt").write_text("film 1 2\n", encoding="utf-8")

    loaded = load_recipe(folder / "toy.toml", overrides=['student.word_vectors=["teacher", "glove.txt"]'])

    assert isinstance(loaded.recipe.student, BiLstm)
    assert loaded.recipe.student.word_vectors == ["teacher", str(folder / "glove.txt")]
    assert parse_recipe(tomllib.loads(to_toml(loaded.recipe)), recipe="resolved") == loaded.recipe


def test_a_missing_one_of_several_sources_is_a_problem_and_a_misspelt_word_is_reported(folder: Path) -> None:
    with pytest.raises(RecipeInvalid) as caught:
        load_recipe(folder / "toy.toml", overrides=['student.word_vectors=["teachr", "glove.txt"]'])

    assert caught.value.problems == ("no file 'teachr' (did you mean 'teacher'?)", "no file 'glove.txt'")


def test_the_resolved_recipe_of_a_run_folder_loads_from_anywhere(folder: Path, tmp_path: Path) -> None:
    recipe = load_recipe(folder / "toy.toml").recipe
    run = tmp_path / "runs" / "toy"
    run.mkdir(parents=True)
    (run / "recipe.toml").write_text(to_toml(recipe), encoding="utf-8")

    assert load_recipe(run).recipe == recipe


def test_an_unknown_name_is_not_found_and_a_close_builtin_is_offered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builtin = BuiltinRecipe(name="sst2-bilstm", summary="", command="", path=folder / "toy.toml")
    monkeypatch.setattr(load, "builtin_recipes", lambda: [builtin])

    with pytest.raises(RecipeNotFound, match=r"did you mean 'sst2-bilstm'\?"):
        recipe_source("sst2-bilstn")


def test_a_builtin_recipe_reads_its_name_unless_a_file_is_called_that(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builtin = BuiltinRecipe(name="toy", summary="", command="", path=folder / "toy.toml")
    monkeypatch.setattr(load, "builtin_recipes", lambda: [builtin])

    assert recipe_source("toy") == folder / "toy.toml"

    Path("toy").write_text("[corpus]\n", encoding="utf-8")
    assert recipe_source("toy") == Path("toy")


def test_broken_toml_is_reported_with_its_line(folder: Path) -> None:
    (folder / "toy.toml").write_text("[corpus]\ntrain = \n", encoding="utf-8")

    with pytest.raises(RecipeInvalid, match=r"toml: 1 problem in the recipe\n  not valid TOML: .*line 2"):
        load_recipe(folder / "toy.toml")


def test_a_byte_order_mark_is_skipped(folder: Path) -> None:
    (folder / "toy.toml").write_text(RECIPE, encoding="utf-8-sig")

    assert load_recipe(folder / "toy.toml").name == "toy"


def test_a_recipe_that_is_no_text_is_reported(folder: Path) -> None:
    (folder / "toy.toml").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(RecipeInvalid, match="not UTF-8 text"):
        load_recipe(folder / "toy.toml")


KINDS_CHANGED = """
[corpus]
train = "train.csv"

[student]
hidden_size = 300
cell = "gru"
max_length = 64

[[distillation.losses]]
kind = "soft_targets"
temperature = 3.0
"""


def test_keys_of_the_kind_before_are_dropped_and_named_when_set_gives_another_kind(folder: Path) -> None:
    (folder / "toy.toml").write_text(KINDS_CHANGED, encoding="utf-8")

    loaded = load_recipe(folder / "toy.toml", overrides=["student.kind=bag", "distillation.losses.0.kind=logit_mse"])

    assert (loaded.recipe.student.kind, loaded.recipe.student.max_length) == ("bag", 64)
    assert loaded.recipe.distillation.losses[0].kind == "logit_mse"
    assert loaded.notes == (
        '--set student.kind=bag: dropped hidden_size, cell, which a "bag" does not have',
        '--set distillation.losses.0.kind=logit_mse: dropped temperature, which a "logit_mse" does not have',
    )


@pytest.mark.parametrize(
    "overrides",
    [
        ["student.kind=bag", "student.hidden_size=300"],  # set for this very run
        ["student.kind=bag", "student.hiden_size=300"],  # known to no kind
        ["student.kind=bog"],
    ],
)
def test_keys_that_are_set_or_unknown_are_still_reported(folder: Path, overrides: list[str]) -> None:
    (folder / "toy.toml").write_text(KINDS_CHANGED, encoding="utf-8")

    with pytest.raises(RecipeInvalid):
        load_recipe(folder / "toy.toml", overrides=overrides)


def test_a_kind_that_stays_drops_nothing(folder: Path) -> None:
    (folder / "toy.toml").write_text(KINDS_CHANGED, encoding="utf-8")

    loaded = load_recipe(folder / "toy.toml", overrides=["student.kind=bilstm"])

    assert loaded.notes == ()
    assert isinstance(loaded.recipe.student, BiLstm)
    assert loaded.recipe.student.hidden_size == 300


@pytest.mark.parametrize(("kind", "vocabulary"), [("ngrams", "ngrams"), ("transformer", "teacher"), ("bag", "words")])
def test_a_draft_s_vocabulary_and_candidate_give_way_to_another_kind(folder: Path, kind: str, vocabulary: str) -> None:
    more = '\n[student.vocabulary]\nteacher_words = 20_000\n\n[[candidates]]\nkind = "ngrams"\n'
    (folder / "toy.toml").write_text(KINDS_CHANGED + more, encoding="utf-8")

    loaded = load_recipe(folder / "toy.toml", overrides=[f"student.kind={kind}"])

    assert (loaded.recipe.student.kind, loaded.recipe.student.vocabulary.kind) == (kind, vocabulary)
    assert [candidate.kind for candidate in loaded.recipe.candidates] == ([] if kind == "ngrams" else ["ngrams"])
    (note,) = loaded.notes
    assert ("vocabulary" in note) == (kind != "bag")
    assert ('dropped the candidate of kind "ngrams", which is the student now' in note) == (kind == "ngrams")


def test_a_file_of_a_package_that_is_not_installed_is_reported_as_that(folder: Path) -> None:
    (folder / "toy.toml").write_text(
        KINDS_CHANGED + '\n[transfer]\nfiles = ["package:no_such_package/a.csv"]\n', encoding="utf-8"
    )

    with pytest.raises(RecipeInvalid, match="install the package no_such_package, or name another file"):
        load_recipe(folder / "toy.toml")


def test_a_file_far_too_large_for_a_recipe_is_not_parsed(folder: Path) -> None:
    (folder / "large.toml").write_text("# settings\n" * 500_000, encoding="utf-8")

    with pytest.raises(RecipeInvalid, match="rows belong in files of their own"):
        load_recipe(folder / "large.toml")


@pytest.mark.parametrize("digits", ["9" * 5_000, "0x" + "f" * 5_000])
def test_a_number_of_thousands_of_digits_is_refused_and_as_an_override_a_text(folder: Path, digits: str) -> None:
    (folder / "long.toml").write_text(f"[distillation]\nseeds = [{digits}]\n", encoding="utf-8")

    with pytest.raises(RecipeInvalid, match="digits"):
        load_recipe(folder / "long.toml")
    assert apply_overrides({}, [f"name={digits}"], recipe="r") == {"name": digits}


@pytest.mark.parametrize("file", [".hidden.toml", "...toml"])
def test_a_file_whose_name_would_hide_its_run_needs_another_one(file: str, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label\na,b\n", encoding="utf-8")
    (tmp_path / file).write_text('[corpus]\ntrain = "train.csv"\n', encoding="utf-8")

    with pytest.raises(RecipeInvalid, match="give it a name"):
        load_recipe(tmp_path / file)
    assert load_recipe(tmp_path / file, overrides=["name=plain"]).name == "plain"
