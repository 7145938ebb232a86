"""Where text comes from that belongs to no class."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from limbeck.artifacts.rows import Rows
from limbeck.artifacts.run_folder import RunFolder
from limbeck.errors import RecipeError
from limbeck.pipeline import foreign as room
from limbeck.pipeline.foreign import fingerprints_of, foreign_of, is_near
from limbeck.recipe.load import load_recipe

if TYPE_CHECKING:
    from tests.unit.conftest import ReadCorpus, RememberingReporter

TRAIN = [(f"text number {number}", "good" if number % 2 else "bad") for number in range(40)]


def recipe_of(folder: Path, table: str) -> Any:
    (folder / "rows.csv").write_text("text,label\na,good\nb,bad\n", encoding="utf-8")
    (folder / "recipe.toml").write_text(f'[corpus]\ntrain = "rows.csv"\n{table}', encoding="utf-8")
    return load_recipe(folder / "recipe.toml").recipe


@pytest.fixture
def run(tmp_path: Path, reporter: "RememberingReporter") -> RunFolder:
    (tmp_path / "run").mkdir()
    return RunFolder(tmp_path / "run", reporter, {})


def test_files_are_halved_to_fit_and_to_judge(read_rows: "ReadCorpus", run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("".join(f"other line {at}\n" for at in "abcde"), encoding="utf-8")
    recipe = recipe_of(tmp_path, '[export.abstain]\nforeign = ["other.txt"]\n')

    found = foreign_of(recipe, read_rows(train=TRAIN), {}, run)

    assert {split: (one.source, len(one.rows)) for split, one in found.items()} == {
        "dev": ("files", 3),
        "test": ("files", 2),
    }
    assert not {*found["dev"].rows.texts} & {*found["test"].rows.texts}
    assert fingerprints_of(found["dev"]) != fingerprints_of(found["test"])
    assert fingerprints_of(None) == {}


def test_labelled_rows_come_first_and_nothing_is_gathered_without_the_table(
    read_rows: "ReadCorpus", run: RunFolder, tmp_path: Path
) -> None:
    corpus = read_rows(train=[*TRAIN, ("other", "oos"), ("another", "oos")], out_of_scope="oos")

    found = foreign_of(recipe_of(tmp_path, "[export.abstain]\n"), corpus, {}, run)

    assert {split: one.source for split, one in found.items()} == {"dev": "labelled", "test": "labelled"}
    assert foreign_of(recipe_of(tmp_path, ""), corpus, {}, run) == {}
    assert not (run.folder / room.NAME).exists()


def test_general_text_is_not_used_if_it_may_be_text_of_the_task(
    read_rows: "ReadCorpus", run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviews = tmp_path / "reviews.csv"
    reviews.write_text(
        "source,text\n" + "".join(f"imdb,text number {at} text\n" for at in range(500)), encoding="utf-8"
    )
    monkeypatch.setattr(room, "in_package", lambda _: reviews)
    monkeypatch.setattr(room, "GENERAL_SHARE", 1.0)

    assert foreign_of(recipe_of(tmp_path, "[export.abstain]\n"), read_rows(train=TRAIN), {}, run) == {}
    assert any("too much like the task's own" in note for note in run.reporter.notes)  # type: ignore[attr-defined]
    assert foreign_of(recipe_of(tmp_path, "[export.abstain]\ngeneral = false\n"), read_rows(train=TRAIN), {}, run) == {}
    assert is_near({"words_in_train": 0.94, "dev_words_in_train": 0.95})
    assert not is_near({"words_in_train": 0.6, "dev_words_in_train": 0.95})


def test_texts_that_students_learn_from_are_left_out() -> None:
    class Part:
        rows = Rows.of(ids=["t"], texts=["A film"])

    left = room._new(Rows.of(ids=["a", "b"], texts=["a  film", "a book"]), {"transfer": Part()})  # type: ignore[dict-item]

    assert left.texts == ["a book"]


def test_recipes_that_contradict_themselves_are_refused(tmp_path: Path) -> None:
    for table, why in (
        ("[export.abstain]\nerror = 0.1\ncoverage = 0.9\n", "error"),
        ("multi_label = true\n[export.abstain]\n", "multi_label"),
        ('out_of_scope = "oos"\nmulti_label = true\n', "out_of_scope"),
    ):
        with pytest.raises(RecipeError, match=why):
            recipe_of(tmp_path, table)
