"""The optional C++ extension: runs word-level students, and reads n-grams.

Arrays are C-contiguous buffers (numpy arrays, also read-only ones) as in model.onnx. "float32 or int8" means: float32
with no scales (None), or int8 with float32 scales; each array may be either, independent of the others. Integer weights
lie within ±127. Embeddings are not copied, so the array stays alive and must not change; everything else is copied.

`embeddings` (words + 1, width) float32 or int8, `embedding_scales` (words + 1, 1) or (words + 1); the last row, which
means "outside", is never read, and its number is not a valid id. Low-rank embeddings need no support here: multiply the
second factor into the weights that read the vectors (as float32), and pass the first factor as embeddings.

`dense` and `classifier` are (weight (outputs, inputs), bias (outputs)), float32. With `pair`, they read
[h1; h2; h1⊙h2; |h1−h2|]. `level` is one of `levels()`, None for the best.
`folding_bytes` limits the cache of precomputed words; words beyond it are computed each time.

Constructors raise ValueError (wrong shapes, types or names), RuntimeError (the CPU does not support the level).
`logits` raises ValueError for an invalid id, an empty row, texts that do not match the model (one column, or two for
pairs, of equal length) and for an `out` of the wrong size, TypeError for anything but lists of lists of ints, or of
bytes.

Objects are thread-safe, and release the GIL while they compute. A row's logits do not depend on the other rows of the
call, on the number of threads or on the cache.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]
_Floats = npt.NDArray[np.float32]
# Of two texts, word by word, for pairs: the projection (width of a word's state, size), its scales (size) with int8,
# its bias (size); the joined numbers (4 · size + 1, size), their scales and bias likewise; what equal words count (1);
# word weights (words + 1), as logarithms. Features of a text: 2 · size + 2. A recurrent student has one layer and the
# pooling "max" beside it.
_Comparison = tuple[_Array, _Floats | None, _Floats, _Array, _Floats | None, _Floats, _Floats, _Floats]

def level() -> str:
    """The best level of this CPU."""

def levels() -> list[str]:
    """The levels of instructions that this CPU has, the best one first: "avx512-vnni", "avx-vnni" and "avx2" on x86-64,
    "neon-dot" and "neon" on 64-bit ARM, and "scalar" on every CPU."""

def decisions(logits: _Floats, score: int, temperature: float, threshold: float, /) -> list[int]:
    """For each row of logits (rows, classes) the place of the largest one, or -1 where the score of the row is below
    the threshold. `score` is 0 for the probability, 1 for the margin, 2 for the energy, as in
    limbeck.runtime.abstaining; keeps the GIL. Raises ValueError for another score, and for logits of another shape."""

class Recurrent:
    """LSTM and GRU students: bidirectional, one or more layers."""

    def __init__(
        self,
        *,
        cell: str,
        pooling: str,
        embeddings: _Array,
        layers: Sequence[tuple[_Array, _Floats | None, _Array, _Floats | None, _Floats]],
        classifier: tuple[_Floats, _Floats],
        embedding_scales: _Floats | None = None,
        attention: tuple[_Array, _Floats | None, _Floats, _Floats] | None = None,
        comparison: _Comparison | None = None,
        dense: tuple[_Floats, _Floats] | None = None,
        pair: bool = False,
        level: str | None = None,
        folding_bytes: int = 67_108_864,
    ) -> None:
        """`cell` is "lstm" (4 gates, in the order iofg) or "gru" (3 gates, in the order zrn, linear_before_reset).
        `pooling` is "max", "last", "mean" or "attention".

        A layer is (W, W's scales, R, R's scales, B), with two directions, forward first, and B (2, 2 · gates · hidden)
        float32: the biases of W, then those of R.

            float32:      W (2, gates · hidden, inputs), R (2, gates · hidden, hidden)
            int8, lstm:   W (2, inputs, 4 · hidden), R (2, hidden, 4 · hidden), scales (2, 4 · hidden)
            int8, gru:    W (2, 3 · hidden, inputs), R (2, 3 · hidden, hidden), scales (2, 3 · hidden, 1)

        Layers above the first have 2 · hidden inputs. `attention` is (weight (2 · hidden, 2 · hidden) as (inputs,
        outputs), its scales (2 · hidden) or None, bias (2 · hidden), question (2 · hidden, 1)); it is given only with
        the pooling "attention".

        States that an int8 R, W or attention reads are rounded to 1/127.
        """

    def logits(self, columns: list[list[list[int]]] | list[list[bytes]], out: _Floats, threads: int, /) -> None:
        """Write the logits (rows, classes) of texts into `out`, in the order of the rows.

        `columns[0]` has the token ids of each row's text, `columns[1]` those of its second text if rows are pairs. A
        text is a list of ints, or the bytes of 32-bit numbers.
        """

    def folded_bytes(self) -> int:
        """Memory of the cached words."""

class Convolution:
    """TextCNN students."""

    def __init__(
        self,
        *,
        windows: Sequence[int],
        embeddings: _Array,
        filters: _Array,
        bias: _Floats,
        classifier: tuple[_Floats, _Floats],
        embedding_scales: _Floats | None = None,
        filter_scales: _Floats | None = None,
        dense: tuple[_Floats, _Floats] | None = None,
        pair: bool = False,
        level: str | None = None,
        folding_bytes: int = 67_108_864,
    ) -> None:
        """`filters` (width, Σ windows · filters) float32 or int8, with the outputs of window 0, position 0 first, then
        those of its position 1 and so on, then window 1; `filter_scales` (Σ windows · filters). `bias` (windows ·
        filters)."""

    def logits(self, columns: list[list[list[int]]] | list[list[bytes]], out: _Floats, threads: int, /) -> None:
        """As for Recurrent."""

    def folded_bytes(self) -> int:
        """As for Recurrent."""

class Bag:
    """Bag-of-words students, and students of n-grams."""

    def __init__(
        self,
        *,
        embeddings: _Array,
        classifier: tuple[_Floats, _Floats],
        embedding_scales: _Floats | None = None,
        word_weights: _Floats | None = None,
        unit_length: bool = False,
        comparison: _Comparison | None = None,
        dense: tuple[_Floats, _Floats] | None = None,
        pair: bool = False,
        level: str | None = None,
        folding_bytes: int = 67_108_864,
    ) -> None:
        """`word_weights` (words + 1) float32 are logarithms; None: all words have the same weight. The weights of a
        text sum up to 1; with `unit_length`, their squares do."""

    def logits(self, columns: list[list[list[int]]] | list[list[bytes]], out: _Floats, threads: int, /) -> None:
        """As for Recurrent."""

    def folded_bytes(self) -> int:
        """As for Recurrent."""

class Ngrams:
    """Texts to the ids of their n-grams, as limbeck.text.ngrams.NgramIds has them. Thread-safe; keeps the GIL."""

    def __init__(self, *, buckets: int, words: int = 2, shortest: int = 2, longest: int = 5, nothing: int = 1) -> None:
        """As NgramSettings; `nothing` is the id of a text without words. Raises ValueError for fewer than 2 buckets or
        more than 2³¹ - 4, and for `shortest` below 1."""

    def read(self, texts: list[str], max_length: int, most_characters: int, /) -> list[bytes | list[int | str] | None]:
        """For each text, the ids of the first `max_length` words in its first `most_characters` characters, as the
        bytes of 32-bit numbers.

        Or a list of what has to be added before the text is read again: numbers of pages of characters, and pieces. Or
        None, if Python has to read the text: it has half a character, or an unclear piece that is too long to keep.
        """

    def add_page(self, number: int, characters: Sequence[tuple[str, str] | None], /) -> None:
        """The 256 characters of a page, as limbeck.text.ngram_characters.page_of_characters has them."""

    def add_piece(self, piece: str, words: Sequence[tuple[int, tuple[int, ...]]], /) -> None:
        """The words of a piece without white space, as NgramIds.units has them. Old pieces may be dropped for it."""
