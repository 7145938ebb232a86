"""Asks a language model about texts, many at a time; every answer is handed on as soon as it is there."""

import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.progress import Bar
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.teacher.answer_values import logits_of
from limbeck.teacher.endpoints.client import ChatClient, EndpointUnusable, Pace, RefusedRequest, key_of
from limbeck.teacher.endpoints.ledger import Ledger, LimitReached, Spent
from limbeck.teacher.endpoints.questions import Question, Questions
from limbeck.teacher.endpoints.readings import (
    ReadAnswer,
    has_logprobs,
    read_confidence,
    read_letters,
    read_line_votes,
    read_lines,
    read_votes,
)
from limbeck.teacher.endpoints.tokens import TokenCount
from limbeck.teacher.preparation import Logits

ENOUGH_UNKNOWN = 20  # texts without a single answer: then it is not the texts
LONGEST_SAID = 80
ENOUGH_MISSING = 3  # answers in a row without logprobs: then the server has none
REFUSALS_OF_FIELDS = (400, 422, 501)
OF_THE_TEXT = (400, 413, 422)  # may be about one text, and not about the others
NO_LOGPROBS = "it tells no probabilities of tokens (logprobs)"
NO_CLASS = (
    "Say more clearly what to answer (instruction in [teacher]), switch a model's thinking off "
    '(options = {reasoning_effort = "none"}, or as its server has it), set structured_output, or take a larger model.'
)
INSTEAD = 'Set answers = "votes" or "confidence" in [teacher], or "auto".'

Item = tuple[int, str, str | None]  # number of the row, text, second text


@dataclass
class Outcomes:
    """What happened while asking, for the remarks at the end."""

    answered: int = 0
    unknown: int = 0
    refused: int = 0
    reason: str = ""
    said: str = ""  # the last answer that names no class
    not_asked: int = 0
    unseen: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)


@dataclass
class _End:
    """Why no more texts are asked: a limit, or a server that fails. Answers that are under way are waited for."""

    failure: EndpointUnusable | None = None
    not_asked: int = 0

    @property
    def is_near(self) -> bool:
        return self.failure is not None or self.not_asked > 0

    def counts(self, future: Future[Logits | None]) -> bool:
        """Whether this text has an answer, or is known to get none."""
        error = future.exception()
        if isinstance(error, EndpointUnusable):
            self.failure = self.failure or error
            return False
        return True

    def is_limit(self, future: Future[Logits | None]) -> bool:
        """Whether a limit kept this text from being asked."""
        is_limit = isinstance(future.exception(), LimitReached)
        self.not_asked += is_limit
        return is_limit


class EndpointAnswers:
    """A language model, used like any other teacher; `one_by_one` hands on every answer as soon as it is there."""

    def __init__(self, section: EndpointTeacher, questions: Questions) -> None:
        self.section, self.questions = section, questions
        self._count = TokenCount(section)
        self._outcomes, self._spent_words, self._repeated = Outcomes(), "", 0
        self._way = "logprobs" if section.answers == "auto" else section.answers
        self._missing, self._has_logprobs, self._is_structured = 0, False, True

    def logits(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> Logits:
        """(rows, classes); NaN for rows without an answer. Nothing is written down: see `one_by_one`."""
        del tokens_per_batch
        found = np.full((len(texts), self.questions.outputs), np.nan, dtype=np.float32)
        seconds: Iterable[str | None] = [None] * len(texts) if pairs is None else pairs
        items = ((number, text, pair) for number, (text, pair) in enumerate(zip(texts, seconds, strict=True)))
        for number, logits in self.one_by_one(items, folder=None, bar=bar):
            if logits is not None:
                found[number] = logits
        return found

    def one_by_one(
        self, items: Iterator[Item], *, folder: Path | None, bar: Bar | None = None
    ) -> Generator[tuple[int, Logits | None], None, None]:
        """(number, logits of the classes) in the order in which answers arrive; None where there is none.

        What is spent is written into the folder. Raises EndpointUnusable, after the answers that were under way.
        """
        key_of(self.section)  # a missing one is an error before anything is opened
        stop, ledger = threading.Event(), Ledger(self.section, folder)
        client = ChatClient(self.section, ledger, Pace(self.section, stop))
        pool = ThreadPoolExecutor(self.section.concurrency, thread_name_prefix="endpoint")
        try:
            for number, logits in self._in_turn(items, client, ledger, pool):
                if bar:
                    bar.advance(1, note=ledger.in_words())
                yield number, logits
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            client.close()
            pool.shutdown(wait=True)
            ledger.close()
            self._spent_words, self._repeated = ledger.in_words(), client.repeated

    @property
    def remarks(self) -> list[str]:
        """What is worth saying after the last call of `one_by_one`."""
        outcomes, found = self._outcomes, [self._spent_words] if self._spent_words else []
        if self._repeated:
            found.append(f"{self._repeated:,} requests were repeated")
        if outcomes.unknown:
            found.append(
                f"{outcomes.unknown:,} texts have no answer: what the model said names no class ({outcomes.said!r})"
            )
        if outcomes.refused:
            found.append(f"{outcomes.refused:,} texts have no answer: the server refused them ({outcomes.reason})")
        if outcomes.not_asked:
            found.append(
                f"a limit was reached: {outcomes.not_asked:,} texts were not asked; raise max_requests, max_tokens or "
                "max_cost, and run the same command again"
            )
        if outcomes.unseen:
            found.append(
                f"{outcomes.unseen / max(outcomes.answered, 1):.1f} classes per answer were not among the tokens that "
                "the server gave, and share what is left"
            )
        return found

    def _in_turn(
        self, items: Iterator[Item], client: ChatClient, ledger: Ledger, pool: ThreadPoolExecutor
    ) -> Generator[tuple[int, Logits | None], None, None]:
        """Keeps as many requests under way as the recipe allows, and no more texts in memory than that."""
        pending: dict[Future[Logits | None], int] = {}
        end = _End()
        while True:
            missing = 0 if end.is_near else self.section.concurrency - len(pending)
            for item in islice(items, missing):
                pending[pool.submit(self._answer, item, client, ledger)] = item[0]
            if not pending:
                break
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                number = pending.pop(future)
                if end.counts(future):
                    yield number, None if end.is_limit(future) else future.result()
        if end.failure:
            raise end.failure
        for number, _, _ in items:
            end.not_asked += 1
            yield number, None
        self._outcomes.not_asked += end.not_asked

    def _answer(self, item: Item, client: ChatClient, ledger: Ledger) -> Logits | None:
        """One text. Raises LimitReached, EndpointUnusable, or Stopped if nobody waits any more."""
        _, text, pair = item
        reading: ReadAnswer | None = None
        for attempt in range(self.section.answer_retries + 1):
            try:
                reading = self._read(text, pair, attempt, client, ledger)
            except RefusedRequest as error:
                self._refuse(error)
                return None
            if reading is not None:
                break
        with self._outcomes.lock:
            self._outcomes.answered += reading is not None
            self._outcomes.unknown += reading is None
            self._outcomes.unseen += reading.unseen if reading else 0
            if not self._outcomes.answered and self._outcomes.unknown >= ENOUGH_UNKNOWN:
                reason = f"none of its {self._outcomes.unknown} answers names a class; it said: {self._outcomes.said!r}"
                raise EndpointUnusable(url=self.section.url, reason=reason, advice=NO_CLASS)
        if reading is None:
            return None
        return logits_from(reading, self.section, self.questions)

    def _refuse(self, error: RefusedRequest) -> None:
        """A single text may be refused, such as one that is too long. Raises if it is not the text."""
        with self._outcomes.lock:
            self._outcomes.refused += 1
            self._outcomes.reason = error.reason
            if error.status not in OF_THE_TEXT or (
                not self._outcomes.answered and self._outcomes.refused >= ENOUGH_MISSING
            ):
                raise error

    def _read(self, text: str, pair: str | None, attempt: int, client: ChatClient, ledger: Ledger) -> ReadAnswer | None:
        way = self._way
        if way == "votes":
            return self._voted(text, pair, attempt, client, ledger)
        question = self._question(text, pair, way, attempt)
        try:
            choices = self._asked(question, way, client, ledger)
        except RefusedRequest as error:
            if not self._without_refused(error, question, way):
                raise
            return self._read_otherwise(text, pair, attempt, client, ledger)
        if way == "logprobs" and not has_logprobs(choices[0]):
            return self._without_logprobs(text, pair, attempt, client, ledger)
        self._has_logprobs = self._has_logprobs or way == "logprobs"
        return self._noted(reading_of(question, choices, self.questions, way), choices)

    def _noted(self, reading: ReadAnswer | None, choices: Sequence[dict[str, Any]]) -> ReadAnswer | None:
        """The reading; what was said is kept if it is none."""
        if reading is None and choices:
            message = choices[0].get("message")
            said = message.get("content") if isinstance(message, dict) else None
            self._outcomes.said = " ".join(str(said).split())[:LONGEST_SAID]
        return reading

    def _voted(
        self, text: str, pair: str | None, attempt: int, client: ChatClient, ledger: Ledger
    ) -> ReadAnswer | None:
        """By several answers; a server that gives one at a time is asked several times."""
        wanted, choices = self.section.samples, list[dict[str, Any]]()
        question = self._question(text, pair, "votes", attempt)
        while len(choices) < wanted:
            question.body["n"] = wanted - len(choices)
            choices += self._asked(question, "votes", client, ledger)[: wanted - len(choices)]
        return self._noted(reading_of(question, choices, self.questions, "votes"), choices)

    def _question(self, text: str, pair: str | None, way: str, attempt: int) -> Question:
        question = self.questions.about(text, pair, way=way, samples=self.section.samples, attempt=attempt)
        if not self._is_structured:
            question.body.pop("response_format", None)
        return question

    def _asked(self, question: Question, way: str, client: ChatClient, ledger: Ledger) -> list[dict[str, Any]]:
        found = client.ask(question.body, expected=self._expected(question, way, ledger))["choices"]
        return [choice for choice in found if isinstance(choice, dict)]

    def _expected(self, question: Question, way: str, ledger: Ledger) -> Spent:
        estimated = self._count.of_question(question.body)
        tokens = round(estimated * ledger.total.correction)
        answers = question.body.get("n", 1)
        return Spent(1, tokens, answers * self.questions.tokens_of_answer(way), estimated)

    def _without_refused(self, error: RefusedRequest, question: Question, way: str) -> bool:
        """Whether the request can be made without the field that the server may have refused."""
        if error.status not in REFUSALS_OF_FIELDS:
            return False
        if "response_format" in question.body and self.section.structured_output == "auto":
            self._is_structured = False
            return True
        if way == "logprobs" and self.section.answers == "auto" and not self._has_logprobs:
            self._way = "votes"
            return True
        return False

    def _read_otherwise(
        self, text: str, pair: str | None, attempt: int, client: ChatClient, ledger: Ledger
    ) -> ReadAnswer | None:
        """Without the field. If that is refused too, it was not the field but the text."""
        try:
            return self._read(text, pair, attempt, client, ledger)
        except RefusedRequest:
            self._way = "logprobs" if self.section.answers == "auto" else self._way
            raise

    def _without_logprobs(
        self, text: str, pair: str | None, attempt: int, client: ChatClient, ledger: Ledger
    ) -> ReadAnswer | None:
        """An answer without logprobs may be a mishap; the first ones mean that the server has none."""
        with self._outcomes.lock:
            self._missing += 1
        if not self._has_logprobs and self._missing >= ENOUGH_MISSING:
            if self.section.answers != "auto":
                raise EndpointUnusable(url=self.section.url, reason=NO_LOGPROBS, advice=INSTEAD)
            self._way = "votes"
        return self._voted(text, pair, attempt, client, ledger) if self.section.answers == "auto" else None


def reading_of(
    question: Question, choices: Sequence[dict[str, Any]], questions: Questions, way: str
) -> ReadAnswer | None:
    """What the answers to one question say; None if they name no class."""
    labels = questions.labels
    if not choices:
        return None
    if way == "confidence":
        return read_confidence(question, choices[0], labels, several=questions.multi_label)
    if way == "votes":
        return read_line_votes(question, choices) if questions.multi_label else read_votes(question, choices, labels)
    return read_lines(question, choices[0]) if questions.multi_label else read_letters(question, choices[0], labels)


def logits_from(reading: ReadAnswer, section: EndpointTeacher, questions: Questions) -> Logits:
    """(classes) logits of a reading; of a score the mean of the levels, by their probabilities, in its own units."""
    row = np.asarray(reading.probabilities, dtype=np.float64)[np.newaxis]
    if questions.levels:
        score: Logits = (row @ np.array(questions.levels)).astype(np.float32)
        return score
    least, several = section.least_probability, questions.multi_label
    found: Logits = logits_of(row.astype(np.float32), least=least, multi_label=several)[0]
    return found
