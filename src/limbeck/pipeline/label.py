"""`limbeck label`: asks the teacher and keeps its answers; says before what it costs; files for batch interfaces."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.run_folder import Run
from limbeck.artifacts.transfer_text import TransferText
from limbeck.errors import TeacherError
from limbeck.labeling.index import TextIndex
from limbeck.labeling.journal import Journal, recover_journals
from limbeck.labeling.places import locate, unlabelled_texts
from limbeck.labeling.source import Runner
from limbeck.labeling.store import LabelStore
from limbeck.pipeline.flow import run
from limbeck.pipeline.labels import EXTRA
from limbeck.pipeline.teachers import store_of
from limbeck.progress import Reporter
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.recipe.load import load_recipe
from limbeck.recipe.stages import Stage
from limbeck.recipe.teacher import each_teacher
from limbeck.teacher.endpoint import described_for, fingerprint_for
from limbeck.teacher.endpoints.asking import logits_from, reading_of
from limbeck.teacher.endpoints.batches import BatchLine, BatchWriter, read_batch
from limbeck.teacher.endpoints.ledger import Ledger, Spent, spent_in
from limbeck.teacher.endpoints.questions import Question, Questions
from limbeck.teacher.endpoints.tokens import TokenCount

ROWS_AT_ONCE = 1024
Item = tuple[int, str, str | None]


class NothingToPay(TeacherError):
    """No teacher of the recipe is asked over a network."""

    def __init__(self, *, recipe: str) -> None:
        super().__init__(
            f"no teacher of '{recipe}' has a price",
            found='only a language model behind an address has one ([teacher] kind = "endpoint")',
            advice=f"Ask the teacher: limbeck label {recipe}",
        )


@dataclass(frozen=True)
class Forecast:
    """What asking one teacher for all rows of a recipe takes, before the first request."""

    teacher: str
    texts: int  # distinct ones
    known: int  # of these, answered already
    requests: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    is_estimate: bool  # without the tokenizer of the model
    correction: float  # what the estimate was multiplied by, from what the server has counted so far
    spent: Spent
    limits: tuple[str, ...]  # the keys of the recipe that will stop it before the end
    by_votes: Spent | None = None  # instead, if answers = "auto" finds a server without logprobs
    cost_by_votes: float | None = None


@dataclass(frozen=True)
class ImportedAnswers:
    """What was in files of answers."""

    answers: int = 0
    known: int = 0  # answered already
    unreadable: int = 0  # failed, or an answer that names no class
    others: int = 0  # of another teacher, or of texts that the recipe does not have


def ask_teacher(
    recipe: str | Path, *, overrides: Sequence[str] = (), out: Path | None = None, runner: Runner | None = None
) -> Run:
    """Run the recipe until every row has its labels; a `runner` asks the teacher in place of this process."""
    return run(recipe, overrides=overrides, out=out, until=Stage.LABELING, runner=runner)


class RowsToLabel:
    """The rows of a recipe, and its teachers behind addresses. Nothing is sent."""

    def __init__(
        self,
        recipe: str | Path,
        *,
        overrides: Sequence[str] = (),
        out: Path | None = None,
        reporter: Reporter | None = None,
    ) -> None:
        loaded = load_recipe(recipe, overrides=overrides).recipe
        self.teachers = [one for one in each_teacher(loaded.teacher) if isinstance(one, EndpointTeacher)]
        if not self.teachers:
            raise NothingToPay(recipe=str(recipe))
        until = Stage.AUGMENTATION if loaded.augmentation else Stage.TRANSFER
        folder = run(recipe, overrides=overrides, out=out, until=until, reporter=reporter).folder
        self.corpus = Corpus(folder / "corpus")
        asked = {"transfer": loaded.transfer, "augmented": loaded.augmentation}
        extra = {name: TransferText(folder / name).rows for name in EXTRA if asked[name] is not None}
        self._splits: dict[str, Rows] = {**self.corpus.splits, **extra}
        self.index = TextIndex(self._splits)
        self._root = store_of(loaded, folder)

    def of(self, section: EndpointTeacher) -> "AskedOf":
        """What one of the teachers still has to be asked."""
        store = LabelStore(self._root, teacher=fingerprint_for(section, self.corpus), classes=len(self.corpus.labels))
        return AskedOf(section, Questions(described_for(section, self.corpus)), self.index, store)


class AskedOf:
    """The texts that one teacher has not answered yet."""

    def __init__(self, section: EndpointTeacher, questions: Questions, index: TextIndex, store: LabelStore) -> None:
        self.section, self.questions, self.index, self.store = section, questions, index, store
        self._count = TokenCount(section)  # one for all: it may have to read a tokenizer
        recover_journals(store)
        self._is_missing = unlabelled_texts(index, locate(index, store, on_damage=lambda _: None))
        self.way = "logprobs" if section.answers == "auto" else section.answers

    @property
    def missing(self) -> npt.NDArray[np.int64]:
        """A row for each text without an answer."""
        return np.flatnonzero(self._is_missing)

    def forecast(self) -> Forecast:
        """Texts, tokens and cost."""
        section, count = self.section, self._count
        spent = spent_in(self.store.folder)
        correction = spent.correction
        counted = [count.of_question(body) for _, body in self.requests()]
        tokens_in, many = round(sum(counted) * correction), section.samples
        each = self.questions.tokens_of_answer(self.way) * (many if self.way == "votes" else 1)
        expected = Spent(len(counted), tokens_in, len(counted) * each)
        by_votes: Spent | None = None
        if section.answers == "auto":
            out = len(counted) * many * self.questions.tokens_of_answer("votes")
            by_votes = Spent(len(counted) * many, tokens_in * many, out)
        texts, _ = self.index.distinct_texts()
        return Forecast(
            teacher=section.shown_name,
            texts=texts,
            known=texts - len(counted),
            requests=expected.requests,
            tokens_in=expected.tokens_in,
            tokens_out=expected.tokens_out,
            cost=expected.cost(section),
            is_estimate=count.is_estimate,
            correction=correction,
            spent=spent,
            limits=_limits(section, spent + expected),
            by_votes=by_votes,
            cost_by_votes=by_votes.cost(section) if by_votes else None,
        )

    def requests(self) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """(key of the text, body of the request) for every text without an answer; few are in memory at a time."""
        for row, text, pair in _items(self.index, self.missing):
            question = self.questions.about(text, pair, way=self.way, samples=self.section.samples)
            yield self.index.keys[row].tobytes(), question.body

    def export(self, path: Path) -> tuple[int, list[Path]]:
        """Write the requests; returns their number, and the files."""
        count = 0
        with BatchWriter(path, fingerprint=self.store.folder.name) as batch:
            for key, body in self.requests():
                batch.add(key, body)
                count += 1
        return count, batch.files

    def read(self, paths: Sequence[Path]) -> ImportedAnswers:
        """Store the answers of these files; what they cost is counted."""
        found = ImportedAnswers()
        unlimited = self.section.model_copy(update={"max_requests": None, "max_tokens": None, "max_cost": None})
        ledger = Ledger(unlimited, self.store.folder)
        try:
            with Journal(self.store, rows_per_shard=1 << 14) as journal:
                for path in paths:
                    for line in read_batch(path, fingerprint=self.store.folder.name):
                        found = self._kept(line, found, journal, ledger)
        finally:
            ledger.close()
        return found

    def _kept(self, line: BatchLine, found: ImportedAnswers, journal: Journal, ledger: Ledger) -> ImportedAnswers:
        key = None if line.key is None else np.frombuffer(line.key, dtype="<u8").astype(np.uint64)
        row = -1 if key is None or key.shape != (2,) else int(self.index.find(key[np.newaxis])[0])
        if row < 0 or key is None:
            return replace(found, others=found.others + 1)
        if not self._is_missing[row]:
            return replace(found, known=found.known + 1)
        (_, text, pair) = next(_items(self.index, np.array([row])))
        question = self.questions.about(text, pair, way=self.way, samples=self.section.samples)
        self._settle(line, question, ledger)
        reading = reading_of(question, line.choices, self.questions, self.way)
        if reading is None:
            return replace(found, unreadable=found.unreadable + 1)
        journal.add(key, logits_from(reading, self.section, self.questions))
        self._is_missing[row] = False
        return replace(found, answers=found.answers + 1)

    def _settle(self, line: BatchLine, question: Question, ledger: Ledger) -> None:
        """A failed request costs nothing; one whose tokens the server has not counted took what was expected."""
        if not line.spent.requests:
            return
        expected, spent = self._count.of_question(question.body), line.spent
        if not spent.tokens:
            answers = len(line.choices) * self.questions.tokens_of_answer(self.way)
            spent = replace(spent, tokens_in=expected, tokens_out=answers)
        ledger.settle(Spent(), replace(spent, estimated=expected))


def _items(index: TextIndex, rows: npt.NDArray[np.int64]) -> Iterator[Item]:
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        texts, pairs = index.texts_of(part)
        seconds: Sequence[str | None] = [None] * len(texts) if pairs is None else pairs
        yield from zip(part.tolist(), texts, seconds, strict=True)


def _limits(section: EndpointTeacher, after: Spent) -> tuple[str, ...]:
    """The limits that all of this would exceed."""
    values = {"max_requests": after.requests, "max_tokens": after.tokens, "max_cost": after.cost(section) or 0.0}
    limits = {name: getattr(section, name) for name in values}
    return tuple(name for name, most in limits.items() if most is not None and values[name] > most)
