"""`head = "mean"`: a linear layer on the mean of the states, fitted on the frozen encoder, then fine-tuned with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn import functional as F
from transformers import AutoModelForSequenceClassification

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import LimbeckError
from limbeck.models.mean_encoder import MeanEncoderForSequenceClassification, mean_encoder_of
from limbeck.progress import SilentReporter
from limbeck.recipe.load import parse_recipe
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.teacher import prepare_teacher
from limbeck.teacher.fine_tune import rows_to_learn
from limbeck.teacher.probe import fit_linear
from limbeck.teacher.run import opened

Prepare = Callable[..., TeacherFolder]


class Notes(SilentReporter):
    """Remembers the notes."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def prepare(toy_corpus: Corpus, tiny_teacher_copy: Path, tmp_path: Path, notes: Notes) -> Prepare:
    """prepare(keys of [teacher]…): the tiny teacher with a head on the mean, fine-tuned on the toy rows."""

    def prepare(**section: Any) -> TeacherFolder:
        keys = {"checkpoint": str(tiny_teacher_copy), "head": "mean", "epochs": 1, "precision": "fp32"}
        return prepare_teacher(
            EncoderTeacher.model_validate({**keys, **section}),
            corpus=toy_corpus,
            out=tmp_path / f"teacher-{len(list(tmp_path.iterdir()))}",
            key=Key(section={}, inputs={}),
            reporter=notes,
        )

    return prepare


def test_the_fit_is_that_of_a_logistic_regression() -> None:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(90, 5))
    labels = (features[:, :3] + generator.normal(size=(90, 3))).argmax(axis=1)

    fit = fit_linear(torch.from_numpy(features), torch.from_numpy(labels), loss=F.cross_entropy, classes=3, c=2.0)

    theirs = LogisticRegression(C=2.0, tol=1e-8, max_iter=1000).fit(features, labels)
    np.testing.assert_allclose(fit.weight.numpy(), theirs.coef_, atol=1e-3)
    ours = (features @ fit.weight.numpy().T + fit.bias.numpy()).argmax(axis=1)
    assert (ours == theirs.predict(features)).all()


def test_padding_does_not_change_a_logit(make_encoder: Callable[..., Any]) -> None:
    model = mean_encoder_of(make_encoder("bert").base_model, labels=3).eval()
    row = torch.tensor([[1, 20, 30, 2]])
    padded = torch.tensor([[1, 20, 30, 2, 0, 0]])

    alone = model(row, attention_mask=torch.ones_like(row)).logits
    beside = model(padded, attention_mask=(padded != 0).long()).logits

    torch.testing.assert_close(alone, beside, atol=1e-5, rtol=0)


def test_the_saved_teacher_is_loaded_as_it_was(prepare: Prepare, toy_corpus: Corpus) -> None:
    teacher = prepare()

    model = AutoModelForSequenceClassification.from_pretrained(teacher.folder)
    answers = opened(teacher).logits(toy_corpus.splits["dev"].texts, None)

    assert isinstance(model, MeanEncoderForSequenceClassification)
    accuracy = float((answers.argmax(axis=1) == toy_corpus.splits["dev"].labels).mean())
    assert accuracy == pytest.approx(teacher.facts.dev_accuracy)


def test_a_start_that_no_epoch_improves_is_kept(prepare: Prepare, notes: Notes) -> None:
    teacher = prepare(learning_rate=1e-12, epochs=2)

    history = (teacher.folder / "history.json").read_text(encoding="utf-8")
    assert '"epoch": 0' in history
    assert any("which is kept" in line for line in notes.lines)
    assert teacher.facts.dev_accuracy is not None


def test_the_start_is_reported_with_its_accuracy(prepare: Prepare, notes: Notes) -> None:
    prepare()

    assert any("head on the frozen encoder: " in line and "% on dev" in line for line in notes.lines)


@pytest.mark.parametrize(
    ("teacher", "student", "found"),
    [
        ({"head": "mean", "train": "none"}, {}, "head"),
        ({"head": "mean"}, {"kind": "transformer"}, "takes over its teacher's head"),
    ],
)
def test_what_cannot_have_such_a_head_is_refused(teacher: dict[str, Any], student: dict[str, Any], found: str) -> None:
    raw = {"corpus": {"train": "rows.csv"}, "teacher": teacher, "student": student}

    with pytest.raises(LimbeckError, match=found):
        parse_recipe(raw, recipe="some.toml")


def test_some_rows_are_enough_to_learn_from(toy_corpus: Corpus) -> None:
    train = toy_corpus.splits["train"]
    some, fewer = (
        rows_to_learn(train, EncoderTeacher(checkpoint="x", max_rows=count)) for count in (len(train) // 2, 4)
    )

    assert len(some) == len(train) // 2
    assert set(fewer.ids) < set(some.ids) < set(train.ids)
    assert set(some.labels.tolist()) == set(train.labels.tolist())
    assert rows_to_learn(train, EncoderTeacher(checkpoint="x")) is train


def test_rare_classes_are_kept_first(toy_corpus: Corpus) -> None:
    train = toy_corpus.splits["train"]
    rare, others = np.flatnonzero(train.labels == 1)[:3], np.flatnonzero(train.labels == 0)
    uneven = train.select(np.concatenate([rare, others]))

    chosen = rows_to_learn(uneven, EncoderTeacher(checkpoint="x", max_rows=12))

    assert np.bincount(chosen.labels).tolist() == [9, 3]
