"""Small models of every kind that the native engine runs, in both precisions, and blends of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import torch

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import GRAPH, TOKENIZER, Member, ModelFacts, ModelFolder, copy_model, save_facts
from limbeck.export.graphs import graph_of, int8_of
from limbeck.models.students import word_student
from limbeck.recipe.export import Precision
from limbeck.recipe.student import Bag, BiLstm, Ngrams, TextCnn
from limbeck.text.ngrams import NgramSettings
from limbeck.text.word_tokenizer import build_word_tokenizer

KEY = Key(section={}, inputs={})
LABELS = ["bad", "fair", "good"]
WORDS, WIDTH, MAX_LENGTH = [f"{first}{last}" for first in "abc" for last in "defghijklm"], 12, 9
PRECISIONS: tuple[Precision, ...] = ("fp32", "int8")

STUDENTS: dict[str, Any] = {
    "lstm-max": BiLstm.model_validate({"hidden_size": 8, "dense_size": 16}),
    "lstm-last": BiLstm.model_validate({"hidden_size": 5, "dense_size": 0, "pooling": "last"}),
    "lstm-mean-pair": BiLstm.model_validate({"hidden_size": 8, "dense_size": 16, "pooling": "mean"}),
    "lstm-attention": BiLstm.model_validate({"hidden_size": 8, "dense_size": 16, "pooling": "attention"}),
    "lstm-2": BiLstm.model_validate({"hidden_size": 8, "dense_size": 16, "layers": 2}),
    "gru-max-pair": BiLstm.model_validate({"hidden_size": 8, "dense_size": 16, "cell": "gru"}),
    "gru-2-attention": BiLstm.model_validate(
        {"hidden_size": 8, "dense_size": 0, "cell": "gru", "layers": 2, "pooling": "attention"}
    ),
    "textcnn": TextCnn.model_validate({"kind": "textcnn", "windows": [2, 3], "filters": 7}),
    "textcnn-pair": TextCnn.model_validate({"kind": "textcnn", "windows": [1, 3], "filters": 4, "dense_size": 16}),
    "bag": Bag.model_validate({"kind": "bag", "dense_size": 16}),
    "bag-even-pair": Bag.model_validate({"kind": "bag", "dense_size": 0, "word_weights": False}),
    "ngrams": Ngrams.model_validate({"kind": "ngrams"}),
    "ngrams-pair": Ngrams.model_validate({"kind": "ngrams", "dense_size": 16}),
}
BLENDS = {"blend": ("lstm-max", "bag"), "blend-pair": ("textcnn-pair", "ngrams-pair")}


def make_models(folder: Path) -> list[Path]:
    """The folders of all of them."""
    torch.manual_seed(0)
    made = {
        f"{name}-{precision}": _exported(folder, name, section, precision=precision)
        for name, section in STUDENTS.items()
        for precision in PRECISIONS
    }
    blends = [
        _blend(folder / f"{name}-{precision}", [made[f"{member}-{precision}"] for member in members])
        for name, members in BLENDS.items()
        for precision in PRECISIONS
    ]
    return [*(model.folder for model in made.values()), *blends]


def _exported(folder: Path, name: str, section: Any, *, precision: Precision) -> ModelFolder:
    """Weights are random but large: an operator that is overlooked must not change answers by less than rounding."""
    words = build_word_tokenizer(WORDS, language="en", max_size=200, min_count=1, lowercase=True)
    size, pair = len(words), name.endswith("pair")
    network = word_student(
        section,
        vocabulary_size=size,
        embedding_size=WIDTH,
        labels=LABELS,
        pair=pair,
        problem_type="multi_label_classification" if name == "bag" else None,
    ).eval()
    with torch.no_grad():
        for parameter in (*network.classifier.parameters(), *(network.dense.parameters() if network.dense else ())):
            parameter.copy_(torch.randn_like(parameter) * 0.7)
        network.embeddings.weight.copy_(torch.randn_like(network.embeddings.weight))
        if getattr(network, "word_weights", None) is not None:
            network.word_weights.weight.copy_(torch.randn_like(network.word_weights.weight))
    graph = graph_of(network)
    out = folder / f"{name}-{precision}"
    with written_atomically(out, kind="model", key=KEY) as scratch:
        onnx.save_model(int8_of(network, graph) if precision == "int8" else graph, scratch / GRAPH)
        if isinstance(section, Ngrams):
            (scratch / TOKENIZER).write_text(NgramSettings(buckets=size - 3).to_json(), encoding="utf-8")
        else:
            words.save(scratch / TOKENIZER)
        facts = ModelFacts(
            name=out.name, kind=section.kind, precision=precision, labels=LABELS, language="en", pair=pair,
            max_length=MAX_LENGTH, parameters=1, parameters_without_embeddings=1, multi_label=name == "bag",
        )  # fmt: skip
        save_facts(scratch, replace(facts, temperature=1.3))
    return ModelFolder(out)


def _blend(folder: Path, members: list[ModelFolder]) -> Path:
    with written_atomically(folder, kind="model", key=KEY) as scratch:
        for member in members:
            copy_model(member, scratch / member.folder.name, has_profile=False)
        inside = tuple(Member(member.folder.name, weight=0.5) for member in members)
        first = members[0].facts()
        save_facts(scratch, replace(first, name=folder.name, kind="blend", temperature=1.0, members=inside))
    return folder
