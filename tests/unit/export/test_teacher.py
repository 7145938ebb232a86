"""A teacher as a file: it has the teacher's logits for texts, with the teacher's own tokens, or is not written."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
import torch
from transformers import AutoTokenizer, FunnelConfig, FunnelForSequenceClassification, XLNetTokenizer

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder, open_model
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.export.teacher import MOST_PARAMETERS, can_be_exported, export_teacher
from limbeck.export.transformer_graph import transformer_graph
from limbeck.models.mean_encoder import mean_encoder_of
from limbeck.models.tokenizer import load_tokenizer
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Precision
from limbeck.runtime.classifier import load

# DeBERTa's own module compiles a function in a way that torch is about to give up.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

KEY = Key(section={}, inputs={})
LABELS = ["negative", "neutral", "positive"]
MAX_LENGTH = 40
MakeTeacher = Callable[..., TeacherFolder]
ToyRows = tuple[tuple[str, str], ...]


class Notes(SilentReporter):
    """A reporter that keeps every note."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)


@pytest.fixture
def teacher_of(tiny_teacher_folder: Path, tmp_path: Path) -> MakeTeacher:
    """teacher_of(network, **facts): a classifier that reads the tiny teacher's tokens, as a run would save it."""

    def make(network: Any, *, tokens: Any = None, place: str = "teacher", **facts_that_differ: Any) -> TeacherFolder:
        facts: dict[str, Any] = {
            "name": "tiny", "labels": LABELS, "dev_accuracy": 0.9, "max_length": MAX_LENGTH, "precision": "fp32",
            "parameters": 1000, "parameters_without_embeddings": 500,
        }  # fmt: skip
        with written_atomically(tmp_path / place, kind="teacher", key=KEY) as scratch:
            if network is not None:
                network.save_pretrained(scratch)
                (tokens or AutoTokenizer.from_pretrained(tiny_teacher_folder)).save_pretrained(scratch)
            save_teacher_facts(scratch, TeacherFacts(**{**facts, **facts_that_differ}))
        return TeacherFolder(tmp_path / place)

    return make


def exported(
    teacher: TeacherFolder,
    *,
    precision: Precision = "int8",
    pair: bool = False,
    reporter: SilentReporter | None = None,
    members: Sequence[TeacherFolder] = (),
) -> ModelFolder | None:
    return export_teacher(
        teacher,
        language="en",
        pair=pair,
        precision=precision,
        out=teacher.folder.with_name("file"),
        key=KEY,
        reporter=reporter or SilentReporter(),
        members=members,
    )


def network_logits(network: Any, teacher: TeacherFolder, *texts: list[str]) -> npt.NDArray[np.float32]:
    """The network's logits for texts or pairs, with its own tokenizer."""
    tokenizer = load_tokenizer(teacher.folder, network.config)
    batch = tokenizer(*texts, truncation=True, max_length=MAX_LENGTH, padding=True, return_tensors="pt")
    with torch.inference_mode():
        logits: npt.NDArray[np.float32] = network(**batch).logits.numpy()
    return logits


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize(
    "family", ["bert", "distilbert", "roberta", "xlm-roberta", "electra", "mpnet", "albert", "deberta-v2"]
)
def test_the_file_has_the_logits_of_the_teacher(
    make_encoder: Callable[..., Any], teacher_of: MakeTeacher, toy_rows: ToyRows, family: str, pair: bool
) -> None:
    network = make_encoder(family, pad_token_id=0)
    teacher = teacher_of(network)
    texts = [text for text, _ in toy_rows[:40]] + ["", "gorgeous " * 60]
    columns = [texts, texts[::-1]] if pair else [texts]

    model = exported(teacher, precision="fp32", pair=pair)

    assert model is not None
    asked = list(zip(*columns, strict=True)) if pair else texts
    np.testing.assert_allclose(load(model.folder).logits(asked), network_logits(network, teacher, *columns), atol=1e-4)


def test_the_int8_file_has_nearly_the_same_logits_and_is_smaller(
    make_encoder: Callable[..., Any], teacher_of: MakeTeacher, toy_rows: ToyRows
) -> None:
    network = make_encoder("bert", pad_token_id=0)
    teacher = teacher_of(network)
    texts = [text for text, _ in toy_rows]

    model = exported(teacher)

    assert model is not None
    same = load(model.folder).logits(texts).argmax(axis=1) == network_logits(network, teacher, texts).argmax(axis=1)
    assert same.mean() >= 0.95
    assert model.graph.stat().st_size < 0.7 * (teacher.folder / "model.safetensors").stat().st_size


def test_the_facts_are_the_teachers(make_encoder: Callable[..., Any], teacher_of: MakeTeacher) -> None:
    model = exported(teacher_of(make_encoder("distilbert"), multi_label=True), pair=True)

    assert model is not None
    facts = model.facts()
    assert (facts.name, facts.precision, facts.labels, facts.max_length) == ("teacher-int8", "int8", LABELS, MAX_LENGTH)
    assert (facts.pair, facts.multi_label, facts.tokenizer) == (True, True, "framed")
    assert (facts.parameters, facts.parameters_without_embeddings) == (1000, 500)


def xlnet_tokens() -> Any:
    special = ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>")
    words = [(f"▁{word}", -2.0) for word in ("gorgeous", "dreadful", "film", "story", "the", "a")]
    letters = [(letter, -9.0) for letter in ("▁", *"abcdefghijklmnopqrstuvwxyz")]
    return XLNetTokenizer(vocab=[*((name, 0.0) for name in special), *words, *letters])


@pytest.mark.parametrize("pair", [False, True])
def test_xlnet_reads_the_last_token_and_its_types(
    make_encoder: Callable[..., Any], teacher_of: MakeTeacher, toy_rows: ToyRows, pair: bool
) -> None:
    network = make_encoder("xlnet", pad_token_id=5)
    teacher = teacher_of(network, tokens=xlnet_tokens())
    texts = [text for text, _ in toy_rows[:30]] + ["", "gorgeous " * 60]
    columns = [texts, texts[::-1]] if pair else [texts]

    model = exported(teacher, precision="fp32", pair=pair)

    assert model is not None
    asked = list(zip(*columns, strict=True)) if pair else texts
    np.testing.assert_allclose(load(model.folder).logits(asked), network_logits(network, teacher, *columns), atol=1e-4)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_an_ensemble_of_encoders_is_a_blend_of_their_logits(
    make_encoder: Callable[..., Any], teacher_of: MakeTeacher, toy_rows: ToyRows, precision: Precision
) -> None:
    networks = [make_encoder("bert", pad_token_id=0), make_encoder("distilbert", pad_token_id=0)]
    members = [teacher_of(network, place=f"member-{number}") for number, network in enumerate(networks)]
    teacher = teacher_of(
        None, place="together", kind="ensemble", weights=[0.25, 0.75], combine="mean_logits", max_length=None
    )
    texts = [text for text, _ in toy_rows]

    assert can_be_exported(teacher, members)
    model = exported(teacher, precision=precision, members=members)

    assert model is not None
    each = [network_logits(network, member, texts) for network, member in zip(networks, members, strict=True)]
    found = open_model(model.folder)
    assert found.facts().parameters == 2_000
    logits = load(found.folder).logits(texts)
    if precision == "fp32":
        np.testing.assert_allclose(logits, 0.25 * each[0] + 0.75 * each[1], atol=1e-4)
    assert (logits.argmax(axis=1) == (0.25 * each[0] + 0.75 * each[1]).argmax(axis=1)).mean() > 0.9


def test_an_ensemble_with_a_file_or_a_student_is_no_blend(teacher_of: MakeTeacher) -> None:
    together = teacher_of(None, place="together", kind="ensemble")
    encoder, file = teacher_of(None, place="one"), teacher_of(None, place="two", kind="file")

    assert not can_be_exported(together, [encoder, file])
    assert not can_be_exported(file, [file])
    assert can_be_exported(encoder, [encoder])


def test_an_ensemble_with_a_member_that_has_no_graph_is_a_note_and_leaves_nothing(
    make_encoder: Callable[..., Any], teacher_of: MakeTeacher
) -> None:
    members = [teacher_of(make_encoder("bert"), place="one"), teacher_of(unknown_family(), place="two")]
    teacher, notes = teacher_of(None, place="together", kind="ensemble", weights=[0.5, 0.5]), Notes()

    assert exported(teacher, reporter=notes, members=members) is None
    assert "its family has no graph: funnel" in notes.lines[0]
    assert not [path for path in teacher.folder.parent.iterdir() if path.name.startswith("file")]


def unknown_family() -> Any:
    config = FunnelConfig(
        vocab_size=130, block_sizes=[1], d_model=16, n_head=2, d_head=8, d_inner=16, num_decoder_layers=1, num_labels=3
    )
    return FunnelForSequenceClassification(config)


@pytest.mark.parametrize(
    ("network", "facts", "reason"),
    [
        (unknown_family, {}, "its family has no graph: funnel"),
        (None, {"kind": "student"}, "it is not an encoder but of the kind 'student'"),
        (None, {"parameters": MOST_PARAMETERS + 1}, "parameters are more than one ONNX file can hold"),
    ],
)
def test_a_teacher_that_cannot_be_exported_is_a_note_and_no_file(
    make_encoder: Callable[..., Any],
    teacher_of: MakeTeacher,
    network: Callable[[], Any] | None,
    facts: dict[str, Any],
    reason: str,
) -> None:
    teacher = teacher_of(network() if network else make_encoder("bert"), **facts)
    notes = Notes()

    assert exported(teacher, reporter=notes) is None
    assert len(notes.lines) == 1
    assert reason in notes.lines[0]
    assert not teacher.folder.with_name("file").exists()


def test_an_activation_without_an_operator_is_a_note_too(
    make_encoder: Callable[..., Any], teacher_of: MakeTeacher
) -> None:
    notes = Notes()

    assert exported(teacher_of(make_encoder("bert", hidden_act="silu")), reporter=notes) is None
    assert "graph: bert" in notes.lines[0]


def test_tokens_that_put_nothing_before_a_text_are_a_note_too(
    make_encoder: Callable[..., Any], teacher_of: MakeTeacher, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher, notes = teacher_of(make_encoder("bert")), Notes()
    bare = json.dumps({**json.loads(teacher.tokenizer_json()), "post_processor": None})
    monkeypatch.setattr(TeacherFolder, "tokenizer_json", lambda _: bare)

    assert exported(teacher, reporter=notes) is None
    assert "its tokens cannot be exported: it puts no special token before a text" in notes.lines[0]


@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta", "electra", "electra-projected", "mpnet"])
def test_a_head_on_the_mean_of_states_is_exported(family: str, make_encoder: Callable[..., Any]) -> None:
    network = mean_encoder_of(make_encoder(family).base_model, labels=3).eval()
    first, other = [5, 20, 30, 40, 6], [5, 50, 6]
    pad = network.config.pad_token_id or 0
    ids = torch.tensor([first, [*other, pad, pad]])
    lengths = torch.tensor([len(first), len(other)])
    session = onnxruntime.InferenceSession(transformer_graph(network).SerializeToString())

    (found,) = session.run(["logits"], {"input_ids": ids.numpy(), "lengths": lengths.numpy().astype(np.int32)})

    inside = (torch.arange(5) < lengths[:, None]).long()
    wanted = network(ids, attention_mask=inside).logits.detach().numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-4)
