"""Students that are to be teachers, rows of the classes that they know, and a BERT written out in numpy."""

import json
import math
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[np.float64]
LABELS = ("negative", "neutral", "positive")


@pytest.fixture
def student_with(make_student: Callable[..., Any]) -> Callable[..., Path]:
    """student_with(folder, pair=False, multi_label=False, **facts): a student's folder that says this of itself.

    Another order of `labels` is another order of its logits.
    """

    def make(folder: Path, *, pair: bool = False, multi_label: bool = False, **facts: Any) -> Path:
        from limbeck.artifacts.manifest import Key, write_manifest

        make_student(folder, pair=pair, multi_label=multi_label)
        said = json.loads((folder / "student.json").read_text(encoding="utf-8"))
        (folder / "student.json").write_text(json.dumps({**said, **facts}), encoding="utf-8")
        write_manifest(folder, kind="student", key=Key(section={}, inputs={}))
        return folder

    return make


@pytest.fixture
def rows_of_three(toy_rows: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Toy texts, each with one of the three classes that the students know, at random."""
    dice = random.Random(5)
    return [(text, dice.choice(LABELS)) for text, _ in toy_rows]


class BertReference:
    """BERT's forward pass written out in numpy on the checkpoint's own variables, for one row without padding."""

    def __init__(self, variables: Mapping[str, npt.NDArray[Any]], config: Mapping[str, Any]) -> None:
        self.variables: dict[str, Array] = {name: values.astype(np.float64) for name, values in variables.items()}
        self.config = config

    def states(self, ids: list[int], types: list[int]) -> Array:
        """(tokens, hidden) behind the last layer."""
        table = {
            name: self.variables[f"bert/embeddings/{name}_embeddings"] for name in ("word", "position", "token_type")
        }
        states = table["word"][ids] + table["position"][: len(ids)] + table["token_type"][types]
        states = self.norm("bert/embeddings/LayerNorm", states)
        if "bert/encoder/embedding_hidden_mapping_in/kernel" in self.variables:
            states = self.dense("bert/encoder/embedding_hidden_mapping_in", states)
        for number in range(self.config["num_hidden_layers"]):
            states = self.layer(f"bert/encoder/layer_{number}", states)
        return states

    def layer(self, name: str, states: Array) -> Array:
        heads = self.config["num_attention_heads"]
        size = states.shape[1] // heads
        query, key, value = (self.dense(f"{name}/attention/self/{part}", states) for part in ("query", "key", "value"))
        seen = []
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            attention = np.exp(query[:, part] @ key[:, part].T / math.sqrt(size))
            seen.append(attention / attention.sum(axis=1, keepdims=True) @ value[:, part])
        attended = self.dense(f"{name}/attention/output/dense", np.concatenate(seen, axis=1))
        states = self.norm(f"{name}/attention/output/LayerNorm", states + attended)
        inner = self.activation(self.dense(f"{name}/intermediate/dense", states))
        return self.norm(f"{name}/output/LayerNorm", states + self.dense(f"{name}/output/dense", inner))

    def activation(self, values: Array) -> Array:
        share: Array = 1 + np.tanh(math.sqrt(2 / math.pi) * (values + 0.044715 * values**3))
        if self.config["hidden_act"] == "gelu":
            share = 1 + np.vectorize(math.erf)(values / math.sqrt(2))
        return values * share / 2

    def dense(self, name: str, values: Array) -> Array:
        return values @ self.variables[f"{name}/kernel"] + self.variables[f"{name}/bias"]

    def norm(self, name: str, values: Array) -> Array:
        centred = values - values.mean(axis=1, keepdims=True)
        scaled: Array = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return scaled * self.variables[f"{name}/gamma"] + self.variables[f"{name}/beta"]

    def pooled(self, states: Array) -> Array:
        pooled: Array = np.tanh(self.dense("bert/pooler/dense", states[:1]))[0]
        return pooled

    def logits(self, states: Array) -> Array:
        return self.variables["output_weights"] @ self.pooled(states) + self.variables["output_bias"]

    def guesses(self, states: Array) -> Array:
        """(tokens, words): a word's own vector, read off the states behind the head's layer, and its bias."""
        head = "cls/predictions"
        turned = self.norm(
            f"{head}/transform/LayerNorm", self.activation(self.dense(f"{head}/transform/dense", states))
        )
        words: Array = turned @ self.variables["bert/embeddings/word_embeddings"].T
        return words + self.variables[f"{head}/output_bias"]


@pytest.fixture
def bert_reference() -> type[BertReference]:
    """bert_reference(variables, config): what a TensorFlow BERT of these variables computes."""
    return BertReference
