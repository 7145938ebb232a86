"""A teacher's checkpoint: where it is, and what it holds."""

from limbeck.artifacts.manifest import checkpoint_fingerprint
from limbeck.models.checkpoint import OFFLINE_PACKAGES, find_checkpoint

__all__ = ["OFFLINE_PACKAGES", "checkpoint_fingerprint", "find_checkpoint"]
