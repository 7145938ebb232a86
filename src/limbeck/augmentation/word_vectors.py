"""Word vectors: a word is replaced by one of its nearest neighbours."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.general_folder import GeneralFolder
from limbeck.artifacts.rows import Rows
from limbeck.augmentation.method import PreparationContext, Rng, SourceText, WordMethod, pick, texts_of
from limbeck.augmentation.words import cut_words
from limbeck.progress import Reporter
from limbeck.recipe.augmentation import WordVectors
from limbeck.recipe.files import GENERAL, general_folder, is_dir
from limbeck.text.word_vectors import first_words, read_word_vectors

FREQUENT_WORDS = 50_000  # words of the file that may be neighbours, in addition to the words of train
WORDS_AT_ONCE = 256  # compared with all others at once: about 60 MB of similarities


@dataclass(frozen=True)
class NearestWords(WordMethod):
    """A neighbour by cosine similarity, each equally likely. Words that are not in the file stay."""

    fraction: float
    row_of: Mapping[str, int]  # row of a word in `neighbours`
    neighbours: npt.NDArray[np.int32]  # (words, neighbours): positions in `pool`, the nearest first
    pool: list[str]
    kind: str = "word_vectors"

    def change(self, source: SourceText, position: int, rng: Rng) -> str | None:
        """One of the neighbours."""
        row = self.row_of.get(source.cut.words[position])
        if row is None:
            return None
        near = self.neighbours[row]
        return self.pool[int(near[pick(rng, len(near))])]


def word_vectors(section: WordVectors, rows: Rows, context: PreparationContext) -> NearestWords:
    """Find the neighbours of every word of the rows that is in the file.

    Neighbours are words of the rows and the file's most frequent words, in the file's spelling.
    """
    own = dict.fromkeys(_words(rows, language=context.language))
    return nearest_words(
        section.path, list(own), fraction=section.fraction, most=section.neighbours, reporter=context.reporter
    )


def nearest_words(path: str, own: list[str], *, fraction: float, most: int, reporter: Reporter) -> NearestWords:
    """The neighbours of these words, which must be distinct."""
    pool, vectors = _pool(path, own)
    position_of = {word: at for at, word in enumerate(pool)}
    known = {word: at for word in own if (at := position_of.get(word, position_of.get(word.lower()))) is not None}
    asked = np.array(list(known.values()), dtype=np.int64)
    count = min(most, len(pool) - 1)
    if count < 1:
        known, asked, count = {}, asked[:0], 1
    neighbours = _nearest(vectors, asked, count=count, reporter=reporter)
    return NearestWords(fraction, {word: row for row, word in enumerate(known)}, neighbours, pool)


def _words(rows: Rows, *, language: str) -> Iterator[str]:
    for text in texts_of(rows):
        yield from cut_words(text, language=language).words


def general_vectors(path: str) -> GeneralFolder | None:
    """The general student that a located recipe names in place of a file of vectors; None for a file."""
    is_general = path.startswith(GENERAL) or is_dir(Path(path))
    return GeneralFolder(general_folder(path)) if is_general else None


def _pool(path: str, own: list[str]) -> tuple[list[str], npt.NDArray[np.float32]]:
    """The words that may be neighbours, and their vectors, each of length 1."""
    lowered = [word.lower() for word in own]
    general = general_vectors(path)
    if general is None:
        words = list(dict.fromkeys([*own, *lowered, *first_words(Path(path), most=FREQUENT_WORDS)]))
        vectors, found = read_word_vectors(Path(path), words)
    else:
        words, vectors, found = _of_general(general, [*own, *lowered])
    # A word that is not in the file got the vector of its lower-cased form, which is in the pool already.
    position_of = {word: at for at, word in enumerate(words)}
    for at, word in enumerate(words):
        lower = position_of.get(word.lower(), at)
        found[at] &= lower == at or not np.array_equal(vectors[at], vectors[lower])
    lengths = np.linalg.norm(vectors, axis=1)
    found &= lengths > 0
    kept = np.flatnonzero(found)
    return [words[at] for at in kept], vectors[kept] / lengths[kept, np.newaxis]


def _of_general(
    general: GeneralFolder, wanted: list[str]
) -> tuple[list[str], npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """As `read_word_vectors` gives them, for the wanted words and all others. Signs, numbers and special tokens are not
    words, and nothing is like them."""
    row_of = {word: row for row, word in enumerate(general.vocabulary) if word.isalpha()}
    words = list(dict.fromkeys([*wanted, *row_of]))
    rows = np.array([row_of.get(word, -1) for word in words], dtype=np.int64)
    return words, np.where(rows[:, np.newaxis] >= 0, general.vectors()[rows], np.float32(0)), rows >= 0


def _nearest(
    vectors: npt.NDArray[np.float32], asked: npt.NDArray[np.int64], *, count: int, reporter: Reporter
) -> npt.NDArray[np.int32]:
    """(asked, count): positions of the nearest other vectors, the nearest first."""
    found = np.empty((len(asked), count), dtype=np.int32)
    with reporter.bar("finding nearest words", total=len(asked), unit="words") as bar:
        for start in range(0, len(asked), WORDS_AT_ONCE):
            block = asked[start : start + WORDS_AT_ONCE]
            similarity = vectors[block] @ vectors.T  # (block, pool)
            similarity[np.arange(len(block)), block] = -np.inf  # a word is not its own neighbour
            nearest = np.argpartition(similarity, -count, axis=1)[:, -count:]
            order = np.argsort(-np.take_along_axis(similarity, nearest, axis=1), axis=1, kind="stable")
            found[start : start + len(block)] = np.take_along_axis(nearest, order, axis=1)
            bar.advance(len(block))
    return found
