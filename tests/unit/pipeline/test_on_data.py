"""`limbeck.run` takes what `limbeck run` takes: also a file of labelled rows."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import limbeck
from limbeck.artifacts.corpus import Corpus
from limbeck.drafting.frames import FrameUnreadable
from limbeck.drafting.run import OptionForRecipe, TransferForRecipe
from limbeck.errors import PathUnusable
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage

ROWS = "text,label\n" + "".join(
    f"a {word} film on day [{day}],{label}\n"
    for day in range(20)
    for word, label in (("gorgeous", "good"), ("dreadful", "bad"))
)


class Notes(SilentReporter):
    """Keeps what was reported."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(ROWS, encoding="utf-8")
    Path("more.txt").write_text("a splendid film\nan awful film\n" * 20, encoding="utf-8")


def test_the_recipe_of_a_data_file_is_written_first_and_run() -> None:
    notes = Notes()

    run = limbeck.run("mine.csv", until=Stage.CORPUS, reporter=notes, overrides=["corpus.dev_fraction=0.25"])

    assert run.folder == Path("runs/mine")
    assert (run.folder / "corpus").is_dir()
    assert "limbeck run mine.toml" in Path("mine.toml").read_text(encoding="utf-8")
    assert "text: text, label: label" in notes.lines[0]
    assert "Wrote mine.toml" in notes.lines[0]


def test_unlabelled_text_goes_into_that_recipe() -> None:
    limbeck.run(Path("mine.csv"), transfer=["more.txt"], until=Stage.CORPUS, reporter=SilentReporter())

    assert 'more.txt"]' in Path("mine.toml").read_text(encoding="utf-8")


def test_rows_that_are_held_out_go_into_that_recipe() -> None:
    Path("held").mkdir()
    for name in ("held/test.csv", "held/dev.csv"):
        Path(name).write_text(ROWS.replace("film", "play"), encoding="utf-8")

    run = limbeck.run(
        "mine.csv", test="held/test.csv", dev="held/dev.csv", until=Stage.CORPUS, reporter=SilentReporter()
    )

    drafted = Path("mine.toml").read_text(encoding="utf-8")
    assert 'test = "held/test.csv"' in drafted
    assert 'dev = "held/dev.csv"' in drafted
    assert (run.folder / "corpus" / "test.arrow").is_file()


def frame(rows: int = 40) -> pd.DataFrame:
    texts = [f"a {['dreadful', 'gorgeous'][number % 2]} film on day {number}" for number in range(rows)]
    return pd.DataFrame({"review": texts, "label": [["bad", "good"][number % 2] for number in range(rows)]})


def test_a_data_frame_is_kept_beside_the_run_and_read_from_there() -> None:
    data = frame()
    data.loc[3, "label"] = None
    data.index = [f"row {number}" for number in range(len(data))]

    run = limbeck.run(data, name="films", test=frame(8), until=Stage.CORPUS, reporter=SilentReporter())
    again = limbeck.run(data, name="films", test=frame(8), until=Stage.CORPUS, reporter=(notes := Notes()))

    assert run.folder == again.folder == Path("runs/films")
    assert sorted(path.name for path in Path("runs").iterdir()) == ["films", "films-test.parquet", "films.parquet"]
    facts = Corpus(run.folder / "corpus").facts
    assert facts["rows"] == {"train": 35, "dev": 4, "test": 8}
    assert facts["without_label_dropped"] == {"train": 1}
    assert "films.toml already exists" in notes.lines[0]
    assert 'train = "runs/films.parquet"' in Path("films.toml").read_text(encoding="utf-8")


def test_a_table_of_arrow_is_data_too_and_lies_beside_a_given_folder() -> None:
    table = pa.table(dict(frame()))

    run = limbeck.run(table, out="here/mine", until=Stage.CORPUS, reporter=SilentReporter())

    assert run.folder == Path("here/mine")
    assert Path("here/frame.parquet").is_file()


def test_what_is_no_table_is_refused() -> None:
    mixed = pd.DataFrame({"review": ["fine", 3], "label": [0, 1]}, dtype=object)

    with pytest.raises(FrameUnreadable, match="DataFrame"):
        limbeck.run(mixed, reporter=SilentReporter())
    with pytest.raises(PathUnusable, match="cannot have that name"):
        limbeck.run(frame(), name="../mine", reporter=SilentReporter())


def test_recipe_and_data_can_be_moved_together(monkeypatch: pytest.MonkeyPatch) -> None:
    limbeck.run("mine.csv", until=Stage.CORPUS, reporter=SilentReporter())
    Path("moved").mkdir()
    for name in ("mine.csv", "mine.toml"):
        Path(name).rename(Path("moved", name))
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")

    run = limbeck.run("../moved/mine.toml", until=Stage.CORPUS, reporter=SilentReporter())

    assert (run.folder / "corpus").is_dir()


@pytest.mark.parametrize(("key", "value"), [("test", "held.csv"), ("dev", "held.csv"), ("encoding", "latin-1")])
def test_a_recipe_says_itself_what_is_held_out(key: str, value: str) -> None:
    options: dict[str, Any] = {key: value}

    with pytest.raises(OptionForRecipe, match=f"--set corpus.{key}={value}"):
        limbeck.run("mine.toml", reporter=SilentReporter(), **options)


def test_a_recipe_names_its_text_itself() -> None:
    limbeck.run("mine.csv", until=Stage.CORPUS, reporter=SilentReporter())

    with pytest.raises(TransferForRecipe, match=r"more\.txt"):
        limbeck.run("mine.toml", transfer=["more.txt"], reporter=SilentReporter())
