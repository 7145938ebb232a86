"""Exports the teacher as a file that runs without torch, so that a student is compared with the fastest teacher."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import ModelProto
from transformers import AutoModelForSequenceClassification

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import GRAPH, TOKENIZER, Member, ModelFacts, ModelFolder, save_facts
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import TeacherTokensUnsupported
from limbeck.export.transformer_graph import transformer_graph
from limbeck.export.transformer_int8 import transformer_int8
from limbeck.models.checkpoint import model_from_folder
from limbeck.models.tokenizer import load_tokenizer, reads_last_token
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
    members: Sequence[TeacherFolder] = (),
) -> ModelFolder | None:
    """Write an encoder as an ONNX model at `out`, with its own tokens and its own head; of an ensemble of encoders a
    blend of its `members`, each a model inside it.

    A blend is the weighted mean of logits. Of an ensemble that takes the mean of probabilities it says nearly the
    same, which whoever uses it measures. None, and a note with the reason, for a teacher that cannot be exported: the
    run continues without it.
    """
    card = partial(_facts, language=language, pair=pair, precision=precision)
    try:
        with written_atomically(out, kind="model", key=key) as scratch:
            if not members or teacher.is_encoder:
                _write(teacher, card(teacher), scratch, temperature=temperature)
            else:
                facts = [replace(card(member), name=f"member-{number}") for number, member in enumerate(members)]
                for member, its in zip(members, facts, strict=True):
                    (scratch / its.name).mkdir()
                    _write(member, its, scratch / its.name)
                save_facts(scratch, _blend(teacher, facts, temperature=temperature))
    except _NotExportable as error:
        shutil.rmtree(out.with_name(f"{out.name}.partial"), ignore_errors=True)  # nothing in it can be continued
        reporter.note(f"  the teacher runs only in PyTorch, not as an {precision} file: {error}")
        return None
    return ModelFolder(out)


def can_be_exported(teacher: TeacherFolder, members: Sequence[TeacherFolder]) -> bool:
    """Whether it is an encoder, or several that answer together."""
    return teacher.is_encoder or (len(members) > 1 and all(member.is_encoder for member in members))


def _write(teacher: TeacherFolder, facts: ModelFacts, folder: Path, *, temperature: float = 1.0) -> None:
    graph, tokenizer = _parts(teacher, pair=facts.pair)
    onnx.save_model(transformer_int8(graph) if facts.precision == "int8" else graph, folder / GRAPH)
    tokenizer.save(folder / TOKENIZER)
    save_facts(folder, replace(facts, temperature=temperature))


def _blend(teacher: TeacherFolder, members: Sequence[ModelFacts], *, temperature: float) -> ModelFacts:
    first, weights = members[0], teacher.facts.weights
    return replace(
        first,
        name=_name(first.precision),
        kind="blend",
        max_length=max(member.max_length for member in members),
        parameters=sum(member.parameters for member in members),
        parameters_without_embeddings=sum(member.parameters_without_embeddings for member in members),
        tokenizer="words",  # it has none of its own
        temperature=temperature,
        members=tuple(Member(its.name, weight=weight) for its, weight in zip(members, weights, strict=True)),
    )


def _name(precision: Precision) -> str:
    return f"teacher-{precision}" if precision == "int8" else "teacher"


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
        reads="last" if reads_last_token(config) else "first",
    )


def _facts(teacher: TeacherFolder, *, language: str, pair: bool, precision: Precision) -> ModelFacts:
    facts = teacher.facts
    if facts.max_length is None:
        raise _NotExportable(f"it is not an encoder but of the kind '{facts.kind}'")
    return ModelFacts(
        name=_name(precision),
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
