"""A file of answers as the teacher: another model's answers, read once and stored as logits by content key."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.answers import AnswerTable, Keys, Logits, find_keys, key_order, write_answers
from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, file_digest
from limbeck.artifacts.rows import Rows, content_keys
from limbeck.artifacts.teacher_folder import ANSWERS, TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.errors import PathUnusable, some
from limbeck.progress import Bar, Reporter
from limbeck.recipe.teacher import FileTeacher
from limbeck.tables.raw_table import NumberedCells, Watch
from limbeck.tables.table import open_table, plain_text
from limbeck.teacher.answer_values import AnswerScale, logits_of
from limbeck.teacher.preparation import BeforeRun, Preparation, ReadyTeacher, dev_facts, scale_fact
from limbeck.teacher.score_columns import Meaning, ScoreColumns, find_score_columns, form_of, read_numbers

ROWS_AT_A_TIME = 8192
SAME = 1e-4  # logits that differ by no more are the same number, rounded differently
WARNING = "  warning:"


@dataclass(frozen=True)
class _FileAnswers:
    """All answers of a file, each text once, and statistics."""

    keys: Keys  # sorted
    logits: Logits
    rows: int
    columns: list[str]  # of its numbers
    meaning: Meaning
    is_doubtful: bool  # taken as logits, although every number lies between 0 and 1
    conflicting: int  # texts with several different answers


class AnswersFile:
    """Used like any other teacher; NaN for texts that are not in the file."""

    def __init__(self, path: Path) -> None:
        self._answers = AnswerTable.open(path)

    def logits(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> Logits:
        """(rows, classes) in the order of the texts, NaN for texts that are not in the file."""
        del tokens_per_batch  # nothing is computed
        keys = content_keys(_stripped(texts), None if pairs is None else _stripped(pairs))
        places = find_keys(self._answers.keys, keys)
        found = np.full((len(texts), self._answers.logits.shape[1]), np.nan, dtype=np.float32)
        found[places >= 0] = self._answers.logits[places[places >= 0]]
        if bar is not None:
            bar.advance(len(texts))
        return found


def open_answers(folder: TeacherFolder) -> AnswersFile:
    """The answers of a file teacher, memory-mapped."""
    return AnswersFile(folder.folder / ANSWERS)


def read_file_teacher(section: FileTeacher, given: Preparation) -> TeacherFolder:
    """Read the file, and evaluate it on the dev rows that it covers."""
    corpus, reporter = given.corpus, given.reporter
    answers = _read(section, corpus=corpus, reporter=reporter)
    with written_atomically(given.out, kind="teacher", key=given.key) as scratch:
        write_answers(scratch / ANSWERS, keys=answers.keys, logits=answers.logits)
        facts = TeacherFacts(
            name=section.name or Path(section.path).name,
            labels=corpus.labels,
            kind="file",
            multi_label=corpus.is_multi_label,
            scale=scale_fact(corpus),
            **_judged(answers, corpus.splits["dev"]),
        )
        save_teacher_facts(scratch, facts)
    _report(answers, facts, corpus=corpus, reporter=reporter)
    return TeacherFolder(given.out)


def file_inputs(section: FileTeacher) -> dict[str, str]:
    """The file by its bytes."""
    if not Path(section.path).is_file():
        reason, advice = "it is a folder", "Give the file of probabilities in it as teacher.path."
        raise PathUnusable(path=section.path, reason=reason, advice=advice)
    return {"file": file_digest(Path(section.path))}


def ready_file(section: FileTeacher, look: BeforeRun) -> ReadyTeacher:
    """The file, read into the scratch folder."""
    key = Key(section={}, inputs={})
    folder = read_file_teacher(section, Preparation(look.corpus, look.scratch, key, look.reporter))
    return ReadyTeacher(folder.facts.name, open_answers(folder))


def _read(section: FileTeacher, *, corpus: Corpus, reporter: Reporter) -> _FileAnswers:
    path = Path(section.path)
    columns = find_score_columns(section, classes=corpus.labels)
    declared = columns.meaning if section.values == "auto" else section.values
    declared = "logits" if corpus.scale else declared  # any number can be a score
    scale = AnswerScale(path=path, names=columns.names, declared=declared, multi_label=corpus.is_multi_label)
    keys: list[Keys] = []
    values: list[Logits] = []  # numbers as in the file, until it is known what they are
    with reporter.bar(f"reading {path.name}", total=path.stat().st_size, unit="bytes") as bar:
        for piece in _pieces(section, columns, watch=bar.advance):
            keys.append(_keys(piece, path=path, is_pair=section.pair is not None))
            values.append(read_numbers(piece, columns, path=path))
            scale.add([number for number, _ in piece], values[-1])
    meaning = scale.meaning
    if meaning == "probabilities":
        least, multi_label = section.least_probability, corpus.is_multi_label
        values = [logits_of(piece, least=least, multi_label=multi_label) for piece in values]
    if corpus.scale:
        values = [corpus.scale.standard(piece).astype(np.float32) for piece in values]
    once, logits, conflicting = _each_once(np.concatenate(keys), np.concatenate(values))
    is_doubtful = meaning == "logits" and declared is None and scale.within
    return _FileAnswers(once, logits, scale.rows, columns.names, meaning, is_doubtful, conflicting)


def _pieces(section: FileTeacher, columns: ScoreColumns, *, watch: Watch) -> Iterator[list[NumberedCells]]:
    """The rows, some thousands at a time: the cells of the texts, then those of the classes."""
    table = open_table(Path(section.path), form=form_of(section), watch=watch)
    rows = table.rows([*columns.texts, *(place.column for place in columns.places)])
    while piece := list(islice(rows, ROWS_AT_A_TIME)):
        yield piece


def _keys(piece: Sequence[NumberedCells], *, path: Path, is_pair: bool) -> Keys:
    texts = [plain_text(cells[0], key="text", path=path, number=number) for number, cells in piece]
    if not is_pair:
        return content_keys(_stripped(texts))
    pairs = [plain_text(cells[1], key="pair", path=path, number=number) for number, cells in piece]
    return content_keys(_stripped(texts), _stripped(pairs))


def _stripped(texts: Sequence[str]) -> list[str]:
    """Without leading and trailing white space, as in the corpus."""
    return [text.strip() for text in texts]


def _each_once(keys: Keys, logits: Logits) -> tuple[Keys, Logits, int]:
    """Sorted by key, each key once, with its logits or the mean of them; and the number of conflicting keys."""
    order = key_order(keys)
    keys, logits = keys[order], logits[order]
    is_first = np.ones(len(keys), dtype=np.bool_)
    is_first[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    starts = np.flatnonzero(is_first)
    if len(starts) == len(keys):
        return keys, logits, 0
    once = logits[starts]
    differ = (np.maximum.reduceat(logits, starts) - np.minimum.reduceat(logits, starts) > SAME).any(axis=1)
    counts = np.diff(starts, append=len(keys))[differ, None]
    once[differ] = np.add.reduceat(logits, starts, dtype=np.float64)[differ] / counts
    return keys[starts], once, int(differ.sum())


def _judged(answers: _FileAnswers, dev: Rows) -> dict[str, Any]:
    """The facts about dev, on its rows that have a label and an answer."""
    places = find_keys(answers.keys, dev.keys)
    known = (places >= 0) & dev.is_labelled
    return dev_facts(answers.logits[places[known]], dev.select(np.flatnonzero(known)))


def _on_dev(facts: TeacherFacts) -> str:
    return (
        facts.on_dev().replace(" on dev", " correct on dev")
        if facts.task.has_classes and facts.dev_rows
        else facts.on_dev()
    )


def _report(answers: _FileAnswers, facts: TeacherFacts, *, corpus: Corpus, reporter: Reporter) -> None:
    what = "scores" if corpus.scale else answers.meaning
    reporter.note(
        f"  teacher {facts.name}: {answers.rows:,} rows of {what} read, {len(answers.keys):,} distinct "
        f"texts; columns {some(answers.columns, most=6)}"
    )
    covered = {split: int((find_keys(answers.keys, rows.keys) >= 0).sum()) for split, rows in corpus.splits.items()}
    parts = [f"{covered[split]:,} of {len(rows):,} {split} rows" for split, rows in corpus.splits.items()]
    reporter.note(f"  it covers {', '.join(parts)}; {_on_dev(facts)}")
    if answers.conflicting:
        reporter.note(
            f"{WARNING} {answers.conflicting:,} texts have several answers; their mean is used",
            style="warning",
        )
    if answers.is_doubtful:
        reporter.note(
            f"{WARNING} taken as logits, although all numbers lie between 0 and 1: if they are probabilities, make "
            f"every row sum to 1",
            style="warning",
        )
