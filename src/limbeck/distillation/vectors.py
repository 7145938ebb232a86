"""Initial word vectors: from the teacher, from files, or from several sources side by side."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from limbeck.progress import Bar, Reporter
from limbeck.text.student_tokenizer import PAD_ID
from limbeck.text.word_vectors import read_word_vectors, vector_width

SPREAD_OF_UNKNOWN = 0.1  # standard deviation of vectors for tokens that are not in the file

Vectors = npt.NDArray[np.float32]


class WordReader(Protocol):
    """What this module needs of a teacher."""

    def word_states(self, words: Sequence[str], *, are_pieces: bool, bar: Bar) -> Vectors:
        """(words, width): the teacher's state for each word by itself, or for each of its own pieces."""


def width_of(source: str, *, embedding_size: int, teacher_width: Callable[[], int]) -> int:
    """Width of the vectors from this source: "teacher", "random", or the path of a file."""
    match source:
        case "random":
            return embedding_size
        case "teacher":
            return min(embedding_size, teacher_width())
        case path:
            return vector_width(Path(path))


def side_by_side(parts: Sequence[Vectors | None], *, widths: Sequence[int]) -> Vectors | None:
    """(words, sum of widths), zero where a part is random (None); None if all are random: each student draws its own.

    Every part keeps its own scale: the teacher's have standard deviation one, a file's that of the file.
    """
    given = [part for part in parts if part is not None]
    if not given:
        return None
    words = len(given[0])
    return np.concatenate(
        [
            np.zeros((words, width), dtype=np.float32) if part is None else part
            for part, width in zip(parts, widths, strict=True)
        ],
        axis=1,
    )


def teacher_vectors(
    words: Sequence[str], *, are_pieces: bool, teacher: WordReader, width: int, reporter: Reporter
) -> Vectors:
    """(words, width): the teacher's state for each word, reduced to the principal components over the vocabulary.

    A teacher narrower than `width` gives all its components; the caller passes no larger `width`.
    """
    with reporter.bar("word vectors from the teacher", total=len(words), unit="words") as bar:
        states = teacher.word_states(words, are_pieces=are_pieces, bar=bar)
    return _without_padding(principal_components(states, width=width))


def file_vectors(words: Sequence[str], *, path: Path) -> tuple[Vectors, int]:
    """(words, width) from a word2vec or GloVe file, and the number of words found; the others are small and random."""
    vectors, found = read_word_vectors(path, words)
    unknown = np.random.default_rng(0).normal(0.0, SPREAD_OF_UNKNOWN, vectors.shape).astype(np.float32)
    return _without_padding(np.where(found[:, None], vectors, unknown)), int(found.sum())


def principal_components(states: Vectors, *, width: int) -> Vectors:
    """(rows, width): centred, rotated to the axes of largest variance, scaled to a variance of one over all values.

    Signs are fixed (the largest weight of each axis is positive), so that equal states give equal vectors.
    """
    centred = states - states.mean(axis=0)
    # Eigenvectors of the covariance: its size is the teacher's width, for any number of words.
    _, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    axes = axes[:, ::-1][:, :width]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    projected = centred @ axes.astype(np.float32)
    spread = float(projected.std()) or 1.0
    return np.asarray(projected / spread, dtype=np.float32)


def _without_padding(vectors: Vectors) -> Vectors:
    vectors = np.array(vectors, dtype=np.float32)
    vectors[PAD_ID] = 0.0
    return vectors
