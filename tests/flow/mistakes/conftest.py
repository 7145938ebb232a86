"""The command as a clumsy user gives it, in this process, and a finished toy run to make mistakes with."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from typer.testing import CliRunner

ToyRows = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Answer:
    """What a command left behind; `err` is what it wrote to stderr."""

    code: int
    out: str
    err: str

    def refused_with(self, *words: str) -> bool:
        """Whether it ended as a mistake must: status 2, a message that says all this, and what to do below it."""
        message = self.err[self.err.rindex("limbeck: ") :]
        assert self.code == 2, self
        assert "Traceback" not in self.err
        assert len(message.strip().splitlines()) >= 2, message
        missing = [word for word in words if word not in message]
        assert not missing, f"{missing} not in: {message}"
        return True

    def steps(self, sign: str) -> dict[str, str]:
        """The artifacts that were made (▸) or reused (✓), each with the reason."""
        lines = [line[2:].partition("  ") for line in self.err.splitlines() if line.startswith(sign)]
        return {name: reason for name, _, reason in lines}


class Limbeck(Protocol):
    """The command."""

    def __call__(self, *arguments: object, given: str | bytes = "") -> Answer: ...


@pytest.fixture(scope="session")
def limbeck() -> Limbeck:
    """limbeck("run", recipe): the command in this process; an error that no user can mend is raised."""
    from limbeck.cli import app

    def run(*arguments: object, given: str | bytes = "") -> Answer:
        result = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"}).invoke(app, [str(part) for part in arguments], given)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Answer(code=result.exit_code, out=result.stdout, err=result.stderr)

    return run


@dataclass(frozen=True)
class Toy:
    """A recipe, its data, and its run."""

    folder: Path

    @property
    def recipe(self) -> Path:
        return self.folder / "data" / "toy.toml"

    @property
    def run(self) -> Path:
        return self.folder / "runs" / "toy"

    @property
    def manifests(self) -> dict[str, int]:
        """When each artifact was made."""
        return {
            str(path.parent.relative_to(self.run)): path.stat().st_mtime_ns for path in self.run.rglob("manifest.json")
        }


@pytest.fixture(scope="session")
def finished_once(
    write_recipe: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory, limbeck: Limbeck
) -> Toy:
    toy = Toy(tmp_path_factory.mktemp("finished"))
    recipe = write_recipe(toy.folder / "data")
    text = recipe.read_text(encoding="utf-8").replace(f"{recipe.parent}/", "")  # beside the recipe, wherever it is
    recipe.write_text(text, encoding="utf-8")

    done = limbeck("run", toy.recipe, "--out", toy.run)

    assert done.code == 0, done.err
    return toy


@pytest.fixture
def toy(finished_once: Toy, tmp_path: Path) -> Toy:
    """A finished run with its recipe and data, the test's own."""
    return Toy(Path(shutil.copytree(finished_once.folder, tmp_path / "toy")))


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: ToyRows) -> Path:
    """An exported model of single texts. Shared: read it, don't write to it."""
    return _exported(tmp_path_factory.mktemp("single"), make_student, toy_rows, pair=False)


@pytest.fixture(scope="session")
def pair_model(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: ToyRows) -> Path:
    """An exported model of pairs of texts. Shared: read it, don't write to it."""
    return _exported(tmp_path_factory.mktemp("pair"), make_student, toy_rows, pair=True)


def _exported(folder: Path, make_student: Any, toy_rows: ToyRows, *, pair: bool) -> Path:
    from limbeck.artifacts.manifest import Key
    from limbeck.artifacts.rows import Rows
    from limbeck.export import export_student
    from limbeck.progress import SilentReporter
    from limbeck.recipe.export import Export

    texts = [text for text, _ in toy_rows[:20]]
    return export_student(
        Export(),
        student=make_student(folder / "student", pair=pair),
        rows=Rows.of(ids=texts, texts=texts, pairs=texts[::-1] if pair else None),
        precision="fp32",
        out=folder / "model",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    ).folder
