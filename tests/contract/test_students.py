"""What every kind of student keeps to. A new kind is one more entry in STUDENTS."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
import torch
from onnx import ModelProto
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from transformers import AutoModelForSequenceClassification, pipeline

from limbeck.artifacts.model_folder import GRAPH, ModelFacts, ModelFolder, save_facts
from limbeck.errors import EngineUnusable
from limbeck.models.folding import folded
from limbeck.models.size import parameter_count
from limbeck.models.students import word_student
from limbeck.models.transformer import transformer_student
from limbeck.recipe.export import Precision
from limbeck.recipe.student import Bag, BiLstm, Ngrams, TextCnn, Transformer, WordStudent
from limbeck.recipe.textgcn import TextGcn
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.engine import EngineChoice
from limbeck.runtime.row import Row
from limbeck.text.word_tokenizer import build_word_tokenizer
from limbeck.training.modes import quiet_transformers

ENGINES: tuple[EngineChoice, ...] = ("onnx", "native")
WORDS, WIDTH, ROWS, TOKENS, LABELS = 60, 12, 8, 9, ["bad", "fair", "good"]
VOCABULARY = [f"{first}{last}" for first in "abc" for last in "abcdefghijklmnopqrs"]  # and three special tokens


@dataclass(frozen=True)
class Kind:
    """How a kind of student is built, and what is promised of it."""

    name: str
    build: Callable[[], Any]  # a network of WORDS words and LABELS, newly initialised
    save_tokenizer: Callable[[Path], None]  # puts its tokenizer into the folder of a saved network
    features: int | None  # width of `features` in what it answers; None where it answers without
    pair: bool = False  # whether it reads two texts separately, the second as pair_ids
    multi_label: bool = False
    frozen: tuple[str, ...] = ()  # its tables that are not trained
    masks_itself: bool = True  # whether it knows padding by its id where no mask is given; transformers' own do not
    is_native: bool = True  # whether the C++ extension has it
    learning_rate: float = 0.02  # with which it overfits eight rows in 80 steps


def of_words(
    name: str, section: WordStudent | Ngrams | TextGcn, *, features: int, pair: bool = False, multi_label: bool = False
) -> Kind:
    """A student that reads vectors of words or n-grams."""

    def build() -> Any:
        return word_student(
            section,
            vocabulary_size=WORDS,
            embedding_size=WIDTH,
            labels=LABELS,
            pair=pair,
            problem_type="multi_label_classification" if multi_label else None,
        )

    if isinstance(section, TextGcn):
        table = ("rarity",)
        return Kind(
            name,
            build,
            _save_word_tokenizer,
            features,
            pair=pair,
            multi_label=multi_label,
            frozen=table,
            is_native=False,
        )
    if isinstance(section, Ngrams):
        return Kind(name, build, _save_word_tokenizer, features, pair=pair, multi_label=multi_label)
    vectors = ("embeddings", "widening") if section.vector_rank else ("embeddings",)
    still = ("static_embeddings",) if section.static_channel else () if section.tune_vectors else vectors
    return Kind(name, build, _save_word_tokenizer, features, pair=pair, multi_label=multi_label, frozen=still)


def _save_word_tokenizer(folder: Path) -> None:
    tokenizer = build_word_tokenizer(VOCABULARY, language="en", max_size=WORDS, min_count=1, lowercase=True)
    assert len(tokenizer) == WORDS
    tokenizer.save(folder / "tokenizer.json")


def of_layers(name: str, *, family: str, multi_label: bool = False) -> Kind:
    """A student of transformer layers, of a family of transformers' own."""
    section = Transformer.model_validate(
        {"kind": "transformer", "family": family, "layers": 2, "width": 16, "heads": 2, "inner_size": 32}
    )

    def build() -> Any:
        return transformer_student(
            section,
            teacher=None,
            vocabulary=None,
            vocabulary_size=WORDS,
            pad_token_id=0,
            labels=LABELS,
            problem_type="multi_label_classification" if multi_label else None,
        )

    return Kind(
        name,
        build,
        _save_framed_tokenizer,
        features=None,
        multi_label=multi_label,
        masks_itself=False,
        learning_rate=0.01,
    )


def _save_framed_tokenizer(folder: Path) -> None:
    words = Tokenizer(WordLevel({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "good": 4}, unk_token="[UNK]"))
    words.pre_tokenizer = Whitespace()
    words.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    words.save(str(folder / "tokenizer.json"))
    # As every saved student has it: transformers would read an ALBERT's tokenizer.json as a list of pieces.
    written = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(written), encoding="utf-8")


def bilstm_section(**values: Any) -> BiLstm:
    return BiLstm.model_validate({"hidden_size": 8, "dense_size": 16, **values})


def textcnn_section(**values: Any) -> TextCnn:
    return TextCnn.model_validate({"kind": "textcnn", "windows": [2, 3], "filters": 7, "dropout": 0.3, **values})


def bag_section(**values: Any) -> Bag:
    return Bag.model_validate({"kind": "bag", "dense_size": 16, **values})


def ngrams_section(**values: Any) -> Ngrams:
    return Ngrams.model_validate({"kind": "ngrams", **values})


BILSTM, TEXTCNN = 2 * 8, 2 * 7  # features: both directions; filters of both windows
ATTENDS, COMPARED = {"pairing": "attend", "compare_size": 6}, 2 * 6 + 2  # mean, largest and two overlaps of a text
STUDENTS = [
    of_words("bilstm-max", bilstm_section(pooling="max"), features=BILSTM),
    of_words("bilstm-last", bilstm_section(pooling="last"), features=BILSTM),
    of_words("bilstm-mean", bilstm_section(pooling="mean"), features=BILSTM),
    of_words("bilstm-attention", bilstm_section(pooling="attention"), features=BILSTM),
    of_words("bilstm-two-layers", bilstm_section(layers=2), features=BILSTM),
    of_words("bilstm-two-layers-last", bilstm_section(layers=2, pooling="last"), features=BILSTM),
    of_words("bilstm-gru", bilstm_section(cell="gru"), features=BILSTM),
    of_words("bilstm-two-channels", bilstm_section(static_channel=True), features=BILSTM),
    of_words("bilstm-still-vectors", bilstm_section(tune_vectors=False), features=BILSTM),
    of_words("bilstm-low-rank", bilstm_section(vector_rank=5), features=BILSTM),
    of_words("bilstm-low-rank-still", bilstm_section(vector_rank=5, tune_vectors=False), features=BILSTM),
    of_words("bilstm-low-rank-gru-pair", bilstm_section(vector_rank=5, cell="gru"), features=4 * BILSTM, pair=True),
    of_words("bilstm-no-dense-layer", bilstm_section(dense_size=0), features=BILSTM),
    of_words("bilstm-pair", bilstm_section(), features=4 * BILSTM, pair=True),
    of_words("bilstm-attention-pair", bilstm_section(pooling="attention"), features=4 * BILSTM, pair=True),
    of_words("bilstm-attending", bilstm_section(**ATTENDS), features=4 * COMPARED, pair=True),
    of_words(
        "bilstm-attending-composed",
        bilstm_section(layers=2, pooling="attention", **ATTENDS),
        features=4 * (2 * BILSTM + 2),
        pair=True,
    ),
    of_words("bilstm-attending-gru", bilstm_section(cell="gru", **ATTENDS), features=4 * COMPARED, pair=True),
    of_words(
        "bilstm-attending-three-gru-low-rank",
        bilstm_section(layers=3, cell="gru", vector_rank=5, dense_size=0, **ATTENDS),
        features=4 * (2 * BILSTM + 2),
        pair=True,
    ),
    of_words("bilstm-multi-label", bilstm_section(), features=BILSTM, multi_label=True),
    of_words("textcnn", textcnn_section(), features=TEXTCNN),
    of_words("textcnn-pair", textcnn_section(), features=4 * TEXTCNN, pair=True),
    of_words("textcnn-two-channels", textcnn_section(static_channel=True), features=TEXTCNN),
    of_words("textcnn-low-rank", textcnn_section(vector_rank=5), features=TEXTCNN),
    of_words("textcnn-dense-layer", textcnn_section(dense_size=16), features=TEXTCNN),
    of_words("bag", bag_section(), features=WIDTH),
    of_words("bag-without-word-weights", bag_section(word_weights=False), features=WIDTH),
    of_words("bag-two-channels", bag_section(static_channel=True), features=2 * WIDTH),
    of_words("bag-low-rank", bag_section(vector_rank=5), features=WIDTH),
    of_words("bag-low-rank-no-dense-layer", bag_section(vector_rank=5, dense_size=0), features=WIDTH),
    of_words("bag-pair", bag_section(), features=4 * WIDTH, pair=True),
    of_words("bag-attending", bag_section(**ATTENDS), features=4 * COMPARED, pair=True),
    of_words("bag-attending-low-rank", bag_section(vector_rank=5, **ATTENDS), features=4 * COMPARED, pair=True),
    of_words("bag-multi-label", bag_section(), features=WIDTH, multi_label=True),
    of_words("ngrams", ngrams_section(), features=WIDTH),
    of_words("ngrams-dense-layer", ngrams_section(dense_size=16), features=WIDTH),
    of_words("ngrams-pair", ngrams_section(), features=4 * WIDTH, pair=True),
    of_words("ngrams-multi-label", ngrams_section(), features=WIDTH, multi_label=True),
    of_words("textgcn", TextGcn(kind="textgcn"), features=WIDTH),
    of_words("textgcn-pair", TextGcn(kind="textgcn"), features=4 * WIDTH, pair=True),
    of_words("textgcn-multi-label", TextGcn(kind="textgcn"), features=WIDTH, multi_label=True),
    of_layers("bert-shaped", family="bert"),
    of_layers("distilbert-shaped", family="distilbert"),
    of_layers("shared-layers", family="albert"),
    of_layers("bert-shaped-multi-label", family="bert", multi_label=True),
]
every_student = pytest.mark.parametrize("kind", STUDENTS, ids=lambda kind: kind.name)


@pytest.fixture(autouse=True)
def _quiet() -> None:
    quiet_transformers()
    torch.manual_seed(0)


def batch(kind: Kind, *, width: int = TOKENS) -> dict[str, Tensor]:
    """Rows of 1 to TOKENS tokens, padded to `width`."""
    dice = torch.Generator().manual_seed(1)
    tensors = {}
    for ids, mask in [("input_ids", "attention_mask"), ("pair_ids", "pair_mask")][: 2 if kind.pair else 1]:
        lengths = torch.randint(1, TOKENS + 1, (ROWS, 1), generator=dice)
        lengths[:2] = torch.tensor([[1], [TOKENS]])
        tensors[mask] = (torch.arange(width) < lengths).long()
        words = torch.randint(1, WORDS, (ROWS, TOKENS), generator=dice)
        tensors[ids] = torch.nn.functional.pad(words, (0, width - TOKENS)) * tensors[mask]
    return tensors


def labels_for(kind: Kind) -> Tensor:
    """One class a row; or of several classes each one in half of the rows."""
    if kind.multi_label:
        return torch.stack([(torch.arange(ROWS) >> bit) % 2 for bit in range(len(LABELS))], dim=1).float()
    return torch.arange(ROWS) % len(LABELS)


def logits_of(network: Any, tensors: dict[str, Tensor]) -> Tensor:
    network.eval()
    with torch.inference_mode():
        logits: Tensor = network(**tensors).logits
    return logits


def onnx_logits(graph: ModelProto, tensors: dict[str, Tensor]) -> npt.NDArray[np.float32]:
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    lengths = {"attention_mask": "lengths", "pair_mask": "pair_lengths"}
    given = {name: tensor.numpy() for name, tensor in tensors.items()}
    given |= {lengths[name]: tensors[name].sum(dim=1).int().numpy() for name in tensors if name in lengths}
    asked = {node.name for node in session.get_inputs()}
    logits: npt.NDArray[np.float32] = session.run(["logits"], {name: given[name] for name in asked})[0]
    return logits


@every_student
def test_there_is_a_logit_for_every_row_and_class(kind: Kind) -> None:
    assert logits_of(kind.build(), batch(kind)).shape == (ROWS, len(LABELS))


@pytest.mark.parametrize("kind", [kind for kind in STUDENTS if kind.features], ids=lambda kind: kind.name)
def test_its_features_are_as_wide_as_it_says(kind: Kind) -> None:
    network = kind.build()

    features = network(**batch(kind)).features

    assert features.shape == (ROWS, kind.features)
    assert network.features == kind.features
    assert features.requires_grad  # losses on them reach the network


@every_student
def test_padding_never_changes_a_logit(kind: Kind) -> None:
    network = kind.build()

    wider = logits_of(network, batch(kind, width=TOKENS + 20))

    torch.testing.assert_close(wider, logits_of(network, batch(kind)), rtol=0, atol=1e-6)


@every_student
def test_what_comes_after_a_row_is_never_used(kind: Kind) -> None:
    network, tensors = kind.build(), batch(kind)
    strange = dict(tensors)
    for ids, mask in (("input_ids", "attention_mask"), ("pair_ids", "pair_mask")):
        if ids in tensors:
            strange[ids] = torch.where(tensors[mask] == 1, tensors[ids], 7)

    torch.testing.assert_close(logits_of(network, strange), logits_of(network, tensors), rtol=0, atol=1e-6)


@every_student
def test_a_row_has_the_same_logits_in_any_batch(kind: Kind) -> None:
    network, tensors = kind.build(), batch(kind)
    together = logits_of(network, tensors)

    alone = [
        logits_of(network, {name: tensor[row : row + 1] for name, tensor in tensors.items()}) for row in range(ROWS)
    ]

    torch.testing.assert_close(torch.cat(alone), together, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", [kind for kind in STUDENTS if kind.masks_itself], ids=lambda kind: kind.name)
def test_the_padding_id_is_mask_enough(kind: Kind) -> None:
    network, tensors = kind.build(), batch(kind)

    without_masks = logits_of(network, {name: tensors[name] for name in tensors if not name.endswith("mask")})

    torch.testing.assert_close(without_masks, logits_of(network, tensors))


@every_student
def test_hugging_faces_auto_class_gives_it_back(kind: Kind, tmp_path: Path) -> None:
    network = kind.build()
    network.save_pretrained(tmp_path)

    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {"config.json", "model.safetensors"}
    assert type(loaded) is type(network)
    assert loaded.config.id2label == dict(enumerate(LABELS))
    assert moving(loaded) == moving(network)
    torch.testing.assert_close(logits_of(loaded, batch(kind)), logits_of(network, batch(kind)), rtol=0, atol=0)


@pytest.mark.parametrize("kind", [kind for kind in STUDENTS if not kind.pair], ids=lambda kind: kind.name)
def test_hugging_faces_pipeline_makes_the_right_probabilities(kind: Kind, tmp_path: Path) -> None:
    kind.build().save_pretrained(tmp_path)
    kind.save_tokenizer(tmp_path)
    classify = pipeline("text-classification", model=str(tmp_path), top_k=None)
    texts = ["aa bc ab", "ca"]

    predicted = [{entry["label"]: entry["score"] for entry in row} for row in classify(texts)]

    for text, scores in zip(texts, predicted, strict=True):
        (logits,) = logits_of(classify.model, {"input_ids": torch.tensor([classify.tokenizer(text)["input_ids"]])})
        right = torch.sigmoid(logits) if kind.multi_label else torch.softmax(logits, dim=0)
        assert scores == pytest.approx(dict(zip(LABELS, right.tolist(), strict=True)), abs=1e-5)


@every_student
def test_its_graph_has_the_same_logits(kind: Kind) -> None:
    from limbeck.export.graphs import graph_of

    network, tensors = kind.build(), batch(kind)

    exported = onnx_logits(graph_of(network.eval()), tensors)

    np.testing.assert_allclose(exported, logits_of(network, tensors).numpy(), atol=1e-4)


@every_student
def test_its_int8_graph_has_nearly_the_same_logits(kind: Kind) -> None:
    from limbeck.export.graphs import graph_of, int8_of

    network, tensors = kind.build(), batch(kind)

    exported = onnx_logits(int8_of(network, graph_of(network.eval())), tensors)

    whole = logits_of(network, tensors).numpy()
    assert np.abs(exported - whole).max() < 0.05 * np.abs(whole).max()


def exported(kind: Kind, network: Any, folder: Path, *, precision: Precision) -> ModelFolder:
    """A model folder as the runtime reads it, without the comparison that the export stage makes."""
    from limbeck.export.graphs import graph_of, int8_of

    graph = graph_of(network.eval())
    onnx.save_model(int8_of(network, graph) if precision == "int8" else graph, folder / GRAPH)
    kind.save_tokenizer(folder)
    facts = ModelFacts(
        name=kind.name, kind=graph.graph.name, precision=precision, labels=LABELS, language="en", pair=kind.pair,
        max_length=TOKENS, parameters=1, parameters_without_embeddings=1, multi_label=kind.multi_label,
    )  # fmt: skip
    save_facts(folder, facts)
    return ModelFolder(folder)


def rows_for(kind: Kind) -> list[Row]:
    """Of one word up to more than are read, known ones and others."""
    words = [*VOCABULARY, "unknown"]
    texts = [" ".join(words[(3 * row + place) % len(words)] for place in range(1 + row % 12)) for row in range(40)]
    return list(zip(texts, texts[::-1], strict=True)) if kind.pair else list(texts)


COMPOSING = [kind for kind in STUDENTS if "attending-composed" in kind.name or "attending-three" in kind.name]
NATIVE = [kind for kind in STUDENTS if kind.masks_itself and kind.is_native and kind not in COMPOSING]


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("kind", NATIVE, ids=lambda kind: kind.name)
def test_both_engines_have_the_same_logits_for_its_file(kind: Kind, precision: Precision, tmp_path: Path) -> None:
    pytest.importorskip("limbeck.runtime._native")
    model, rows = exported(kind, kind.build(), tmp_path, precision=precision), rows_for(kind)

    portable, native = (Classifier(model, engine=engine).logits(rows) for engine in ENGINES)

    near = 1e-5 if precision == "fp32" else 0.05 * np.abs(portable).max()
    np.testing.assert_allclose(native, portable, rtol=0, atol=near)
    alone = [Classifier(model, engine="native").logits([row]) for row in rows]
    np.testing.assert_array_equal(np.concatenate(alone), native)  # no row depends on its company


def test_a_student_with_layers_above_the_comparison_is_left_to_onnxruntime(tmp_path: Path) -> None:
    for kind in COMPOSING:
        for precision in ("fp32", "int8"):
            folder = tmp_path / kind.name / precision
            folder.mkdir(parents=True)
            model = exported(kind, kind.build(), folder, precision=precision)

            assert Classifier(model, engine="auto").engine == "onnxruntime"
            with pytest.raises(EngineUnusable, match="it runs those with one recurrent layer"):
                Classifier(model, engine="native")


LOW_RANK = [kind for kind in STUDENTS if "low-rank" in kind.name]


@pytest.mark.parametrize("kind", LOW_RANK, ids=lambda kind: kind.name)
def test_folded_it_is_a_plain_student_with_narrow_vectors_and_the_same_logits(kind: Kind) -> None:
    network, tensors = kind.build(), batch(kind)

    plain = folded(network)

    assert plain.config.embedding_size == 5
    assert plain.word_vectors.shape == (WORDS, 5)
    assert parameter_count(plain) < parameter_count(network)
    torch.testing.assert_close(logits_of(plain, tensors), logits_of(network, tensors), rtol=0, atol=1e-5)


def moving(network: Any) -> set[str]:
    """The names of the parameters that learn."""
    return {name for name, parameter in network.named_parameters() if parameter.requires_grad}


@every_student
def test_a_step_moves_all_that_learns_and_nothing_else(kind: Kind) -> None:
    network = kind.build().train()
    before = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}

    network(**batch(kind), labels=labels_for(kind)).loss.backward()
    torch.optim.SGD(network.parameters(), lr=1.0).step()

    moved = {name for name, parameter in network.named_parameters() if not torch.equal(parameter, before[name])}
    assert moved == moving(network)
    assert set(before) - moved == {f"{table}.weight" for table in kind.frozen}


@every_student
def test_it_overfits_eight_rows(kind: Kind) -> None:
    network, tensors, labels = kind.build(), batch(kind), labels_for(kind)
    optimiser = torch.optim.Adam(network.parameters(), lr=kind.learning_rate)

    network.train()
    for _ in range(80):
        optimiser.zero_grad()
        network(**tensors, labels=labels).loss.backward()
        optimiser.step()

    logits = logits_of(network, tensors)
    learned = (logits >= 0).long() if kind.multi_label else logits.argmax(dim=1)
    assert learned.tolist() == labels.tolist()
