"""A run is known by the artifacts that are whole and belong together; its teacher is asked twice."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, write_manifest
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.doctor.known import Known, NotThere
from limbeck.doctor.of_run import known_of_run
from limbeck.doctor.run import examined
from limbeck.labeling import label
from limbeck.labeling.source import TeacherSource
from limbeck.progress import SilentReporter
from limbeck.recipe.labeling import Labeling

Row = tuple[str, str]
Make = Callable[..., Any]


class Teacher:
    """Odd numbers are good. With `noise` it is as one outside of eval mode: dropout makes each answer another."""

    def __init__(self, *, noise: float = 0.0, plus: float = 0.0) -> None:
        self._noise, self._plus, self._dice = noise, plus, np.random.default_rng(0)

    def logits(self, texts: Sequence[str], pairs: Any, **_: Any) -> Any:
        del pairs
        signs = np.array([1.0 if int(text.split()[-1]) % 2 else -1.0 for text in texts])
        said = np.stack([-2 * signs, 2 * signs + self._plus], axis=1)
        return (said + self._dice.normal(0, self._noise, said.shape)).astype(np.float32)


def sources_of(run: Path, teacher: Teacher) -> list[TeacherSource]:
    return [TeacherSource(name="tiny", fingerprint=TeacherFolder(run / "teacher").fingerprint, open=lambda: teacher)]


@pytest.fixture
def run(make_corpus_of: Make, hundred: list[Row], tmp_path: Path) -> Path:
    """A run that has come as far as its labels."""
    folder = tmp_path / "runs" / "toy"
    folder.mkdir(parents=True)
    made: Corpus = make_corpus_of(train=hundred[:60], dev=hundred[60:])
    corpus = Corpus(Path(made.folder.rename(folder / "corpus")))
    facts = TeacherFacts(
        name="tiny", kind="student", labels=corpus.labels, dev_accuracy=1.0, precision="fp32", parameters=10
    )
    key = Key(section={}, inputs={"corpus": corpus.training_fingerprint})
    with written_atomically(folder / "teacher", kind="teacher", key=key) as scratch:
        save_teacher_facts(scratch, facts)
    teacher = TeacherFolder(folder / "teacher")
    label(
        Labeling(),
        rows=corpus.splits,
        classes=2,
        multi_label=False,
        sources=sources_of(folder, Teacher()),
        combine="mean_probabilities",
        uncovered="stop",
        fingerprint=teacher.fingerprint,
        store=folder.parent / ".label-store",
        out=folder / "labels",
        key=Key(section={}, inputs={"corpus": corpus.fingerprint, "teacher": teacher.fingerprint}),
        reporter=SilentReporter(),
    )
    (folder / "recipe.toml").write_text('[corpus]\ntrain = "gone.csv"\n', encoding="utf-8")
    stages: dict[str, Any] = {name: {} for name in ("corpus", "teacher", "labels")}
    (folder / "run.json").write_text(json.dumps({"stages": stages}), encoding="utf-8")
    return folder


def found_in(known: Known) -> list[tuple[str, str]]:
    return [(finding.check, finding.what) for finding in examined(known, target="toy").findings]


def test_a_sound_run_gives_no_findings_and_says_what_it_lacks(run: Path) -> None:
    found = examined(known_of_run(run, sources=sources_of(run, Teacher())), target="toy")

    assert list(found.findings) == []
    assert found.kind == "run"
    assert {"manifest", "overlap", "label-order", "teacher-chance", "teacher-steady"} <= set(found.checked)
    assert found.not_checked["gain"] == "report is not made yet"
    assert found.not_checked["domain"] == "the recipe has no [transfer]"
    assert found.not_checked["teacher-length"] == "the teacher is not an encoder"


def test_a_teacher_that_is_not_in_eval_mode_is_found(run: Path) -> None:
    known = known_of_run(run, sources=sources_of(run, Teacher(noise=0.1)))

    assert found_in(known) == [("teacher-steady", "the teacher tiny gives different answers each time it is asked")]


def test_labels_that_the_teacher_does_not_give_are_found(run: Path) -> None:
    known = known_of_run(run, sources=sources_of(run, Teacher(plus=0.5)))

    assert found_in(known) == [("teacher-steady", "the stored labels differ from the answers of the teacher tiny")]


def test_without_asking_the_kept_labels_are_looked_at_alone(run: Path) -> None:
    found = examined(known_of_run(run, asks=False), target="toy")

    assert found.not_checked["teacher-steady"] == "asking the teacher is switched off"
    assert "label-order" in found.checked


@pytest.mark.parametrize("place", [100, 500, 900])
def test_damaged_labels_are_reported_and_never_read(run: Path, place: int) -> None:
    path = run / "labels" / "labels.arrow"
    content = bytearray(path.read_bytes())
    content[place : place + 4] = b"\xff\xff\xff\x7f"
    path.write_bytes(bytes(content))

    known = known_of_run(run, asks=False)

    assert found_in(known) == [("manifest", "labels does not match its manifest")]
    with pytest.raises(NotThere, match="damaged"):
        _ = known.asked


def test_labels_of_an_earlier_corpus_are_not_used(run: Path) -> None:
    teacher = TeacherFolder(run / "teacher").fingerprint
    write_manifest(run / "labels", kind="labels", key=Key(section={}, inputs={"corpus": "other", "teacher": teacher}))

    known = known_of_run(run, asks=False)

    assert known.absent["asked"] == "labels belong to an earlier corpus"
    assert found_in(known) == [("manifest", "labels belong to an earlier corpus")]


def test_a_teacher_of_an_earlier_corpus_is_not_used(run: Path) -> None:
    write_manifest(run / "teacher", kind="teacher", key=Key(section={}, inputs={"corpus": "other"}))

    known = known_of_run(run, asks=False)

    assert known.absent["teacher"] == "teacher belongs to an earlier corpus"
    assert found_in(known) == [("manifest", "teacher belongs to an earlier corpus")]


def test_text_that_the_recipe_no_longer_asks_for_is_not_looked_at(run: Path) -> None:
    with written_atomically(run / "transfer", kind="transfer", key=Key(section={}, inputs={})) as scratch:
        (scratch / "transfer.arrow").write_bytes(b"")

    assert not known_of_run(run, asks=False).has("transfer")
