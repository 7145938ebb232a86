"""The process that tries changed graphs: a line of JSON for each, with what was changed and the outcome.

The line is printed in two parts: the end of the process leaves the first one alone, and names the graph.
"""

import json
import random
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import limbeck
from limbeck.artifacts.manifest import Key, write_manifest
from limbeck.artifacts.model_folder import GRAPH
from limbeck.errors import LimbeckError
from tests.hostile.campaigns.float_products import with_float_products
from tests.hostile.campaigns.graph_changes import changed

REFUSED, BY_ONNXRUNTIME, EQUAL = CLEAN = "refused", "run by onnxruntime", "run natively and equal"
TEXTS = ["", "ad be cf", "unknown", "bd be bf bg bh bi bj bk bl bm cd ce", "cm ad ad", "ae!"]
# As in tests/contract/test_students.py: fp32 differs in its last digits, int8 by what engines round on the way.
NEAR = {"fp32": 1e-5, "int8": 0.05}


def main() -> None:
    """Change, sign, load and compare; again and again."""
    pristine, first, end, seed = Path(sys.argv[1]), *map(int, sys.argv[2:])
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(shutil.copytree(pristine, scratch, dirs_exist_ok=True))  # the process may end any time
        models = sorted(path for path in folder.iterdir() if path.is_dir())
        for number in range(first, end):
            _try(number, models[number % len(models)], random.Random(f"{seed} {number}"))


def _try(number: int, model: Path, chance: random.Random) -> None:
    graph = chance.choice(sorted(model.rglob(GRAPH)))
    original = graph.read_bytes()
    data, what = changed(original, chance)
    print(json.dumps([number, f"{model.name}: {what}"])[:-1], end=", ", flush=True)
    graph.write_bytes(data)
    write_manifest(model, kind="model", key=Key(section={}, inputs={}))
    print(f"{json.dumps(outcome(model))}]", flush=True)
    graph.write_bytes(original)


def outcome(folder: Path) -> str:
    """What comes of it: one of CLEAN, or what is wrong."""
    try:
        model = limbeck.load(folder, threads=1)
        found = _logits(model)
    except LimbeckError:
        return REFUSED
    except BaseException:
        return traceback.format_exc(limit=-3)
    if "native" not in model.engine:
        return BY_ONNXRUNTIME
    try:
        right = _logits(limbeck.load(folder, threads=1, engine="onnx"))
    except LimbeckError as error:
        return f"runs natively, and onnxruntime refuses it: {error}"
    if is_near(found, right, precision=model.facts.precision):
        return EQUAL
    if model.facts.precision == "int8" and is_near(found, _unrounded(folder), precision="int8"):
        return EQUAL
    return f"{found[1]} natively, not {right[1]}"


def _unrounded(folder: Path) -> npt.NDArray[Any]:
    """What onnxruntime has if nothing is rounded on the way: it rounds a whole batch on one scale, so that a single
    large word vector takes away the digits of all others."""
    with tempfile.TemporaryDirectory() as scratch:
        exact = Path(shutil.copytree(folder, scratch, dirs_exist_ok=True))
        for graph in exact.rglob(GRAPH):
            graph.write_bytes(with_float_products(graph.read_bytes()))
        write_manifest(exact, kind="model", key=Key(section={}, inputs={}))
        return _logits(limbeck.load(exact, threads=1, engine="onnx"))


def is_near(found: npt.NDArray[Any], right: npt.NDArray[Any], *, precision: str) -> bool:
    """Whether logits are the same but for rounding; a member of a blend that onnxruntime runs may make them NaN."""
    finite = np.isfinite(right)
    size = float(np.abs(right[finite]).max(initial=0))
    near = NEAR[precision] * (size if precision == "int8" else max(size, 1))
    if not np.array_equal(found[~finite], right[~finite], equal_nan=True):
        return False
    return bool((np.abs(found[finite] - right[finite]) <= near).all())


def _logits(model: Any) -> npt.NDArray[Any]:
    logits: npt.NDArray[Any] = model.logits(list(zip(TEXTS, TEXTS[::-1], strict=True)) if model.facts.pair else TEXTS)
    return logits
