"""Asking a teacher on a Ray cluster: every worker opens it once, from its folder or from a copy of its files."""

import getpass
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.cluster.workers import ClusterUnusable, Lost, Resources, dispatch
from limbeck.errors import TeacherError
from limbeck.labeling.source import (
    Answer,
    Block,
    BlockAnswer,
    BlockTeacher,
    FeatureTeacher,
    Pooling,
    Portable,
    Teacher,
)
from limbeck.recipe.calls import ALLOWED

MOST_FAILED = 16  # texts of a block: with more, it is not the texts that are at fault


@dataclass(frozen=True)
class CarriedFolder:
    """The files of a folder, for machines that do not see it."""

    folder: Path
    files: dict[str, bytes]

    @classmethod
    def of(cls, folder: Path) -> "CarriedFolder":
        """All files in it."""
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return cls(folder.resolve(), {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths})

    def here(self) -> Path:
        """The folder itself if this machine sees it as it was, else a copy, which workers of this machine share."""
        if all(_size(self.folder / name) == len(content) for name, content in self.files.items()):
            return self.folder
        digest = blake2b(digest_size=16)
        for name, content in self.files.items():
            digest.update(f"{name} {len(content)} ".encode() + content)
        copy = Path(tempfile.gettempdir()) / f"limbeck-{getpass.getuser()}-{digest.hexdigest()}"
        if not copy.exists():
            scratch = Path(tempfile.mkdtemp(prefix="limbeck-"))
            for name, content in self.files.items():
                (scratch / name).parent.mkdir(parents=True, exist_ok=True)
                (scratch / name).write_bytes(content)
            try:
                scratch.replace(copy)
            except OSError:  # another worker was faster
                shutil.rmtree(scratch)
        return copy


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


class AskingWorker:
    """A worker that holds a teacher."""

    def __init__(
        self,
        folder: CarriedFolder,
        teacher: Portable,
        pooling: Pooling | None,
        tokens_per_batch: int | None,
        allowed: str | None,
    ) -> None:
        if allowed is not None:
            os.environ[ALLOWED] = allowed
        self._teacher = teacher.opened_in(folder.here())
        self._pooling, self._tokens = pooling, tokens_per_batch

    def ready(self) -> bool:
        """When it can work."""
        return True

    def work(self, numbered: tuple[int, Block]) -> BlockAnswer:
        """The answers for a block."""
        number, block = numbered
        return block_answer(number, block, self._teacher, pooling=self._pooling, tokens_per_batch=self._tokens)


class RayRunner:
    """Asks teachers by the workers of a cluster."""

    def __init__(self, ray: Any, resources: Resources) -> None:
        self._ray, self._resources = ray, resources

    def answers(
        self,
        teacher: Portable,
        blocks: Iterator[tuple[int, Block]],
        *,
        pooling: Pooling | None,
        tokens_per_batch: int | None,
        note: Callable[[str], None],
    ) -> Generator[BlockAnswer, None, None]:
        """The answers for every block, in any order. A block that no worker survived is an error, at the end."""
        folder = self._ray.put(CarriedFolder.of(teacher.place))
        arguments = (folder, teacher, pooling, tokens_per_batch, os.environ.get(ALLOWED))
        crew = dispatch(self._ray, AskingWorker, arguments, self._resources, note=lambda text: note(f"  {text}"))
        lost: list[Lost] = []
        for _, found in crew.results(blocks):
            if isinstance(found, Lost):
                lost.append(found)
            else:
                yield found
        if crew.lost:
            note(f"  {crew.lost:,} workers were lost and replaced")
        if lost:
            raise ClusterUnusable(
                f"{len(lost):,} blocks of texts ended {lost[0].attempts} workers each; all others are labelled",
                found=lost[0].reason,
                advice="Give the workers more memory, or a lower labeling.tokens_per_batch; then run it again.",
            )


def block_answer(
    number: int, block: Block, teacher: Teacher, *, pooling: Pooling | None, tokens_per_batch: int | None
) -> BlockAnswer:
    """What a teacher answers for a block. Texts that it fails on are found by halving, and are without an answer."""
    failed: list[str] = []

    def asked(texts: Sequence[str], pairs: Sequence[str] | None) -> Answer | None:
        try:
            return _asked(teacher, (texts, pairs), pooling=pooling, tokens_per_batch=tokens_per_batch)
        except Exception as error:
            if len(texts) == 1:
                failed.append(f"{type(error).__name__}: {error}".partition("\n")[0])
                if len(failed) > MOST_FAILED:
                    found = f"the last one: {failed[-1]}"
                    raise TeacherError(f"the teacher fails on more than {MOST_FAILED} texts", found=found) from error
                return None
            if isinstance(error, TeacherError):
                raise
        half = len(texts) // 2
        parts = [slice(0, half), slice(half, len(texts))]
        return _joined([(asked(texts[part], pairs[part] if pairs else None), len(texts[part])) for part in parts])

    answer = asked(*block)
    if answer is None:
        raise TeacherError("the teacher fails on all texts of a block", found=failed[0])
    return BlockAnswer(number, answer, len(failed), failed[0] if failed else "")


def _asked(teacher: Teacher, block: Block, *, pooling: Pooling | None, tokens_per_batch: int | None) -> Answer:
    if isinstance(teacher, BlockTeacher):
        (answer,) = teacher.in_turn([block], pooling=pooling, tokens_per_batch=tokens_per_batch)
        return answer
    if pooling is None:
        return teacher.logits(*block, tokens_per_batch=tokens_per_batch), None
    if isinstance(teacher, FeatureTeacher):
        return teacher.logits_and_features(*block, pooling=pooling, tokens_per_batch=tokens_per_batch)
    raise TypeError(f"{type(teacher).__name__} has no features to give")


def _joined(parts: list[tuple[Answer | None, int]]) -> Answer | None:
    """The answers of the parts, one after the other, with NaN for those that have none; None if none has one."""
    known = next((answer for answer, _ in parts if answer is not None), None)
    if known is None:
        return None
    logits, features = known
    empty = [
        (np.full((rows, logits.shape[1]), np.nan, np.float32), _zeros(features, rows)) if answer is None else answer
        for answer, rows in parts
    ]
    vectors = [one for _, one in empty if one is not None]
    return np.concatenate([one for one, _ in empty]), np.concatenate(vectors) if vectors else None


def _zeros(features: Any, rows: int) -> Any:
    return None if features is None else np.zeros((rows, features.shape[1]), dtype=features.dtype)
