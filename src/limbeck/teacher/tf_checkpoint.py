"""TensorFlow checkpoints: which one is meant, and its variables through TensorFlow's own reader."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.errors import CheckpointDamaged, CheckpointUnsupported, TensorFlowCheckpointNotFound

ONE_OF_ITS_FILES = re.compile(r"\.(index|meta|data-\d+-of-\d+)$")
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"  # TensorFlow 2 keeps the tree of Python objects under this name


@dataclass(frozen=True)
class TensorFlowCheckpoint:
    """Its variables by name: shapes at once, values when they are asked for."""

    prefix: Path
    shapes: dict[str, tuple[int, ...]]
    reader: Any  # of tf.train.load_checkpoint

    def read(self, variable: str) -> npt.NDArray[np.float32]:
        """The values of one variable, in single precision whatever they are kept in."""
        try:
            return np.asarray(self.reader.get_tensor(variable)).astype(np.float32)
        except Exception as error:  # the reader has no one class for files that are cut short, changed or gone
            raise CheckpointDamaged(path=self.prefix, reason=f"{variable}: {_first_line(error)}") from error


def find_tf_checkpoint(checkpoint: Path) -> Path:
    """The prefix that its files share, from that prefix, from one of the files, or from the folder of just one."""
    prefix = Path(ONE_OF_ITS_FILES.sub("", str(checkpoint)))
    if _index(prefix).is_file():
        return prefix
    is_folder = checkpoint.is_dir()
    found = sorted(path.with_suffix("") for path in (checkpoint if is_folder else checkpoint.parent).glob("*.index"))
    if is_folder and len(found) == 1:
        return found[0]
    reason = f"the folder holds {len(found) or 'none'}" if is_folder else "it is not there"
    raise TensorFlowCheckpointNotFound(path=checkpoint, reason=reason, found=[str(path) for path in found])


def open_tf_checkpoint(prefix: Path) -> TensorFlowCheckpoint:
    """Read what variables there are; the values stay on disk."""
    # Both before the import: without the first it logs at once, without the second it tells about oneDNN nevertheless.
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
