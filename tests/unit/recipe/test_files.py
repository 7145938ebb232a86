"""A path of the recipe is looked for beside the recipe, here, and under LIMBECK_DATA."""

from pathlib import Path

import pytest

from limbeck.recipe.files import expand, find_file, search_roots


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Three folders: of the recipe, of the caller, and of the data."""
    folders = {name: tmp_path / name for name in ("recipes", "here", "data")}
    for folder in folders.values():
        folder.mkdir()
    monkeypatch.chdir(folders["here"])
    monkeypatch.setenv("LIMBECK_DATA", str(folders["data"]))
    return folders


def write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("text\n", encoding="utf-8")
    return path


def test_the_roots_are_the_recipe_then_here_then_the_data(places: dict[str, Path]) -> None:
    assert search_roots(places["recipes"]) == [places["recipes"], places["here"], places["data"]]


def test_a_root_is_named_once(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIMBECK_DATA")

    assert search_roots(places["here"]) == [places["here"]]
    assert search_roots(None) == [places["here"]]


@pytest.mark.parametrize("place", ["recipes", "here", "data"])
def test_a_file_is_found_in_each_place(places: dict[str, Path], place: str) -> None:
    file = write(places[place] / "sst2" / "train.tsv")

    assert find_file("sst2/train.tsv", search_roots(places["recipes"])) == str(file)


def test_the_file_beside_the_recipe_comes_first(places: dict[str, Path]) -> None:
    for folder in places.values():
        write(folder / "train.tsv")

    assert find_file("train.tsv", search_roots(places["recipes"])) == str(places["recipes"] / "train.tsv")


def test_an_absolute_path_means_itself(places: dict[str, Path]) -> None:
    file = write(places["data"] / "train.tsv")

    assert find_file(str(file), [places["recipes"]]) == str(file)


def test_the_home_folder_may_be_written_short(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(places["data"]))
    file = write(places["data"] / "train.tsv")

    assert find_file("~/train.tsv", []) == str(file)


def test_a_file_that_is_nowhere_is_not_found(places: dict[str, Path]) -> None:
    write(places["data"] / "train.tsv")

    with pytest.raises(FileNotFoundError):
        find_file("dev.tsv", search_roots(places["recipes"]))


def test_a_pattern_is_found_where_it_matches_something(places: dict[str, Path]) -> None:
    (places["recipes"] / "imdb").mkdir()
    write(places["data"] / "imdb" / "part-1.txt")

    found = find_file("imdb/part-*.txt", search_roots(places["recipes"]))

    assert found == str(places["data"] / "imdb" / "part-*.txt")


def test_a_pattern_that_matches_nothing_is_not_found(places: dict[str, Path]) -> None:
    write(places["data"] / "imdb" / "part-1.txt")

    with pytest.raises(FileNotFoundError):
        find_file("imdb/*.csv", search_roots(places["recipes"]))


def test_a_pattern_matches_its_files_in_order(tmp_path: Path) -> None:
    files = [write(tmp_path / name) for name in ("b.txt", "a.txt", "deep/er/c.txt")]
    (tmp_path / "folder.txt").mkdir()

    assert expand(str(tmp_path / "*.txt")) == sorted(files[:2])
    assert expand(str(tmp_path / "**" / "*.txt")) == sorted(files)
    assert expand(str(tmp_path / "?.txt")) == sorted(files[:2])
    assert expand(str(tmp_path / "***.txt")) == sorted(files[:2])  # which Python before 3.13 does not take


def test_a_folder_means_the_files_in_it_but_not_the_hidden_ones(tmp_path: Path) -> None:
    files = [write(tmp_path / name) for name in ("b.txt", "deep/c.txt")]
    write(tmp_path / ".DS_Store")

    assert expand(str(tmp_path)) == sorted(files)


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    file = write(tmp_path / "reviews[1].csv")

    assert find_file("reviews[1].csv", [tmp_path]) == str(file)
    assert expand(str(file)) == [file]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package whose import fails: a file of it is found without that."""
    folder = tmp_path / "site" / "toy_reviews"
    write(folder / "data" / "reviews.csv")
    (folder / "__init__.py").write_text("raise RuntimeError('imported')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


def test_a_file_of_a_package_is_found_without_importing_it(package: Path) -> None:
    assert find_file("package:toy_reviews/data/reviews.csv", []) == str(package / "data" / "reviews.csv")


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    "path", ["toy_reviews/data/none.csv", "toy_reviews", "toy_reviews/", "no_such_package/a.csv", "", "a.b/c.csv"]
)
def test_what_a_package_does_not_have_is_not_found(path: str) -> None:
    with pytest.raises(FileNotFoundError):
        find_file(f"package:{path}", [])


def test_a_path_does_not_lead_out_of_a_package(package: Path) -> None:
    write(package.parent / "secret.csv")

    with pytest.raises(FileNotFoundError):
        find_file("package:toy_reviews/../secret.csv", [])
