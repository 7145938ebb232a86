"""A pretrained encoder as an artifact: a Hugging Face folder with its head for masked words, and history.json."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import read_json, read_manifest


@dataclass(frozen=True)
class PretrainedFolder:
    """Weights, config and tokenizer as save_pretrained writes them, and history.json."""

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of its contents."""
        return read_manifest(self.folder, kind="pretrained").fingerprint

    @property
    def history(self) -> list[dict[str, Any]]:
        """One entry per epoch, and a first one from before training: held_back_loss, held_back_accuracy, loss."""
        history: list[dict[str, Any]] = read_json(self.folder / "history.json")
        return history
