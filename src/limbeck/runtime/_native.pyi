"""The optional C++ extension: students of words on CPUs with AVX2 or AVX-512 VNNI.

Arrays are C-contiguous buffers (numpy arrays, read-only ones too) as model.onnx holds them. "float32 or int8" means:
float32 with no scales (None), or int8 with float32 scales; every array may be the one or the other by itself. Integers
of weights lie within ±127. Embeddings are read where they are, so the array stays alive and must not change; all else
is copied.

`embeddings` (words + 1, width) float32 or int8, `embedding_scales` (words + 1, 1) or (words + 1); the last row, which
stands for "outside", is never read, and its number is no valid id. A table of low rank needs nothing here: multiply its
second factor into the weights that read the vectors (as float32), and give the first factor as embeddings.

`dense` and `classifier` are (weight (outputs, inputs), bias (outputs)), float32. With `pair`, they read
[h1; h2; h1⊙h2; |h1−h2|]. `level` is one of "avx512-vnni" and "avx2", None for the best that the CPU has.
`folding_bytes` bounds what is kept of words already met; words beyond it are computed whenever they come.

Constructors raise ValueError (shapes, types and names that do not fit), RuntimeError (the CPU has no such level).
`logits` raises ValueError for an id that is no word, an empty row, texts that do not match the model (one column, or
two for pairs, of equal length) and for an `out` of the wrong size, TypeError for what is no list of lists of ints.

Objects are safe to use from many threads at once. The GIL is released while they work. A row's logits are the same
whatever rows it comes with, whatever the number of threads and whatever is already folded.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]
_Floats = npt.NDArray[np.float32]

def level() -> str:
    """The best level of this CPU: "avx512-vnni", "avx2" or "" (none: constructors raise RuntimeError)."""

class Recurrent:
    """LSTM and GRU students: both directions, layer upon layer."""

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
        outputs), its scales (2 · hidden) or None, bias (2 · hidden), question (2 · hidden, 1)); it is given with the
        pooling "attention" and with no other.

        With int8 R, states are rounded to 1/127 where R reads them; so they are where an int8 W or attention does.
        """

    def logits(self, columns: list[list[list[int]]], out: _Floats, threads: int, /) -> None:
        """Write the logits (rows, classes) of texts into `out`, in the order of the rows.

        `columns[0]` holds the token ids of each row's text, `columns[1]` those of its second text where rows are pairs.
        """

    def folded_bytes(self) -> int:
        """What the words met so far take up."""

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
        """`filters` (width, Σ windows · filters) float32 or int8, with the outputs of window 0, place 0 first, then
        those of its place 1 and so on, then window 1; `filter_scales` (Σ windows · filters). `bias` (windows ·
        filters)."""

    def logits(self, columns: list[list[list[int]]], out: _Floats, threads: int, /) -> None:
        """As of Recurrent."""

    def folded_bytes(self) -> int:
        """As of Recurrent."""

class Bag:
    """Students that see a bag of words."""

    def __init__(
        self,
        *,
        embeddings: _Array,
        classifier: tuple[_Floats, _Floats],
        embedding_scales: _Floats | None = None,
        word_weights: _Floats | None = None,
        dense: tuple[_Floats, _Floats] | None = None,
        pair: bool = False,
        level: str | None = None,
        folding_bytes: int = 67_108_864,
    ) -> None:
        """`word_weights` (words + 1) float32 are logarithms; None: all words weigh the same."""

    def logits(self, columns: list[list[list[int]]], out: _Floats, threads: int, /) -> None:
        """As of Recurrent."""

    def folded_bytes(self) -> int:
        """As of Recurrent."""
