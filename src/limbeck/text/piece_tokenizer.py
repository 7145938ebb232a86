"""Reduces the teacher's tokenizer to the word pieces that the student's texts use."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

import numpy as np
from tokenizers import Tokenizer
from tokenizers.normalizers import Sequence as Normalizers

from limbeck.errors import StudentError
from limbeck.text.forms import FormStep, as_normalizer
from limbeck.text.piece_models import PIECE_MODELS, Json, PieceModel
from limbeck.text.plain_ids import TEXTS_AT_ONCE
from limbeck.text.readable import MOST_CHARACTERS, readable
from limbeck.text.student_tokenizer import MASK, MASK_ID, SPECIAL_TOKENS, StudentTokenizer
from limbeck.text.tokenizer_limits import TokenizerRefused, characters_at_once, panics_as_errors, portions

BLANKS = ("Ġ", "▁")  # at the start of a piece: byte-level BPE, SentencePiece
MASK_TOKEN: Json = {
    "id": MASK_ID,
    "content": MASK,
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": False,
    "special": True,
}


class TokenizerUnsupported(StudentError):
    """The teacher's tokenizer has a model that cannot be reduced for a student."""

    def __init__(self, *, found: str, known: Sequence[str]) -> None:
        self.model = found
        super().__init__(
            "the teacher's tokenizer cannot be reduced to a student's vocabulary",
            found=f"its model: {found}; known: {', '.join(known)}",
            advice='Set student.vocabulary.kind = "words".',
        )


def cut_down_pieces(
    tokenizer_json: str, texts: Iterable[str], *, max_size: int, min_count: int, form: Sequence[FormStep] = ()
) -> StudentTokenizer:
    """A Hugging Face tokenizer with its frequent pieces only, renumbered by descending count.

    Single characters that the texts use are always kept, as far as `max_size` allows, so that rare words are split into
    smaller pieces instead of becoming unknown. With min_count 1 and a large enough size, texts are tokenized exactly as
    before. Normaliser and pre-tokeniser stay; post-processor, truncation, padding and special tokens are dropped. Every
    text is converted to the `form` before the normaliser sees it.
    """
    return count_pieces(tokenizer_json, texts, min_count=min_count, form=form)(max_size)


def count_pieces(
    tokenizer_json: str, texts: Iterable[str], *, min_count: int, form: Sequence[FormStep] = ()
) -> Callable[[int], StudentTokenizer]:
    """Count once, and get the tokenizer of any size, the same as from `cut_down_pieces`."""
    state = _bare(tokenizer_json, form)
    model = PIECE_MODELS[state["model"]["type"]](state["model"])
    counts = _counted(state, model, texts)

    def of_size(size: int) -> StudentTokenizer:
        kept = _kept(model, counts, most=max(0, size - len(SPECIAL_TOKENS)), min_count=min_count)
        pieces = [*SPECIAL_TOKENS, *sorted(kept, key=lambda piece: (-counts[piece], piece))]
        return _assembled(state, model, pieces)

    return of_size


def whole_words(tokenizer_json: str) -> list[str]:
    """The words that a tokenizer has as one piece, in the order of its vocabulary, which is mostly by frequency.

    A piece is a word if it consists of letters and starts one: without "##" (WordPiece), or after the sign that a
    tokenizer writes for a blank (byte-level BPE, SentencePiece).
    """
    ids = Tokenizer.from_str(tokenizer_json).get_vocab(with_added_tokens=False)
    pieces = sorted(ids, key=ids.__getitem__)
    sign = next((sign for sign in BLANKS if any(piece.startswith(sign) for piece in pieces)), "")
    found = (piece.removeprefix(sign) for piece in pieces if piece.startswith(sign))
    return [word for word in found if len(word) > 1 and word.isalpha()]


def _bare(tokenizer_json: str, form: Sequence[FormStep]) -> Json:
    """The tokenizer's state in the library's current format, without anything that lengthens or shortens a text."""
    try:
        with panics_as_errors():
            tokenizer = Tokenizer.from_str(tokenizer_json)
        characters_at_once(tokenizer)
    except TokenizerRefused as error:
        raise TokenizerUnsupported(found=f"unreadable ({error.reason})", known=list(PIECE_MODELS)) from None
    if form:
        own = [] if tokenizer.normalizer is None else [tokenizer.normalizer]
        tokenizer.normalizer = Normalizers([as_normalizer(form), *own])
    state: Json = json.loads(tokenizer.to_str())
    if state["model"]["type"] not in PIECE_MODELS:
        raise TokenizerUnsupported(found=state["model"]["type"], known=list(PIECE_MODELS))
    if state["model"]["type"] == "Unigram":
        # As in the file: the library's own round trip can change a score's last digit, and with it a segmentation.
        state["model"]["vocab"] = json.loads(tokenizer_json)["model"]["vocab"]
    added = [token for token in state["added_tokens"] if not token["special"]]
    return {**state, "post_processor": None, "truncation": None, "padding": None, "added_tokens": added}


def _counted(state: Json, model: PieceModel, texts: Iterable[str]) -> Counter[str]:
    """How often the texts use each piece."""
    tokenizer = Tokenizer.from_str(json.dumps(state))
    ids = tokenizer.get_vocab(with_added_tokens=True)
    counts = np.zeros(max(ids.values(), default=0) + 1, dtype=np.int64)
    for block in _blocks(texts, most=characters_at_once(tokenizer)):
        with panics_as_errors():
            encodings = tokenizer.encode_batch_fast(block, add_special_tokens=False)
        used = np.fromiter(chain.from_iterable(encoding.ids for encoding in encodings), dtype=np.int64)
        counts += np.bincount(used, minlength=len(counts))
    own = {*SPECIAL_TOKENS, model.unknown}
    return Counter({piece: int(counts[number]) for piece, number in ids.items() if counts[number] and piece not in own})


def _blocks(texts: Iterable[str], *, most: int) -> Iterator[Sequence[str]]:
    left, longest = iter(texts), min(most, MOST_CHARACTERS)
    while block := [readable(text, most_characters=longest) for text in islice(left, TEXTS_AT_ONCE)]:
        yield from portions(block, map(len, block), most=most)


def _kept(model: PieceModel, counts: Counter[str], *, most: int, min_count: int) -> set[str]:
    """At most `most` pieces: single characters first, then pieces by descending count, each with those it needs."""
    letters: Counter[str] = Counter()
    for piece, count in counts.items():
        for letter in model.letters(piece):
            letters[letter] += count
    kept = set([letter for letter in _by_count(letters) if letter in model.known][:most])
    for piece in _by_count(counts):
        if counts[piece] < min_count or len(kept) >= most:
            break
        wanted = {piece, *model.needs(piece)} - kept
        if len(kept) + len(wanted) <= most:
            kept |= wanted
    return kept


def _by_count(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda piece: (-counts[piece], piece))


def _assembled(state: Json, model: PieceModel, pieces: Sequence[str]) -> StudentTokenizer:
    numbers = {piece: number for number, piece in enumerate(pieces)}
    added = [
        {**token, "id": numbers[token["content"]]} for token in state["added_tokens"] if token["content"] in numbers
    ]
    added = sorted([MASK_TOKEN, *added], key=lambda token: token["id"])
    return StudentTokenizer.from_json(json.dumps({**state, "model": model.smaller(pieces), "added_tokens": added}))
