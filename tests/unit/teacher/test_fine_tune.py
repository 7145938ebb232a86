"""Fine-tuning: what decides the loss, and that several processes come to what one comes to."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional as F
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer, XLNetConfig
from transformers.utils import import_utils

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.progress import SilentReporter
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.tasks import task_of
from limbeck.teacher import prepare_teacher
from limbeck.teacher.fine_tune import CAPTURABLE, TokenTable, label_loss
from limbeck.training import cuda_graphs, steps
from limbeck.training.cuda_graphs import CopiedConstants, Slots
from limbeck.training.token_rows import TokenRows
from limbeck.training.tracks import Tracks

Prepare = Callable[..., TeacherFolder]


@pytest.fixture
def prepare(toy_corpus: Corpus, still_teacher: Path, tmp_path: Path) -> Prepare:
    """prepare(keys of [teacher]…): a teacher without dropout, fine-tuned on the toy rows."""

    def prepare(**section: Any) -> TeacherFolder:
        keys = {"checkpoint": str(still_teacher), "epochs": 1, "batch_size": 20, "precision": "fp32"}
        return prepare_teacher(
            EncoderTeacher.model_validate({**keys, "learning_rate": 1e-3, "clip_norm": 1e6, **section}),
            corpus=toy_corpus,
            out=tmp_path / f"teacher-{len(list(tmp_path.iterdir()))}",
            key=Key(section={}, inputs={}),
            reporter=SilentReporter(),
        )

    return prepare


@pytest.fixture
def still_teacher(tiny_teacher_copy: Path) -> Path:
    """The tiny teacher with dropout switched off: then the same rows give the same gradient, however they are dealt."""
    config = tiny_teacher_copy / "config.json"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('_dropout_prob": 0.1', '_dropout_prob": 0.0'), encoding="utf-8")
    return tiny_teacher_copy


def largest_difference(one: TeacherFolder, other: TeacherFolder) -> float:
    first, second = (load_file(folder.folder / "model.safetensors") for folder in (one, other))
    return max(float((first[name] - second[name]).abs().max()) for name in first)


def test_two_processes_come_to_the_weights_that_one_comes_to(prepare: Prepare) -> None:
    alone, together = prepare(), prepare(processes=2)

    assert together.facts.dev_accuracy == pytest.approx(alone.facts.dev_accuracy, abs=0.051)
    assert largest_difference(alone, together) < 5e-4
    assert largest_difference(prepare(seed=1), together) > 5e-3  # the bound above means something


def test_a_model_with_weights_that_are_never_used_trains_in_a_group_and_sends_its_curves(
    toy_corpus: Corpus, tiny_teacher_folder: Path, tmp_path: Path
) -> None:
    """XLNet's mask has no part in classifying, and accelerate ends the group with its trackers: both broke it once."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_teacher_folder)
    tokenizer.save_pretrained(tmp_path / "xlnet")
    config = XLNetConfig(vocab_size=len(tokenizer), d_model=8, d_inner=8, n_layer=1, n_head=1)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(tmp_path / "xlnet")
    keys = {"checkpoint": str(tmp_path / "xlnet"), "epochs": 1, "batch_size": 30, "processes": 2, "max_length": 8}

    teacher = prepare_teacher(
        EncoderTeacher.model_validate({**keys, "precision": "fp32"}),
        corpus=toy_corpus,
        out=tmp_path / "teacher",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
        tracks=Tracks(["tensorboard"], "limbeck", tmp_path / "tracking"),
    )

    assert len(json.loads((teacher.folder / "history.json").read_text(encoding="utf-8"))) == 1
    assert list((tmp_path / "tracking").rglob("events.out.tfevents.*"))


def test_accumulated_batches_come_to_the_weights_of_one_large_batch(prepare: Prepare) -> None:
    parts, whole = prepare(batch_size=20, accumulation_steps=100), prepare(batch_size=1000)

    assert largest_difference(parts, whole) < 1e-4


def corpus_of(*, multi_label: bool, weights: list[float] | None) -> Corpus:
    task = task_of(multi_label=multi_label)
    return SimpleNamespace(task=task, class_weights=weights)  # type: ignore[return-value]


def test_the_loss_to_one_label_counts_classes_by_their_weights() -> None:
    logits, labels = torch.randn(6, 3), torch.tensor([0, 0, 1, 2, 2, 2])
    weights = [1.0, 2.0, 0.5]

    found = label_loss(corpus_of(multi_label=False, weights=weights))(logits, labels)

    each = F.cross_entropy(logits, labels, reduction="none") * torch.tensor(weights)[labels]
    torch.testing.assert_close(found, each.mean())


def test_the_loss_to_several_labels_is_binary_for_each_class() -> None:
    logits, labels = torch.tensor([[0.0, 2.0]]), torch.tensor([[1, 0]])

    plain = label_loss(corpus_of(multi_label=True, weights=None))(logits, labels)
    lifted = label_loss(corpus_of(multi_label=True, weights=[3.0, 1.0]))(logits, labels)

    miss = np.log1p(np.exp(2.0))
    assert plain.item() == pytest.approx((np.log(2) + miss) / 2, rel=1e-5)
    assert lifted.item() == pytest.approx((3 * np.log(2) + miss) / 2, rel=1e-5)


def test_captured_steps_come_to_the_weights_that_steps_come_to(
    prepare: Prepare, make_capture_context: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = prepare(epochs=2)
    context = make_capture_context()
    monkeypatch.setattr(steps, "capture_context_for", lambda _device: context)
    monkeypatch.setattr(cuda_graphs, "FEWEST_REPLAYS", 2)

    captured = prepare(epochs=2)

    assert sum(one.replayed for one in context.captured) > 5
    assert largest_difference(plain, captured) < 1e-5


@pytest.mark.parametrize("family", sorted(CAPTURABLE))
@pytest.mark.parametrize("multi_label", [False, True])
def test_a_step_that_is_captured_makes_no_tensor_on_the_cpu(
    family: str, copies_to_meta: Any, monkeypatch: pytest.MonkeyPatch, *, multi_label: bool
) -> None:
    """On the meta device, as on a GPU that captures: transformers then asks for no number of a mask."""
    monkeypatch.setattr(import_utils, "is_cuda_stream_capturing", lambda: True)
    rows, classes, width = 4, 77, 9
    with torch.device("meta"):
        model = AutoModelForSequenceClassification.from_config(_tiny_config(family, classes=classes)).train()
    labels = torch.ones((rows, classes) if multi_label else (rows,), dtype=torch.int64, device="meta")
    tokens = TokenRows(
        torch.zeros(90, dtype=torch.int32, device="meta"),
        torch.zeros(11, dtype=torch.int64, device="meta"),
        np.full(10, width),
    )
    table = TokenTable({"input_ids": tokens}, {"input_ids": 1}, labels)
    loss = label_loss(corpus_of(multi_label=multi_label, weights=[1.0] * classes))
    slots = Slots(torch.zeros(rows, dtype=torch.int64, device="meta"), (width,))

    def step(_slots: Slots) -> None:
        torch.autograd.backward(loss(model(**table.inputs(_slots)).logits.float(), table.labels[_slots.chosen]))

    constants = CopiedConstants(torch.device("meta"))
    with constants.collected():
        step(slots)
    with copies_to_meta, constants.reused():
        step(slots)

    assert copies_to_meta.copies == []


def _tiny_config(family: str, *, classes: int) -> Any:
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    names = {"dim": 8, "n_layers": 1, "n_heads": 2, "hidden_dim": 8} if family == "distilbert" else sizes
    return AutoConfig.for_model(family, vocab_size=50, num_labels=classes, **names)
