"""Writing artifacts completely or not at all, and finding out whether one on disk can be reused."""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import MANIFEST, WORK, Key, faults_of, read_manifest, write_manifest
from limbeck.errors import ArtifactError, ArtifactMissing, some

KEY_FILE = "key.json"


@contextmanager
def written_atomically(folder: Path, *, kind: str, key: Key, is_ours: bool = True) -> Iterator[Path]:
    """Yield a scratch folder that becomes `folder`, manifest included, only if the block succeeds.

    A scratch folder that a killed run with the same key left behind is used again, so that a stage can continue from
    what it saved under `.work`; one with another key is deleted. If another process makes the artifact and this one
    helps (`is_ours` false), the folder is left to that one.
    """
    if not is_ours:
        yield _scratch_of(folder)
        return
    scratch = _open_scratch(folder, key)
    yield scratch
    # The manifest is written before `.work` is removed: whenever the run is killed, one of the two is there.
    write_manifest(scratch, kind=kind, key=key)
    _put_in_place(scratch, folder)


def why_redo(folder: Path, *, kind: str, key: Key) -> str | None:
    """Why the artifact at `folder` cannot be reused for this key; None when it can."""
    _adopt_finished(folder, kind=kind, key=key)
    if not folder.exists():
        return "continuing a stopped run" if _is_begun(_scratch_of(folder), key) else "not made yet"
    try:
        manifest = read_manifest(folder, kind=kind)
    except ArtifactMissing as error:
        return f"damaged: {error.reason}"
    except ArtifactError as error:
        return error.what
    if manifest.key.digest() != key.digest():
        return _difference(manifest.key, key)
    faults = faults_of(folder, manifest)
    return f"damaged: {some(faults)}" if faults else None


def copied(folder: Path, *, kind: str, key: Key, among: Iterable[Path]) -> Path | None:
    """Make the artifact by copying one of `among` that has this key and whose files are what its manifest says.

    Returns the one that was copied; None if there is none, or if it was removed meanwhile.
    """
    for other in among:
        try:
            manifest = read_manifest(other, kind=kind)
            if manifest.key.digest() != key.digest() or faults_of(other, manifest):
                continue
            with written_atomically(folder, kind=kind, key=key) as scratch:
                _clear(scratch)
                for name in manifest.files:
                    (scratch / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(other / name, scratch / name)
        except (ArtifactError, FileNotFoundError, PermissionError):
            continue
        if read_manifest(folder, kind=kind).fingerprint == manifest.fingerprint:
            return other
    return None


def _clear(scratch: Path) -> None:
    """Remove what a killed run has left there, except for its work."""
    for path in scratch.iterdir():
        if path.is_dir() and path.name != WORK:
            shutil.rmtree(path)
        elif path.is_file():
            path.unlink()


def _scratch_of(folder: Path) -> Path:
    return folder.with_name(folder.name + ".partial")


def _open_scratch(folder: Path, key: Key) -> Path:
    scratch = _scratch_of(folder)
    if not _is_begun(scratch, key):
        shutil.rmtree(scratch, ignore_errors=True)
        (scratch / WORK).mkdir(parents=True)
        (scratch / WORK / KEY_FILE).write_text(key.digest(), encoding="utf-8")
    (scratch / MANIFEST).unlink(missing_ok=True)  # its list of files is about to become outdated
    return scratch


def _is_begun(scratch: Path, key: Key) -> bool:
    key_file = scratch / WORK / KEY_FILE
    return key_file.is_file() and key_file.read_bytes() == key.digest().encode()


def _put_in_place(scratch: Path, folder: Path) -> None:
    """Two renames, so that the old or the new artifact is always there."""
    shutil.rmtree(scratch / WORK, ignore_errors=True)
    old = folder.with_name(folder.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    scratch.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _adopt_finished(folder: Path, *, kind: str, key: Key) -> None:
    """Use a finished scratch folder, left by a run that was killed just before the rename."""
    scratch = _scratch_of(folder)
    if not (scratch / MANIFEST).is_file():
        return
    try:
        manifest = read_manifest(scratch, kind=kind)
    except ArtifactError:
        return
    if manifest.key.digest() == key.digest() and not faults_of(scratch, manifest):
        _put_in_place(scratch, folder)


def _difference(old: Key, new: Key) -> str:
    """How two keys differ, in words: their inputs, or else their settings."""
    changed_inputs = [name for name in new.inputs if new.inputs[name] != old.inputs.get(name)]
    changed_inputs += [name for name in old.inputs if name not in new.inputs]
    if changed_inputs:
        return f"{some(changed_inputs)} changed"
    changes = [f"{path}: {before} → {after}" for path, before, after in _changes(old.section, new.section, "")]
    return f"recipe changed: {some(changes)}" if changes else "made by another version"


def _changes(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str, str]]:
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _changes(before, after, f"{prefix}{key}.")
        elif before != after:
            yield f"{prefix}{key}", _short(before), _short(after)


def _short(value: object) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:39] + "…"
