"""Exports the teacher as a file that runs without torch, so that a student is compared with the fastest teacher."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import ModelProto
from transformers import AutoModelForSequenceClassification

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import GRAPH, TOKENIZER, ModelFacts, ModelFolder, save_facts
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import TeacherTokensUnsupported
from limbeck.export.transformer_graph import transformer_graph
from limbeck.export.transformer_int8 import transformer_int8
from limbeck.models.checkpoint import model_from_folder
from limbeck.models.tokenizer import load_tokenizer
from limbeck.progress import Reporter
from limbeck.recipe.export import Precision
from limbeck.text.framed_tokenizer import FramedTokenizer
from limbeck.text.framing import framed_teacher_tokenizer
from limbeck.text.student_reader import TYPES
from limbeck.training.modes import quiet_transformers

MOST_PARAMETERS = 480_000_000  # in fp32; an ONNX file cannot hold more than 2 GiB


def export_teacher(
    teacher: TeacherFolder,
    *,
    language: str,
    pair: bool,
    precision: Precision,
    out: Path,
    key: Key,
    reporter: Reporter,
    temperature: float = 1.0,
) -> ModelFolder | None:
    """Write an encoder as an ONNX model at `out`, with its own tokens and its own head.

    None, and a note with the reason, for a teacher that cannot be exported: the run continues without it.
    """
    try:
        graph, tokenizer = _parts(teacher, pair=pair)
    except _NotExportable as error:
        reporter.note(f"  the teacher runs only in PyTorch, not as an {precision} file: {error}")
        return None
    with written_atomically(out, kind="model", key=key) as scratch:
        onnx.save_model(transformer_int8(graph) if precision == "int8" else graph, scratch / GRAPH)
        tokenizer.save(scratch / TOKENIZER)
        facts = _facts(teacher, language=language, pair=pair, precision=precision)
        save_facts(scratch, replace(facts, temperature=temperature))
    return ModelFolder(out)


class _NotExportable(Exception):
    """The message is the reason."""


def _parts(teacher: TeacherFolder, *, pair: bool) -> tuple[ModelProto, FramedTokenizer]:
    facts = teacher.facts
    if not teacher.is_encoder:
        raise _NotExportable(f"it is not an encoder but of the kind '{facts.kind}'")
    if (facts.parameters or 0) > MOST_PARAMETERS:
        raise _NotExportable(f"its {facts.parameters:,} parameters are more than one ONNX file can hold")
    quiet_transformers()
    network = model_from_folder(AutoModelForSequenceClassification, teacher.folder, dtype=torch.float32)
    try:
        return transformer_graph(network.eval(), pair=pair), _tokenizer(teacher, network.config)
    except (TypeError, ValueError) as error:  # an unknown class, an unknown activation
        raise _NotExportable(f"its family has no graph: {network.config.model_type}") from error
    except TeacherTokensUnsupported as error:
        raise _NotExportable(f"its tokens cannot be exported: {error.reason}") from error


def _tokenizer(teacher: TeacherFolder, config: Any) -> FramedTokenizer:
    """All of its tokens, with its own special tokens around a text. Raises TeacherTokensUnsupported."""
    theirs = load_tokenizer(teacher.folder, config)
    if theirs.pad_token_id is None:
        raise TeacherTokensUnsupported(reason="none of them is for padding", other_kind="pieces")
    return framed_teacher_tokenizer(
        teacher.tokenizer_json(),
        pad_id=theirs.pad_token_id,
        mask_token=theirs.mask_token,
        has_types=TYPES in theirs.model_input_names,
    )


def _facts(teacher: TeacherFolder, *, language: str, pair: bool, precision: Precision) -> ModelFacts:
    facts = teacher.facts
    assert facts.max_length is not None, "every encoder has one"
    return ModelFacts(
        name=f"teacher-{precision}" if precision == "int8" else "teacher",
        kind="transformer",
        precision=precision,
        labels=facts.labels,
        language=language,
        pair=pair,
        max_length=facts.max_length,
        parameters=facts.parameters or 0,
        parameters_without_embeddings=facts.parameters_without_embeddings or 0,
        multi_label=facts.multi_label,
        tokenizer="framed",
        scale=None if facts.scale is None else ScoreScale.from_json(facts.scale),
    )
