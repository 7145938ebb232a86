"""Every example runs, as it is, in an empty folder, and prints what it promises."""

import ast
import json
import re
import runpy
import sys
from pathlib import Path

import pytest

from limbeck.report import html

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PRINTED = {
    "own_csv.py": r"fault .*The kettle does not switch on",
    "own_teacher.py": r"accuracy on 30 other rows: (0\.[89]|1\.0)",
    "language_model.py": r"\['fault' 'billing'\]",
    "chinese.py": r"^zh .*\['差评', '好评'\]",
    "serving.py": r"\['fault', 'delivery'\]",
}


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The plots of a report take longer than such a run."""
    monkeypatch.setattr(html, "pictures", lambda _: [])
    monkeypatch.setattr(sys, "argv", ["example"])
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_an_example_runs_and_prints_its_answers(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")

    assert re.search(PRINTED[name], capfd.readouterr().out, re.DOTALL | re.MULTILINE)


def test_the_notebook_runs_from_its_first_cell_to_its_last(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads((EXAMPLES / "first_steps.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    monkeypatch.chdir(EXAMPLES)
    names: dict[str, object] = {}

    for number, cell in enumerate(cells):
        tree = ast.parse(cell)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            names["shown"] = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)

    assert names["shown"]  # the same probabilities after a pickle
    assert all(cell.get("outputs", []) == [] for cell in notebook["cells"])


def test_every_example_is_listed_and_run() -> None:
    listed = set(re.findall(r"`(\w+\.(?:py|ipynb))`", (EXAMPLES / "README.md").read_text(encoding="utf-8")))
    files = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")}

    assert listed == files == {*PRINTED, "first_steps.ipynb"}
