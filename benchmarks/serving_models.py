"""What the serving benchmarks serve and ask: a Bi-LSTM of real size, a MiniLM, and bodies of many texts."""

import json
from pathlib import Path
from typing import Any

from benchmarks.runtime_texts import Corpus, corpus

BODIES = 32  # different ones, which take turns
LABELS = ["negative", "positive"]
CHECKPOINT = "all-MiniLM-L6-v2"


def bilstm_folder(work: Path) -> Path:
    """The Bi-LSTM 150 of benchmarks/runtime.py as an int8 file; its weights are random, as only its speed matters."""
    from benchmarks.runtime_models import BILSTM, student_alone

    return student_alone(work, corpus(), BILSTM, "int8")


def teacher_folder(work: Path) -> Path:
    """The encoder that `limbeck demo` starts from, with a head of random weights."""
    folder = work / "minilm"
    if not folder.is_dir():
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        from limbeck.models.checkpoint import find_checkpoint
        from limbeck.training.modes import quiet_transformers

        quiet_transformers()
        source = find_checkpoint(CHECKPOINT)
        named: dict[str, Any] = {"id2label": dict(enumerate(LABELS)), "label2id": {"negative": 0, "positive": 1}}
        network = AutoModelForSequenceClassification.from_pretrained(source, local_files_only=True, **named)
        AutoTokenizer.from_pretrained(source, local_files_only=True).save_pretrained(folder)
        network.save_pretrained(folder)
    return folder


def bodies(rows: int, *, texts: Corpus | None = None) -> list[str]:
    """Requests of so many texts each, cut from the texts that the vocabulary was not made of."""
    others = (texts or corpus()).others
    drawn = [[others[(first * rows + place) % len(others)] for place in range(rows)] for first in range(BODIES)]
    return [json.dumps({"texts": some}, ensure_ascii=False) for some in drawn]
