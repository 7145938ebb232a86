"""The content of a checkpoint as one hash."""

from pathlib import Path

from limbeck.artifacts.manifest import file_digest, fingerprint_of

SUFFIXES = {".json", ".txt", ".model", ".safetensors"}  # of what is read of a Hugging Face folder


def checkpoint_fingerprint(checkpoint: str) -> str:
    """Of the files of a folder; a package or a hub name stands for itself, so that reuse needs no hub."""
    folder = Path(checkpoint).expanduser()
    if not folder.is_dir():
        return checkpoint
    files = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)
    return fingerprint_of("\n".join(f"{path.name} {file_digest(path)}" for path in files))
