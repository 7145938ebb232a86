"""Where text comes from that belongs to no class."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from limbeck.artifacts.foreign import Foreign, ForeignText
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.run_folder import RunFolder
from limbeck.errors import RecipeError
from limbeck.pipeline import foreign as room
from limbeck.pipeline.foreign import fingerprints_of, foreign_of, is_near, taught_of
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

    assert found.dev is not None
    assert found.test is not None
    assert (found.dev.source, len(found.dev.rows)) == ("files", 3)
    assert (found.test.source, len(found.test.rows)) == ("files", 2)
    assert found.taught == ()
    assert not {*found.dev.rows.texts} & {*found.test.rows.texts}
    assert fingerprints_of(found.dev) != fingerprints_of(found.test)
    assert fingerprints_of(None) == {}


def test_labelled_rows_come_first_and_nothing_is_gathered_without_the_table(
    read_rows: "ReadCorpus", run: RunFolder, tmp_path: Path
) -> None:
    corpus = read_rows(train=[*TRAIN, ("other", "oos"), ("another", "oos")], out_of_scope="oos")

    found = foreign_of(recipe_of(tmp_path, "[export.abstain]\n"), corpus, {}, run)

    assert [one.source for one in (found.dev, found.test) if one] == ["labelled", "labelled"]
    assert foreign_of(recipe_of(tmp_path, ""), corpus, {}, run) == ForeignText()
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

    assert foreign_of(recipe_of(tmp_path, "[export.abstain]\n"), read_rows(train=TRAIN), {}, run) == ForeignText()
    assert any("too much like the task's own" in note for note in run.reporter.notes)  # type: ignore[attr-defined]
    without = recipe_of(tmp_path, "[export.abstain]\ngeneral = false\n")
    assert foreign_of(without, read_rows(train=TRAIN), {}, run) == ForeignText()
    assert is_near({"words_in_train": 0.94, "dev_words_in_train": 0.95})
    assert not is_near({"words_in_train": 0.6, "dev_words_in_train": 0.95})


def test_what_is_taught_neither_fits_nor_judges(read_rows: "ReadCorpus", run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("".join(f"other line {at}\n" for at in range(30)), encoding="utf-8")
    table = '[distillation]\nteach_foreign = {}\n[export.abstain]\ngeneral = false\nforeign = ["other.txt"]\n'

    of_files = foreign_of(recipe_of(tmp_path, table.format(4)), read_rows(train=TRAIN), {}, run)
    of_many = foreign_of(recipe_of(tmp_path, table.format(1000)), read_rows(train=TRAIN), {}, run)
    labelled = read_rows(train=[*TRAIN, *((f"other {at}", "oos") for at in range(12))], out_of_scope="oos")
    of_labels = foreign_of(recipe_of(tmp_path, table.format(1000)), labelled, {}, run)

    assert counts(of_files) == (13, 13, 4)
    assert counts(of_many) == (10, 10, 10)
    assert counts(of_labels) == (3, 6, 3)
    for found in (of_files, of_many, of_labels):
        assert found.dev is not None
        assert found.test is not None
        parts = [found.dev.rows.texts, found.test.rows.texts, found.taught[0].rows.texts]
        assert len({text for part in parts for text in part}) == sum(map(len, parts))


def counts(found: ForeignText) -> tuple[int, ...]:
    parts = [found.dev, found.test, *found.taught]
    return tuple(len(part.rows) for part in parts if part)


def test_general_text_is_added_where_other_foreign_rows_are_too_few(
    read_rows: "ReadCorpus", run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["ledger", "kernel", "photon", "gearbox", "rainfall", "invoice"]
    lines = [f"imdb,a {words[at % 6]} of {words[at % 5]} with {words[at % 4]} in {at}" for at in range(600)]
    reviews = tmp_path / "reviews.csv"
    reviews.write_text("source,text\n" + "\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setattr(room, "in_package", lambda _: reviews)
    monkeypatch.setattr(room, "GENERAL_SHARE", 1.0)
    corpus = read_rows(train=[*TRAIN, *((f"other {at}", "oos") for at in range(12))], out_of_scope="oos")
    recipe = recipe_of(tmp_path, "[distillation]\nteach_foreign = 20\n[export.abstain]\n")

    found = foreign_of(recipe, corpus, {}, run)
    taught = taught_of(found, run)

    assert {part.source: len(part.rows) for part in found.taught} == {"labelled": 3, "general": 17}
    assert taught is not None
    assert taught.quality == {"rows": 20, "sources": {"labelled": 3, "general": 17}}
    assert not taught.rows.is_labelled.any()
    assert any("17 of general text" in note for note in run.reporter.notes)  # type: ignore[attr-defined]
    assert taught_of(ForeignText(dev=Foreign(corpus.foreign["dev"], "labelled")), run) is None


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
        ("[distillation]\nteach_foreign = 10\n", "needs \\[export.abstain\\]"),
        (
            '[distillation]\nteach_foreign = 10\n[[distillation.losses]]\nkind = "hard_labels"\n[export.abstain]\n',
            "loss on logits",
        ),
        (
            '[distillation]\nteach_foreign = 10\n[[distillation.losses]]\nkind = "logit_mse"\n'
            '[[distillation.losses]]\nkind = "spkd"\n[export.abstain]\n',
            "spkd reads features",
        ),
    ):
        with pytest.raises(RecipeError, match=why):
            recipe_of(tmp_path, table)
