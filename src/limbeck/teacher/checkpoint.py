"""A teacher's checkpoint: where it is, and how many weights it has."""

import json
from pathlib import Path

import numpy as np

from limbeck.artifacts.manifest import checkpoint_fingerprint
from limbeck.errors import CheckpointDamaged
from limbeck.models.checkpoint import OFFLINE_PACKAGES, find_checkpoint

__all__ = ["OFFLINE_PACKAGES", "checkpoint_fingerprint", "find_checkpoint", "weights_in"]


def weights_in(folder: Path) -> int | None:
    """The number of weights in the safetensors files of a folder, by their headers; None without such files.

    Raises CheckpointDamaged if a header cannot be read.
    """
    shapes = [
        entry["shape"]
        for path in sorted(folder.glob("*.safetensors"))
        for name, entry in _header(path).items()
        if name != "__metadata__"
    ]
    return sum(int(np.prod(shape)) for shape in shapes) if shapes else None


def _header(path: Path) -> dict[str, dict[str, list[int]]]:
    """The header of a safetensors file, with names and shapes; its first eight bytes are the header's length."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        try:
            header: dict[str, dict[str, list[int]]] = json.loads(file.read(min(size, path.stat().st_size)))
        except ValueError as error:
            raise CheckpointDamaged(path=path.parent, reason=f"{path.name} cannot be read: {error}") from None
    return header
