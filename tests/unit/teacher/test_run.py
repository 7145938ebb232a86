"""Fine-tuning a teacher: it learns, is fixed where it should be, and is saved as it was judged."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DistilBertConfig,
    RobertaConfig,
    XLNetConfig,
)

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.progress import Reporter, SilentReporter
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.teacher import prepare_teacher
from limbeck.teacher.loading import open_teacher
from limbeck.training import loop
from limbeck.training.checkpoints import save_checkpoint

KEY = Key(section={}, inputs={})
SILENT = SilentReporter()
Prepare = Callable[..., TeacherFolder]


class Killed(Exception):
    """Simulates kill -9: nothing is tidied up."""


@pytest.fixture
def prepare(toy_corpus: Corpus, tiny_teacher_folder: Path, tmp_path: Path) -> Prepare:
    """prepare(keys of [teacher]…): the tiny teacher, fine-tuned on the toy rows."""

    def prepare(
        *, corpus: Corpus = toy_corpus, out: Path | None = None, reporter: Reporter = SILENT, **section: Any
    ) -> TeacherFolder:
        keys = {"checkpoint": str(tiny_teacher_folder), "epochs": 1, "batch_size": 25, "precision": "fp32"}
        return prepare_teacher(
            EncoderTeacher.model_validate({**keys, "learning_rate": 1e-3, **section}),
            corpus=corpus,
            out=out or tmp_path / f"teacher-{len(list(tmp_path.iterdir()))}",
            key=KEY,
            reporter=reporter,
        )

    return prepare


class Notes(SilentReporter):
    """Remembers the lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)


@pytest.mark.parametrize("asked", [9, 513])
def test_a_length_beyond_what_the_encoder_can_read_is_lowered_and_reported(prepare: Prepare, asked: int) -> None:
    notes = Notes()

    teacher = prepare(train="head", max_length=asked, reporter=notes)

    length = teacher.facts.max_length
    note = f"  it reads {length} tokens at most, not max_length = {asked}"
    assert (note in notes.lines) == (length != asked) == (asked == 513)


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return dict(load_file(folder / "model.safetensors"))


def test_a_teacher_learns_the_toy_task_and_its_folder_is_a_hugging_face_folder(
    prepare: Prepare, toy_corpus: Corpus
) -> None:
    teacher = prepare(epochs=8, batch_size=16)

    texts = toy_corpus.splits["dev"].texts
    model = AutoModelForSequenceClassification.from_pretrained(teacher.folder)
    tokenizer = AutoTokenizer.from_pretrained(teacher.folder)
    with torch.no_grad():
        plain = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits.numpy()
    ours = open_teacher(teacher).logits(texts, None, tokens_per_batch=500)
    np.testing.assert_allclose(ours, plain, atol=1e-5)
    assert model.config.id2label == {0: "negative", 1: "positive"}
    assert teacher.facts.dev_accuracy is not None
    assert teacher.facts.dev_accuracy > 0.9
    assert (plain.argmax(axis=1) == toy_corpus.splits["dev"].labels).mean() == pytest.approx(teacher.facts.dev_accuracy)


def test_the_facts_are_those_of_the_model(prepare: Prepare, tiny_teacher_folder: Path) -> None:
    teacher = prepare(max_length=40)

    parameters = sum(weight.numel() for weight in weights_of(teacher.folder).values())
    tables = sum(
        weight.numel()
        for name, weight in weights_of(teacher.folder).items()
        if name.endswith("_embeddings.weight")  # of words, positions and token types
    )
    history = json.loads((teacher.folder / "history.json").read_text(encoding="utf-8"))
    found = asdict(teacher.facts)
    assert {key: value for key, value in found.items() if value not in (None, [], {})} == {
        "name": tiny_teacher_folder.name,
        "kind": "encoder",
        "labels": ["negative", "positive"],
        "multi_label": False,
        "max_length": 40,
        "long_texts": "head",
        "head_share": 0.25,
        "precision": "fp32",
        "parameters": parameters,
        "parameters_without_embeddings": parameters - tables,
        "dev_accuracy": history[0]["dev_accuracy"],
        "dev_skill": history[0]["dev_skill"],
        "dev_rows": 50,
        "dev_others": 25,
        "still_learning": False,
    }
    assert teacher.hidden_size == 32


def test_with_the_head_alone_the_encoder_stands_still(prepare: Prepare, tiny_teacher_folder: Path) -> None:
    teacher = prepare(train="head")

    before, after = weights_of(tiny_teacher_folder), weights_of(teacher.folder)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"classifier.weight", "classifier.bias"}


def test_a_pooler_that_the_checkpoint_does_not_have_learns_with_the_head(
    prepare: Prepare, tiny_teacher_copy: Path
) -> None:
    """Checkpoints of masked language models have none; a random one that is fixed only blurs what it is given."""
    bare = {
        name.removeprefix("bert."): weight
        for name, weight in weights_of(tiny_teacher_copy).items()
        if "pooler" not in name and not name.startswith("classifier")
    }
    save_file(bare, tiny_teacher_copy / "model.safetensors", metadata={"format": "pt"})

    one = prepare(train="head", checkpoint=str(tiny_teacher_copy))
    longer = prepare(train="head", checkpoint=str(tiny_teacher_copy), epochs=2)

    first, second = weights_of(one.folder), weights_of(longer.folder)
    changed = {name for name in first if not torch.equal(first[name], second[name])}
    assert changed == {"classifier.weight", "classifier.bias", "bert.pooler.dense.weight", "bert.pooler.dense.bias"}


def test_the_same_seed_gives_the_same_teacher_and_another_one_another(
    prepare: Prepare, make_corpus: Callable[..., Corpus], toy_rows: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    rows = [(text, "short" if len(text.split()) < 8 else label) for text, label in toy_rows[:60]]
    corpus = make_corpus(tmp_path / "corpus", train=rows[:50], dev=rows[50:])  # three classes: the head is fresh

    first, again, other = (prepare(corpus=corpus, seed=seed) for seed in (5, 5, 6))

    assert first.fingerprint == again.fingerprint
    assert first.fingerprint != other.fingerprint
    assert weights_of(first.folder)["classifier.weight"].shape == (3, 32)


def test_a_checkpoint_at_another_place_becomes_the_same_teacher(prepare: Prepare, tiny_teacher_copy: Path) -> None:
    """Or else its texts would be asked again: the label store goes by the fingerprint."""
    assert prepare().fingerprint == prepare(checkpoint=str(tiny_teacher_copy)).fingerprint


@pytest.mark.parametrize("steps_before_death", [2, 6, 9])
def test_a_killed_fine_tuning_goes_on_and_ends_the_same(
    prepare: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps_before_death: int
) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)  # a checkpoint after every step
    undisturbed = prepare(epochs=2, out=tmp_path / "undisturbed")
    saved = 0

    def deadly(*args: Any, **options: Any) -> None:
        nonlocal saved
        save_checkpoint(*args, **options)
        saved += 1
        if saved == steps_before_death:
            raise Killed

    monkeypatch.setattr(loop, "save_checkpoint", deadly)
    with pytest.raises(Killed):
        prepare(epochs=2, out=tmp_path / "killed")
    torch.rand(7)
    resumed = prepare(epochs=2, out=tmp_path / "killed")

    assert saved > steps_before_death
    assert resumed.fingerprint == undisturbed.fingerprint
    assert resumed.facts == undisturbed.facts


def test_pairs_are_fine_tuned_on_both_texts(
    prepare: Prepare, make_corpus: Callable[..., Corpus], toy_rows: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    corpus = make_corpus(tmp_path / "corpus", train=toy_rows[:50], dev=toy_rows[50:60], pairs=True)

    encoder = open_teacher(prepare(corpus=corpus))

    rows = corpus.splits["dev"]
    assert rows.pairs is not None
    both = encoder.logits(rows.texts, rows.pairs, tokens_per_batch=500)
    assert not np.allclose(both, encoder.logits(rows.texts, None, tokens_per_batch=500))


# Their configs call the width by other names, and RoBERTa counts positions from behind its padding id.
OTHER_ENCODERS: dict[str, tuple[Any, int]] = {
    "distilbert": (DistilBertConfig(dim=24, hidden_dim=32, n_layers=2, n_heads=2, max_position_embeddings=20), 20),
    "roberta": (
        RobertaConfig(
            hidden_size=24,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=22,
            pad_token_id=1,
        ),
        20,
    ),
    "xlnet": (XLNetConfig(d_model=24, d_inner=32, n_layer=2, n_head=2), 128),  # no limit but the recipe's
}


@pytest.mark.parametrize("kind", OTHER_ENCODERS)
def test_other_encoders_are_fine_tuned_and_asked_for_words(
    prepare: Prepare, tiny_teacher_folder: Path, tmp_path: Path, kind: str
) -> None:
    config, longest = OTHER_ENCODERS[kind]
    tokenizer = AutoTokenizer.from_pretrained(tiny_teacher_folder)
    tokenizer.save_pretrained(tmp_path / kind)
    config.vocab_size = len(tokenizer)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(tmp_path / kind)

    teacher = prepare(checkpoint=str(tmp_path / kind))

    encoder = open_teacher(teacher)
    with SilentReporter().bar("words", total=2, unit="words") as bar:
        states = encoder.word_states(["film", "gorgeous"], are_pieces=False, tokens_per_batch=64, bar=bar)
    assert teacher.hidden_size == 24
    assert states.shape == (2, 24)
    assert teacher.facts.max_length == longest
    assert encoder.logits(["film " * 200], None, tokens_per_batch=64).shape == (1, 2)
