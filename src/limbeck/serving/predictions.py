"""One question from its bytes to its answer: read, wait for the model's turn, ask the fallback where needed, write."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from limbeck.artifacts.model_folder import ModelFacts
from limbeck.runtime.abstaining import Scored, scored
from limbeck.runtime.cascade import FALLBACK, STUDENT
from limbeck.runtime.explain import explanation
from limbeck.runtime.probabilities import best_labels, confidence, label_sets, probabilities_of
from limbeck.runtime.row import Row
from limbeck.serving.drift import Drift
from limbeck.serving.fallback_calls import FallbackCalls
from limbeck.serving.limits import Limits
from limbeck.serving.metrics import Metrics
from limbeck.serving.served_models import ServedModel, ServedModels
from limbeck.serving.wire.questions import Answered, AskedModel, ReadQuestion, Reads
from limbeck.serving.wire.refusals import Refused
from limbeck.serving.work_queue import ClientLeft, WorkQueue, leaving

SMALL_BYTES = 32_768  # of a body that is read in the event loop: a fraction of a millisecond
SMALL_ANSWER = 4_096  # numbers of an answer that is written in the event loop
MOST_DIGITS = 19  # of a length
READERS = 2  # threads that read and write large bodies
EXPLAINED_FACTOR = 40.0  # an explanation asks the model about as many changed texts
MOST_EXPLAINED = 16  # rows of a request
ANSWERED_BY = "x-answered-by"
CLIENT_LEFT = 499  # a status of nginx's: the client went before it was answered

Floats = npt.NDArray[np.float32]


class Predictions:
    """Answers questions of every wire format with the models of a server."""

    def __init__(
        self, models: ServedModels, *, queue: WorkQueue, metrics: Metrics, limits: Limits, drift: Drift
    ) -> None:
        self._models, self._queue, self._metrics, self._limits, self._drift = models, queue, metrics, limits, drift
        self._readers = CapacityLimiter(READERS)
        self._fallbacks = FallbackCalls(queue, metrics)

    def close(self) -> None:
        """Leave fallbacks alone: who still waits for one is not answered any more."""
        self._fallbacks.close()
        for model in self._models:
            if model.cascade is not None:
                model.cascade.close()

    async def answer(self, request: Request, read: Reads, *, name: str | None = None) -> Response:
        """The response to a question. Raises Refused."""
        try:
            self._queue.refuse_any()  # before it is read, which takes longer than to refuse it
            body = await self._body(request)
            asked, model = await self._read(body, read, request.headers, name)
            return await self._answer(request, asked, model)
        except (ClientLeft, ClientDisconnect):
            return Response(status_code=CLIENT_LEFT)

    async def _body(self, request: Request) -> bytes:
        """All of it; other servers than ours do not limit it."""
        most, length = self._limits.body_bytes, request.headers.get("content-length", "")
        if length.isdecimal() and len(length) < MOST_DIGITS and int(length) > most:
            raise _too_large(most)
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise _too_large(most)
            parts.append(part)
        return b"".join(parts)

    async def _read(
        self, body: bytes, read: Reads, headers: Mapping[str, str], name: str | None
    ) -> tuple[ReadQuestion, ServedModel]:
        """The question, and the model that it was read for: another one may take its name meanwhile."""
        chosen: list[ServedModel] = []

        def choose(name: str | None) -> AskedModel:
            chosen.append(self._models.by_name(name))
            return chosen[-1].asked

        def parse() -> ReadQuestion:
            return read(body, headers=headers, choose=choose, limits=self._limits, name=name)

        asked = parse() if len(body) <= SMALL_BYTES else await to_thread.run_sync(parse, limiter=self._readers)
        return asked, next(model for model in chosen if model.asked is asked.model)

    async def _answer(self, request: Request, asked: ReadQuestion, model: ServedModel) -> Response:
        if asked.explain and len(asked.rows) > MOST_EXPLAINED:
            raise Refused(413, f"at most {MOST_EXPLAINED} rows of a request are explained, not {len(asked.rows):,}")
        started = time.perf_counter()
        logits = await self._logits(request, model, asked.rows)
        probabilities = _said(model.facts, logits)
        self._metrics.time(model.name, seconds=time.perf_counter() - started, by=STUDENT)
        answers = None
        if model.cascade is not None:
            answers = await self._fallbacks.ask(model, model.cascade, asked.rows, probabilities, leaving(request))
            probabilities = answers.probabilities
        found = scored(logits, model.facts)
        if found is not None and answers is not None:
            found = found.but_for(answers.by_fallback)
        taken = time.perf_counter() - started
        by_fallback = int(answers.by_fallback.sum()) if answers else 0
        self._note(model, asked.rows, probabilities, by_fallback=by_fallback, found=found)
        answered = Answered(
            probabilities=probabilities,
            logits=None if answers is not None and answers.by_fallback.any() else logits,  # a fallback has none
            milliseconds=taken * 1_000,
            by_fallback=answers.by_fallback if answers else None,
            fallback_note=answers.note if answers else None,
            explanations=await self._explained(request, model, asked, probabilities),
            tokens=await self._tokens(request, model, asked),
            scored=found,
        )
        return await self._written(request, asked, answered)

    async def _tokens(self, request: Request, model: ServedModel, asked: ReadQuestion) -> list[int] | None:
        if not asked.needs_tokens or not asked.rows or model.words is None:
            return None
        counts = model.words.counts
        parts = await self._queue.run(
            f"{model.name} counted",
            asked.rows,
            lambda rows: [counts([row])[1] for row in rows],
            has_left=leaving(request),
        )
        return [count for part in parts for count in part]

    async def _logits(self, request: Request, model: ServedModel, rows: Sequence[Row]) -> Floats:
        if not rows:
            return np.zeros((0, len(model.facts.labels)), dtype=np.float32)
        parts = await self._queue.run(model.name, rows, model.compute, merges=model.merges, has_left=leaving(request))
        return np.asarray(parts[0]) if len(parts) == 1 else np.concatenate(parts)

    async def _explained(
        self, request: Request, model: ServedModel, asked: ReadQuestion, probabilities: Floats
    ) -> list[Any] | None:
        """What moved the answer that is given, also where the fallback gave it."""
        if not asked.explain or not asked.rows:
            return [] if asked.explain else None
        labels = iter(best_labels(probabilities, model.facts.labels))
        parts = await self._queue.run(
            f"{model.name} explained",
            asked.rows,
            lambda rows: [explanation(model.classifier, row, label=next(labels)).to_json() for row in rows],
            factor=EXPLAINED_FACTOR,
            has_left=leaving(request),
        )
        return [pieces for part in parts for pieces in part]

    def _note(
        self,
        model: ServedModel,
        rows: Sequence[Row],
        probabilities: Floats,
        *,
        by_fallback: int,
        found: Scored | None,
    ) -> None:
        withheld = None if found is None else found.withheld
        self._metrics.answer(model.name, rows=len(rows), by_fallback=by_fallback)
        if withheld is not None:
            self._metrics.abstain(model.name, rows=int(withheld.sum()))
        if not rows:
            return
        facts = model.facts
        if not facts.task.has_classes:
            self._drift.sample(model, rows)
            return
        if facts.multi_label:
            labels = Counter(label for of_row in label_sets(probabilities, facts.labels) for label in of_row)
        else:
            given = probabilities if withheld is None else probabilities[~withheld]
            labels = Counter(best_labels(given, facts.labels) if len(given) else [])
        confidences = confidence(probabilities, multi_label=facts.multi_label).tolist()
        self._metrics.see(model.name, labels=labels, confidences=confidences)
        self._drift.sample(model, rows)

    async def _written(self, request: Request, asked: ReadQuestion, answered: Answered) -> Response:
        if answered.probabilities.size <= SMALL_ANSWER:
            written = asked.write(answered)
        else:
            written = await to_thread.run_sync(asked.write, answered, limiter=self._readers)
        headers = dict(written.headers)
        seen = {"model": asked.model.name, "rows": len(asked.rows)}
        if answered.by_fallback is not None:
            count = int(answered.by_fallback.sum())
            seen["answered_by"] = headers[ANSWERED_BY] = f"{STUDENT}={len(asked.rows) - count}, {FALLBACK}={count}"
        request.scope.get("state", {}).get("log", {}).update(seen)
        return Response(written.body, media_type=written.media_type, headers=headers)


def _said(facts: ModelFacts, logits: Floats) -> Floats:
    """(rows, classes): calibrated probabilities; of a model of scores (rows, 1): the scores."""
    if facts.scale is not None:
        return facts.scale.scores(logits).astype(np.float32)
    return probabilities_of(logits / facts.temperature, multi_label=facts.multi_label)


def _too_large(most: int) -> Refused:
    detail = f"the body is larger than {most:,} bytes; send fewer rows in one request"
    return Refused(413, detail, headers={"connection": "close"})
