"""`import limbeck` is all that Hugging Face's Auto classes need, and costs nothing until they are used."""

import subprocess
import sys
from pathlib import Path

import pytest

from limbeck.models.students import word_student
from limbeck.recipe.student import AnyWordStudent, Bag, BiLstm, TextCnn
from limbeck.training.modes import quiet_transformers

SECTIONS: list[AnyWordStudent] = [BiLstm(), TextCnn(kind="textcnn"), Bag(kind="bag")]
LIMBECK_FIRST = """
import sys, limbeck
assert not {"torch", "transformers"} & set(sys.modules)
from transformers import AutoModelForSequenceClassification
"""
LIMBECK_LAST = """
import sys
from transformers import AutoModelForSequenceClassification
import limbeck
"""
LOAD = """
print(*(type(AutoModelForSequenceClassification.from_pretrained(folder)).__name__ for folder in sys.argv[1:]))
assert not [finder for finder in sys.meta_path if "limbeck" in type(finder).__module__], "something keeps watching"
"""


@pytest.mark.parametrize("order", [LIMBECK_FIRST, LIMBECK_LAST], ids=["limbeck first", "limbeck last"])
def test_the_auto_class_knows_every_kind_of_student(order: str, tmp_path: Path) -> None:
    quiet_transformers()
    names = []
    for section in SECTIONS:
        network = word_student(section, vocabulary_size=9, embedding_size=4, labels=["a", "b"], pair=False)
        network.save_pretrained(tmp_path / section.kind)
        names.append(type(network).__name__)

    folders = [str(tmp_path / section.kind) for section in SECTIONS]
    command = [sys.executable, "-c", order + LOAD, *folders]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == names
