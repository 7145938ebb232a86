"""The Bi-LSTM's network in other runtimes for CPUs: did we pick the right ones?

    python benchmarks/other_runtimes.py [--work DIR] [--rounds 40] [--out FILE]
    python benchmarks/other_runtimes.py --write-page

The Bi-LSTM 150 of benchmarks/runtime.py, one text of 24 tokens a call, one thread, ids in and logits out, so without
the tokenizer: our two engines, the graph in OpenVINO (left out where it is not installed), and the same network in
PyTorch, whose LSTM is oneDNN's. All are in one process and take turns; medians. --write-page puts the table into
docs/speed.md.
"""

import argparse
import json
import os
import re
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402
from transformers import AutoModelForSequenceClassification  # noqa: E402

from benchmarks.runtime_models import subjects  # noqa: E402
from benchmarks.runtime_texts import corpus  # noqa: E402
from limbeck.artifacts.model_folder import GRAPH, open_model  # noqa: E402
from limbeck.runtime.native_engine import NativeEngine  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULT, PAGE = ROOT / "benchmarks" / "results" / "other_runtimes.json", ROOT / "docs" / "speed.md"
MARKED = re.compile(r"<!-- other runtimes -->.*?<!-- /other runtimes -->", re.DOTALL)
TOKENS, CALLS, WARM_UP = 24, 20, 10
FILES = {"fp32": "bi-lstm-150-fp32", "int8": "bi-lstm-150-int8"}

Call = Callable[[], object]


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--work", type=Path, default=Path("runs/benchmark-runtime"))
    options.add_argument("--rounds", type=int, default=40)
    options.add_argument("--out", type=Path, default=RESULT)
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        found = json.loads(RESULT.read_text(encoding="utf-8"))
        PAGE.write_text(MARKED.sub(lambda _: table(found), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    torch.set_num_threads(1)
    subjects(asked.work, corpus())  # writes the models, if they are not there
    found = measured(asked.work, rounds=asked.rounds)
    asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(table(found))


def measured(work: Path, *, rounds: int) -> dict[str, Any]:
    """Microseconds of each runtime and precision."""
    calls = {
        (runtime, precision): call
        for precision, name in FILES.items()
        for runtime, call in runtimes(work, work / "models" / name, precision).items()
    }
    times: dict[tuple[str, str], list[float]] = {key: [] for key in calls}
    for _ in range(rounds):
        for key, call in calls.items():
            for _ in range(WARM_UP):
                call()
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            times[key].append((time.perf_counter() - start) / CALLS * 1e6)
    lines = [
        {"runtime": runtime, "precision": precision, "us": round(statistics.median(found), 1)}
        for (runtime, precision), found in times.items()
    ]
    versions = {"onnxruntime": onnxruntime.__version__, "torch": torch.__version__}
    if find_spec("openvino"):
        versions["openvino"] = str(import_module("openvino").__version__)
    return {
        "tokens": TOKENS,
        "rounds": rounds,
        "lines": lines,
        "versions": versions,
        "machine": machine_facts(threads=1),
    }


def runtimes(work: Path, folder: Path, precision: str) -> dict[str, Call]:
    """By name, one call with the same 24 words."""
    words = np.random.default_rng(0).integers(3, 5_000, (1, TOKENS))
    feed = {"input_ids": words, "lengths": np.array([TOKENS], dtype=np.int32)}
    graph = folder / GRAPH
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(graph), settings, providers=["CPUExecutionProvider"])
    model = open_model(folder)
    native, columns = NativeEngine(model, model.facts(), threads=1), [words.tolist()]
    found: dict[str, Call] = {
        "native": lambda: native.logits(columns),
        "onnxruntime": lambda: session.run(["logits"], feed),
    }
    if find_spec("openvino"):
        one_thread = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
        request = import_module("openvino").Core().compile_model(str(graph), "CPU", one_thread).create_infer_request()
        found["OpenVINO"] = lambda: request.infer(feed)
    return {**found, "PyTorch": in_torch(work / "students" / "bi-lstm-150", words, precision)}


def in_torch(folder: Path, words: Any, precision: str) -> Call:
    """The trained student; in int8 with PyTorch's own dynamic quantisation of its LSTMs."""
    network = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True).eval()
    if precision == "int8":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that this way of quantising will move to another package
            network = torch.ao.quantization.quantize_dynamic(network, {torch.nn.LSTM}, dtype=torch.qint8)  # type: ignore[no-untyped-call]
    ids = torch.from_numpy(words)

    def call() -> object:
        with torch.inference_mode():
            return network(input_ids=ids)

    return call


def table(found: dict[str, Any]) -> str:
    """Runtimes beside each other, the quickest first."""
    by_runtime: dict[str, dict[str, float]] = {}
    for line in found["lines"]:
        by_runtime.setdefault(line["runtime"], {})[line["precision"]] = line["us"]
    ranked = sorted(by_runtime.items(), key=lambda entry: entry[1]["int8"])
    rows = [f"| {name} | {us['fp32']:,.0f} µs | {us['int8']:,.0f} µs |" for name, us in ranked]
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    setup = f"{found['machine']['cpu']}; {versions}; median of {found['rounds']} rounds."
    lines = ["<!-- other runtimes -->", "", "| runtime | fp32 | int8 |", "|---|---:|---:|", *rows, "", setup, ""]
    return "\n".join([*lines, "<!-- /other runtimes -->"])


if __name__ == "__main__":
    main()
