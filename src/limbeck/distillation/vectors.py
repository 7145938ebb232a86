"""Initial word vectors: from the teacher, from files, or from several sources side by side."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from limbeck.progress import Bar, Reporter
from limbeck.text.student_tokenizer import PAD_ID
from limbeck.text.word_vectors import principal_components, read_word_vectors, vector_width

RIDGE = 0.01  # of the regression from other vectors to those of a general student
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


def general_vectors(
    words: Sequence[str], *, words_of_general: Sequence[str], vectors: Vectors, others: Vectors | None, width: int
) -> tuple[Vectors, npt.NDArray[np.bool_]]:
    """(words, width): a general student's vectors for the words that it has, and (words) which these are.

    The vectors of other words come from the `others` (words, any width), by the ridge regression that maps these to
    the general ones on the words in common:

        M = (Xᵀ X + λ I)⁻¹ Xᵀ Y,   λ = RIDGE · words in common · variance of X

    X are the others' vectors of these words and Y the general ones, both less their means. Without others they are
    small and random. Fewer dimensions than the general student's are its principal components.
    """
    places = {word: place for place, word in enumerate(words_of_general)}
    found = np.array([places.get(word, -1) for word in words])
    is_known = found >= 0
    known = vectors[found[is_known]]
    all_of_them = np.random.default_rng(0).normal(0.0, SPREAD_OF_UNKNOWN, (len(words), vectors.shape[1]))
    if others is not None and is_known.sum() > 1:
        all_of_them = _mapped(others, known, is_known=is_known)
    all_of_them[is_known] = known
    every = np.asarray(all_of_them, dtype=np.float32)
    return _without_padding(every if width == every.shape[1] else principal_components(every, width=width)), is_known


def _mapped(others: Vectors, known: Vectors, *, is_known: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """All words of the others in the space of the known ones."""
    own, wanted = others[is_known].astype(np.float64), known.astype(np.float64)
    centre, mean = own.mean(axis=0), wanted.mean(axis=0)
    own, wanted = own - centre, wanted - mean
    penalty = max(RIDGE * len(own) * float(own.var()), 1e-9)
    weights = np.linalg.solve(own.T @ own + penalty * np.eye(own.shape[1]), own.T @ wanted)
    found: npt.NDArray[np.float64] = (others - centre) @ weights + mean
    return found


def _without_padding(vectors: Vectors) -> Vectors:
    vectors = np.array(vectors, dtype=np.float32)
    vectors[PAD_ID] = 0.0
    return vectors
