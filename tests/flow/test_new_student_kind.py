"""A new kind of student is its own file and one row: a toy one goes the whole road, from the recipe to a prediction."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

# The largest value of each number over the word vectors of a text.
PEAK = '''
"""A kind of student that the package does not know."""
import numpy as np
from typing import Literal
from limbeck.export.graph_parts import EMBEDDINGS, LOWEST, node, word_graph
from limbeck.models.multiply_adds import vector_size, word_head
from limbeck.models.word_student import WordStudentConfig, WordStudentModel, tokens_inside, word_config_values
from limbeck.recipe.student import WordStudent


class Peak(WordStudent):
    """The largest value of each number over the words."""

    kind: Literal["peak"]


class PeakConfig(WordStudentConfig):
    model_type = "toy_peak"

    def __init__(self, **rest):
        super().__init__(**rest)


class PeakForSequenceClassification(WordStudentModel):
    config_class = PeakConfig
    base_model_prefix = "peak"

    def __init__(self, config):
        super().__init__(config)
        self._complete(config.vector_size)

    def _read(self, ids, lengths):
        inside = tokens_inside(lengths, ids.shape[1])
        return self._vectors(ids).masked_fill(~inside[..., None], float("-inf")).amax(dim=1)

    def vector_readers(self):
        return []


def network(section, **task):
    return PeakForSequenceClassification(PeakConfig(**word_config_values(section, **task)))


def graph(student):
    def read(text):
        ids = text.ids
        return [
            node("Gather", [EMBEDDINGS, f"{ids}.words"], f"{ids}.vectors"),
            node("Unsqueeze", [f"{ids}.inside", "axis_2"], f"{ids}.inside_3d"),
            node("Where", [f"{ids}.inside_3d", f"{ids}.vectors", "lowest"], f"{ids}.masked"),
            node("ReduceMax", [f"{ids}.masked", "axis_1"], f"{ids}.features", keepdims=0),
        ]

    arrays = {"axis_2": np.array([2]), "lowest": np.array(LOWEST, dtype=np.float32)}
    return word_graph(student, name="peak", read=read, arrays=arrays)


def multiply_adds(config, *, tokens, classes, exported):
    return word_head(config, features=vector_size(config), classes=classes)
'''
ROW = """
import json, sys
from limbeck.kinds import STUDENT_KINDS, StudentKind

STUDENT_KINDS["peak"] = StudentKind(
    kind="peak",
    title="largest word vector",
    section="peak:Peak",
    network="peak:network",
    model_type="toy_peak",
    config_class="peak:PeakConfig",
    model_class="peak:PeakForSequenceClassification",
    graph="peak:graph",
    int8="limbeck.export.int8:int8_graph",
    multiply_adds="peak:multiply_adds",
    native_plan=None,
    size_levers=("dense_size", "embedding_size"),
    tokenizer="words",
    pairs="apart",
    starts_from="word_vectors",
    body_shape=None,
    has_layers=False,
)
"""
RUN = """
import limbeck
from limbeck.progress import SilentReporter
from limbeck.timing import costs
from limbeck.timing.protocol import Case, TimedModel, Timing
from transformers import AutoModelForSequenceClassification

def made_up_times(section, *, subjects, **_):
    timing = Timing(samples_ms=[1.0], rates=[1000.0])
    cases = {Case(1, 1): timing, Case(1, section.throughput_rows, shrinks=True): timing}
    return [TimedModel("onnxruntime", dict(cases)) for _ in subjects]

costs.time_for_report = made_up_times  # the real times are taken in processes that import PyTorch once more
recipe, out, *overrides = sys.argv[1:]
finished = limbeck.run(recipe, overrides=overrides, out=out, reporter=SilentReporter())
limbeck.register_auto_classes()
student = AutoModelForSequenceClassification.from_pretrained(f"{out}/students/peak/0")
print(json.dumps({
    "network": type(student).__name__,
    "labels": limbeck.load(finished.models["peak-int8"]).predict(["a gorgeous film", "a dreadful film"]),
    "models": finished.report["models"],
    "card": (finished.models["peak"] / "README.md").read_text(encoding="utf-8"),
}))
"""
OVERRIDES = [
    'student={kind="peak", embedding_size=12, dense_size=8, max_size_mb=1.0}',
    *("teacher.epochs=1", 'teacher.near_chance="warn"', "distillation.epochs=1", "distillation.baseline=false"),
]


def test_a_kind_that_is_one_file_and_one_row_is_trained_exported_and_used(
    write_recipe: Callable[[Path], Path], tmp_path: Path
) -> None:
    (tmp_path / "peak.py").write_text(PEAK, encoding="utf-8")
    recipe = write_recipe(tmp_path / "data")
    command = [sys.executable, "-c", ROW + RUN, str(recipe), str(tmp_path / "run"), *OVERRIDES]

    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["network"] == "PeakForSequenceClassification"
    assert set(found["labels"]) <= {"negative", "positive"}
    students = [model for model in found["models"] if model["kind"] == "peak"]
    assert [model["name"] for model in students] == ["peak", "peak-int8"]
    assert all(model["multiply_adds"] == 12 * 8 + 8 * 2 for model in students)
    assert "largest word vector" in found["card"]
