"""Small exported models and a recipe for campaigns, made once in a process."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Literal

from tests.conftest import drawn_toy_rows, written_student, written_tiny_teacher
from tests.flow.conftest import written_toy_recipe
from tests.unit.conftest import framed_student
from tests.unit.runtime.conftest import exported_toy_model


@cache
def scratch_folder() -> Path:
    """Goes away with the process."""
    folder = Path(tempfile.mkdtemp(prefix="limbeck-hostile-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def word_model(precision: Literal["fp32", "int8"] = "fp32") -> Path:
    """A Bi-LSTM that reads words."""
    return exported_toy_model(
        scratch_folder() / f"words-{precision}", written_student, drawn_toy_rows(), precision=precision
    )


@cache
def form_model(form: str) -> Path:
    """A Bi-LSTM of single texts, of pairs, or of texts with several labels."""
    return exported_toy_model(
        scratch_folder() / f"form-{form}",
        written_student,
        drawn_toy_rows(),
        pair=form == "pair",
        multi_label=form == "multi-label",
    )


@cache
def framed_model() -> Path:
    """A transformer, which reads word pieces between special tokens."""

    def student(folder: Path, *, pair: bool, multi_label: bool) -> object:
        return framed_student(folder, teacher=tiny_teacher(), pair=pair, multi_label=multi_label)

    return exported_toy_model(scratch_folder() / "framed", student, drawn_toy_rows())  # type: ignore[arg-type]


@cache
def tiny_teacher() -> Path:
    """What toy recipes distil."""
    return written_tiny_teacher(scratch_folder() / "teacher")


@cache
def toy_recipe() -> Path:
    """A recipe whose run takes seconds."""
    return written_toy_recipe(scratch_folder() / "data", teacher=tiny_teacher(), rows=drawn_toy_rows())


@cache
def french_rows() -> Path:
    """A file of rows in a language of which no encoder is installed."""
    texts = {
        "positif": "un film magnifique que nous avons beaucoup aimé",
        "negatif": "une histoire triste et trop longue",
    }
    lines = [
        f"{text} et la scène {number} est dans le jardin,{label}"
        for number in range(60)
        for label, text in texts.items()
    ]
    path = scratch_folder() / "avis.csv"
    path.write_text("\n".join(["texte,avis", *lines]), encoding="utf-8")
    return path
