"""How a classifier gets into another process: by the path of its folder, or with the files of the model."""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from threading import RLock
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from limbeck.artifacts.manifest import MANIFEST, read_manifest
from limbeck.errors import ArtifactDamaged
from limbeck.runtime.engine import EngineChoice

if TYPE_CHECKING:  # it imports this module
    from limbeck.runtime.classifier import Classifier

_open: "WeakValueDictionary[tuple[object, ...], Classifier]" = WeakValueDictionary()
_opening = RLock()


@dataclass(frozen=True)
class ModelFiles:
    """The files of a model in memory, by their paths inside of its folder."""

    files: Mapping[str, bytes]

    @cached_property
    def digest(self) -> str:
        """The same for the same model: its manifest has the hashes of the other files."""
        return blake2b(self.files[MANIFEST], digest_size=16).hexdigest()

    @staticmethod
    def of(folder: Path) -> "ModelFiles":
        """Those that the manifest lists, and the manifest."""
        names = [MANIFEST, *read_manifest(folder, kind="model").files]
        return ModelFiles({name: (folder / name).read_bytes() for name in names})

    def unpacked(self) -> Path:
        """Write them to a new folder for temporary files, for this user alone."""
        folder = Path(tempfile.mkdtemp(prefix="limbeck-model-"))
        for name, content in self.files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
                shutil.rmtree(folder)
                raise ArtifactDamaged(folder=folder, faults=[f"{name!r:.80} is no name of a file in a model"])
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        return folder


def from_folder(folder: str, threads: int | None, engine: EngineChoice, abstain: bool = True) -> "Classifier":
    """What a pickle that holds a path is read as: the model in that folder, which this process reads once."""
    from limbeck.runtime.classifier import load

    path = Path(folder)
    state = blake2b((path / MANIFEST).read_bytes()).digest() if (path / MANIFEST).is_file() else None
    return _opened_once(
        (folder, state, threads, engine, abstain),
        lambda: load(path, threads=threads, engine=engine, abstain=abstain),
    )


def from_files(files: ModelFiles, threads: int | None, engine: EngineChoice, abstain: bool = True) -> "Classifier":
    """What a pickle that holds a model is read as; its files are unpacked once in a process, and removed with it."""
    from limbeck.runtime.classifier import load

    def opened() -> "Classifier":
        folder = files.unpacked()
        try:
            model = load(folder, threads=threads, engine=engine, abstain=abstain)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        model._carried = files
        _remove_with(model, folder)
        return model

    return _opened_once((files.digest, threads, engine, abstain), opened)


def _opened_once(key: tuple[object, ...], opened: Callable[[], "Classifier"]) -> "Classifier":
    with _opening:
        model = _open.get(key)
        if model is None:
            model = _open[key] = opened()
        return model


def _remove_with(model: "Classifier", folder: Path) -> None:
    """Remove the folder when the model is not used any more, or the process ends; a forked process leaves it alone."""
    from multiprocessing.util import Finalize  # also called in workers, which end without `atexit`

    Finalize(model, shutil.rmtree, args=(folder,), kwargs={"ignore_errors": True}, exitpriority=0)


def _forget_the_lock() -> None:
    """Another thread may have held it when the process was forked."""
    global _opening
    _opening = RLock()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_forget_the_lock)
