"""What the files of a trained run say on each engine; for benchmarks/runtime.py."""

from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.model_folder import ModelFolder, open_model
from limbeck.artifacts.run_folder import Run
from limbeck.progress import SilentReporter
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.row import Row
from limbeck.timing.bench import subjects_of


def accuracies(run: Path) -> dict[str, Any]:
    """Of every model and engine: accuracy on dev, and how often it says what the fp32 file says in onnxruntime."""
    dev = Corpus(run / "corpus").splits["dev"]
    rows: list[Row] = list(dev.texts) if dev.pairs is None else list(zip(dev.texts, dev.pairs, strict=True))
    lines = []
    for name, folder in Run(run).models.items():
        whole = Classifier(_fp32(run, name), engine="onnx").logits(rows)
        for one in subjects_of([folder], teacher=None, engine="all", reporter=SilentReporter()):
            classifier = Classifier(ModelFolder(folder), engine=one.engine)
            logits = classifier.logits(rows)
            said = logits.argmax(axis=1)
            lines.append(
                {
                    "name": name,
                    "engine": classifier.engine,
                    "size_mb": round(one.size_mb, 2),
                    "accuracy": float(np.mean(said == dev.labels)),
                    "same_label_as_fp32": float(np.mean(said == whole.argmax(axis=1))),
                    "largest_difference": float(np.abs(logits - whole).max()),
                }
            )
    return {"run": run.name, "rows": len(rows), "lines": lines}


def _fp32(run: Path, name: str) -> ModelFolder:
    """The same student in fp32, where it ships so too; else the file itself."""
    models = Run(run).models
    return open_model(models.get(name.removesuffix("-int8"), models[name]))
