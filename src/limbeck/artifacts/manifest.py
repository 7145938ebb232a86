"""The manifest of an artifact: its kind, its key (what it was made from), and size and hash of every file in it."""

import json
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from limbeck.errors import ArtifactDamaged, ArtifactError, ArtifactMissing, PathUnusable

Facts = TypeVar("Facts")

MANIFEST = "manifest.json"
PARTIAL = f"{MANIFEST}.partial"
UNREADABLE = "its manifest.json cannot be read"
DIGEST_BYTES = 16
MOST_BYTES_OF_JSON, MOST_BYTES_OF_ARTIFACT = 1 << 24, 1 << 30
HIGHEST_FORMAT, LONGEST_NAME, LONGEST_KIND = 1_000_000, 255, 40  # Linux takes names of files up to 255 bytes
WORK = ".work"  # folder of a stage's unfinished state inside the scratch folder; never part of the artifact
FORMATS = {  # raise a number when files change so that an older reader would fail on them or misread them
    "corpus": 2,
    "transfer": 1,
    "pretrained": 1,
    "general": 1,
    "teacher": 2,
    "labels": 2,
    "chosen": 1,
    "vocabulary": 1,
    "student": 3,
    "export": 1,
    "model": 4,
    "rival": 1,
    "out_of_fold": 1,
    "report": 1,
}
# Pages for people, which are written again when there is more to show: no manifest lists them.
UNLISTED = {"report": ("report.html",)}
OLDEST_READ = {"model": 3}  # where an older format can still be read: format 3 of a model has no profile.json


class FormatTooNew(ArtifactError):
    """A folder was written by a newer version of Limbeck."""

    def __init__(self, *, folder: Path, kind: str, found: int, known: int) -> None:
        super().__init__(
            f"'{folder}' is a {kind} in format {found}; this Limbeck reads formats up to {known}",
            advice="Install a newer version: pip install --upgrade limbeck",
        )


class FormatTooOld(ArtifactError):
    """A folder was written by an earlier version of Limbeck."""

    def __init__(self, *, folder: Path, kind: str, found: int, known: int, advice: str) -> None:
        super().__init__(f"'{folder}' is a {kind} in format {found}; this Limbeck reads format {known}", advice=advice)


@dataclass(frozen=True)
class Key:
    """What an artifact was made from: the settings that decide it and the fingerprints of its inputs."""

    section: Mapping[str, Any]
    inputs: Mapping[str, str]

    def digest(self) -> str:
        """The same for the same settings and inputs, in whatever order they were given."""
        return fingerprint_of(json.dumps(asdict(self), sort_keys=True, ensure_ascii=False))


@dataclass(frozen=True)
class Manifest:
    """The content of manifest.json."""

    kind: str
    format: int
    key: Key
    files: Mapping[str, Mapping[str, Any]]  # relative path → {"bytes": …, "blake2b": …}
    fingerprint: str  # of the contents: two artifacts with the same files have the same one


def fingerprint_of(text: str) -> str:
    """A short hash of a text."""
    return blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()


def file_digest(path: Path) -> str:
    """blake2b of a file's bytes, read in pieces. Raises PathUnusable for a pipe, which would be waited for."""
    if not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISDIR(mode):  # opening a folder is an error below
        advice = "Write what comes out of it into a file, and give that."
        raise PathUnusable(path=str(path), reason="it is not a plain file", advice=advice)
    digest = blake2b(digest_size=DIGEST_BYTES)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def write_manifest(folder: Path, *, kind: str, key: Key) -> Manifest:
    """List the files of a finished folder in its manifest."""
    omitted = (MANIFEST, PARTIAL, *UNLISTED.get(kind, ()))
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "blake2b": file_digest(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in omitted and WORK not in path.relative_to(folder).parts
    }
    manifest = Manifest(kind=kind, format=FORMATS[kind], key=key, files=files, fingerprint=_contents(files))
    scratch = folder / PARTIAL
    with scratch.open("w", encoding="utf-8") as file:
        json.dump(asdict(manifest), file, indent=1, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(folder / MANIFEST)
    return manifest


def read_manifest(folder: Path, *, kind: str, advice: str = "Run the recipe again.") -> Manifest:
    """The manifest of an artifact of this kind. Raises if it is missing, or if another version wrote it."""
    try:
        raw = read_small_json(folder / MANIFEST)
        found_kind, found_format = _kind_and_format(raw)
    except OSError:
        reason = "it has no manifest.json" if _is_folder(folder) else "there is no such folder"
        raise ArtifactMissing(folder=folder, kind=kind, reason=reason, advice=advice) from None
    except (ValueError, TypeError, KeyError):
        raise ArtifactMissing(folder=folder, kind=kind, reason=UNREADABLE, advice=advice) from None
    if found_kind != kind:
        raise ArtifactMissing(folder=folder, kind=kind, reason=f"it is a {_shortened(found_kind)}", advice=advice)
    if found_format > FORMATS[kind]:
        raise FormatTooNew(folder=folder, kind=kind, found=found_format, known=FORMATS[kind])
    if found_format < OLDEST_READ.get(kind, FORMATS[kind]):
        raise FormatTooOld(folder=folder, kind=kind, found=found_format, known=FORMATS[kind], advice=advice)
    try:
        manifest = Manifest(**{**raw, "key": Key(**raw["key"])})
        if not _adds_up(manifest):
            raise ValueError("it does not add up")
    except (TypeError, KeyError, ValueError, AttributeError):
        raise ArtifactMissing(folder=folder, kind=kind, reason=UNREADABLE, advice=advice) from None
    return manifest


def _kind_and_format(raw: Any) -> tuple[str, int]:
    """Raises ValueError, TypeError or KeyError."""
    kind, number = raw["kind"], raw["format"]
    if not isinstance(kind, str) or type(number) is not int or abs(number) > HIGHEST_FORMAT:
        raise ValueError("a kind is a word, and a format a number")
    return kind, number


def read_small_json(path: Path, *, most_bytes: int = MOST_BYTES_OF_JSON) -> Any:
    """What a JSON file of a few kilobytes holds. Raises OSError if it is no plain file, ValueError if it cannot be read
    or is far too large: a stranger may have written it."""
    if not is_plain_file(path):  # opening a named pipe would wait for ever
        raise FileNotFoundError(path)
    if path.stat().st_size > most_bytes:
        raise ValueError(f"{path.name} has {path.stat().st_size:,} bytes")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError(f"{path.name} is nested too deeply") from None


def read_json(path: Path) -> Any:
    """What a JSON file of an artifact holds. Raises ArtifactDamaged."""
    try:
        return read_small_json(path, most_bytes=MOST_BYTES_OF_ARTIFACT)
    except (OSError, ValueError) as error:
        raise ArtifactDamaged(folder=path.parent, faults=[f"{path.name} cannot be read: {error}"]) from None


def read_facts(kind: Callable[..., Facts], path: Path) -> Facts:
    """The same as a record of this kind."""
    try:
        return kind(**read_json(path))
    except TypeError as error:  # keys that it does not have, or that are missing
        raise ArtifactDamaged(folder=path.parent, faults=[f"{path.name} cannot be read: {error}"]) from None


def _contents(files: Mapping[str, Mapping[str, Any]]) -> str:
    """The fingerprint of an artifact's contents."""
    return fingerprint_of("\n".join(f"{name} {facts['blake2b']}" for name, facts in files.items()))


def _adds_up(manifest: Manifest) -> bool:
    is_whole = _contents(manifest.files) == manifest.fingerprint and _is_key(manifest.key)
    are_known = all(
        type(facts["bytes"]) is int and isinstance(facts["blake2b"], str) for facts in manifest.files.values()
    )
    return is_whole and are_known and all(map(_is_inside, manifest.files))


def _is_key(key: Key) -> bool:
    return isinstance(key.section, dict) and isinstance(key.inputs, dict)


def _is_inside(name: str) -> bool:
    """Whether a file that a manifest lists is in the folder: what it lists is read, and copied under its name."""
    path = PurePosixPath(name)
    return not path.is_absolute() and all(map(_is_name, path.parts))


def _is_name(part: str) -> bool:
    """Whether a file or folder can have it; UnicodeEncodeError, for half a character, is a ValueError."""
    return part != ".." and "\0" not in part and len(part.encode()) <= LONGEST_NAME


def _shortened(kind: str) -> str:
    return kind if len(kind) <= LONGEST_KIND else f"{kind[:LONGEST_KIND]}…"


def is_plain_file(path: Path) -> bool:
    """Whether it is one, or a link to one; nothing has a path that the system refuses."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def faults_of(folder: Path, manifest: Manifest) -> list[str]:
    """What is wrong with the files of an artifact, according to its manifest; an empty list if nothing is."""
    found = ((name, _fault_of(folder / name, facts)) for name, facts in manifest.files.items())
    return [f"{name} {fault}" for name, fault in found if fault]


def _fault_of(path: Path, facts: Mapping[str, Any]) -> str:
    try:
        if not path.is_file():
            return f"is {'not a plain file' if path.exists() else 'missing'}"
        if path.stat().st_size != facts["bytes"]:
            return f"has {path.stat().st_size:,} bytes instead of {facts['bytes']:,}"
        return "" if file_digest(path) == facts["blake2b"] else "has changed since it was written"
    except OSError as error:  # nobody may read it, or its path is too long
        return f"cannot be read: {error.strerror}"


SUFFIXES = {".json", ".txt", ".model", ".safetensors"}  # of the files that are read from a Hugging Face folder


def checkpoint_fingerprint(checkpoint: str) -> str:
    """Of the files of a folder; a package or hub model is identified by its name, so that reuse needs no hub."""
    folder = Path(checkpoint).expanduser()
    if not folder.is_dir():
        return checkpoint
    files = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)
    return fingerprint_of("\n".join(f"{path.name} {file_digest(path)}" for path in files))
