"""The names in `[transfer]`."""

from pathlib import Path

import pytest

from limbeck.recipe.transfer import Transfer, named_split


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("imdb", ("imdb", None)),
        ("imdb:unsupervised", ("imdb", "unsupervised")),
        ("glue/sst2:train", ("glue/sst2", "train")),
        ("/data/saved:train", ("/data/saved", "train")),
        ("/data:old/saved", ("/data:old/saved", None)),
        ("C:\\data\\saved", ("C:\\data\\saved", None)),
        ("imdb:", ("imdb:", None)),
    ],
)
def test_what_follows_the_colon_is_a_split(name: str, meant: tuple[str, str | None]) -> None:
    assert named_split(name) == meant


def test_a_folder_with_a_colon_in_its_name_is_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "saved:train"
    folder.mkdir()

    assert named_split(str(folder)) == (str(folder), None)


def test_data_sets_that_are_folders_here_are_located_and_others_are_left(tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()

    def locate(path: str, *, required: bool = True, **_: str) -> str:
        return str(tmp_path / path) if required or (tmp_path / path).exists() else path

    located = Transfer(files=["a.txt"], hub=["saved", "saved:train", "imdb:test"]).located(locate)

    assert located.files == [str(tmp_path / "a.txt")]
    assert located.hub == [str(tmp_path / "saved"), f"{tmp_path / 'saved'}:train", "imdb:test"]
