"""Every kind of teacher for rows with scores: one output, in the standard units of the corpus."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.corpus.run import read_corpus
from limbeck.progress import SilentReporter
from limbeck.recipe.corpus import CorpusSection
from limbeck.recipe.teacher import CustomTeacher, EncoderTeacher, EnsembleTeacher, FileTeacher, LinearTeacher
from limbeck.teacher.chance import TeacherNearChance, refuse_guessing
from limbeck.teacher.run import opened, prepare_teacher

KEY = Key(section={}, inputs={})
GOOD, BAD, BETWEEN = "a gorgeous film", "a dreadful film", "a quiet film"
FILLING = ["the", "script", "camera", "city", "music", "evening", "garden", "road", "letter", "scene"]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """60 rows: 8 with "gorgeous", 2 with "dreadful"."""
    rows = [f"{('gorgeous', 'dreadful')[at % 2]} {FILLING[at % 10]} {FILLING[at // 10]} film" for at in range(60)]
    lines = [f"{row},{(8, 2)[at % 2] + at % 3 / 10}" for at, row in enumerate(rows)]
    (tmp_path / "rows.csv").write_text("text,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    section = CorpusSection(train=str(tmp_path / "rows.csv"), task="regression", dev_fraction=0.3)
    return read_corpus(section, out=tmp_path / "corpus", key=KEY, reporter=SilentReporter(), name="toy")


def scores_of(teacher: TeacherFolder, corpus: Corpus, texts: list[str]) -> np.ndarray[Any, Any]:
    assert corpus.scale is not None
    logits = opened(teacher).logits(texts, None)
    assert logits.shape == (len(texts), 1)
    return corpus.scale.scores(logits[:, 0], clip=False)


def prepared(section: Any, corpus: Corpus, out: Path, **more: Any) -> TeacherFolder:
    return prepare_teacher(section, corpus=corpus, out=out, key=KEY, reporter=SilentReporter(), **more)


@pytest.mark.parametrize("head", ["own", "mean"])
def test_an_encoder_learns_scores_and_says_so_in_its_config(
    corpus: Corpus, tiny_teacher_folder: Path, tmp_path: Path, head: str
) -> None:
    section = EncoderTeacher.model_validate(
        {"checkpoint": str(tiny_teacher_folder), "epochs": 3, "learning_rate": 1e-3, "batch_size": 8, "head": head}
        | {"max_length": 16, "precision": "fp32"}
    )

    teacher = prepared(section, corpus, tmp_path / "teacher")

    facts = teacher.facts
    assert (facts.task.name, facts.dev_accuracy, facts.dev_others) == ("score", None, None)
    assert facts.dev_spearman == facts.dev_skill
    assert "Spearman" in facts.on_dev()
    good, bad = scores_of(teacher, corpus, [GOOD, BAD])
    assert good > bad + (2 if head == "mean" else 0)
    assert opened(teacher).model.config.problem_type == "regression"  # type: ignore[attr-defined]


def test_a_checkpoint_of_scores_is_taken_as_it_is_with_scores_in_the_units_of_the_corpus(
    corpus: Corpus, tiny_teacher_folder: Path, tmp_path: Path
) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    ready = AutoModelForSequenceClassification.from_pretrained(
        tiny_teacher_folder, num_labels=1, ignore_mismatched_sizes=True, problem_type="regression"
    )
    with torch.no_grad():
        ready.classifier.bias.fill_(6.0)
    ready.save_pretrained(tmp_path / "ready")
    tokenizer = AutoTokenizer.from_pretrained(tiny_teacher_folder)
    tokenizer.save_pretrained(tmp_path / "ready")
    section = EncoderTeacher(
        checkpoint=str(tmp_path / "ready"), train="none", max_length=16, precision="fp32", near_chance="warn"
    )

    teacher = prepared(section, corpus, tmp_path / "teacher")

    with torch.inference_mode():
        expected = ready.eval()(**tokenizer([GOOD], return_tensors="pt")).logits[0, 0].item()
    assert scores_of(teacher, corpus, [GOOD])[0] == pytest.approx(expected, abs=1e-4)


def test_a_file_a_function_and_a_linear_teacher_and_their_mean(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row for split in ("train", "dev") for row in corpus.splits[split].texts]
    lines = [f"{text},{9 if 'gorgeous' in text else 1}" for text in [*rows, GOOD, BAD]]
    (tmp_path / "said.csv").write_text("text,score\n" + "\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "rules.py").write_text(
        "def rate(labels):\n    assert labels == ['score']\n"
        "    return lambda texts: [7.0 if 'gorgeous' in text else 3.0 for text in texts]\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    sections: dict[str, Any] = {
        "said": FileTeacher(kind="file", path=str(tmp_path / "said.csv")),
        "rate": CustomTeacher(kind="custom", call="rules:rate"),
        "linear": LinearTeacher(kind="linear"),
    }

    members = {name: prepared(section, corpus, tmp_path / name) for name, section in sections.items()}

    assert scores_of(members["said"], corpus, [GOOD, BAD]) == pytest.approx([9, 1], abs=1e-3)
    assert scores_of(members["rate"], corpus, [GOOD, BAD]) == pytest.approx([7, 3], abs=1e-3)
    good, between, bad = scores_of(members["linear"], corpus, [GOOD, BETWEEN, BAD])
    assert good > between > bad
    together = EnsembleTeacher.model_validate({"kind": "ensemble", "members": [*sections.values()]})
    facts = prepared(together, corpus, tmp_path / "all", members=members).facts
    assert facts.combine == "mean_logits"
    assert facts.weights == pytest.approx([1 / 3] * 3)
    sys.modules.pop("rules", None)


def test_scores_that_have_nothing_to_do_with_those_of_dev_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    rows: Rows = corpus.splits["dev"]
    lines = [f"{text},{(at * 7) % 5}" for at, text in enumerate([*rows.texts, *corpus.splits["train"].texts])]
    (tmp_path / "noise.csv").write_text("text,score\n" + "\n".join(lines) + "\n", encoding="utf-8")
    facts = prepared(FileTeacher(kind="file", path=str(tmp_path / "noise.csv")), corpus, tmp_path / "noise").facts

    assert facts.dev_skill is not None
    assert facts.dev_skill < 0.1
    with pytest.raises(TeacherNearChance, match="Spearman's correlation"):
        refuse_guessing(replace(facts, dev_rows=1_000), near_chance="stop", reporter=SilentReporter())
