"""Asking the teachers: once per text, by id, resumable; one or several of them, covering all rows or not."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

from limbeck.artifacts.answers import Features, Logits
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.errors import LabelsDoNotCover
from limbeck.labeling import label
from limbeck.labeling import run as module
from limbeck.labeling.run import NothingCovered, RowsUncovered
from limbeck.labeling.source import Pooling, TeacherSource
from limbeck.progress import Bar, SilentReporter
from limbeck.recipe.labeling import Labeling


@dataclass
class LengthTeacher:
    """A teacher whose logits are the lengths of the texts, so that a mix-up is visible."""

    dies_after: int | None = None  # shards
    silent_about: str = "nothing"  # texts with this in them
    asked: list[str] = field(default_factory=list)
    calls: int = 0
    is_open: bool = False

    def logits(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> Logits:
        del tokens_per_batch, bar
        if self.dies_after is not None and self.calls >= self.dies_after:
            raise KeyboardInterrupt
        self.calls += 1
        self.asked += texts
        others = pairs or [""] * len(texts)
        found = np.array([[len(text), len(pair)] for text, pair in zip(texts, others, strict=True)], dtype=np.float32)
        found[[self.silent_about in text for text in texts]] = np.nan
        return found

    def logits_and_features(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        pooling: Pooling,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> tuple[Logits, Features]:
        del tokens_per_batch, bar
        logits = self.logits(texts, pairs)
        return logits, np.repeat(logits[:, :1] if pooling == "mean" else -logits[:, :1], 5, axis=1).astype(np.float16)


class Listener(SilentReporter):
    """Keeps what was said."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.notes.append(text)


def source(
    teacher: LengthTeacher, *, name: str = "length", fingerprint: str = "teacher", weight: float = 1.0
) -> TeacherSource:
    def opened() -> LengthTeacher:
        teacher.is_open = True
        return teacher

    return TeacherSource(name=name, fingerprint=fingerprint, open=opened, weight=weight)


def labelled(
    tmp_path: Path,
    rows: Rows | Mapping[str, Rows],
    *teachers: LengthTeacher | TeacherSource,
    run: str = "one",
    fingerprint: str = "teacher",
    uncovered: Literal["stop", "skip"] = "stop",
    features: Literal["none", "cls", "mean"] = "none",
    reporter: Any = None,
    train_rows: int | None = None,
) -> TeacherLabels:
    splits = {"train": rows} if isinstance(rows, Rows) else rows
    return label(
        Labeling(rows_per_shard=3, features=features, train_rows=train_rows),
        rows=splits,
        classes=2,
        multi_label=False,
        sources=[
            teacher if isinstance(teacher, TeacherSource) else source(teacher, fingerprint=fingerprint)
            for teacher in teachers
        ],
        combine="mean_logits",
        uncovered=uncovered,
        fingerprint=fingerprint,
        store=tmp_path / "store",
        out=tmp_path / run / "labels",
        key=Key(section={}, inputs={"rows": str([part.ids for part in splits.values()])}),
        reporter=reporter or SilentReporter(),
    )


def rows_of(*texts: str, pairs: list[str] | None = None, prefix: str = "row") -> Rows:
    return Rows.of(ids=[f"{prefix}-{number}" for number in range(len(texts))], texts=list(texts), pairs=pairs)


def test_labels_follow_ids_under_shuffling(tmp_path: Path) -> None:
    """KD_Lib pairs logits and batches by position, and mis-pairs them under a shuffled loader."""
    rows = rows_of("a", "bbb", "cc", "dddd", "eeeee", "ffffff", "")
    labels = labelled(tmp_path, rows, LengthTeacher())

    order = np.random.default_rng(3).permutation(len(rows))
    shuffled = rows.select(order)

    assert labels.for_rows(shuffled.ids)[:, 0].tolist() == [len(text) for text in shuffled.texts]


def test_the_order_of_the_rows_does_not_matter(tmp_path: Path) -> None:
    rows = rows_of(*("x" * length for length in (4, 1, 3, 9, 2, 7, 1)))
    one = labelled(tmp_path, rows, LengthTeacher())

    other = labelled(tmp_path / "elsewhere", rows.select([6, 2, 0, 1, 5, 4, 3]), LengthTeacher())

    np.testing.assert_array_equal(one.for_rows(rows.ids), other.for_rows(rows.ids))


def test_labels_survive_duplicates_and_empty_texts(tmp_path: Path) -> None:
    teacher = LengthTeacher()

    labels = labelled(tmp_path, rows_of("same", "", "same", "same", ""), teacher)

    assert sorted(teacher.asked) == ["", "same"]
    assert labels.for_rows([f"row-{number}" for number in range(5)])[:, 0].tolist() == [4.0, 0.0, 4.0, 4.0, 0.0]


def test_there_is_no_zip_by_position_between_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are asked long ones first, kept by content and written in windows: none of the three orders shows."""
    monkeypatch.setattr(module, "MOST_ROWS", 2)
    splits = {
        "train": rows_of("x", "xxxxxxxx", "xx", prefix="train"),
        "dev": rows_of("xxx", "xx", prefix="dev"),
        "transfer": rows_of("xxxx", "", "xxxxxxxx", "x", "xxxxx", prefix="transfer"),
    }

    labels = labelled(tmp_path, splits, LengthTeacher())

    for rows in reversed(splits.values()):
        assert labels.for_rows(rows.ids)[:, 0].tolist() == [len(text) for text in rows.texts]


def test_changing_nothing_never_asks_twice(tmp_path: Path) -> None:
    first, second = LengthTeacher(), LengthTeacher()
    labelled(tmp_path, rows_of("a", "bb", "ccc"), first)

    again = labelled(tmp_path, rows_of("ccc", "a", prefix="other"), second, run="two")

    assert sorted(first.asked) == ["a", "bb", "ccc"]
    assert second.asked == []
    assert not second.is_open
    assert again.for_rows(["other-0", "other-1"])[:, 0].tolist() == [3.0, 1.0]


def test_another_fingerprint_is_another_teacher(tmp_path: Path) -> None:
    labelled(tmp_path, rows_of("a", "bb"), LengthTeacher())
    changed = LengthTeacher()

    labelled(tmp_path, rows_of("a", "bb"), changed, run="two", fingerprint="fine-tuned longer")

    assert sorted(changed.asked) == ["a", "bb"]


def test_pairs_are_distinguished_by_both_texts(tmp_path: Path) -> None:
    teacher = LengthTeacher()

    labels = labelled(tmp_path, rows_of("a", "a", "ab", pairs=["bc", "b", "c"]), teacher)

    assert len(teacher.asked) == 3
    assert labels.for_rows(["row-0", "row-1", "row-2"]).tolist() == [[1.0, 2.0], [1.0, 1.0], [2.0, 1.0]]


@pytest.mark.parametrize("shards", [0, 1, 2, 3])
def test_killed_while_labelling_at_most_one_shard_is_asked_again(tmp_path: Path, shards: int) -> None:
    rows = rows_of(*("x" * length for length in range(1, 11)))
    first, second = LengthTeacher(dies_after=shards), LengthTeacher()
    with pytest.raises(KeyboardInterrupt):
        labelled(tmp_path, rows, first)
    assert not (tmp_path / "one" / "labels").exists()

    labels = labelled(tmp_path, rows, second)

    assert len(first.asked) == 3 * shards
    assert sorted(first.asked + second.asked) == sorted(rows.texts)
    assert labels.for_rows(rows.ids)[:, 0].tolist() == [float(length) for length in range(1, 11)]


def test_long_pairs_come_first_by_the_length_of_both_texts(tmp_path: Path) -> None:
    teacher = LengthTeacher()

    labelled(tmp_path, rows_of("aaa", "b", "cc", pairs=["x", "xxxxx", "xxx"]), teacher)

    assert teacher.asked == ["b", "cc", "aaa"]


def test_a_damaged_shard_is_reported_and_what_it_held_is_asked_again(tmp_path: Path) -> None:
    labelled(tmp_path, rows_of("a", "bb", "ccc", "dddd"), LengthTeacher())
    damaged, whole = sorted((tmp_path / "store" / "teacher").iterdir(), key=lambda path: -path.stat().st_size)
    damaged.write_bytes(damaged.read_bytes()[:-7])
    listener, teacher = Listener(), LengthTeacher()

    labels = labelled(tmp_path, rows_of("a", "bb", "ccc", "dddd"), teacher, run="two", reporter=listener)

    assert len(teacher.asked) in (1, 3)
    assert any(damaged.name in note and "asked again" in note for note in listener.notes)
    assert whole.is_file()
    assert labels.for_rows(["row-3", "row-0"])[:, 0].tolist() == [4.0, 1.0]


def test_a_store_that_is_emptied_meanwhile_is_an_error_and_no_mix_up(tmp_path: Path) -> None:
    class Emptied(LengthTeacher):
        def logits(self, *args: Any, **options: Any) -> npt.NDArray[np.float32]:
            shutil.rmtree(tmp_path / "store" / "teacher")
            return super().logits(*args, **options)

    labelled(tmp_path, rows_of("a", "bb"), LengthTeacher())

    with pytest.raises(LabelsDoNotCover) as raised:
        labelled(tmp_path, rows_of("a", "bb", "ccc"), Emptied(), run="two")

    assert raised.value.missing == ("row-0", "row-1")


def test_what_another_run_adds_meanwhile_is_no_harm(tmp_path: Path) -> None:
    class Beside(LengthTeacher):
        def logits(self, *args: Any, **options: Any) -> npt.NDArray[np.float32]:
            labelled(tmp_path, rows_of("bb", "zzzz"), LengthTeacher(), run="beside")
            return super().logits(*args, **options)

    labels = labelled(tmp_path, rows_of("a", "bb"), Beside())

    assert labels.for_rows(["row-1", "row-0"])[:, 0].tolist() == [2.0, 1.0]


# ---- several teachers ----


def test_members_of_an_ensemble_are_asked_and_kept_each_by_itself(tmp_path: Path) -> None:
    first, second = LengthTeacher(), LengthTeacher()
    labelled(tmp_path, rows_of("a", "bb"), first, fingerprint="first")
    sources = [
        source(first, name="one", fingerprint="first", weight=0.25),
        source(second, name="two", fingerprint="second", weight=0.75),
    ]

    labels = labelled(tmp_path, rows_of("a", "bb", "ccc"), *sources, run="two", fingerprint="together")

    assert first.asked == ["bb", "a", "ccc"]
    assert second.asked == ["ccc", "bb", "a"]
    assert labels.for_rows(["row-2", "row-0"])[:, 0].tolist() == [3.0, 1.0]
    assert labels.facts["teacher"] == "together"
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == ["first", "second"]


def test_what_the_members_say_is_combined_by_their_weights(tmp_path: Path) -> None:
    class Doubled(LengthTeacher):
        def logits(self, *args: Any, **options: Any) -> npt.NDArray[np.float32]:
            return 2 * super().logits(*args, **options)

    sources = [
        source(LengthTeacher(), fingerprint="first", weight=0.25),
        source(Doubled(), fingerprint="second", weight=0.75),
    ]

    labels = labelled(tmp_path, rows_of("a", "bb"), *sources)

    assert labels.for_rows(["row-0", "row-1"])[:, 0].tolist() == [1.75, 3.5]


# ---- rows without an answer ----


SPLITS = {
    "train": rows_of("a", "bb ?", "bb ?", "ccc", prefix="train"),
    "dev": rows_of("a", "dddd ?", prefix="dev"),
}


def test_rows_without_an_answer_stop_the_run_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(RowsUncovered) as raised:
        labelled(tmp_path, SPLITS, LengthTeacher(silent_about="?"))

    assert raised.value.uncovered == {"train": 2, "dev": 1}
    assert "no answer for 3 of 6 rows: 2 of train, 1 of dev" in str(raised.value)
    assert "'bb ?'" in str(raised.value)
    assert 'uncovered = "skip"' in str(raised.value)
    assert not (tmp_path / "one" / "labels").exists()
    assert not (tmp_path / "one" / "labels.partial" / "labels.arrow").exists()


def test_rows_without_an_answer_can_be_left_out(tmp_path: Path) -> None:
    listener = Listener()

    labels = labelled(tmp_path, SPLITS, LengthTeacher(silent_about="?"), uncovered="skip", reporter=listener)

    assert labels.facts["uncovered"] == {"train": 2, "dev": 1}
    assert labels.covers(SPLITS["train"].ids).tolist() == [True, False, False, True]
    assert labels.for_rows(["train-3", "dev-0"])[:, 0].tolist() == [3.0, 1.0]
    assert any("2 of train, 1 of dev" in note for note in listener.notes)
    assert any("3 rows labelled" in note for note in listener.notes)
    with pytest.raises(LabelsDoNotCover):
        labels.for_rows(["dev-1"])


def test_a_row_is_uncovered_when_one_of_the_teachers_has_no_answer(tmp_path: Path) -> None:
    sources = [
        source(LengthTeacher(silent_about="b"), fingerprint="first", weight=0.5),
        source(LengthTeacher(silent_about="d"), fingerprint="second", weight=0.5),
    ]

    labels = labelled(tmp_path, SPLITS, *sources, uncovered="skip")

    assert labels.facts["uncovered"] == {"train": 2, "dev": 1}
    assert labels.covers(["train-0", "train-1", "dev-0", "dev-1"]).tolist() == [True, False, True, False]


@pytest.mark.parametrize("uncovered", ["stop", "skip"])
def test_a_teacher_that_says_nothing_of_what_there_is_to_learn_is_refused(
    tmp_path: Path, uncovered: Literal["stop", "skip"]
) -> None:
    splits = {
        "train": rows_of("a ?", "b ?"),
        "dev": rows_of("c", prefix="dev"),
        "transfer": rows_of("?", prefix="more"),
    }

    with pytest.raises(NothingCovered, match="any of the 3 rows of train and transfer text"):
        labelled(tmp_path, splits, LengthTeacher(silent_about="?"), uncovered=uncovered)


def test_what_was_not_answered_is_kept_nowhere_and_asked_again(tmp_path: Path) -> None:
    """The file may have been completed; then it has another fingerprint, but nothing depends on that."""
    labelled(tmp_path, SPLITS, LengthTeacher(silent_about="?"), uncovered="skip")
    knows_more = LengthTeacher()

    labels = labelled(tmp_path, SPLITS, knows_more, run="two")

    assert sorted(knows_more.asked) == ["bb ?", "dddd ?"]
    assert labels.facts["uncovered"] == {"train": 0, "dev": 0}


# ---- features ----


def test_features_are_kept_beside_the_logits_and_follow_the_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 2)
    rows = rows_of("a", "bbb", "", "bbb", "cc")

    labels = labelled(tmp_path, rows, LengthTeacher(), features="mean")

    assert labels.facts["features"] == "mean"
    assert labels.features_for(["row-4", "row-0", "row-3"]).tolist() == [[2.0] * 5, [1.0] * 5, [3.0] * 5]
    assert labels.for_rows(["row-4", "row-0"])[:, 0].tolist() == [2.0, 1.0]


def test_labels_asked_without_features_do_not_serve_for_features_but_the_other_way_round(tmp_path: Path) -> None:
    plain, pooled, later = LengthTeacher(), LengthTeacher(), LengthTeacher()

    labelled(tmp_path, rows_of("a"), plain)
    labelled(tmp_path, rows_of("a", "bb"), pooled, features="cls", run="two")
    labels = labelled(tmp_path, rows_of("a", "bb"), later, run="three")

    assert pooled.asked == ["bb", "a"]
    assert later.asked == []
    assert not labels.has_features


def test_another_pooling_is_asked_anew(tmp_path: Path) -> None:
    labelled(tmp_path, rows_of("a"), LengthTeacher(), features="cls")
    teacher = LengthTeacher()

    labels = labelled(tmp_path, rows_of("a"), teacher, features="mean", run="two")

    assert teacher.asked == ["a"]
    assert labels.features_for(["row-0"])[0, 0] == 1.0


def test_features_of_several_teachers_are_a_mistake_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="several teachers"):
        labelled(tmp_path, rows_of("a"), LengthTeacher(), LengthTeacher(), features="cls")


# ---- what is reported ----


def test_facts_are_those_of_the_labels_and_timings_stand_elsewhere(tmp_path: Path) -> None:
    labels = labelled(tmp_path, SPLITS, LengthTeacher())

    assert labels.facts == {
        "teacher": "teacher",
        "rows": 6,
        "distinct_texts": 4,
        "uncovered": {"train": 0, "dev": 0},
        "splits": {"train": {"rows": 4, "distinct_texts": 3}, "dev": {"rows": 2, "distinct_texts": 2}},
    }
    assert labels.asking["store"] == "../store"  # as seen from the run
    assert labels.asking["sources"][0]["name"] == "length"
    assert labels.asking["sources"][0]["seconds"] > 0


def test_the_hit_rate_is_the_share_of_texts_that_were_in_the_store(tmp_path: Path) -> None:
    listener = Listener()
    labelled(tmp_path, rows_of("a", "a", "a"), LengthTeacher())

    labels = labelled(tmp_path, rows_of("a", "bb", "a", "ccc", "dddd"), LengthTeacher(), run="two", reporter=listener)

    assert labels.asking["asked"] == 3
    assert labels.asking["hit_rate"] == 0.25
    assert labels.asking["sources"][0]["found"] == 1
    assert listener.notes[-1] == "  5 rows labelled: 3 texts asked, 25.0% of 4 answers were in the label store"


def test_labels_of_a_killed_run_are_those_of_an_undisturbed_one(tmp_path: Path) -> None:
    rows = rows_of(*("x" * length for length in range(1, 11)))
    with pytest.raises(KeyboardInterrupt):
        labelled(tmp_path / "killed", rows, LengthTeacher(dies_after=2))

    killed = labelled(tmp_path / "killed", rows, LengthTeacher())
    undisturbed = labelled(tmp_path / "undisturbed", rows, LengthTeacher())

    assert killed.fingerprint == undisturbed.fingerprint
    assert killed.asking != undisturbed.asking


def test_rows_in_a_file_are_read_slice_by_slice_and_never_kept(tmp_path: Path) -> None:
    rows_of(*(f"text {number}" for number in range(20))).save(tmp_path / "rows.arrow")
    rows = Rows.load(tmp_path / "rows.arrow")

    labels = labelled(tmp_path, rows, LengthTeacher())

    assert set(vars(rows)) <= {"table", "_file", "ids"}  # no texts, keys or labels; the ids are this test's own
    assert labels.for_rows(rows.ids)[:, 0].tolist() == [6.0] * 10 + [7.0] * 10


def test_of_train_some_rows_of_every_class_are_asked_and_the_others_are_counted(tmp_path: Path) -> None:
    texts = [f"text {'!' * number}" for number in range(20)]
    classes = [0] * 17 + [1] * 3
    train = Rows.of(ids=[f"train-{number}" for number in range(20)], texts=texts, labels=classes)
    dev, teacher, reporter = Rows.of(ids=["dev-0"], texts=["a"], labels=[0]), LengthTeacher(), Listener()

    found = labelled(tmp_path, {"train": train, "dev": dev}, teacher, train_rows=12, reporter=reporter)

    covered = found.covers(train.ids)
    assert covered.sum() == 12
    assert covered[17:].all()  # the rare class
    assert found.covers(dev.ids).all()
    assert len(teacher.asked) == 13
    assert found.facts["rows"] == 21
    assert found.facts["uncovered"] == {"train": 8, "dev": 0}
    assert any("not asked: 8 rows of train" in note for note in reporter.notes)
    with pytest.raises(LabelsDoNotCover):
        found.for_rows(train.ids)
