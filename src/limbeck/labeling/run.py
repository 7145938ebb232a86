"""Room 4: finds the label of every row in the store, and runs the teachers on the rows without one."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from limbeck.artifacts.answers import Features, Logits
from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows, some_of_every_class
from limbeck.artifacts.teacher_labels import LabelsWriter, TeacherLabels, save_label_facts
from limbeck.errors import TeacherError, some
from limbeck.labeling.asking import AskedTeacher, answers_of, hit_rate
from limbeck.labeling.combine import Combine, combined
from limbeck.labeling.index import TextIndex
from limbeck.labeling.places import read_labels
from limbeck.labeling.source import Runner, TeacherSource
from limbeck.labeling.store import Root, SharedStore, local_part
from limbeck.progress import Reporter
from limbeck.recipe.labeling import Labeling

TRAINED_ON = ("train", "transfer")  # what the student is trained on
MOST_ROWS, MOST_BYTES = 1 << 18, 1 << 26  # of labels in memory at a time


class RowsUncovered(TeacherError):
    """The teacher has no answer for some rows, and the recipe does not allow skipping them."""

    def __init__(self, *, teacher: str, uncovered: Mapping[str, int], rows: int, texts: Sequence[str]) -> None:
        self.uncovered = {split: count for split, count in uncovered.items() if count}
        splits = ", ".join(f"{count:,} of {split}" for split, count in self.uncovered.items())
        super().__init__(
            f"'{teacher}' has no answer for {sum(self.uncovered.values()):,} of {rows:,} rows: {splits}",
            found=f"first texts without an answer: {some([_in_short(text) for text in texts])}",
            advice='Complete the file, or skip these rows: uncovered = "skip" in its table of the recipe.',
        )


class NothingCovered(TeacherError):
    """The teacher has no answer for any row that the student could be trained on."""

    def __init__(self, *, teacher: str, rows: int, texts: Sequence[str]) -> None:
        super().__init__(
            f"'{teacher}' has no answer for any of the {rows:,} rows of train and transfer text",
            found=f"first texts: {some([_in_short(text) for text in texts])}",
            advice="Give a file with exactly these texts, character for character; or correct the columns `text` and "
            "`pair`.",
        )


def _in_short(text: str) -> str:
    return f"'{text}'" if len(text) <= 40 else f"'{text[:39]}…'"


def label(
    section: Labeling,
    *,
    rows: Mapping[str, Rows],
    classes: int,
    multi_label: bool,
    sources: Sequence[TeacherSource],
    combine: Combine,
    uncovered: Literal["stop", "skip"],
    fingerprint: str,
    store: Root,
    out: Path,
    key: Key,
    reporter: Reporter,
    runner: Runner | None = None,
) -> TeacherLabels:
    """Label every row with the teacher's logits. A teacher is opened only if the store has no answer for some text.

    `rows` are by split, with ids that are unique over all of them. `fingerprint` is that of all sources together. Uses
    a fixed amount of memory plus 20 bytes per row, and 8 bytes per row for every source. A `runner` asks those sources
    that are portable; if its workers could not answer some texts, these are skipped, whatever `uncovered` says.
    """
    given, rows = rows, _asked_about(rows, most=section.train_rows)
    left_out = {split: len(given[split]) - len(part) for split, part in rows.items()}
    if section.features in ("cls", "mean") and len(sources) > 1:
        raise ValueError("features of several teachers have no common meaning")
    with written_atomically(out, kind="labels", key=key) as scratch:
        index = TextIndex(rows, folder=local_part(store))
        texts, texts_by_split = index.distinct_texts()
        answered = [
            answers_of(
                source,
                section,
                index=index,
                texts=texts,
                classes=classes,
                root=store,
                is_alone=len(sources) == 1,
                reporter=reporter,
                runner=runner,
            )
            for source in sources
        ]
        policy: Literal["stop", "skip"] = "skip" if any(one.failed for one in answered) else uncovered
        unanswered = _unanswered_rows(answered, index=index, uncovered=policy, reporter=reporter)
        _write(scratch, answered, index=index, classes=classes, combine=combine, multi_label=multi_label)
        facts: dict[str, Any] = {
            "teacher": fingerprint,
            "rows": len(index) + sum(left_out.values()),
            "distinct_texts": texts,
            "uncovered": {split: count + left_out[split] for split, count in unanswered.items()},
            "splits": {
                split: {"rows": len(part), "distinct_texts": texts_by_split[split]} for split, part in given.items()
            },
        }
        if section.features in ("cls", "mean"):
            facts["features"] = section.features
        asking = _asking(answered, texts=texts, store=_path_from(out.parent, store))
        save_label_facts(scratch, facts=facts, asking=asking)
    labelled = len(index) - sum(unanswered.values())
    reporter.note(
        f"  {labelled:,} rows labelled: {asking['asked']:,} texts asked, "
        f"{asking['hit_rate']:.1%} of {texts * len(sources):,} answers were in the label store"
    )
    if any(left_out.values()):
        reporter.note(f"  not asked: {sum(left_out.values()):,} rows of train (labeling.train_rows)")
    return TeacherLabels(out)


def label_nothing(
    rows: Mapping[str, Rows], *, classes: int, fingerprint: str, store: Root, out: Path, key: Key
) -> TeacherLabels:
    """The labels of a run without a teacher: none, of any row. Nothing is asked, and no store is opened."""
    with written_atomically(out, kind="labels", key=key) as scratch:
        with LabelsWriter(scratch, classes=classes) as labels:
            labels.write([], np.zeros((0, classes), dtype=np.float32))
        index = TextIndex(rows, folder=local_part(store))
        texts, texts_by_split = index.distinct_texts()
        facts: dict[str, Any] = {
            "teacher": fingerprint,
            "rows": len(index),
            "distinct_texts": texts,
            "uncovered": {split: len(part) for split, part in rows.items()},
            "splits": {
                split: {"rows": len(part), "distinct_texts": texts_by_split[split]} for split, part in rows.items()
            },
        }
        save_label_facts(scratch, facts=facts, asking=_asking([], texts=texts, store=_path_from(out.parent, store)))
    return TeacherLabels(out)


def _asked_about(rows: Mapping[str, Rows], *, most: int | None) -> Mapping[str, Rows]:
    """All rows, but of train at most so many."""
    return {**rows, "train": some_of_every_class(rows["train"], most=most, seed=0)} if "train" in rows else rows


def _unanswered_rows(
    answered: Sequence[AskedTeacher], *, index: TextIndex, uncovered: Literal["stop", "skip"], reporter: Reporter
) -> dict[str, int]:
    """The number of rows of each split without an answer of some teacher. Raises if the recipe does not allow any."""
    is_unanswered = np.zeros(len(index), dtype=np.bool_)
    for one in answered:
        is_unanswered |= ~one.places.is_known
    counts = {split: int(is_unanswered[index.span(split)].sum()) for split in index.splits}
    if not is_unanswered.any():
        return counts
    name = " + ".join(one.source.name for one in answered if not one.places.is_known.all())
    texts, _ = index.texts_of(np.flatnonzero(is_unanswered)[:3])
    trained_on = [split for split in TRAINED_ON if split in index.splits]
    if trained_on and all(counts[split] == len(index.splits[split]) for split in trained_on):
        raise NothingCovered(teacher=name, rows=sum(counts[split] for split in trained_on), texts=texts)
    if uncovered == "stop":
        raise RowsUncovered(teacher=name, uncovered=counts, rows=len(index), texts=texts)
    skipped = ", ".join(f"{count:,} of {split}" for split, count in counts.items() if count)
    reporter.note(f"  warning: rows without an answer of {name} are not used: {skipped}", style="warning")
    return counts


def _write(
    scratch: Path,
    answered: Sequence[AskedTeacher],
    *,
    index: TextIndex,
    classes: int,
    combine: Combine,
    multi_label: bool,
) -> None:
    """Write the labels of all rows that have one, window by window."""
    width = answered[0].places.width
    bytes_per_row = 4 * classes * (len(answered) + 1) + 2 * (width or 0)
    with LabelsWriter(scratch, classes=classes, width=width) as labels:
        for start, part in index.slices(min(MOST_ROWS, max(1, MOST_BYTES // bytes_per_row))):
            window = slice(start, start + len(part))
            logits, features = _combined_answers(answered, index, window, combine=combine, multi_label=multi_label)
            is_label = ~np.isnan(logits).any(axis=1)
            kept = None if features is None else features[is_label]
            labels.write(part.table["id"].filter(is_label), logits[is_label], kept)
            del logits, features, kept  # before the next window is read


def _combined_answers(
    answered: Sequence[AskedTeacher], index: TextIndex, window: slice, *, combine: Combine, multi_label: bool
) -> tuple[Logits, Features | None]:
    """The combined answers of all teachers on a window of rows; features are those of a single teacher."""
    answers = [read_labels(index, one.places, one.store, window) for one in answered]
    weights = [one.source.weight for one in answered]
    found = [one.source.tempered(logits) for one, (logits, _) in zip(answered, answers, strict=True)]
    logits = combined(found, weights, combine=combine, multi_label=multi_label)
    return logits, answers[0][1]


def _asking(answered: Sequence[AskedTeacher], *, texts: int, store: str) -> dict[str, Any]:
    """The content of asking.json: how many texts were asked, how many were in the store, and how long it took."""
    asked = sum(one.asked for one in answered)
    seconds = sum(one.seconds for one in answered)
    return {
        "asked": asked,
        "hit_rate": hit_rate(asked=asked, texts=texts * len(answered)),
        "seconds": round(seconds, 3),
        "rows_per_second": round(asked / seconds, 1) if seconds else None,
        "store": store,
        "sources": [one.facts for one in answered],
    }


def _path_from(run: Path, store: Root) -> str:
    """The relative path from a run to a store next to it, as both may be moved together; else the absolute path, or the
    address."""
    if isinstance(store, SharedStore):
        return store.address
    run, store = run.resolve(), store.resolve()
    return os.path.relpath(store, run) if store.is_relative_to(run.parent) else str(store)
