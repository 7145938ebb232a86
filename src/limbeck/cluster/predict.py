"""Predicting files into a folder of Parquet files, piece by piece; a stopped or killed one continues where it was."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from limbeck.artifacts.file_systems import RemoteFolder, is_address, is_partial, without_keys
from limbeck.artifacts.manifest import read_manifest
from limbeck.artifacts.model_folder import ModelFacts
from limbeck.cluster.pieces import InputFile, InputForm, Piece, input_files, pieces_of, rows_of
from limbeck.cluster.workers import Lost, Resources, connected, dispatch
from limbeck.errors import DataError, PathUnusable, some
from limbeck.runtime.answers import ParquetAnswers
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.entries import Unreadable
from limbeck.runtime.row import Row
from limbeck.runtime.score_answers import ParquetScores
from limbeck.runtime.stream import answered

Where = Literal["local", "ray"]
PLAN = (
    "_limbeck/plan.json"  # what the folder is made from; names with _ are not read as data by what reads such folders
)
DONE = "_limbeck/done"  # an empty file for each finished piece, whose name has its numbers
FAILED_ROWS = "_limbeck/failed"  # for each piece that has some, the rows that have no answer, as JSON lines
CHUNK_ROWS = 1024
MOST_REASONS = 1000  # of failed rows that are written down for a piece; all are counted


@dataclass(frozen=True)
class PieceDone:
    """The numbers of a finished piece."""

    rows: int
    failed: int = 0

    @property
    def ending(self) -> str:
        return f"rows-{self.rows}.failed-{self.failed}"


@dataclass
class Predicted:
    """What came of it."""

    rows: int = 0
    failed: int = 0  # of these rows, the ones without an answer
    pieces: int = 0
    found: int = 0  # of these pieces, the ones that an earlier call had finished
    lost: dict[str, str] = field(default_factory=dict)  # piece → why it could not be predicted
    workers_lost: int = 0

    def add(self, done: PieceDone) -> None:
        """Count a piece."""
        self.rows, self.failed, self.pieces = self.rows + done.rows, self.failed + done.failed, self.pieces + 1


class PiecesLost(DataError):
    """Some pieces could not be predicted; all others are in the folder."""

    def __init__(self, *, out: str, lost: dict[str, str], pieces: int) -> None:
        self.lost = lost
        super().__init__(
            f"{len(lost):,} of {pieces:,} pieces could not be predicted; the others are in '{out}'",
            found=some([f"{name}: {reason}" for name, reason in lost.items()]),
            advice="Correct the files, or leave them out, and give a new folder; after lost workers, run it again.",
        )


@dataclass(frozen=True)
class PieceWork:
    """All that a worker needs beside the model."""

    reading: InputForm
    out: RemoteFolder

    def predicted(self, piece: Piece, classifier: Classifier) -> PieceDone:
        """Predict a piece and write it; when this returns, file and mark are there."""
        failures: list[str] = []
        with (
            self.out.writing(f"{piece.name}.parquet") as sink,
            rows_of(piece, self.reading, is_pair=classifier.facts.pair) as rows,
        ):
            answers = _answers(classifier, sink, rows.heading)
            total = 0
            for chunk in rows.chunks(CHUNK_ROWS):
                failed = [_reason(row) is not None for row in chunk.rows]
                answers.write(chunk, *answered(classifier, chunk.rows), failed=failed)
                failures += [reason for row in chunk.rows if (reason := _reason(row)) is not None]
                total += len(chunk.rows)
            answers.close()
        if failures:
            lines = [json.dumps({"piece": piece.name, "file": piece.file.shown, "reason": one}) for one in failures]
            self.out.write(f"{FAILED_ROWS}/{piece.name}.jsonl", "\n".join(lines[:MOST_REASONS]).encode() + b"\n")
        done = PieceDone(total, len(failures))
        self.out.write(f"{DONE}/{piece.name}.{done.ending}", b"")
        return done


def _answers(classifier: Classifier, sink: Any, heading: Sequence[str]) -> ParquetAnswers:
    facts: ModelFacts = classifier.facts
    kind = ParquetAnswers if facts.task.has_classes else ParquetScores
    shared = {"multi_label": facts.multi_label, "abstains": facts.abstain is not None}
    return kind(classifier.labels, sink, heading=heading, **shared)


def _reason(row: Row) -> str | None:
    text = row if isinstance(row, str) else row[0]
    return text.reason if isinstance(text, Unreadable) else None


class PredictingWorker:
    """A worker that holds a model."""

    def __init__(self, classifier: Classifier, work: PieceWork) -> None:
        self._classifier, self._work = classifier, work

    def ready(self) -> bool:
        """When it can work."""
        return True

    def work(self, piece: Piece) -> PieceDone | str:
        """Its numbers, or why it cannot be predicted."""
        return piece_done(piece, self._classifier, self._work)


def piece_done(piece: Piece, classifier: Classifier, work: PieceWork) -> PieceDone | str:
    """The numbers of a piece, or why it cannot be predicted: its file is damaged, or has other columns."""
    try:
        return work.predicted(piece, classifier)
    except DataError as error:
        return f"{piece.file.shown}: {str(error).partition(chr(10))[0]}"


def predict_files(
    classifier: Classifier,
    files: Sequence[str],
    out: str | Path,
    *,
    reading: InputForm,
    runner: Where = "local",
    address: str | None = None,
    resources: Resources | None = None,
    watch: Callable[[int], None] = lambda _: None,
    note: Callable[[str], None] = lambda _: None,
) -> Predicted:
    """Write every row of the files with its prediction into the folder `out`, a path or an address.

    Each piece becomes one Parquet file, `part-000000.parquet` and so on, which appears when it is complete; the same
    call later predicts only what is missing. Rows whose text cannot be read get nulls and are counted; files that
    cannot be read are left for the end, when PiecesLost is raised about them.
    """
    place = RemoteFolder(str(out) if is_address(out) else Path(out).resolve().as_uri())
    found = input_files(files)
    pieces = pieces_of(found, reading)
    _keep_plan(place, _plan(classifier, found, reading, pieces), out=without_keys(out))
    finished, result = _finished(place), Predicted()
    for piece in pieces:
        if piece.name in finished:
            result.add(finished[piece.name])
            watch(finished[piece.name].rows)
    result.found = result.pieces
    missing = [piece for piece in pieces if piece.name not in finished]
    work = PieceWork(reading, place)
    if result.found:
        note(f"{result.found:,} of {len(pieces):,} pieces are finished already")
    for piece, done in _done(classifier, missing, work, runner, address, resources or Resources(), result, note=note):
        if isinstance(done, PieceDone):
            result.add(done)
            watch(done.rows)
        else:
            result.lost[piece.name] = (
                done if isinstance(done, str) else f"it ended {done.attempts} workers: {done.reason}"
            )
    _refuse_lost(result, out=without_keys(out), pieces=len(pieces))
    for name in filter(is_partial, place.files()):  # of a worker or a command that was killed
        place.remove(name)
    return result


def _refuse_lost(result: Predicted, *, out: str, pieces: int) -> None:
    if result.lost:
        raise PiecesLost(out=out, lost=dict(sorted(result.lost.items())), pieces=pieces)


def _done(
    classifier: Classifier,
    missing: list[Piece],
    work: PieceWork,
    runner: Where,
    address: str | None,
    resources: Resources,
    result: Predicted,
    *,
    note: Callable[[str], None],
) -> Iterator[tuple[Piece, PieceDone | str | Lost]]:
    """Each missing piece, when it is done, in any order."""
    if runner == "local" or not missing:
        for piece in missing:
            yield piece, piece_done(piece, classifier, work)
        return
    with ExitStack() as stack:
        ray = stack.enter_context(connected(address, resources=resources))
        model = ray.put(classifier.portable())
        crew = dispatch(ray, PredictingWorker, (model, work), resources, note=note)
        crew.workers = min(crew.workers, len(missing))
        yield from crew.results(missing)
        result.workers_lost = crew.lost


def _plan(classifier: Classifier, files: list[InputFile], reading: InputForm, pieces: list[Piece]) -> dict[str, Any]:
    """All that decides what is in the folder."""
    listed = json.dumps([[{**asdict(piece.file), "address": piece.file.shown}, piece.groups] for piece in pieces])
    return {
        "model": read_manifest(classifier.folder, kind="model").fingerprint,
        "abstains": classifier.facts.abstain is not None,
        "reading": reading.facts,
        "files": len(files),
        "bytes": sum(file.bytes for file in files),
        "pieces": len(pieces),
        "digest": blake2b(listed.encode(), digest_size=16).hexdigest(),
    }


def _keep_plan(place: RemoteFolder, plan: dict[str, Any], *, out: str) -> None:
    """Write the plan into a new folder; refuse a folder of another one."""
    try:
        kept = json.loads(place.read(PLAN))
    except FileNotFoundError:
        if names := [name for name in place.files() if not name.startswith(".")]:
            reason = f"it has other files in it ({some(names)})"
            raise PathUnusable(path=out, reason=reason, advice="Give a new or an empty folder.") from None
        place.write(PLAN, json.dumps(plan, indent=1).encode())
        return
    except ValueError:
        kept = {}
    plan = json.loads(json.dumps(plan))
    if kept != plan:
        other = [name for name in plan if kept.get(name) != plan[name]]
        reason = f"it holds predictions of another model, of other files, or read in another way ({some(other)} differ)"
        raise PathUnusable(path=out, reason=reason, advice="Give a new folder, or remove this one.")


def _finished(place: RemoteFolder) -> dict[str, PieceDone]:
    """The pieces that are done, by the names of their marks."""
    found: dict[str, PieceDone] = {}
    for mark in RemoteFolder(place.address).inner(DONE).files():
        name, _, numbers = mark.partition(".rows-")
        rows, _, failed = numbers.partition(".failed-")
        if rows.isdecimal() and failed.isdecimal():
            found[name] = PieceDone(int(rows), int(failed))
    return found
