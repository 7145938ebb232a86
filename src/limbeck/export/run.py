"""The export stage: graph, tokenizer and card in one folder, kept only if it says what the student says."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import torch
from transformers import AutoModelForSequenceClassification

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import GRAPH, TOKENIZER, ModelFacts, ModelFolder, save_facts
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder
from limbeck.artifacts.whole import written_whole
from limbeck.errors import CheckpointDamaged, some
from limbeck.export.calibration import calibration_rows, temperature_of
from limbeck.export.dev_rows import asked_of, sample
from limbeck.export.graphs import graph_of, int8_of
from limbeck.export.parity import Exported, Parity, measure_parity, on_every_engine, refuse_unless_alike
from limbeck.export.trained import remembered_logits
from limbeck.progress import Reporter
from limbeck.recipe.export import Export, Precision
from limbeck.text.student_reader import StudentReader
from limbeck.training.modes import quiet_transformers


def export_student(
    section: Export,
    *,
    student: StudentFolder,
    rows: Rows,
    precision: Precision,
    out: Path,
    key: Key,
    reporter: Reporter,
) -> ModelFolder:
    """Write the student as an ONNX model at `out`, after comparing the two on `rows`, and calibrate it on them.

    The file is compared on every engine that can run it here, and calibrated by what onnxruntime makes of it: so it is
    the same wherever it was written.

    Raises ExportRefused, and leaves nothing behind, when they differ by more than the recipe allows.
    """
    with written_whole(out, kind="model", key=key) as scratch:
        try:
            parity = _write_compared(section, scratch, student=student, rows=rows, precision=precision)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)  # nothing in it is worth going on from
            raise
    model = ModelFolder(out)
    reporter.note(_summary(model, parity))
    return model


def _write_compared(
    section: Export, scratch: Path, *, student: StudentFolder, rows: Rows, precision: Precision
) -> Parity:
    network = _load(student)
    graph = graph_of(network, pair=student.facts.pair)
    onnx.save_model(int8_of(network, graph) if precision == "int8" else graph, scratch / GRAPH)
    shutil.copyfile(student.folder / TOKENIZER, scratch / TOKENIZER)
    facts = _model_facts(student.facts, precision)
    save_facts(scratch, facts)
    reader = StudentReader.load(
        student.folder / TOKENIZER,
        is_framed=student.facts.tokenizer == "framed",
        max_length=student.facts.max_length,
    )
    exported = on_every_engine(ModelFolder(scratch), threads=torch.get_num_threads())
    parity = _compared(section, exported, network, reader, student=student, rows=rows)
    refuse_unless_alike(section, parity, precision=precision, student=student.folder)
    if section.calibrate:
        save_facts(scratch, replace(facts, temperature=temperature_of(exported[0], rows)))
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
    """With what the student says; rows that calibration will ask about are asked about first, and by themselves.

    So a temperature does not depend on what else there is to compare, and most rows of both are asked about once.
    """
    calibrating = calibration_rows(rows) if section.calibrate else None
    if calibrating is not None and len(calibrating):
        exported[0].logits(asked_of(rows.select(calibrating)))
    compared = sample(rows, most=section.parity_rows, among=calibrating)
    return measure_parity(remembered_logits(student, network, reader, compared), exported, compared)


def _load(student: StudentFolder) -> Any:
    """Raises if a weight is missing: transformers would start it at random, and the graph would say the same."""
    quiet_transformers()
    network, loading = AutoModelForSequenceClassification.from_pretrained(
        student.folder, local_files_only=True, output_loading_info=True
    )
    if missing := sorted(map(str, loading["missing_keys"])):
        reason, advice = f"weights are missing: {some(missing)}", "Train the student anew with this version."
        raise CheckpointDamaged(path=student.folder, reason=reason, advice=advice, what="student")
    return network


def _model_facts(student: StudentFacts, precision: Precision) -> ModelFacts:
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
    )


def _summary(model: ModelFolder, parity: Parity) -> str:
    facts = model.facts()
    same = "same labels" if facts.multi_label else "same label"
    calibrated = f"; temperature {facts.temperature:.2f} by dev" if facts.temperature != 1 else ""
    return (
        f"  {facts.name} ({facts.precision}): {model.size_mb():.1f} MB; against the trained student on "
        f"{parity.rows:,} rows: {same} on {parity.agreement:.1%}, logits within {parity.largest_difference:.2g}"
        f"{calibrated}"
    )
