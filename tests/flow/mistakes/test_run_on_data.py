"""`limbeck run` and `limbeck doctor` on a data file: what they refuse, and what they do not change."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
GOOD = "text,label\n" + "".join(
    f"a {word} film on day {day},{label}\n"
    for day in range(20)
    for word, label in (("gorgeous", "good"), ("dreadful", "bad"))
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one good file in it."""
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(GOOD, encoding="utf-8")
    return tmp_path


def test_a_missing_data_file_is_reported_with_a_close_name(limbeck: Command) -> None:
    assert limbeck("run", "mime.csv").refused_with("no file 'mime.csv' (did you mean 'mine.csv'?)")


def test_data_that_cannot_be_understood_leaves_no_recipe_behind(here: Path, limbeck: Command) -> None:
    Path("x.csv").write_text("title,body\nx,fine\n", encoding="utf-8")

    assert limbeck("run", "x.csv").refused_with("which column of 'x.csv' is the label", "limbeck init x.csv --text")

    assert sorted(path.name for path in here.iterdir()) == ["mine.csv", "x.csv"]


def test_the_recipe_is_written_where_init_writes_it_and_what_was_found_is_reported(limbeck: Command) -> None:
    answer = limbeck("run", "mine.csv", "--until", "corpus")
    drafted = Path("mine.toml").read_text(encoding="utf-8")
    limbeck("init", "mine.csv", "--force")

    assert answer.code == 0, answer.err
    assert "text: text, label: label" in answer.err
    assert "Wrote mine.toml" in answer.err
    assert Path("runs/mine/corpus").is_dir()
    assert Path("mine.toml").read_text(encoding="utf-8") == drafted


def test_a_recipe_that_is_there_is_used_with_its_edits(limbeck: Command) -> None:
    limbeck("run", "mine.csv", "--until", "corpus", "--out", "out")
    edited = Path("mine.toml").read_text(encoding="utf-8").replace("dev_fraction = 0.1", "dev_fraction = 0.5")
    Path("mine.toml").write_text(edited, encoding="utf-8")

    again = limbeck("run", "mine.csv", "--until", "corpus", "--out", "out")

    assert "mine.toml already exists, for mine.csv: it is used as it is" in again.err
    assert list(again.steps("▸")) == ["corpus"]
    assert Path("mine.toml").read_text(encoding="utf-8") == edited


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ('[corpus]\ntrain = "other.csv"\n', "its corpus.train is 'other.csv'"),
        ('[corpus]\nhub = "glue/sst2"\n', "it has no corpus.train"),
        ("[tool.other]\n", "it has no corpus.train"),
        ("corpus = 3\n", "it has no corpus.train"),
        ("precious", "it cannot be read: not valid TOML"),
    ],
)
def test_another_file_in_the_recipes_place_is_left_alone(limbeck: Command, recipe: str, reason: str) -> None:
    Path("other.csv").write_text(GOOD, encoding="utf-8")
    Path("mine.toml").write_text(recipe, encoding="utf-8")

    answer = limbeck("run", "mine.csv")

    assert answer.refused_with("'mine.toml' already exists", reason, "limbeck run mine.toml", "--out NAME.toml")
    assert Path("mine.toml").read_text(encoding="utf-8") == recipe


def test_a_file_of_the_same_name_in_another_folder_never_takes_over_a_recipe_or_a_run(limbeck: Command) -> None:
    for folder, word in (("a", "film"), ("b", "play")):
        Path(folder).mkdir()
        Path(folder, "train.csv").write_text(GOOD.replace("film", word), encoding="utf-8")
    corpus = ("--until", "corpus")
    first = limbeck("run", "a/train.csv", *corpus)
    made = {path: path.read_bytes() for path in [Path("train.toml"), *Path("runs/train").rglob("*.json")]}

    second = limbeck("run", "b/train.csv", *corpus)
    forced = limbeck("init", "b/train.csv", "--force")
    of_recipe_of_b = limbeck("run", "b/train.csv", *corpus)

    assert (first.code, forced.code) == (0, 0)
    assert second.refused_with("'train.toml' already exists", "its corpus.train is 'a/train.csv'", "--out NAME.toml")
    assert of_recipe_of_b.refused_with("'runs/train'", "a/train.csv", "--out runs/NAME")
    assert all(path.read_bytes() == content for path, content in made.items() if path.name != "train.toml")
    assert limbeck("run", "b/train.csv", *corpus, "--out", "runs/other").code == 0
    assert limbeck("run", "b/train.csv", *corpus, "--set", "name='named'").code == 0
    assert Path("runs/named/corpus").is_dir()


def test_a_recipe_of_the_same_name_in_another_folder_never_takes_over_a_run(limbeck: Command) -> None:
    for folder, word in (("a", "film"), ("b", "play")):
        Path(folder).mkdir()
        Path(folder, "train.csv").write_text(GOOD.replace("film", word), encoding="utf-8")
        limbeck("init", f"{folder}/train.csv", "--out", f"{folder}/train.toml")
    limbeck("run", "a/train.toml", "--until", "corpus")

    assert limbeck("run", "b/train.toml", "--until", "corpus").refused_with("'runs/train'", "a/train.csv", "--out")
    assert limbeck("run", "a/train.toml", "--until", "corpus").code == 0


def test_data_that_was_moved_or_changed_and_a_changed_recipe_go_on_in_the_same_run(limbeck: Command) -> None:
    Path("a").mkdir()
    Path("a/train.csv").write_text(GOOD, encoding="utf-8")
    command = ("run", "train.toml", "--until", "corpus")
    limbeck("run", "a/train.csv", "--until", "corpus")
    recipe = Path("train.toml").read_text(encoding="utf-8")

    Path("a/train.csv").write_text(GOOD.replace("film", "play"), encoding="utf-8")
    changed = limbeck(*command)
    Path("b").mkdir()
    Path("b/train.csv").write_text(GOOD.replace("film", "novel"), encoding="utf-8")
    Path("train.toml").write_text(recipe.replace("a/train.csv", "b/train.csv"), encoding="utf-8")
    edited = limbeck(*command)
    Path("b").rename("c")
    Path("train.toml").write_text(recipe.replace("a/train.csv", "c/train.csv"), encoding="utf-8")
    moved = limbeck("run", "c/train.csv", "--until", "corpus")

    assert [answer.code for answer in (changed, edited, moved)] == [0, 0, 0], changed.err + edited.err + moved.err
    assert list(moved.steps("✓")) == ["corpus"]


def test_a_recipe_that_does_not_name_the_text_is_drafted_again_only_if_nobody_has_touched_it(limbeck: Command) -> None:
    Path("more.txt").write_text("a fine film\nthe end\n", encoding="utf-8")
    command = ("run", "mine.csv", "--transfer", "more.txt", "--until", "corpus")
    limbeck("init", "mine.csv")
    drafted = Path("mine.toml").read_text(encoding="utf-8")
    redrafted = limbeck(*command)
    named = limbeck(*command)
    Path("yet-more.txt").write_text("a dull film\nthe end\n", encoding="utf-8")
    both = limbeck(*command, "--transfer", "yet-more.txt")

    Path("mine.toml").write_text(f"{drafted}# mine\n", encoding="utf-8")
    touched = limbeck(*command)

    assert "Wrote mine.toml" in redrafted.err
    assert "it is used as it is" in named.err
    assert "Wrote mine.toml" in both.err
    assert touched.refused_with(
        "its transfer.files do not name 'more.txt'", "limbeck init mine.csv --transfer more.txt"
    )
    assert Path("mine.toml").read_text(encoding="utf-8").endswith("# mine\n")


def test_a_recipe_that_does_not_name_the_test_file_is_drafted_again_only_if_nobody_has_touched_it(
    limbeck: Command,
) -> None:
    Path("held.csv").write_text(GOOD.replace("film", "play"), encoding="utf-8")
    command = ("run", "mine.csv", "--test", "held.csv", "--until", "corpus")
    limbeck("init", "mine.csv")
    redrafted = limbeck(*command)
    named = limbeck(*command)
    without = limbeck("run", "mine.csv", "--until", "corpus")
    other = limbeck("run", "mine.csv", "--test", "mine.csv", "--until", "corpus")
    with Path("mine.toml").open("a", encoding="utf-8") as file:
        file.write("# mine\n")

    assert "Wrote mine.toml" in redrafted.err
    assert "test: held.csv" in redrafted.err
    assert "it is used as it is" in named.err
    assert "it is used as it is" in without.err
    assert "Wrote mine.toml" in other.err
    assert limbeck(*command).refused_with("its corpus.test is 'mine.csv'", "limbeck init mine.csv --test held.csv")


@pytest.mark.parametrize("recipe", ["mine.toml", "sst2-small"])
def test_transfer_beside_a_recipe_names_the_key_for_it(limbeck: Command, recipe: str) -> None:
    limbeck("init", "mine.csv")

    answer = limbeck("run", recipe, "--transfer", "more.txt")

    assert answer.refused_with(f"'{recipe}' is not one", 'files = ["more.txt"]', "transfer.files")


def test_doctor_looks_at_a_data_file_and_writes_nothing(here: Path, limbeck: Command) -> None:
    answer = limbeck("doctor", "mine.csv", "--no-ask", "--json", "--set", "student.word_vectors=random")

    assert '"target": "mine.csv"' in answer.out
    assert [path.name for path in here.iterdir()] == ["mine.csv"]


def test_links_are_called_by_their_own_names_and_what_lies_beside_them_is_found(limbeck: Command) -> None:
    """In a cache of downloads, what a link points to has no ending."""
    Path("blobs").mkdir()
    for link, blob, content in (
        ("train.csv", "1f", GOOD),
        ("dev.csv", "2f", GOOD.replace("day", "night")),
        ("more.txt", "3f", "a fine film\nthe end\n"),
    ):
        Path("blobs", blob).write_text(content, encoding="utf-8")
        Path(link).symlink_to(Path("blobs", blob))
    command = ("run", "train.csv", "--transfer", "more.txt", "--until", "transfer")

    first = limbeck(*command)
    again = limbeck(*command)

    assert first.code == 0, first.err
    assert "train 40 · dev 40" in first.err
    assert "it is used as it is" in again.err
    assert list(again.steps("✓")) == ["corpus", "transfer"]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are UTF-8 there")
def test_a_name_that_is_not_utf_8_is_refused_and_no_recipe_is_begun(here: Path, limbeck: Command) -> None:
    folder = here / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / "other.csv").write_text(GOOD, encoding="utf-8")
    (folder / "more.txt").write_text("a fine film\nthe end\n", encoding="utf-8")

    assert limbeck("run", folder / "other.csv").refused_with(r"caf\udce9/other.csv'", "not UTF-8", "Rename")
    assert limbeck("run", "mine.csv", "--transfer", folder / "more.txt").refused_with("more.txt", "not UTF-8")

    assert not list(here.glob("*.toml"))


def test_a_recipes_place_that_is_a_link_to_nowhere_is_reported(limbeck: Command) -> None:
    Path("mine.toml").symlink_to("gone/mine.toml")

    assert limbeck("run", "mine.csv").refused_with(
        "cannot use 'mine.toml'", "it cannot be created", "Remove what is there"
    )


def test_the_home_of_a_user_who_is_not_there_is_reported_as_a_path_that_is_not_there(limbeck: Command) -> None:
    assert limbeck("run", "~nobody-at-all/mine.csv").refused_with("no file", "mine.csv'", "~nobody-at-all")

    Path("mine.toml").write_text('[corpus]\ntrain = "~nobody-at-all/mine.csv"\n', encoding="utf-8")

    assert limbeck("run", "mine.csv").refused_with("its corpus.train is '~nobody-at-all/mine.csv'")
    assert limbeck("run", "~nobody-at-all/mine.toml").refused_with("~nobody-at-all/mine.toml")
    assert limbeck("doctor", "~nobody-at-all/mine.toml").refused_with("~nobody-at-all/mine.toml")


def test_transfer_beside_a_recipe_is_reported_as_toml_has_it(limbeck: Command) -> None:
    answer = limbeck("run", "mine.toml", "--transfer", 'so "fine".txt')

    assert answer.refused_with(r'files = ["so \"fine\".txt"]')
