"""Maps the variables of a TensorFlow BERT to the weights of transformers, and checks that all are there and fit."""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limbeck.errors import CheckpointDamaged, TeacherError, did_you_mean, some
from limbeck.teacher.tf_config import TensorFlowBertConfig

ONE_OF_ITS_FILES = re.compile(r"\.(index|meta|data-\d+-of-\d+)$")
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"  # TensorFlow 2 saves the tree of Python objects under this name


class TensorFlowCheckpointNotFound(TeacherError):
    """The given path has no TensorFlow checkpoint, or more than one."""

    def __init__(self, *, path: Path, reason: str, found: Sequence[str]) -> None:
        self.checkpoints = tuple(found)
        super().__init__(
            f"cannot find the TensorFlow checkpoint at '{path}': {reason}{did_you_mean(str(path), found)}",
            found=f"found there: {some(found, most=5) or 'no file that ends in .index'}",
            advice="Give the name that its files share, without .index or .data-00000-of-00001 at the end.",
        )


class CheckpointUnsupported(TeacherError):
    """A TensorFlow checkpoint of an unsupported kind."""

    def __init__(self, *, path: Path, reason: str) -> None:
        super().__init__(
            f"cannot import the TensorFlow checkpoint '{path}'",
            found=reason,
            advice="Give one with variables like bert/embeddings/word_embeddings, as Google's BERT and bert4keras "
            "save them.",
        )


class CheckpointUnfit(TeacherError):
    """A TensorFlow checkpoint whose variables are not those of the BERT that its bert_config.json describes."""

    def __init__(self, *, path: Path, missing: Sequence[str], misshapen: Sequence[str], unknown: Sequence[str]) -> None:
        self.missing, self.misshapen, self.unknown = tuple(missing), tuple(misshapen), tuple(unknown)
        groups = {"missing variables": missing, "of another shape": misshapen, "unknown variables": unknown}
        super().__init__(
            f"the TensorFlow checkpoint '{path}' is not the BERT that its bert_config.json describes",
            found="\n".join(f"{len(names):,} {what}: {some(names, most=8)}" for what, names in groups.items() if names),
            advice="Check that bert_config.json is the checkpoint's own; another network than BERT cannot be imported.",
        )


@dataclass(frozen=True)
class TensorFlowCheckpoint:
    """Its variables by name: shapes are loaded, values are read on demand."""

    prefix: Path
    shapes: dict[str, tuple[int, ...]]
    reader: Any  # of tf.train.load_checkpoint

    def read(self, variable: str) -> npt.NDArray[np.float32]:
        """The values of one variable, converted to single precision."""
        try:
            return np.asarray(self.reader.get_tensor(variable)).astype(np.float32)
        except Exception as error:  # the reader raises various classes for truncated, changed or missing files
            raise CheckpointDamaged(path=self.prefix, reason=f"{variable}: {_first_line(error)}") from error


def find_tf_checkpoint(checkpoint: Path) -> Path:
    """The common prefix of its files, given that prefix, one of the files, or the folder of just one checkpoint."""
    prefix = Path(ONE_OF_ITS_FILES.sub("", str(checkpoint)))
    if _index(prefix).is_file():
        return prefix
    is_folder = checkpoint.is_dir()
    found = sorted(path.with_suffix("") for path in (checkpoint if is_folder else checkpoint.parent).glob("*.index"))
    if is_folder and len(found) == 1:
        return found[0]
    reason = f"the folder has {len(found) or 'none'}" if is_folder else "it does not exist"
    raise TensorFlowCheckpointNotFound(path=checkpoint, reason=reason, found=[str(path) for path in found])


def open_tf_checkpoint(prefix: Path) -> TensorFlowCheckpoint:
    """Read the names and shapes of the variables; the values stay on disk."""
    # Set before the import: without the first it logs on import, without the second it still logs about oneDNN.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    import tensorflow

    try:
        reader = tensorflow.train.load_checkpoint(str(prefix))
        shapes = {name: tuple(shape) for name, shape in reader.get_variable_to_shape_map().items()}
    except Exception as error:
        raise CheckpointDamaged(path=prefix, reason=_first_line(error)) from error
    if OBJECT_GRAPH in shapes:
        reason = "it was saved by TensorFlow 2 as a tree of objects, without the names of BERT's variables"
        raise CheckpointUnsupported(path=prefix, reason=reason)
    return TensorFlowCheckpoint(prefix=prefix, shapes=shapes, reader=reader)


def _index(prefix: Path) -> Path:
    return Path(f"{prefix}.index")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


MAPPING = "bert/encoder/embedding_hidden_mapping_in"
POOLER = "bert/pooler/dense"
CLASSIFIER = ("output_weights", "output_bias")
PRETRAINING_HEADS = ("cls/predictions/", "cls/seq_relationship/")
PREDICTIONS = "cls/predictions"  # of masked words
MASKED_LM_HEAD = (
    f"{PREDICTIONS}/output_bias",
    *(
        f"{PREDICTIONS}/transform/{part}"
        for part in ("dense/kernel", "dense/bias", "LayerNorm/gamma", "LayerNorm/beta")
    ),
)
OPTIMISER_STATE = re.compile(r".+/(adam_m|adam_v|Adam|Adam_1)|global_step|beta[12]_power")

HIDDEN, INNER = "hidden_size", "intermediate_size"
# For each layer: module in TensorFlow and in a BERT of transformers, the same in an ALBERT, width in, width out.
LAYER_DENSE = [
    ("attention/self/query", "attention.query", HIDDEN, HIDDEN),
    ("attention/self/key", "attention.key", HIDDEN, HIDDEN),
    ("attention/self/value", "attention.value", HIDDEN, HIDDEN),
    ("attention/output/dense", "attention.dense", HIDDEN, HIDDEN),
    ("intermediate/dense", "ffn", HIDDEN, INNER),
    ("output/dense", "ffn_output", INNER, HIDDEN),
]
LAYER_NORMS = [
    ("attention/output/LayerNorm", "attention.LayerNorm"),
    ("output/LayerNorm", "full_layer_layer_norm"),
]


@dataclass(frozen=True)
class Weight:
    """One weight: its name in transformers, its variable, and the variable's shape as keys of bert_config.json."""

    name: str
    variable: str
    shape: tuple[str, ...]

    def tensor(self, checkpoint: TensorFlowCheckpoint) -> Tensor:
        """As in transformers: a TensorFlow kernel is (in, out), the weight is (out, in)."""
        values = torch.from_numpy(checkpoint.read(self.variable))
        return values.T.contiguous() if self.variable.endswith("/kernel") else values


@dataclass(frozen=True)
class TfNetwork:
    """The network of a checkpoint, according to its variables."""

    factorised: bool  # the embedding is narrower than the layers, and mapped to their width
    pooled: bool
    class_count: int | None  # None: it has no classifier
    predicts_masked: bool  # it has a head for masked words, and no classifier
    dropped: tuple[str, ...]  # variables of pre-training heads
    weights: tuple[Weight, ...]


def network_of(checkpoint: TensorFlowCheckpoint, config: TensorFlowBertConfig) -> TfNetwork:
    """The weight of every variable; missing, misshapen and unknown variables are reported in one error."""
    shapes = checkpoint.shapes
    classifier = shapes.get("output_weights", ())
    classified = any(name in shapes for name in CLASSIFIER)
    factorised = config.embedding_width != config.hidden_size or f"{MAPPING}/kernel" in shapes
    pooled = classified or any(name.startswith(f"{POOLER}/") for name in shapes)
    predicts_masked = not classified and all(name in shapes for name in MASKED_LM_HEAD)
    weights = tuple(
        _weights(
            layers=config.num_hidden_layers,
            factorised=factorised,
            pooled=pooled,
            classified=classified,
            predicts_masked=predicts_masked,
        )
    )
    kept = MASKED_LM_HEAD if predicts_masked else ()
    dropped = tuple(sorted(name for name in shapes if name.startswith(PRETRAINING_HEADS) and name not in kept))
    sizes = {**config.model_dump(), "embedding_size": config.embedding_width, "classes": (*classifier, 0)[0]}
    _refuse_misfits(checkpoint.prefix, shapes, weights=weights, sizes=sizes, dropped=dropped)
    return TfNetwork(
        factorised=factorised,
        pooled=pooled,
        class_count=classifier[0] if classified else None,
        predicts_masked=predicts_masked,
        dropped=dropped,
        weights=weights,
    )


def _weights(
    *, layers: int, factorised: bool, pooled: bool, classified: bool, predicts_masked: bool
) -> Iterator[Weight]:
    # A model with a head has the encoder as a submodule.
    base = "" if not (classified or predicts_masked) else "albert." if factorised else "bert."
    for table, rows in (
        ("word", "vocab_size"),
        ("position", "max_position_embeddings"),
        ("token_type", "type_vocab_size"),
    ):
        name = f"embeddings/{table}_embeddings"
        yield Weight(f"{base}{_dotted(name)}.weight", f"bert/{name}", (rows, "embedding_size"))
    yield from _norm(f"{base}embeddings.LayerNorm", "bert/embeddings/LayerNorm", "embedding_size")
    if factorised:
        yield from _dense(f"{base}encoder.embedding_hidden_mapping_in", MAPPING, "embedding_size", HIDDEN)
    for number in range(layers):
        yield from _layer(base, number, factorised=factorised)
    if pooled:
        yield from _dense(f"{base}pooler" if factorised else f"{base}pooler.dense", POOLER, HIDDEN, HIDDEN)
    if classified:
        yield Weight("classifier.weight", "output_weights", ("classes", HIDDEN))
        yield Weight("classifier.bias", "output_bias", ("classes",))
    if predicts_masked:  # the output layer is tied to the word embeddings, so the head has no table of its own
        place = "predictions" if factorised else "cls.predictions.transform"
        yield from _dense(f"{place}.dense", f"{PREDICTIONS}/transform/dense", HIDDEN, "embedding_size")
        yield from _norm(f"{place}.LayerNorm", f"{PREDICTIONS}/transform/LayerNorm", "embedding_size")
        yield Weight(f"{place.removesuffix('.transform')}.bias", f"{PREDICTIONS}/output_bias", ("vocab_size",))


def _layer(base: str, number: int, *, factorised: bool) -> Iterator[Weight]:
    place = f"encoder.albert_layer_groups.{number}.albert_layers.0" if factorised else f"encoder.layer.{number}"
    for module, albert, width_in, width_out in LAYER_DENSE:
        name = f"{base}{place}.{albert if factorised else _dotted(module)}"
        yield from _dense(name, f"bert/encoder/layer_{number}/{module}", width_in, width_out)
    for module, albert in LAYER_NORMS:
        name = f"{base}{place}.{albert if factorised else _dotted(module)}"
        yield from _norm(name, f"bert/encoder/layer_{number}/{module}", HIDDEN)


def _dense(name: str, variable: str, width_in: str, width_out: str) -> Iterator[Weight]:
    yield Weight(f"{name}.weight", f"{variable}/kernel", (width_in, width_out))
    yield Weight(f"{name}.bias", f"{variable}/bias", (width_out,))


def _norm(name: str, variable: str, width: str) -> Iterator[Weight]:
    yield Weight(f"{name}.weight", f"{variable}/gamma", (width,))
    yield Weight(f"{name}.bias", f"{variable}/beta", (width,))


def _dotted(module: str) -> str:
    return module.replace("/", ".")


def _refuse_misfits(
    prefix: Path,
    shapes: Mapping[str, tuple[int, ...]],
    *,
    weights: Collection[Weight],
    sizes: Mapping[str, int],
    dropped: Collection[str],
) -> None:
    taken = {weight.variable for weight in weights}
    missing = [weight.variable for weight in weights if weight.variable not in shapes]
    misshapen = [
        f"{weight.variable} is {_times(shapes[weight.variable])}, not {_times(sizes[key] for key in weight.shape)} "
        f"({_times(weight.shape)})"
        for weight in weights
        if weight.variable in shapes and shapes[weight.variable] != tuple(sizes[key] for key in weight.shape)
    ]
    unknown = sorted(name for name in shapes if name not in {*taken, *dropped} and not OPTIMISER_STATE.fullmatch(name))
    if missing or misshapen or unknown:
        raise CheckpointUnfit(path=prefix, missing=missing, misshapen=misshapen, unknown=unknown)


def _times(parts: Iterator[object] | tuple[object, ...]) -> str:
    return " × ".join(str(part) for part in parts) or "a single number"
