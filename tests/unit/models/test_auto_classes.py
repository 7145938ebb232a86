"""Hugging Face's Auto classes know every student once they are asked to, and `import limbeck` leaves imports alone."""

import subprocess
import sys

import pytest

from limbeck.kinds import STUDENT_KINDS, resolved
from limbeck.models.students import word_student
from limbeck.recipe.student import WordStudent
from limbeck.training.modes import quiet_transformers

AUTO = "from transformers import AutoModelForSequenceClassification"
ASKED = {
    "models first": f"import limbeck.models\n{AUTO}",
    "called": f"import limbeck\n{AUTO}\nlimbeck.register_auto_classes()\nlimbeck.register_auto_classes()",
}
LOAD = """
import sys
print(*(type(AutoModelForSequenceClassification.from_pretrained(folder)).__name__ for folder in sys.argv[1:]))
"""
NO_HOOK = """
import sys
before = list(sys.meta_path)
import limbeck
assert sys.meta_path == before, sys.meta_path
assert not {"torch", "transformers"} & set(sys.modules)
print("unchanged")
"""


def lines_of(code: str, *arguments: str) -> list[str]:
    """What a new interpreter prints."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The folder of a saved student of every kind that is not transformers' own, and the name of its class."""
    quiet_transformers()
    found = {}
    for row in STUDENT_KINDS.values():
        if row.config_class is None:
            continue
        section: WordStudent = resolved(row.section)(kind=row.kind)
        network = word_student(section, vocabulary_size=9, embedding_size=4, labels=["a", "b"], pair=False)
        folder = tmp_path_factory.mktemp(row.kind)
        network.save_pretrained(folder)
        found[str(folder)] = type(network).__name__
    return found


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_the_auto_class_knows_every_kind_of_student(asked: str, saved: dict[str, str]) -> None:
    assert lines_of(asked + LOAD, *saved) == list(saved.values())


def test_importing_limbeck_does_not_change_how_python_imports() -> None:
    assert lines_of(NO_HOOK) == ["unchanged"]
