"""`limbeck labels`: the labels of a run, shown, asked again, and written to a file."""

import io
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import FormatTooOld, Key, write_manifest
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.artifacts.transfer_text import TransferText, save_transfer_text
from limbeck.errors import ArtifactMissing
from limbeck.labeling import label
from limbeck.labeling.source import TeacherSource
from limbeck.pipeline.labels import check_labels, labelled_run
from limbeck.progress import SilentReporter
from limbeck.recipe.labeling import Labeling
from limbeck.report.transfer import show_transfer

KEY = Key(section={}, inputs={})
FACTS = TeacherFacts(
    name="tiny", labels=["short", "long"], dev_accuracy=0.9, max_length=64, precision="fp32", parameters=10
)


class LengthTeacher:
    """Long texts are long; `plus` makes another teacher of it."""

    def __init__(self, plus: float = 0.0) -> None:
        self.plus = plus

    def logits(self, texts: Sequence[str], pairs: Any, **_: Any) -> Any:
        del pairs
        return np.array([[3.0, len(text) + self.plus] for text in texts], dtype=np.float32)


def sources_of(run: Path, *, plus: float = 0.0) -> list[TeacherSource]:
    fingerprint = TeacherFolder(run / "teacher").fingerprint
    return [TeacherSource(name="tiny", fingerprint=fingerprint, open=lambda: LengthTeacher(plus))]


def made_from(run: Path) -> Key:
    """The key of labels, as the pipeline makes it."""
    inputs = {
        "corpus": Corpus(run / "corpus").fingerprint,
        "transfer": TransferText(run / "transfer").fingerprint,
        "teacher": TeacherFolder(run / "teacher").fingerprint,
    }
    return Key(section={}, inputs=inputs)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that has come as far as its labels."""
    folder = tmp_path / "runs" / "toy"
    splits = {
        "train": Rows.of(ids=["train:0", "train:1"], texts=["a", "aaaaa"], labels=[0, 1]),
        "dev": Rows.of(ids=["dev:0"], texts=["aaaaaa"], labels=[0]),
    }
    transfer = Rows.of(ids=["transfer:0", "transfer:1"], texts=["aa", "aa"])
    with written_atomically(folder / "corpus", kind="corpus", key=KEY) as scratch:
        facts = {"name": "toy", "labels": ["short", "long"], "language": "en", "pair": False}
        save_corpus(scratch, splits=splits, facts=facts)
    with written_atomically(folder / "transfer", kind="transfer", key=KEY) as scratch:
        save_transfer_text(scratch, rows=transfer, quality={"form": {"needed": [], "steps": []}})
    with written_atomically(folder / "teacher", kind="teacher", key=KEY) as scratch:
        save_teacher_facts(scratch, FACTS)
    label(
        Labeling(),
        rows={**Corpus(folder / "corpus").splits, "transfer": transfer},
        classes=2,
        multi_label=False,
        sources=sources_of(folder),
        combine="mean_probabilities",
        uncovered="stop",
        fingerprint=TeacherFolder(folder / "teacher").fingerprint,
        store=folder.parent / ".label-store",
        out=folder / "labels",
        key=made_from(folder),
        reporter=SilentReporter(),
    )
    (folder / "run.json").write_text("{}", encoding="utf-8")
    return folder


def checked(run: Path, **options: Any) -> tuple[bool, str]:
    """Whether the labels are sound, and what was printed."""
    file = io.StringIO()
    settings: dict[str, Any] = {"is_verified": False, "sample": 10, "export": None, "sources": sources_of(run)}
    return check_labels(run, console=Console(file=file, width=160), **{**settings, **options}), file.getvalue()


def test_labels_are_shown_by_split(run: Path) -> None:
    is_sound, text = checked(run)

    assert is_sound
    assert "5 of 5 rows, 4 distinct texts" in text
    for split in ("train", "dev", "transfer"):
        assert f"\n{split} " in text


def test_all_numbers_can_be_had_as_json(run: Path) -> None:
    _, text = checked(run, as_json=True, is_verified=True)

    shown = json.loads(text)
    assert shown["teacher"] == "tiny"
    assert shown["fingerprint"] == TeacherFolder(run / "teacher").fingerprint
    assert shown["hit_rate"] == 0.0
    assert shown["shards"] == 1
    assert shown["store"] == str(run.parent / ".label-store")
    assert shown["splits"]["train"]["teacher_balance"] == {"short": 0.5, "long": 0.5}
    assert shown["splits"]["dev"]["corpus_balance"] == {"short": 1.0, "long": 0.0}
    assert shown["verification"]["agreement"] == 1.0


def test_the_same_teacher_verifies_the_labels_and_another_one_does_not(run: Path) -> None:
    assert checked(run, is_verified=True)[0]
    is_sound, text = checked(run, is_verified=True, sources=sources_of(run, plus=0.5))

    assert not is_sound
    assert "0.5 at most" in text


def test_a_teacher_in_half_precision_is_allowed_more(run: Path) -> None:
    folder = run / "teacher"
    save_teacher_facts(folder, replace(FACTS, precision="bf16"))
    write_manifest(folder, kind="teacher", key=KEY)
    write_manifest(run / "labels", kind="labels", key=made_from(run))

    is_sound, text = checked(run, is_verified=True, sources=sources_of(run, plus=0.2))

    assert is_sound
    assert "allowed: 0.25 (in bf16" in text


def test_labels_are_written_to_a_file(run: Path, tmp_path: Path) -> None:
    _, text = checked(run, export=tmp_path / "labels.csv")

    assert "Wrote 5 rows" in text
    assert (
        (tmp_path / "labels.csv")
        .read_text(encoding="utf-8")
        .startswith("text,split,probability_short,probability_long")
    )


def test_a_run_and_its_store_may_be_moved_together(run: Path, tmp_path: Path) -> None:
    shutil.move(run.parent, tmp_path / "elsewhere")

    assert labelled_run(tmp_path / "elsewhere" / "toy").head()["shards"] == 1


def test_transfer_text_that_was_not_labelled_is_left_out(run: Path) -> None:
    """A recipe without transfer text leaves an older folder of it where it is."""
    facts = run / "labels" / "labels.json"
    shown = json.loads(facts.read_text(encoding="utf-8"))
    del shown["splits"]["transfer"]
    facts.write_text(json.dumps(shown), encoding="utf-8")
    write_manifest(run / "labels", kind="labels", key=made_from(run))

    assert list(labelled_run(run).splits) == ["train", "dev"]


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactMissing, match="the folder does not exist"):
        labelled_run(tmp_path / "nowhere")
    with pytest.raises(ArtifactMissing, match=r"it has no run\.json"):
        labelled_run(tmp_path)


def test_a_run_without_labels_says_how_to_go_on(run: Path) -> None:
    shutil.rmtree(run / "labels")

    with pytest.raises(ArtifactMissing, match=r"it has no labels yet\n.*limbeck run"):
        labelled_run(run)


def test_labels_of_an_older_version_are_not_misread(run: Path) -> None:
    manifest = run / "labels" / "manifest.json"
    content = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**content, "format": 1}), encoding="utf-8")

    with pytest.raises(FormatTooOld, match=r"in format 1(.|\n)*limbeck run"):
        labelled_run(run)


def test_labels_whose_teacher_cannot_be_read_are_refused_with_what_to_do(run: Path) -> None:
    (run / "teacher" / "teacher.json").write_text("{", encoding="utf-8")

    with pytest.raises(ArtifactMissing, match=r"cannot be read(.|\n)*limbeck run"):
        labelled_run(run)


def test_transfer_text_is_shown_in_numbers_and_examples(run: Path) -> None:
    file = io.StringIO()

    show_transfer(run, examples=2, console=Console(file=file, width=120))

    assert "Gathered text" in file.getvalue()
    assert "form             needed none, steps none" in file.getvalue()
    assert file.getvalue().count("· aa") == 2


def test_a_run_without_transfer_text_says_so(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")

    with pytest.raises(ArtifactMissing, match="neither transfer text nor copies"):
        show_transfer(tmp_path, examples=1, console=Console(file=io.StringIO()))


@pytest.mark.parametrize("place", [100, 500, 900])
def test_damaged_labels_are_never_read(run: Path, place: int) -> None:
    """Arrow trusts what it maps: a few wrong bytes, and the process is gone."""
    path = run / "labels" / "labels.arrow"
    content = bytearray(path.read_bytes())
    content[place : place + 4] = b"\xff\xff\xff\x7f"
    path.write_bytes(bytes(content))

    with pytest.raises(ArtifactMissing, match=r"damaged: labels\.arrow has changed"):
        labelled_run(run)


def test_a_teacher_that_was_damaged_is_not_asked_to_judge_the_labels(run: Path) -> None:
    (run / "teacher" / "teacher.json").write_text(
        (run / "teacher" / "teacher.json").read_text(encoding="utf-8") + " ", encoding="utf-8"
    )

    with pytest.raises(ArtifactMissing, match=r"damaged: teacher\.json"):
        checked(run, is_verified=True)
