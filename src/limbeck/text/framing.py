"""Builds the tokenizers of transformer students: all of the teacher's tokens, or the pieces that the texts use."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from limbeck.errors import TeacherTokensUnsupported
from limbeck.text.forms import FormStep, as_normalizer
from limbeck.text.framed_tokenizer import Frame, FramedTokenizer
from limbeck.text.piece_models import PIECE_MODELS, Json
from limbeck.text.piece_tokenizer import TokenizerUnsupported, count_pieces
from limbeck.text.student_tokenizer import MASK, PAD, SPECIAL_TOKENS, UNK, StudentTokenizer
from limbeck.text.tokenizer_limits import TokenizerRefused, characters_at_once, panics_as_errors

CLS, SEP = FRAME_TOKENS = ("[CLS]", "[SEP]")
ORDERS = {0: (*SPECIAL_TOKENS, CLS, SEP), 1: (CLS, PAD, SEP, UNK, MASK)}  # by the id of padding
NO_TEACHER_TOKEN = -1
NOTHING_BEFORE = "it puts no special token before a text"
NOTHING_AFTER = "it puts no special token after a text"

Frames = tuple[Frame, Frame]  # around one text, around two
Framed = tuple[FramedTokenizer, list[int]]  # and for each token the teacher's id, −1 for none


def framed_teacher_tokenizer(
    tokenizer_json: str,
    *,
    pad_id: int,
    mask_token: str | None,
    has_types: bool,
    form: Sequence[FormStep] = (),
    reads: Literal["first", "last"] = "first",
) -> FramedTokenizer:
    """A teacher's tokenizer with all of its tokens and their ids, and its own frame around texts.

    Second texts have type 1 if they have it in the frame and `has_types` is true. The mask is renamed to "[MASK]".
    Every text is converted to the `form` before the normaliser sees it.

    Raises TeacherTokensUnsupported if the frame has no token before a text, which a classifier could read; after it,
    for one that reads the last.
    """
    tokenizer = _read(tokenizer_json)
    frames = Frame.read_off(tokenizer, texts=1), Frame.read_off(tokenizer, texts=2)
    before, after = frames[0].gaps
    if not (before if reads == "first" else after):
        reason = NOTHING_BEFORE if reads == "first" else NOTHING_AFTER
        raise TeacherTokensUnsupported(reason=reason, other_kind="pieces")
    state: Json = json.loads(tokenizer_json)
    if mask_token is not None:
        _rename(state, mask_token, MASK)
    if form:
        state["normalizer"] = _in_form(state.get("normalizer"), form)
    ids = tokenizer.get_vocab(with_added_tokens=True)
    tokens = {number: token for token, number in ids.items()}
    return _framed(state, tokens, frames=frames, pad_id=pad_id, has_types=has_types)


def framed_pieces(
    tokenizer_json: str,
    texts: Iterable[str],
    *,
    max_size: int,
    min_count: int,
    has_types: bool,
    special_ids: Mapping[str, int | None],
    pad_id: Literal[0, 1] = 0,
    form: Sequence[FormStep] = (),
) -> Framed:
    """The teacher's pieces that the texts use, in BERT's frame; and for each token the teacher's id, −1 for none.

    [PAD], [UNK], [MASK], [CLS] and [SEP] come first; with a `pad_id` of 1 in the order of RoBERTa and MPNet, which
    count positions from it. `special_ids` gives the teacher's token for each of them.
    """
    counted = count_framed_pieces(
        tokenizer_json,
        texts,
        min_count=min_count,
        has_types=has_types,
        special_ids=special_ids,
        pad_id=pad_id,
        form=form,
    )
    return counted(max_size)


def count_framed_pieces(
    tokenizer_json: str,
    texts: Iterable[str],
    *,
    min_count: int,
    has_types: bool,
    special_ids: Mapping[str, int | None],
    pad_id: Literal[0, 1] = 0,
    form: Sequence[FormStep] = (),
) -> Callable[[int], Framed]:
    """Count once, and get the tokenizer of any size, the same as from `framed_pieces`."""
    try:
        cut = count_pieces(tokenizer_json, texts, min_count=min_count, form=form)
    except TokenizerUnsupported as error:
        reason = f"they cannot be reduced, their model is {error.model}"
        raise TeacherTokensUnsupported(reason=reason, other_kind="teacher") from None
    theirs = {**Tokenizer.from_str(tokenizer_json).get_vocab(with_added_tokens=True), **special_ids}

    def of_size(size: int) -> Framed:
        tokenizer, pieces = _in_frame(cut(size - len(FRAME_TOKENS)), pad_id=pad_id, has_types=has_types)
        found = (theirs.get(piece) for piece in pieces)
        return tokenizer, [NO_TEACHER_TOKEN if number is None else number for number in found]

    return of_size


def _in_frame(cut: StudentTokenizer, *, pad_id: Literal[0, 1], has_types: bool) -> tuple[FramedTokenizer, list[str]]:
    """The tokenizer with the special tokens of the frame, and all tokens in the order of their ids."""
    kept = cut.vocabulary[len(SPECIAL_TOKENS) :]
    pieces = [*ORDERS[pad_id], *(piece for piece in kept if piece not in FRAME_TOKENS)]
    numbers = {piece: number for number, piece in enumerate(pieces)}
    state: Json = json.loads(cut.to_json())
    model = PIECE_MODELS[state["model"]["type"]](state["model"]).smaller(pieces)
    state["model"] = {**model, "unk_id": numbers[UNK]} if "unk_id" in model else model
    state["added_tokens"] = [{**token, "id": numbers[token["content"]]} for token in state["added_tokens"]]
    frames = bert_frames(numbers[CLS], numbers[SEP])
    return _framed(state, dict(enumerate(pieces)), frames=frames, pad_id=pad_id, has_types=has_types), pieces


def bert_frames(first: int, last: int) -> Frames:
    """[CLS] a [SEP], and [CLS] a [SEP] b [SEP] with the second text of type 1."""
    one = Frame((((first, 0),), ((last, 0),)), (0,))
    return one, Frame((*one.gaps, ((last, 1),)), (0, 1))


def _framed(state: Json, tokens: Mapping[int, str], *, frames: Frames, pad_id: int, has_types: bool) -> FramedTokenizer:
    one, two = frames
    used = {number for frame in frames for gap in frame.gaps for number, _ in gap}
    template = {
        "type": "TemplateProcessing",
        "single": _template(one, tokens, has_types=False),
        "pair": _template(two, tokens, has_types=has_types),
        "special_tokens": {
            tokens[number]: {"id": tokens[number], "ids": [number], "tokens": [tokens[number]]}
            for number in sorted(used)
        },
    }
    padding = {
        "strategy": "BatchLongest",
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": pad_id,
        "pad_type_id": 0,
        "pad_token": tokens[pad_id],
    }
    state = {**state, "truncation": None, "padding": padding, "post_processor": template}
    return FramedTokenizer.from_json(json.dumps(state, ensure_ascii=False))


def _template(frame: Frame, tokens: Mapping[int, str], *, has_types: bool) -> list[Json]:
    parts = [_special(gap, tokens, has_types=has_types) for gap in frame.gaps]
    row = parts[0]
    for name, kind, after in zip("AB", frame.text_types, parts[1:], strict=False):
        row = [*row, {"Sequence": {"id": name, "type_id": kind if has_types else 0}}, *after]
    return row


def _special(gap: Sequence[tuple[int, int]], tokens: Mapping[int, str], *, has_types: bool) -> list[Json]:
    return [{"SpecialToken": {"id": tokens[number], "type_id": kind if has_types else 0}} for number, kind in gap]


def _read(tokenizer_json: str) -> Tokenizer:
    try:
        with panics_as_errors():
            tokenizer = Tokenizer.from_str(tokenizer_json)
        characters_at_once(tokenizer)
        return tokenizer
    except TokenizerRefused as error:
        reason = f"its tokenizer.json cannot be read ({error.reason})"
        raise TeacherTokensUnsupported(reason=reason, other_kind="pieces") from None


def _rename(state: Json, old: str, new: str) -> None:
    """Rename a token and keep its id, unless another token has the new name."""
    vocabulary = state["model"]["vocab"]
    is_scored = isinstance(vocabulary, list)  # [piece, score] in the order of the ids, else piece: id
    known = {piece for piece, _ in vocabulary} if is_scored else set(vocabulary)
    if new in known | {token["content"] for token in state["added_tokens"]}:
        return
    if is_scored:
        state["model"]["vocab"] = [[new if piece == old else piece, score] for piece, score in vocabulary]
    else:
        state["model"]["vocab"] = {new if piece == old else piece: number for piece, number in vocabulary.items()}
    for token in state["added_tokens"]:
        token["content"] = new if token["content"] == old else token["content"]


def _in_form(own: Json | None, form: Sequence[FormStep]) -> Json:
    """A normaliser that applies the steps of the form before its own."""
    carrier = Tokenizer(WordLevel({"a": 0}, unk_token="a"))
    carrier.normalizer = as_normalizer(form)
    steps: Json = json.loads(carrier.to_str())["normalizer"]
    return {"type": "Sequence", "normalizers": [steps] if own is None else [steps, own]}
