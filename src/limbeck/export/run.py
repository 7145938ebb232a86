"""The export stage: graph, tokenizer and card in one folder, kept only if it matches the trained student."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnx
import torch
from torch import nn
from transformers import AutoModelForSequenceClassification

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import GRAPH, TOKENIZER, ModelFacts, ModelFolder, save_facts
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder
from limbeck.errors import CheckpointDamaged, some
from limbeck.export.abstain import abstaining_in_words, with_abstention
from limbeck.export.graphs import graph_of, int8_of
from limbeck.export.parity import (
    Exported,
    Parity,
    Positions,
    TransductiveRefused,
    measure_parity,
    on_every_engine,
    refuse_different,
    runtime_rows,
    sample,
    spread,
)
from limbeck.export.profile import MOST_ROWS, Origin, write_profile
from limbeck.models.checkpoint import model_from_folder
from limbeck.progress import Reporter
from limbeck.recipe.export import Export, Precision
from limbeck.runtime.row import Row
from limbeck.text.student_reader import StudentReader, has_token_types
from limbeck.training.batches import token_budget_batches
from limbeck.training.modes import evaluating, quiet_transformers
from limbeck.training.temperature import MIN_ROWS, fitted_temperature


def export_student(
    section: Export,
    *,
    student: StudentFolder,
    rows: Rows,
    precision: Precision,
    out: Path,
    key: Key,
    reporter: Reporter,
    origin: Origin | None = None,
) -> ModelFolder:
    """Write the student as an ONNX model at `out`, after comparing the two on `rows`, and calibrate it on them.

    Beside it is a profile of its confidence on them, and with an `origin` of what is known of train and the teacher.

    The file is compared on every engine that can run it here, and calibrated with onnxruntime's logits, so that the
    file does not depend on the machine that writes it.

    Raises ExportRefused, and removes its files, if they differ by more than the recipe allows.
    """
    if student.facts.transductive is not None:
        place = student.folder
        raise TransductiveRefused(student=place, precision=precision, accuracies=student.facts.transductive)
    with written_atomically(out, kind="model", key=key) as scratch:
        try:
            parity = _write_compared(
                section, scratch, student=student, rows=rows, precision=precision, origin=origin or Origin()
            )
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)  # nothing in it can be continued
            raise
    model = ModelFolder(out)
    reporter.note(_summary(model, parity))
    return model


def _write_compared(
    section: Export, scratch: Path, *, student: StudentFolder, rows: Rows, precision: Precision, origin: Origin
) -> Parity:
    network = _load(student)
    graph = graph_of(network, pair=student.facts.pair)
    onnx.save_model(int8_of(network, graph) if precision == "int8" else graph, scratch / GRAPH)
    shutil.copyfile(student.folder / TOKENIZER, scratch / TOKENIZER)
    facts = _model_facts(student.facts, precision, clip=section.clip_scores)
    save_facts(scratch, facts)
    reader = StudentReader.load(
        student.folder / TOKENIZER,
        is_framed=student.facts.tokenizer == "framed",
        max_length=student.facts.max_length,
    )
    exported = on_every_engine(ModelFolder(scratch), threads=torch.get_num_threads())
    parity = _compared(section, exported, network, reader, student=student, rows=rows)
    refuse_different(section, parity, precision=precision, student=student.folder, scale=facts.scale)
    if section.calibrate and facts.task.has_classes:
        facts = replace(facts, temperature=temperature_of(exported[0], rows))
        save_facts(scratch, facts)
    logits_of, examples = exported[0].logits, section.examples
    if facts.task.has_classes:  # confidence, and a profile, are about labels
        facts, abstain = with_abstention(
            section.abstain, scratch, facts, rows=rows, logits_of=logits_of, foreign=origin.foreign
        )
        write_profile(scratch, facts, rows=rows, logits_of=logits_of, origin=origin, examples=examples, abstain=abstain)
    return parity


def _compared(
    section: Export,
    exported: list[Exported],
    network: Any,
    reader: StudentReader,
    *,
    student: StudentFolder,
    rows: Rows,
) -> Parity:
    """Compare with the student; the rows for calibration are computed first, in batches of their own.

    So the temperature does not depend on the other rows, and most rows of both are computed once.
    """
    has_temperature = section.calibrate and student.facts.task.has_classes
    calibrating = calibration_rows(rows) if has_temperature else None
    if calibrating is not None and len(calibrating):
        exported[0].logits(runtime_rows(rows.select(calibrating)))
    compared = sample(rows, most=section.parity_rows, among=calibrating)
    return measure_parity(cached_logits(student, network, reader, compared), exported, compared)


def _load(student: StudentFolder) -> Any:
    """Raises if a weight is missing: transformers would initialise it at random, and the graph would match that."""
    quiet_transformers()
    network, loading = model_from_folder(AutoModelForSequenceClassification, student.folder, output_loading_info=True)
    if missing := sorted(map(str, loading["missing_keys"])):
        reason, advice = f"weights are missing: {some(missing)}", "Train the student again with this version."
        raise CheckpointDamaged(path=student.folder, reason=reason, advice=advice, what="student")
    return network


def scale_of_model(scale: dict[str, Any] | None, *, clip: bool) -> ScoreScale | None:
    """The scale for model.json; None for classes."""
    return None if scale is None else replace(ScoreScale.from_json(scale), clip=clip)


def _model_facts(student: StudentFacts, precision: Precision, *, clip: bool) -> ModelFacts:
    return ModelFacts(
        name=student.name if precision == "fp32" else f"{student.name}-{precision}",
        kind=student.kind,
        precision=precision,
        labels=student.labels,
        language=student.language,
        pair=student.pair,
        max_length=student.max_length,
        parameters=student.parameters,
        parameters_without_embeddings=student.parameters_without_embeddings,
        multi_label=student.multi_label,
        tokenizer=student.tokenizer,
        scale=scale_of_model(student.scale, clip=clip),
    )


def _summary(model: ModelFolder, parity: Parity) -> str:
    facts = model.facts()
    if facts.scale:
        return (
            f"  {facts.name} ({facts.precision}): {model.size_mb():.1f} MB; against the trained student on "
            f"{parity.rows:,} rows: scores within {parity.largest_difference * facts.scale.sd:.2g}, "
            f"{parity.mean_difference * facts.scale.sd:.2g} on average"
        )
    same = "same labels" if facts.multi_label else "same label"
    calibrated = f"; temperature {facts.temperature:.2f} by dev" if facts.temperature != 1 else ""
    return (
        f"  {facts.name} ({facts.precision}): {model.size_mb():.1f} MB; against the trained student on "
        f"{parity.rows:,} rows: {same} on {parity.agreement:.1%}, logits within {parity.largest_difference:.2g}"
        f"{calibrated}{abstaining_in_words(model)}"
    )


class LogitSource(Protocol):
    """What calibration needs of an exported file."""

    def logits(self, rows: list[Row], /) -> npt.NDArray[np.float32]:
        """(rows, classes)."""


def calibration_rows(rows: Rows) -> Positions:
    """Positions of the rows that a temperature is fitted on: labelled ones, at most 2,000, evenly spread."""
    return spread(np.flatnonzero(rows.is_labelled), MOST_ROWS)


def temperature_of(exported: LogitSource, rows: Rows) -> float:
    """Fitted on the exported file's logits for the calibration rows."""
    chosen = rows.select(calibration_rows(rows))
    if len(chosen) < MIN_ROWS:
        return 1.0
    return fitted_temperature(exported.logits(runtime_rows(chosen)), chosen.labels)


Logits = npt.NDArray[np.float32]
TOKENS_PER_BATCH = 2048  # measured with a Bi-LSTM: with 4,096 or more, short rows took longer
MOST_CACHED = 64  # students

_cached: dict[tuple[str, bytes], Logits] = {}


def cached_logits(folder: StudentFolder, student: nn.Module, reader: StudentReader, rows: Rows) -> Logits:
    """The result of `student_logits`, cached for these rows: a student is exported once for each precision.

    A student is identified by the fingerprint of its folder. If its files have changed since, so has the export, and
    the comparison with the cached logits fails.
    """
    key = folder.fingerprint, rows.keys.tobytes()
    if key not in _cached:
        while len(_cached) >= MOST_CACHED:
            _cached.pop(next(iter(_cached)))
        _cached[key] = student_logits(student, reader, rows)
    return _cached[key]


def student_logits(student: nn.Module, reader: StudentReader, rows: Rows) -> Logits:
    """(rows, classes): the trained student's logits, in eval mode; rows of similar length share a batch."""
    read, with_types = reader.read(rows.texts, rows.pairs), has_token_types(getattr(student, "config", None))

    def logits_of(places: npt.NDArray[np.int64]) -> Logits:
        batch = read.batch(places, with_types=with_types)
        with torch.inference_mode():  # per thread
            output = student(**{name: torch.from_numpy(array) for name, array in batch.items()})
        logits: Logits = output.logits.float().cpu().numpy()
        return logits

    batches = token_budget_batches(read.lengths, tokens_per_batch=TOKENS_PER_BATCH)
    with evaluating(student), _single_threads() as pool:
        blocks = list(pool.map(logits_of, batches))
    return np.concatenate(blocks)[np.argsort(np.concatenate(batches))]


@contextmanager
def _single_threads() -> Iterator[ThreadPoolExecutor]:
    """A pool with PyTorch's number of threads; each runs its own batches on a single thread.

    Measured: the steps of an LSTM are too small to split; with two threads they took at least twice as long.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(before, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)
