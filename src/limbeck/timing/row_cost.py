"""The cost of one row of median length: its tokens, as each model tokenises it, and the multiply-adds for them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.candidate import Candidate
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_folder import MEAN, TWIN, TeacherFolder
from limbeck.kinds import kind_of_config, resolved
from limbeck.text.student_reader import TYPES, StudentReader

MOST_ROWS = 1000  # evenly spread; the median of more is much the same
UNKNOWN = {"multiply_adds": None, "median_tokens": None}

RowCost = dict[str, int | None]


def candidate_row_cost(candidate: Candidate, rows: Rows) -> RowCost:
    """Of an exported file, by its student's config.json; unknown if there is none. Of a blend the multiply-adds of all
    members together, and the tokens of the first one."""
    if candidate.members:
        return _together([candidate_row_cost(member, rows) for member in candidate.members])
    config = next((_config(student.folder) for student in candidate.students.values()), None)
    if config is None:
        return dict(UNKNOWN)
    facts = candidate.shipped.facts()
    is_framed = facts.tokenizer == "framed"
    tokens = student_tokens(candidate.shipped.tokenizer, rows, is_framed=is_framed, max_length=facts.max_length)
    products = multiply_adds(config, tokens=tokens, classes=len(facts.labels), exported=True)
    return {"multiply_adds": products, "median_tokens": sum(tokens)}


def teacher_row_cost(members: Sequence[TeacherFolder], rows: Rows) -> RowCost:
    """Multiply-adds of all members together, each with its own tokens; tokens of the first one. Unknown if one is."""
    return _together([_member_row_cost(member, rows) for member in members])


def _together(each: Sequence[RowCost]) -> RowCost:
    products = [cost["multiply_adds"] for cost in each if cost["multiply_adds"] is not None]
    return {
        "multiply_adds": sum(products) if products and len(products) == len(each) else None,
        "median_tokens": each[0]["median_tokens"] if each else None,
    }


def student_tokens(tokenizer: Path, rows: Rows, *, is_framed: bool, max_length: int) -> list[int]:
    """The median number of tokens of each text that a student reads; with special tokens a pair is one text."""
    sample = spread(rows, most=MOST_ROWS)
    reader = StudentReader.load(tokenizer, is_framed=is_framed, max_length=max_length)
    read = reader.read(sample.texts, sample.pairs)
    return [_median(column) for name, column in read.columns.items() if name != TYPES]


def encoder_tokens(folder: Path, rows: Rows, *, max_length: int) -> list[int]:
    """The same for an encoder, special tokens included."""
    from transformers import AutoConfig

    from limbeck.models.checkpoint import from_folder
    from limbeck.models.tokenizer import load_tokenizer

    sample = spread(rows, most=MOST_ROWS)
    tokenizer = load_tokenizer(folder, from_folder(AutoConfig, folder))
    read = tokenizer(sample.texts, sample.pairs, truncation=True, max_length=max_length)
    return [_median(read["input_ids"])]


def spread(rows: Rows, *, most: int) -> Rows:
    """At most `most` rows, evenly spread: files are often sorted."""
    return rows.select(np.linspace(0, len(rows) - 1, num=min(most, len(rows)), dtype=np.int64))


def _member_row_cost(member: TeacherFolder, rows: Rows) -> RowCost:
    config, facts = _config(member.folder), member.facts
    if config is None or facts.max_length is None:
        return dict(UNKNOWN)
    if member.is_encoder:
        tokens = encoder_tokens(member.folder, rows, max_length=facts.max_length)
    else:
        is_framed = StudentFolder(member.folder).facts.tokenizer == "framed"
        path = member.folder / "tokenizer.json"
        tokens = student_tokens(path, rows, is_framed=is_framed, max_length=facts.max_length)
    return {
        "multiply_adds": multiply_adds(config, tokens=tokens, classes=len(facts.labels)),
        "median_tokens": sum(tokens),
    }


def _config(folder: Path) -> dict[str, Any] | None:
    """The config.json of a network; None if there is none, as for an exported file."""
    path = folder / "config.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def _median(column: Sequence[Sequence[int]]) -> int:
    return round(float(np.median([len(row) for row in column])))


def multiply_adds(
    config: Mapping[str, Any], *, tokens: Sequence[int], classes: int, exported: bool = False
) -> int | None:
    """For one row whose texts have these numbers of tokens, special ones included, by the config.json of its network;
    None if no formula is known. An exported network may need fewer."""
    from limbeck.models.multiply_adds import mean_encoder_multiply_adds, twin_multiply_adds

    model_type = config["model_type"]
    if model_type == TWIN:
        return twin_multiply_adds(config["encoder"], tokens=tokens, classes=classes)
    if model_type == MEAN:
        return mean_encoder_multiply_adds(config["encoder"], tokens=tokens, classes=classes)
    formula = resolved(kind_of_config(model_type).multiply_adds)
    products: int | None = formula(config, tokens=tokens, classes=classes, exported=exported)
    return products
