"""Exported models of several kinds, made once per session, and what is needed to run them in Node."""

from pathlib import Path
from typing import Any, Literal

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts
from limbeck.packaging.node import node
from limbeck.packaging.onnxruntime_web import is_kept
from limbeck.packaging.site import WrittenPackage, package
from tests.unit.runtime.conftest import ToyRows, exported_toy_model
from tests.unit.runtime.test_blend import blend_of

KEY = Key(section={}, inputs={})
VECTORS = 150  # rows of each package, for 1,000 take a second
LABELS = ["negative", "neutral", "positive"]

needs_node = pytest.mark.skipif(node() is None, reason="no Node.js on the path")
needs_runtime = pytest.mark.skipif(node() is None or not is_kept(), reason="no Node.js, or no onnxruntime-web")


@pytest.fixture(scope="session")
def word_model(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: ToyRows) -> Path:
    """A Bi-LSTM in int8. Shared: read it, don't write to it."""
    return exported_toy_model(tmp_path_factory.mktemp("words"), make_student, toy_rows, precision="int8")


@pytest.fixture(scope="session")
def pair_model(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: ToyRows) -> Path:
    """A Bi-LSTM of pairs, with sets of labels. Shared: read it, don't write to it."""
    return exported_toy_model(tmp_path_factory.mktemp("pairs"), make_student, toy_rows, pair=True, multi_label=True)


@pytest.fixture(scope="session")
def framed_model(tmp_path_factory: pytest.TempPathFactory, make_framed_student: Any, toy_rows: ToyRows) -> Path:
    """A transformer of pairs in int8. Shared: read it, don't write to it."""
    folder = tmp_path_factory.mktemp("framed")
    return exported_toy_model(folder, make_framed_student, toy_rows, pair=True, precision="int8")


@pytest.fixture(scope="session")
def ngram_model(tmp_path_factory: pytest.TempPathFactory, toy_rows: ToyRows) -> Path:
    """A student of n-grams. Shared: read it, don't write to it."""
    return exported_toy_model(tmp_path_factory.mktemp("ngrams"), _ngram_student, toy_rows)


@pytest.fixture(scope="session")
def blend_model(tmp_path_factory: pytest.TempPathFactory, word_model: Path, ngram_model: Path) -> Path:
    """A blend of the two. Shared: read it, don't write to it."""
    folder = tmp_path_factory.mktemp("blend") / "model"
    return blend_of(folder, {"words": (word_model, 0.4), "ngrams": (ngram_model, 0.6)}, temperature=1.5)


def _ngram_student(folder: Path, **_options: Literal[False]) -> StudentFolder:
    import torch

    from limbeck.models.ngrams import ngrams
    from limbeck.recipe.student import Ngrams
    from limbeck.text.ngrams import NgramSettings
    from limbeck.text.student_tokenizer import StudentTokenizer
    from limbeck.training.modes import quiet_transformers

    tokenizer = StudentTokenizer(NgramSettings(buckets=3_000).to_json())
    torch.manual_seed(0)
    network = ngrams(
        Ngrams(kind="ngrams"),
        vocabulary_size=len(tokenizer),
        embedding_size=6,
        labels=LABELS,
        pair=False,
    )
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter))
    facts = StudentFacts(
        name="ngrams", kind="ngrams", role="student", seed=0, labels=LABELS, language="en", pair=False, max_length=50,
        parameters=1_000, parameters_without_embeddings=500, best_epoch=1, dev_accuracy=0.5, multi_label=False,
    )  # fmt: skip
    quiet_transformers()
    with written_atomically(folder, kind="student", key=KEY) as scratch:
        network.save_pretrained(scratch)
        tokenizer.save(scratch / "tokenizer.json")
        save_student_facts(scratch, facts, history=[])
    return StudentFolder(folder)


@pytest.fixture(scope="session")
def packages(
    tmp_path_factory: pytest.TempPathFactory,
    pair_model: Path,
    framed_model: Path,
    blend_model: Path,
) -> dict[Path, WrittenPackage]:
    """Packages of models, by the model. Shared: read them, don't write to them."""
    folder = tmp_path_factory.mktemp("packages")
    models = enumerate((pair_model, framed_model, blend_model))
    return {model: package(model, out=folder / str(number), rows=VECTORS) for number, model in models}
