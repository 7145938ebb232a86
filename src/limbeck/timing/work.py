"""What one row of median length takes: its tokens, as each model cuts them, and the multiply-adds for them."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.candidate import Candidate
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.text.student_reader import TYPES, StudentReader

MOST_ROWS = 1000  # evenly spread; the median of more is much the same
UNKNOWN = {"multiply_adds": None, "median_tokens": None}

Work = dict[str, int | None]


def candidate_work(candidate: Candidate, rows: Rows) -> Work:
    """Of an exported file, whose shape its student's config.json tells; unknown where there is none."""
    config = next((_config(student.folder) for student in candidate.students.values()), None)
    if config is None:
        return dict(UNKNOWN)
    facts = candidate.shipped.facts()
    is_framed = facts.tokenizer == "framed"
    tokens = student_tokens(candidate.shipped.tokenizer, rows, is_framed=is_framed, max_length=facts.max_length)
    products = multiply_adds(config, tokens=tokens, classes=len(facts.labels), exported=True)
    return {"multiply_adds": products, "median_tokens": sum(tokens)}


def teacher_work(members: Sequence[TeacherFolder], rows: Rows) -> Work:
    """Of all members together, each with its own tokens; of the first one the tokens. Unknown if one is."""
    each = [_member_work(member, rows) for member in members]
    products = [work["multiply_adds"] for work in each if work["multiply_adds"] is not None]
    return {
        "multiply_adds": sum(products) if products and len(products) == len(each) else None,
        "median_tokens": each[0]["median_tokens"] if each else None,
    }


def student_tokens(tokenizer: Path, rows: Rows, *, is_framed: bool, max_length: int) -> list[int]:
    """The median number of tokens of each text that a student reads; between special tokens a pair is one text."""
    sample = spread(rows, most=MOST_ROWS)
    reader = StudentReader.load(tokenizer, is_framed=is_framed, max_length=max_length)
    read = reader.read(sample.texts, sample.pairs)
    return [_median(column) for name, column in read.columns.items() if name != TYPES]


def encoder_tokens(folder: Path, rows: Rows, *, max_length: int) -> list[int]:
    """The same for an encoder, special tokens included."""
    from transformers import AutoConfig

    from limbeck.models.tokenizer import load_tokenizer

    sample = spread(rows, most=MOST_ROWS)
    tokenizer = load_tokenizer(folder, AutoConfig.from_pretrained(folder, local_files_only=True))
    read = tokenizer(sample.texts, sample.pairs, truncation=True, max_length=max_length)
    return [_median(read["input_ids"])]


def spread(rows: Rows, *, most: int) -> Rows:
    """At most so many rows, evenly spread: files are often sorted."""
    return rows.select(np.linspace(0, len(rows) - 1, num=min(most, len(rows)), dtype=np.int64))


def _member_work(member: TeacherFolder, rows: Rows) -> Work:
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
    """What stands in the config.json of a network; None where there is none, as beside an exported file."""
    path = folder / "config.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def _median(column: Sequence[Sequence[int]]) -> int:
    return round(float(np.median([len(row) for row in column])))


Config = Mapping[str, Any]  # what stands in config.json

GATES = {"lstm": 4, "gru": 3}
# Families whose layers are built as BERT's. XLNet and DeBERTa multiply with positions too, and are not among them.
LIKE_BERT = ("bert", "roberta", "xlm-roberta", "camembert", "mpnet", "electra", "albert")


def multiply_adds(config: Config, *, tokens: Sequence[int], classes: int, exported: bool = False) -> int | None:
    """Of one row whose texts have so many tokens; None for a family that no formula is known for.

    Special tokens count too. A transformer reads both texts of a pair as one, and exported (`exported`) it works out
    the last layer for the first token alone.
    """
    match config["model_type"]:
        case "limbeck_bilstm":
            of_texts = sum(recurrent(config, tokens=count) for count in tokens)
            return of_texts + word_head(config, features=2 * config["hidden_size"], classes=classes)
        case "limbeck_textcnn":
            filters = config["filters"] * len(config["windows"])
            of_texts = sum(convolution(config, tokens=count) for count in tokens)
            return of_texts + word_head(config, features=filters, classes=classes)
        case "limbeck_bag":
            width = vector_size(config)
            return sum(tokens) * width + word_head(config, features=width, classes=classes)
        case "twin_encoder":
            return twins(config["encoder"], tokens=sum(tokens), classes=classes)
    shape = shape_of(config)
    return None if shape is None else transformer(shape, tokens=sum(tokens), classes=classes, exported=exported)


def shape_of(config: Config) -> Config | None:
    """The same keys for every family whose layers are built as BERT's; None for another."""
    if config["model_type"] == "distilbert":
        names = {"hidden_size": "dim", "num_hidden_layers": "n_layers", "intermediate_size": "hidden_dim"}
        return {name: config[own] for name, own in names.items()}
    return config if config["model_type"] in LIKE_BERT else None


def twins(config: Config, *, tokens: int, classes: int) -> int | None:
    """The layers for each text, taken to be as long as the other, and 4d·classes. The row begins with a special token;
    by itself, so does its second text."""
    shape = shape_of(config)
    if shape is None:
        return None
    first = (tokens + 1) // 2
    of_texts = [layers(shape, tokens=length, exported=False) for length in (first, tokens + 1 - first)]
    return sum(of_texts) + chain(4 * int(shape["hidden_size"]), classes)


def transformer(config: Config, *, tokens: int, classes: int, exported: bool) -> int:
    """Its layers, and d² + d·classes behind them, for states of width d."""
    d = int(config["hidden_size"])
    return layers(config, tokens=tokens, exported=exported) + chain(d, d, classes)


def layers(config: Config, *, tokens: int, exported: bool) -> int:
    """layers · (4nd² + 2n²d + 2nd·inner), for n tokens of width d.

    The terms of a layer: query, key, value and output; scores and the states they weigh; the two layers behind. The
    last layer of an exported file, for one token: 2nd² for keys and values, 2d², 2nd and 2d·inner.
    """
    count, d, inner = (int(config[name]) for name in ("num_hidden_layers", "hidden_size", "intermediate_size"))
    of_layer = 4 * tokens * d**2 + 2 * tokens**2 * d + 2 * tokens * d * inner
    of_last = 2 * tokens * d**2 + 2 * d**2 + 2 * tokens * d + 2 * d * inner if exported else of_layer
    embedding = int(config.get("embedding_size", d))
    projection = tokens * embedding * d if embedding != d else 0  # ELECTRA's and ALBERT's word vectors are narrower
    return projection + (count - 1) * of_layer + of_last


def recurrent(config: Config, *, tokens: int) -> int:
    """levels · 2n · gates · hidden · (inputs + hidden), and the attention over the states where there is one."""
    hidden, levels, gates = int(config["hidden_size"]), int(config["layers"]), GATES[config["cell"]]
    widths = [vector_size(config), *[2 * hidden] * (levels - 1)]
    of_levels = sum(2 * tokens * gates * hidden * (width + hidden) for width in widths)
    if config["pooling"] != "attention":
        return of_levels
    both = 2 * hidden
    return of_levels + tokens * chain(both, both, 1) + tokens * both


def convolution(config: Config, *, tokens: int) -> int:
    """n · width · Σ windows · filters: every word meets every place of every filter."""
    return int(tokens * vector_size(config) * sum(config["windows"]) * config["filters"])


def vector_size(config: Config) -> int:
    """Width of what a student reads for a word: both channels together."""
    return int(config["embedding_size"]) * (2 if config["static_channel"] else 1)


def word_head(config: Config, *, features: int, classes: int) -> int:
    """From the features of a text, or of a pair and its products and distances, to the classes."""
    dense = [config["dense_size"]] if config["dense_size"] else []
    return chain(features * (4 if config["pair"] else 1), *dense, classes)


def chain(*widths: int) -> int:
    """Linear layers one behind the other."""
    return sum(one * other for one, other in pairwise(widths))
