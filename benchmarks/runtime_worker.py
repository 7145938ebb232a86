"""The process that holds one model of benchmarks/runtime.py: as `limbeck bench` has it, or of another package."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.row import Row
from limbeck.timing import worker
from limbeck.timing.worker import Opened


def opened(request: dict[str, Any]) -> Opened:
    """The model of a `load` request."""
    folder, threads = Path(request["folder"]), int(request["threads"])
    match request["kind"]:
        case "wide":
            return open_wide(folder, threads=threads)
        case "model2vec":
            return open_static_model(folder)
        case "fasttext":
            return open_fasttext(folder)
        case _:
            return worker.opened(request)


def open_wide(folder: Path, *, threads: int) -> Opened:
    """A large model in onnxruntime, with all threads for one text: there our own one thread a batch would be unfair."""
    import onnxruntime

    classifier = Classifier(ModelFolder(folder), threads=1, engine="onnx")
    if threads > 1:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        path, providers = str(folder / "model.onnx"), ["CPUExecutionProvider"]
        classifier._engine._session = onnxruntime.InferenceSession(path, options, providers=providers)  # type: ignore[attr-defined]
    return Opened(classifier.predict, engine=classifier.engine)


def open_static_model(folder: Path) -> Opened:
    """Mean of word vectors by model2vec; a matrix and argmax by numpy, quicker than the pipeline it comes with."""
    from tokenizers import Tokenizer

    model = import_module("model2vec").StaticModel(
        np.load(folder / "vectors.npy"), Tokenizer.from_file(str(folder / "tokenizer.json"))
    )
    head = np.load(folder / "head.npy")
    labels = ("negative", "positive")

    def predict(rows: Sequence[Row]) -> list[str]:
        return [labels[number] for number in (model.encode(rows) @ head).argmax(axis=1)]

    return Opened(predict, engine="model2vec")


def open_fasttext(folder: Path) -> Opened:
    """Its C++ functions themselves: the Python around them does not work with numpy 2, and takes longer."""
    model = import_module("fasttext").FastText._FastText(str(folder / "model.bin")).f

    def predict(rows: Sequence[Row]) -> list[str]:
        if len(rows) == 1:
            return [model.predict(f"{rows[0]}\n", 1, 0.0, "strict")[0][1]]
        _, labels = model.multilinePredict([f"{row}\n" for row in rows], 1, 0.0, "strict")
        return [best[0] for best in labels]

    return Opened(predict, engine="fastText")


if __name__ == "__main__":
    worker.serve(*worker.own_streams(), opened=opened)
