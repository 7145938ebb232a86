"""A recipe of somebody else runs no code before the user has allowed it."""

import os
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from limbeck.cli import app
from limbeck.recipe.calls import (
    ALLOWED,
    CustomCodeNotAllowed,
    CustomCodeRefused,
    allowing_custom_code,
    resolve_call,
)

SOURCE = Path(__file__).resolve().parents[2] / "src" / "limbeck"


@pytest.fixture(autouse=True)
def nothing_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ALLOWED, raising=False)


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose import leaves a file behind; returns where that file would be."""
    mark = tmp_path / "was-imported"
    package = tmp_path / "stranger_package"
    package.mkdir()
    (package / "__init__.py").write_text(f"open({str(mark)!r}, 'w').close()\n", encoding="utf-8")
    (package / "inner.py").write_text("def answer(**options):\n    return lambda texts: None\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.startswith("stranger_package")]:
        del sys.modules[name]
    return mark


def test_nothing_is_imported_before_it_is_allowed(stranger: Path) -> None:
    with pytest.raises(CustomCodeNotAllowed) as refused:
        resolve_call("stranger_package.inner:answer")

    assert not stranger.exists()
    assert "stranger_package.inner:answer" in str(refused.value)
    assert str(stranger.parent / "stranger_package") in str(refused.value)


@pytest.mark.parametrize("named", ["all", "stranger_package.inner:answer", "other:one, stranger_package.inner:answer"])
def test_what_the_variable_names_is_allowed(stranger: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv(ALLOWED, named)

    assert resolve_call("stranger_package.inner:answer").__name__ == "answer"
    assert stranger.exists()


@pytest.mark.parametrize(
    "named", ["", "stranger_package", "stranger_package.inner", "1", "stranger_package.inner:other"]
)
def test_another_name_allows_nothing(stranger: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv(ALLOWED, named)

    with pytest.raises(CustomCodeNotAllowed):
        resolve_call("stranger_package.inner:answer")
    assert not stranger.exists()


@pytest.mark.parametrize(
    "call", ["os:system", "runpy:run_path", "builtins:eval", "subprocess:run", "importlib.util:find_spec"]
)
def test_functions_of_python_are_never_called(call: str) -> None:
    with allowing_custom_code(True), pytest.raises(CustomCodeRefused):
        resolve_call(call)


@pytest.mark.parametrize(
    "call",
    ["limbeck.cores:os.system", "limbeck.cores:os.path.join", "stranger_package:os.system", "stranger_package:run"],
)
def test_functions_of_python_are_not_called_by_way_of_a_module_that_has_them(stranger: Path, call: str) -> None:
    source = "import functools\nimport os\nrun = functools.partial(os.system, 'true')\n"
    (stranger.parent / "stranger_package" / "__init__.py").write_text(source, encoding="utf-8")

    with allowing_custom_code(True), pytest.raises(CustomCodeRefused):
        resolve_call(call)


def test_functions_and_objects_of_ones_own_are_called(stranger: Path) -> None:
    source = """
import functools
def build(labels): ...
@functools.cache
def kept(labels): ...
half = functools.partial(build, [])
class Builder:
    def __call__(self, labels): ...
    def make(self, labels): ...
builder = Builder()
"""
    (stranger.parent / "stranger_package" / "__init__.py").write_text(source, encoding="utf-8")

    with allowing_custom_code(True):
        for name in ("build", "kept", "half", "Builder", "builder", "builder.make"):
            assert callable(resolve_call(f"stranger_package:{name}"))


def test_it_is_allowed_inside_and_as_before_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    with allowing_custom_code(True):
        assert os.environ[ALLOWED] == "all"
    assert ALLOWED not in os.environ
    monkeypatch.setenv(ALLOWED, "one:function")
    with allowing_custom_code(True):
        pass
    with allowing_custom_code(False):
        assert os.environ[ALLOWED] == "one:function"
    assert os.environ[ALLOWED] == "one:function"


RECIPE = """
[corpus]
train = "rows.csv"
[teacher]
kind = "custom"
call = "stranger_package.inner:answer"
"""
LOSS = """
[corpus]
train = "rows.csv"
[teacher]
checkpoint = "none"
[[distillation.losses]]
kind = "custom"
call = "stranger_package.inner:answer"
"""


@pytest.mark.parametrize("text", [RECIPE, LOSS], ids=["teacher", "loss"])
@pytest.mark.parametrize("command", ["run", "doctor", "search"])
def test_commands_refuse_and_say_what_would_be_called(stranger: Path, text: str, command: str) -> None:
    rows = "".join(f"text {number},{'xy'[number % 2]}\n" for number in range(200))
    Path("rows.csv").write_text("text,label\n" + rows, encoding="utf-8")
    Path("recipe.toml").write_text(text, encoding="utf-8")

    found = CliRunner().invoke(app, [command, "recipe.toml"])

    assert found.exit_code in (1, 2)
    assert not stranger.exists()
    if command != "doctor" or text is RECIPE:
        assert "--allow-custom-code" in found.output + found.stderr
        assert "stranger_package.inner:answer" in found.output + found.stderr


def test_no_loader_may_run_the_code_of_a_checkpoint() -> None:
    """Every folder is read by the helpers of limbeck.models.checkpoint, which say no and keep to local files."""
    calls = {
        (str(file.relative_to(SOURCE)), found)
        for file in SOURCE.rglob("*.py")
        for found in re.findall(r"[\w.()]*\.from_pretrained\(", file.read_text(encoding="utf-8"))
    }

    assert calls == {
        ("models/checkpoint.py", "kind.from_pretrained("),
        ("models/textgcn.py", "super().from_pretrained("),
        ("models/word_student.py", "super().from_pretrained("),
        ("publishing/card.py", "AutoModelForSequenceClassification.from_pretrained("),  # an example that a card shows
    }
    helper = (SOURCE / "models" / "checkpoint.py").read_text(encoding="utf-8")
    assert "local_files_only=True, trust_remote_code=False" in helper
