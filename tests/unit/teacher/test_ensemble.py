"""Who is in an ensemble, under what name, and how much the word of each counts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.progress import SilentReporter
from limbeck.recipe.teacher import EncoderTeacher, EnsembleTeacher, FileTeacher, Pretraining, StudentTeacher
from limbeck.teacher.ensemble import MemberUnjudged, guessing_of_labels
from limbeck.teacher.run import member_names, prepare_teacher

KEY = Key(section={}, inputs={})
Join = Callable[..., TeacherFacts]
ENCODER, FILE = EncoderTeacher(checkpoint="some/bert"), FileTeacher(kind="file", path="said/gpt.jsonl")


def member(folder: Path, **facts: Any) -> TeacherFolder:
    """A teacher of which only the facts are there."""
    known = {"name": folder.name, "labels": ["negative", "positive"], "dev_accuracy": 0.8, "dev_rows": 10, **facts}
    with written_atomically(folder, kind="teacher", key=KEY) as scratch:
        save_teacher_facts(scratch, TeacherFacts(**known))
        (scratch / "weights").write_text(folder.name, encoding="utf-8")
    return TeacherFolder(folder)


def joined(section: EnsembleTeacher, members: dict[str, TeacherFolder], corpus: Corpus, out: Path) -> TeacherFolder:
    return prepare_teacher(section, corpus=corpus, out=out, key=KEY, reporter=SilentReporter(), members=members)


@pytest.fixture
def join(toy_corpus: Corpus, tmp_path: Path) -> Join:
    """join(combine, a, b…): the facts of these members together."""

    def join(combine: str, *members: TeacherFolder) -> TeacherFacts:
        section = EnsembleTeacher.model_validate({"kind": "ensemble", "combine": combine, "members": [ENCODER, FILE]})
        named = {folder.folder.name: folder for folder in members}
        return joined(section, named, toy_corpus, tmp_path / combine).facts

    return join


def test_members_are_named_for_their_checkpoint_or_file() -> None:
    named = member_names([ENCODER, FILE, FileTeacher(kind="file", path="x.csv", name="the-llm")])

    assert list(named) == ["bert", "gpt", "the-llm"]


def test_a_student_is_named_for_its_run_too(tmp_path: Path, student_with: Callable[..., Path]) -> None:
    path = student_with(tmp_path / "big" / "students" / "bilstm" / "0")
    (tmp_path / "big" / "run.json").write_text("{}", encoding="utf-8")

    assert list(member_names([StudentTeacher(kind="student", path=str(path))])) == ["big_bilstm"]


def test_members_of_the_same_name_are_distinguished() -> None:
    seeds = [EncoderTeacher(checkpoint="some/bert", seed=seed) for seed in (0, 1, 2)]

    named, fewer = member_names(seeds), member_names(seeds[1:])

    assert len(named) == 3
    assert all(name.startswith("bert-") for name in named)
    assert fewer.items() <= named.items()  # to leave one out changes nobody else's name


def test_a_name_does_not_depend_on_the_other_members_nor_on_what_changes_no_answer() -> None:
    first, second = (EncoderTeacher(checkpoint="some/bert", seed=seed) for seed in (0, 1))
    pretrained = EncoderTeacher(checkpoint="some/bert", pretraining=Pretraining())
    warned = first.model_copy(update={"near_chance": "warn", "processes": 2, "compile": True})

    name, *_ = member_names([first, second])
    assert next(iter(member_names([first, pretrained]))) == name
    assert next(iter(member_names([warned, second]))) == name


def test_the_same_member_twice_has_a_number() -> None:
    first, second = member_names([ENCODER, ENCODER])

    assert second == f"{first}-2"


@pytest.mark.parametrize("combine", ["mean_logits", "mean_probabilities"])
def test_all_count_the_same_unless_they_are_weighted(join: Join, tmp_path: Path, combine: str) -> None:
    facts = join(combine, member(tmp_path / "a", dev_accuracy=0.6), member(tmp_path / "b", dev_accuracy=0.9))

    assert facts.weights == [0.5, 0.5]
    assert facts.combine == combine


def test_weights_are_in_proportion_to_accuracy_on_dev(join: Join, tmp_path: Path) -> None:
    facts = join("weighted", member(tmp_path / "a", dev_accuracy=0.6), member(tmp_path / "b", dev_accuracy=0.9))

    assert facts.weights == pytest.approx([0.4, 0.6])
    assert facts.combine == "mean_probabilities"


def test_a_member_without_an_accuracy_cannot_be_weighted(join: Join, tmp_path: Path) -> None:
    silent = member(tmp_path / "silent", kind="file", dev_accuracy=None, dev_rows=0)

    with pytest.raises(MemberUnjudged, match="silent"):
        join("weighted", member(tmp_path / "a"), silent)


def test_members_of_one_name_are_counted_in_the_name_of_all(join: Join, tmp_path: Path) -> None:
    same = [member(tmp_path / folder, name="bert") for folder in ("bert-1", "bert-2")]

    assert join("mean_logits", *same, member(tmp_path / "other")).name == "2 × bert + other"


def test_the_size_is_the_sum_and_unknown_where_one_member_is_a_file(join: Join, tmp_path: Path) -> None:
    big = member(tmp_path / "big", parameters=100, parameters_without_embeddings=60)
    small = member(tmp_path / "small", parameters=10, parameters_without_embeddings=4)

    together = join("mean_logits", big, small)
    with_file = join("mean_probabilities", big, member(tmp_path / "file", kind="file"))

    assert (together.parameters, together.parameters_without_embeddings) == (110, 64)
    assert with_file.parameters is None


def test_another_member_another_weight_and_another_rule_are_another_teacher(toy_corpus: Corpus, tmp_path: Path) -> None:
    a, b, c = (member(tmp_path / name, dev_accuracy=0.6 if name == "a" else 0.9) for name in "abc")

    def fingerprint(number: int, combine: str, *members: TeacherFolder) -> str:
        section = EnsembleTeacher.model_validate({"kind": "ensemble", "combine": combine, "members": [ENCODER, FILE]})
        named = {folder.folder.name: folder for folder in members}
        out = tmp_path / f"together-{number}"
        return joined(section, named, toy_corpus, out).fingerprint

    found = [
        fingerprint(0, "mean_probabilities", a, b),
        fingerprint(1, "mean_probabilities", a, c),
        fingerprint(2, "weighted", a, b),
        fingerprint(3, "mean_logits", a, b),
    ]

    assert len(set(found)) == 4
    assert fingerprint(4, "mean_probabilities", a, b) == found[0]


def test_together_they_are_judged_by_what_they_said_of_dev(tmp_path: Path) -> None:
    rows = Rows.of(ids=["a", "b", "c", "d"], texts=list("abcd"), labels=[0, 1, 1, 0])
    said = np.array([[2, 0], [0, 2], [2, 0]], dtype=np.float32)  # nothing of d
    with written_atomically(tmp_path / "labels", kind="labels", key=KEY) as scratch:
        save_teacher_labels(scratch, ids=["a", "b", "c"], logits=said, facts={})
    facts = TeacherFacts(name="both", kind="ensemble", labels=["n", "p"], dev_accuracy=None)

    judged = guessing_of_labels(facts, labels=TeacherLabels(tmp_path / "labels"), rows=rows)

    assert judged.dev_accuracy == pytest.approx(2 / 3)
    assert judged.dev_rows == 3
    assert judged.dev_skill == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("..", "__"),
        (".", "_"),
        ("a/b", "a_b"),
        ("../../x", "_._.._x"),
        (".hidden", "_hidden"),
        ("a\\b:c", "a_b_c"),
        ("GPT-4.1 mini", "GPT-4.1_mini"),
        ("模型_1", "模型_1"),
    ],
)
def test_every_name_is_fit_for_a_folder(name: str, folder: str) -> None:
    assert list(member_names([FileTeacher(kind="file", path="x.csv", name=name)])) == [folder]


@pytest.mark.parametrize("checkpoint", [".", "..", "/"])
def test_a_checkpoint_without_a_name_has_one_too(checkpoint: str) -> None:
    (name,) = member_names([EncoderTeacher(checkpoint=checkpoint)])

    assert set(name) == {"_"}
