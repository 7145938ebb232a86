"""Why a model gives its answer: what each word of a text moved."""

import mmap
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.errors import ArtifactDamaged
from limbeck.runtime.exported_nodes import EMBEDDINGS, WORD_WEIGHTS
from limbeck.runtime.onnx_file import GraphNotUnderstood, graph_of
from limbeck.runtime.read_text import ReadText, RowReader, Span
from limbeck.runtime.row import Row
from limbeck.text.readable import readable

Pieces: TypeAlias = list[tuple[str, float]]
JsonPieces: TypeAlias = list[dict[str, Any]]
Method = Literal["exact", "leaving out"]
Floats64 = npt.NDArray[np.float64]

LINEAR_KINDS = ("bag", "ngrams")
DIGITS = 6  # of a number in JSON
# Leaving out costs a row for each word, as long as the text. Longer texts: groups of neighbouring words, so that no
# explanation costs more than this many words, or rows.
MOST_WORDS_READ, MOST_ROWS, FEWEST_ROWS = 20_000, 200, 32
TOLERANCE = 1e-4  # between what the pieces sum to and what the network says, relative to their size


@dataclass(frozen=True)
class Explanation:
    """The parts of a row in reading order, each with how much it moved the margin of a label.

    The parts of a text join to the text. A positive number speaks for the label, a negative one against it; white space
    and what the model does not read has 0.0. With "exact", `base` and the numbers sum to the margin; with "leaving out"
    they need not, and `base` is what they leave.
    """

    label: str
    pieces: Pieces
    pair_pieces: Pieces | None  # of the second text
    method: Method
    margin: float
    base: float

    def to_json(self) -> JsonPieces | dict[str, JsonPieces]:
        """The pieces as the HTTP API gives them: a list, or for pairs one for each text."""
        first = _rounded(self.pieces)
        return first if self.pair_pieces is None else {"text": first, "pair": _rounded(self.pair_pieces)}


class GivesLogits(Protocol):
    """What an explanation needs of a classifier."""

    @property
    def facts(self) -> ModelFacts: ...
    @property
    def folder(self) -> Path: ...
    def logits(self, rows: Iterable[Row]) -> npt.NDArray[np.float32]: ...


def explanation(classifier: GivesLogits, row: Row, *, label: str | None = None) -> Explanation:
    """How much each word of the row moved the margin of `label`; by default, of the most probable label.

    The margin is logit[label] − mean(logit[other labels]), of the logits before temperature; where rows may have
    several labels, it is logit[label]. For a score it is what the row has above the mean score of training.

    Exact, for a bag or n-grams of single texts without a hidden layer, in any precision: there the margin is a sum over
    tokens, Σ sᵢ·(vᵢ·w) + base, and a word has what its tokens have; sᵢ are the weights of the tokens in this text. An
    n-gram of several words is divided among them equally, and one that occurs several times among its places.
    For every other model by leaving out: the margin of the row minus that of the row without the word.
    """
    texts = [row] if isinstance(row, str) else [*row]
    opened = _opened(classifier)
    read, logits = opened.reader.read(texts), classifier.logits([row])[0].astype(np.float64)
    number = _number(classifier.facts.labels, label, logits)
    direction = _direction(number, len(logits), multi_label=classifier.facts.multi_label)
    if classifier.facts.scale is not None:
        direction *= classifier.facts.scale.sd  # what a word moves, in the units of the scores
    margin = float(direction @ logits)
    method: Method = "exact"
    numbers = opened.network.numbers(read, direction, margin=margin) if opened.network else None
    if numbers is None:
        method, read = "leaving out", [_grouped(one, rows=_rows_for(read)) for one in read]
        numbers = _leaving_out(classifier, texts, read, direction)
    of_texts = [_pieces(text, one.spans, its) for text, one, its in zip(texts, read, numbers, strict=True)]
    return Explanation(
        label=classifier.facts.labels[number],
        pieces=of_texts[0],
        pair_pieces=of_texts[1] if len(of_texts) == 2 else None,
        method=method,
        margin=margin,
        base=margin - sum(map(sum, numbers)),
    )


def prepare_explanations(classifier: GivesLogits) -> None:
    """Open what explanations need of the folder, while it is the one that was loaded. Raises ArtifactDamaged."""
    _opened(classifier)


def _number(labels: list[str], label: str | None, logits: Floats64) -> int:
    if label is None:
        return int(logits.argmax())
    if label not in labels:
        raise ValueError(f"the model has no label {label!r}; it has {', '.join(labels[:20])}")
    return labels.index(label)


def _direction(number: int, classes: int, *, multi_label: bool) -> Floats64:
    """(classes): the margin is this vector times the logits."""
    others = 0.0 if multi_label or classes == 1 else -1 / (classes - 1)
    direction = np.full(classes, others)
    direction[number] = 1.0
    return direction


def _leaving_out(
    classifier: GivesLogits, texts: list[str], read: list[ReadText], direction: Floats64
) -> list[list[float]]:
    """What the margin loses without each span, by one call of the network."""
    cut = [text[: one.spans[-1][1]] if one.spans else text[:0] for text, one in zip(texts, read, strict=True)]
    rows = [cut]
    for at, one in enumerate(read):
        rows += [[*cut[:at], _without(cut[at], span), *cut[at + 1 :]] for span in one.spans]
    asked: list[Row] = [(row[0], row[1]) if len(row) == 2 else row[0] for row in rows]
    margins = classifier.logits(asked).astype(np.float64) @ direction
    ends = np.cumsum([1, *(len(one.spans) for one in read)])
    return [(margins[0] - margins[start:end]).tolist() for start, end in pairwise(ends)]


def _without(text: str, span: Span) -> str:
    """The text without a span, and with one space less if it stood between two."""
    start, end = span
    if end < len(text) and text[end].isspace() and (not start or text[start - 1].isspace()):
        end += len(text[end:]) - len(text[end:].lstrip())
    return text[:start] + text[end:]


def _rows_for(read: list[ReadText]) -> int:
    """How many rows may be asked for each word that is read."""
    words = sum(len(one.spans) for one in read)
    return max(1, ceil(words / min(MOST_ROWS, max(FEWEST_ROWS, MOST_WORDS_READ // max(1, words)))))


def _grouped(read: ReadText, *, rows: int) -> ReadText:
    """So many neighbouring words as one."""
    groups = [read.spans[start : start + rows] for start in range(0, len(read.spans), rows)]
    return ReadText([(group[0][0], group[-1][1]) for group in groups], [], [])


def _pieces(text: str, spans: list[Span], numbers: list[float]) -> Pieces:
    pieces, done = [], 0
    for (start, end), number in zip(spans, numbers, strict=True):
        pieces += [(text[done:start], 0.0)] if start > done else []
        pieces.append((text[start:end], number))
        done = end
    return [*pieces, (text[done:], 0.0)] if done < len(text) else pieces


def _rounded(pieces: Pieces) -> JsonPieces:
    """A piece may hold half an emoji, which JSON cannot."""
    return [
        {"piece": readable(piece, most_characters=len(piece)), "effect": round(number, DIGITS)}
        for piece, number in pieces
    ]


class LinearNetwork:
    """The weights of a bag or of n-grams whose logits are a weighted sum of what each token says."""

    def __init__(self, graph: Path, *, kind: str) -> None:
        """Raises GraphNotUnderstood if the file is not such a network. The weights stay in the file."""
        with graph.open("rb") as file:
            constants = graph_of(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))).constants
        if "dense.weight" in constants or "classifier.weight" not in constants:
            raise GraphNotUnderstood("it is not linear")
        self._weight, self._bias = constants["classifier.weight"], constants["classifier.bias"]
        vectors = constants.get(EMBEDDINGS, constants.get(f"{EMBEDDINGS}.int8"))
        self._scales, self._logarithms = constants.get(f"{EMBEDDINGS}.scale"), constants.get(WORD_WEIGHTS)
        self._unit_length = kind == "ngrams"
        if vectors is None or vectors.ndim != 2 or vectors.shape[1] != self._weight.shape[1]:
            raise GraphNotUnderstood("its vectors are not what its classifier reads")
        self._vectors = vectors

    def numbers(self, read: list[ReadText], direction: Floats64, *, margin: float) -> list[list[float]] | None:
        """For each span, what its tokens say; None if all together is not the margin that the engine gives."""
        (one,) = read
        if max(one.ids) >= len(self._vectors):
            return None
        of_tokens = self._of_tokens(np.array(one.ids), direction)
        total = float(of_tokens.sum() + self._bias @ direction)
        size = max(1.0, abs(margin), float(np.abs(of_tokens).sum()))
        return [one.sums(of_tokens)] if abs(total - margin) <= TOLERANCE * size else None

    def _of_tokens(self, ids: npt.NDArray[np.int64], direction: Floats64) -> Floats64:
        """(tokens): sᵢ·(vᵢ·w), with s = exp(logarithms) that sum to one, or for n-grams have length 1."""
        vectors = self._vectors[ids].astype(np.float64)
        if self._scales is not None:
            vectors *= self._scales[ids]
        logarithms = np.zeros(len(ids)) if self._logarithms is None else self._logarithms[ids].astype(np.float64)
        shares = np.exp(logarithms - logarithms.max())
        shares /= np.linalg.norm(shares) if self._unit_length else shares.sum()
        found: Floats64 = shares * (vectors @ (self._weight.T.astype(np.float64) @ direction))
        return found


@dataclass(frozen=True)
class _Opened:
    reader: RowReader
    network: LinearNetwork | None


# Of each classifier that was asked for an explanation, as long as it lives.
_KNOWN: WeakKeyDictionary[GivesLogits, _Opened] = WeakKeyDictionary()


def _opened(classifier: GivesLogits) -> _Opened:
    found = _KNOWN.get(classifier)
    if found is None:
        model, facts = ModelFolder(classifier.folder), classifier.facts
        try:
            found = _Opened(RowReader(model, facts), _linear(model, facts))
        except (OSError, ValueError) as error:  # the folder is another one now than when the model was loaded
            raise ArtifactDamaged(folder=model.folder, faults=[f"it cannot be read again: {error}"]) from error
        _KNOWN[classifier] = found
    return found


def _linear(model: ModelFolder, facts: ModelFacts) -> LinearNetwork | None:
    if facts.kind not in LINEAR_KINDS or facts.pair:
        return None
    try:
        return LinearNetwork(model.graph, kind=facts.kind)
    except GraphNotUnderstood:
        return None
