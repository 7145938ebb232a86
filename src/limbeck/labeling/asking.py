"""Runs one teacher on the texts that it has not labelled yet, and stores its answers shard by shard."""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.answers import Keys, Logits
from limbeck.artifacts.rows import Rows
from limbeck.errors import LabelsDoNotCover
from limbeck.labeling.index import TextIndex
from limbeck.labeling.journal import Journal, recover_journals
from limbeck.labeling.places import Places, locate, read_labels, unlabelled_texts
from limbeck.labeling.source import (
    Answer,
    Block,
    BlockTeacher,
    CallTeacher,
    FeatureTeacher,
    PaidTeacher,
    Pooling,
    Runner,
    Teacher,
    TeacherSource,
)
from limbeck.labeling.store import LabelStore, Root
from limbeck.progress import Bar, Reporter
from limbeck.recipe.labeling import Labeling

LOW_HALF = np.uint64(2**32 - 1)
ROWS_READ = 512  # at a time, of a teacher that is asked one by one


@dataclass
class AskedTeacher:
    """The answers of one teacher on the rows: where they are stored, and how many texts it had to be run on."""

    source: TeacherSource
    store: LabelStore
    places: Places
    texts: int  # distinct ones
    is_alone: bool
    asked: int = 0
    failed: int = 0  # of these, texts that the workers of a runner could not get an answer for
    seconds: float = 0.0  # of inference, without the time to load the teacher

    @property
    def facts(self) -> dict[str, Any]:
        """For asking.json."""
        return {
            "name": self.source.name,
            "fingerprint": self.source.fingerprint,
            "weight": self.source.weight,
            "asked": self.asked,
            "found": self.texts - self.asked,
            "hit_rate": hit_rate(asked=self.asked, texts=self.texts),
            "seconds": round(self.seconds, 3),
            "rows_per_second": round(self.asked / self.seconds, 1) if self.seconds else None,
        }


def hit_rate(*, asked: int, texts: int) -> float:
    """The share of distinct texts whose label was in the store already."""
    return (texts - asked) / texts if texts else 1.0


def answers_of(
    source: TeacherSource,
    section: Labeling,
    *,
    index: TextIndex,
    texts: int,
    classes: int,
    root: Root,
    is_alone: bool,
    reporter: Reporter,
    runner: Runner | None = None,
) -> AskedTeacher:
    """Find this teacher's answers in the store, and ask it for the missing ones. It is opened only if some are."""

    def forget(shard: Path) -> None:
        reporter.note(f"  label store: {shard.name} is damaged; the teacher is asked again for its texts")
        store.remove(shard)

    pooling: Pooling | None = section.features if section.features in ("cls", "mean") else None
    store = LabelStore(root, teacher=source.fingerprint, classes=classes, pooling=pooling)
    recover_journals(store)
    answered = AskedTeacher(source, store, locate(index, store, on_damage=forget), texts, is_alone)
    is_missing = unlabelled_texts(index, answered.places)
    answered.asked = int(is_missing.sum())
    if not answered.asked:
        return answered
    del answered.places  # free its memory while the teacher runs: the order of the texts needs it
    ask = partial(_ask_by, runner) if runner and source.portable else _ask
    unanswered = ask(answered, section, index=index, is_missing=is_missing, reporter=reporter)
    answered.places = locate(index, store, on_damage=forget)
    _refuse_loss(answered, index=index, unanswered=unanswered)
    return answered


def asked_rows(
    source: TeacherSource, section: Labeling, *, rows: Rows, classes: int, root: Root, reporter: Reporter
) -> Logits:
    """(rows, classes): one teacher's logits of these rows alone, from the store or from the teacher, then stored."""
    index = TextIndex({"rows": rows})
    texts, _ = index.distinct_texts()
    section = section.model_copy(update={"features": "none"})
    found = answers_of(
        source, section, index=index, texts=texts, classes=classes, root=root, is_alone=True, reporter=reporter
    )
    logits, _ = read_labels(index, found.places, found.store, slice(0, len(index)))
    return logits


def _ask(
    answered: AskedTeacher,
    section: Labeling,
    *,
    index: TextIndex,
    is_missing: npt.NDArray[np.bool_],
    reporter: Reporter,
) -> npt.NDArray[np.int64]:
    """Ask for each missing text; returns the rows for which there was no answer."""
    teacher = answered.source.open()
    if isinstance(teacher, PaidTeacher):
        return _ask_one_by_one(teacher, answered, section, index=index, is_missing=is_missing, reporter=reporter)
    queue = _long_texts_first(index, is_missing)
    if isinstance(teacher, CallTeacher):
        at_once = min(section.rows_per_shard, teacher.texts_per_call)
        section = section.model_copy(update={"rows_per_shard": at_once})
    unanswered = [np.zeros(0, dtype=np.int64)]
    started = time.perf_counter()
    called = "the teacher" if answered.is_alone else answered.source.name
    with (
        reporter.bar(f"asking {called}", total=len(queue), unit="rows") as bar,
        closing(_answers(teacher, index, queue, section, pooling=answered.store.pooling, bar=bar)) as answers,
    ):
        for rows, answer in zip(_shards(queue, section), answers, strict=True):
            unanswered.append(_stored(answered.store, index.keys[rows], rows, answer))
    answered.seconds = time.perf_counter() - started
    return np.concatenate(unanswered)


def _ask_by(
    runner: Runner,
    answered: AskedTeacher,
    section: Labeling,
    *,
    index: TextIndex,
    is_missing: npt.NDArray[np.bool_],
    reporter: Reporter,
) -> npt.NDArray[np.int64]:
    """The same by the workers of a runner: shards are the same, and written as they come."""
    assert answered.source.portable is not None, "others are asked here"
    queue, pooling = _long_texts_first(index, is_missing), answered.store.pooling
    waiting: dict[int, npt.NDArray[np.int64]] = {}
    unanswered, failed, reason = [np.zeros(0, dtype=np.int64)], 0, ""

    def blocks() -> Iterator[tuple[int, Block]]:
        for number, rows in enumerate(_shards(queue, section)):
            waiting[number] = rows
            yield number, index.texts_of(rows)

    started = time.perf_counter()
    called = "the teacher" if answered.is_alone else answered.source.name
    options = {"pooling": pooling, "tokens_per_batch": section.tokens_per_batch, "note": reporter.note}
    with (
        reporter.bar(f"asking {called}", total=len(queue), unit="rows") as bar,
        closing(runner.answers(answered.source.portable, blocks(), **options)) as answers,  # type: ignore[arg-type]
    ):
        for found in answers:
            rows = waiting.pop(found.number)
            unanswered.append(_stored(answered.store, index.keys[rows], rows, found.answer))
            failed, reason = failed + found.failed, reason or found.reason
            bar.advance(len(rows))
    answered.failed = failed
    if failed:
        reporter.note(f"  warning: {failed:,} texts have no answer; the first: {reason}", style="warning")
    answered.seconds = time.perf_counter() - started
    return np.concatenate(unanswered)


def _stored(store: LabelStore, keys: Keys, rows: npt.NDArray[np.int64], answer: Answer) -> npt.NDArray[np.int64]:
    """Write a shard of the rows that have an answer; returns the others."""
    logits, features = answer
    is_answer = ~np.isnan(logits).any(axis=1)
    if is_answer.any():
        store.write(keys[is_answer], logits[is_answer], features[is_answer] if features is not None else None)
    return rows[~is_answer]


def _ask_one_by_one(
    teacher: PaidTeacher,
    answered: AskedTeacher,
    section: Labeling,
    *,
    index: TextIndex,
    is_missing: npt.NDArray[np.bool_],
    reporter: Reporter,
) -> npt.NDArray[np.int64]:
    """The same for a teacher whose answers are paid one by one, in the order of the keys: if there is money for some of
    the texts only, these are drawn at random."""
    rows = np.flatnonzero(is_missing)
    rows = rows[np.argsort(index.keys[rows, 0], kind="stable")]
    unanswered, started = [], time.perf_counter()
    called, store = "the teacher" if answered.is_alone else answered.source.name, answered.store
    with (
        reporter.bar(f"asking {called}", total=len(rows), unit="rows") as bar,
        Journal(store, rows_per_shard=section.rows_per_shard) as journal,
        closing(teacher.one_by_one(_items(index, rows), folder=store.folder, bar=bar)) as answers,
    ):
        for number, logits in answers:
            if logits is None:
                unanswered.append(number)
            else:
                journal.add(index.keys[number], logits)
    for remark in teacher.remarks:
        reporter.note(f"  {answered.source.name}: {remark}")
    answered.seconds = time.perf_counter() - started
    return np.array(unanswered, dtype=np.int64)


def _items(index: TextIndex, rows: npt.NDArray[np.int64]) -> Iterator[tuple[int, str, str | None]]:
    """(number, text, second text) of each of these rows; some hundred are in memory at a time."""
    for start in range(0, len(rows), ROWS_READ):
        part = rows[start : start + ROWS_READ]
        texts, pairs = index.texts_of(part)
        seconds: Sequence[str | None] = [None] * len(texts) if pairs is None else pairs
        yield from zip(part.tolist(), texts, seconds, strict=True)


def _shards(queue: npt.NDArray[np.uint64], section: Labeling) -> Iterator[npt.NDArray[np.int64]]:
    """The rows of each shard: they are asked for, and written, together."""
    for start in range(0, len(queue), section.rows_per_shard):
        yield (queue[start : start + section.rows_per_shard] & LOW_HALF).astype(np.int64)


def _answers(
    teacher: Teacher,
    index: TextIndex,
    queue: npt.NDArray[np.uint64],
    section: Labeling,
    *,
    pooling: Pooling | None,
    bar: Bar,
) -> Generator[Answer, None, None]:
    """The teacher's answers, one shard after the other, each computed only when it is needed."""
    budget, blocks = section.tokens_per_batch, map(index.texts_of, _shards(queue, section))
    if isinstance(teacher, BlockTeacher):
        yield from teacher.in_turn(blocks, pooling=pooling, tokens_per_batch=budget, bar=bar)
    elif pooling is None:
        for block in blocks:
            yield teacher.logits(*block, tokens_per_batch=budget, bar=bar), None
    elif isinstance(teacher, FeatureTeacher):
        for block in blocks:
            yield teacher.logits_and_features(*block, pooling=pooling, tokens_per_batch=budget, bar=bar)
    else:
        raise TypeError(f"{type(teacher).__name__} has no features to give")


def _long_texts_first(index: TextIndex, is_missing: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """Rows to ask for, in the low half of each number; the high half decreases with the length of the text.

    Rows of one shard then have similar lengths, and if memory runs out, it does so at the start. One number per row
    encodes both, so that it can be sorted in place.
    """
    queue: npt.NDArray[np.uint64] = index.column(int(is_missing.sum()), np.uint64)
    done = 0
    for start, part in index.slices():
        inside = np.flatnonzero(is_missing[start : start + len(part)])
        shortness = LOW_HALF - part.characters[inside].astype(np.uint64)
        queue[done : done + len(inside)] = (shortness << np.uint64(32)) | (inside + start).astype(np.uint64)
        done += len(inside)
    queue.sort()
    return queue


def _refuse_loss(answered: AskedTeacher, *, index: TextIndex, unanswered: npt.NDArray[np.int64]) -> None:
    """Raise if answers are missing: the store may have been emptied or damaged while the teacher ran."""
    is_missing = unlabelled_texts(index, answered.places)
    is_missing[unanswered] = False
    if is_missing.any():
        lost = index.ids_of(np.flatnonzero(is_missing))
        raise LabelsDoNotCover(labels=answered.store.place, missing=lost, total=len(index))
