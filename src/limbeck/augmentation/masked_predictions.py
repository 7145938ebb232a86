"""A language model's predictions for each word: all words of many texts, in a few large batches."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limbeck.augmentation.language_model import LanguageModel
from limbeck.augmentation.piece_words import BYTES_START, Blank, blanks_in
from limbeck.augmentation.prediction_store import TextPredictions
from limbeck.augmentation.words import cut_words
from limbeck.training.batches import token_budget_batches
from limbeck.training.device import sent
from limbeck.training.modes import evaluating

Integers = npt.NDArray[np.int64]


class MaskedRows(NamedTuple):
    """Padded rows, and the positions of their masks."""

    inputs: dict[str, Integers]  # (rows, tokens): input_ids and the model's other inputs
    rows: Integers  # (masks)
    columns: Integers  # (masks)


class TextFrame(NamedTuple):
    """The special tokens around a text, and the most pieces of a text that fit between them."""

    before: list[int]
    after: list[int]
    mask: int
    padding: int
    has_types: bool
    most_pieces: int
    between: tuple[int, ...] = ()  # before the original as the second text; empty: without it

    @classmethod
    def of(cls, tokenizer: Any, *, max_length: int, with_original: bool = False) -> "TextFrame":
        """The special tokens that this tokenizer puts around a text, and in front of a second one."""
        row = tokenizer("a", return_special_tokens_mask=True)
        of_text = [at for at, is_special in enumerate(row["special_tokens_mask"]) if not is_special]
        before, after = row["input_ids"][: of_text[0]], row["input_ids"][of_text[-1] + 1 :]
        has_types = "token_type_ids" in row
        most_pieces = max_length - len(before) - len(after)
        between: tuple[int, ...] = ()
        if with_original:
            both = tokenizer("a", "a", return_special_tokens_mask=True)
            first, *_, last = (at for at, is_special in enumerate(both["special_tokens_mask"]) if not is_special)
            between = tuple(both["input_ids"][first + 1 : last])
            most_pieces = (max_length - len(before) - len(between) - len(after)) // 2
        pad = tokenizer.pad_token_id or 0
        return cls(before, after, tokenizer.mask_token_id, pad, has_types, most_pieces, between)

    def length(self, pieces: int) -> int:
        """The length of the row for a text with this number of pieces."""
        kept = min(pieces, self.most_pieces)
        of_original = len(self.between) + kept if self.between else 0
        return len(self.before) + kept + of_original + len(self.after)

    def masked(self, texts: Sequence[Sequence[int]], blanks: Sequence[tuple[int, Blank]]) -> MaskedRows:
        """A row for each blank, which comes with the number of its text.

        A text that is too long is reduced to a window with the blank in its middle.
        """
        longest = max(self.length(len(texts[number])) for number, _ in blanks)
        ids = np.full((len(blanks), longest), self.padding, dtype=np.int64)
        attention_mask = np.zeros_like(ids)
        types = np.zeros_like(ids)
        rows, columns = [], []
        for row, (number, blank) in enumerate(blanks):
            start = self._window(len(texts[number]), blank)
            window = texts[number][start : start + self.most_pieces]
            line = [*self.before, *window, *self.between]
            if self.between:
                types[row, len(line) : len(line) + len(window) + len(self.after)] = 1
                line += window
            line += self.after
            ids[row, : len(line)], attention_mask[row, : len(line)] = line, 1
            rows += [row] * (blank.end - blank.first)
            columns += [len(self.before) + at - start for at in range(blank.first, blank.end)]
        ids[rows, columns] = self.mask
        inputs = {"input_ids": ids, "attention_mask": attention_mask}
        if self.has_types:
            inputs["token_type_ids"] = types
        return MaskedRows(inputs, np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64))

    def _window(self, length: int, blank: Blank) -> int:
        middle = (blank.first + blank.end) // 2
        return max(0, min(middle - self.most_pieces // 2, length - self.most_pieces))


TOKENS_PER_BATCH = {"cpu": 4096, "cuda": 65_536}  # the same as for a teacher
LOGITS_PER_BATCH = 1 << 28  # one gigabyte: each mask has a logit for every piece of the vocabulary
KINDS = ("word", "han")


class MaskedTexts(NamedTuple):
    """Texts as pieces and as words, and the words to be masked."""

    pieces: list[list[int]]
    words: list[list[str]]
    blanks: list[tuple[int, Blank]]  # with the number of the text, in the order of the texts


class Top(NamedTuple):
    """(masked pieces, most) the most probable pieces and their logits, -inf if there are no more."""

    pieces: npt.NDArray[np.int32]
    logits: npt.NDArray[np.float32]


def answers_about(
    texts: Sequence[str],
    model: LanguageModel,
    *,
    language: str,
    most: int,
    tokens_per_batch: int | None = None,
    with_original: bool = False,
) -> list[TextPredictions]:
    """For every word that the model can be asked about, the `most` probable other words; `with_original`, where the
    model also reads the text as it was, the word itself may be among them.

    For Han words these are the characters of each position. All pieces of the word are masked together, and nothing
    else. An answer does not depend on other texts, except for rounding that depends on the size of a batch.
    """
    lines = _lines(texts, model, language=language)
    # Words that differ only in case are merged, so more than `most` are needed.
    count = min(2 * most + 2, model.model.config.vocab_size)
    frame = TextFrame.of(model.tokenizer, max_length=model.max_length, with_original=with_original)
    top = _most_probable(lines, model, frame, count=count, tokens_per_batch=tokens_per_batch)
    masks = [(number, blank, at) for number, blank in lines.blanks for at in range(blank.first, blank.end)]
    answers = [TextPredictions([], [], []) for _ in texts]
    for (number, blank, at), pieces, logits in zip(masks, top.pieces, top.logits, strict=True):
        answer, word, is_valid = answers[number], lines.words[number][blank.word], logits > -np.inf
        answer.words.append(blank.word)
        if blank.kind == "han":
            kept = most + (len(word) == 1)  # the word itself may be among them, and is dropped later
            found = [str(model.vocabulary.characters[piece]) for piece in pieces[is_valid][:kept]]
            answer.logits.append(logits[is_valid][:kept].tolist())
        else:
            itself = (word.lower(), model.vocabulary.words[lines.pieces[number][at]])
            forms = dict.fromkeys(str(model.vocabulary.words[piece]) for piece in pieces[is_valid])
            found = [form for form in forms if with_original or form not in itself][:most]
            answer.logits.append([])
        answer.found.append(" ".join(found))
    return answers


def _lines(texts: Sequence[str], model: LanguageModel, *, language: str) -> MaskedTexts:
    # Byte-level pieces include the space before a word; the first word of a text gets one, to be like the others.
    space = " " if model.vocabulary.mark == BYTES_START else ""
    found = model.tokenizer(
        [space + text for text in texts], add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )
    lines = MaskedTexts(found["input_ids"], [], [])
    for number, (text, offsets) in enumerate(zip(texts, found["offset_mapping"], strict=True)):
        cut = cut_words(text, language=language)
        spans = [(max(start - len(space), 0), end - len(space)) for start, end in offsets]
        blanks = blanks_in(
            text, cut, lines.pieces[number], spans, language=language, unknown=model.tokenizer.unk_token_id
        )
        lines.words.append(cut.words)
        lines.blanks.extend((number, blank) for blank in blanks)
    return lines


def _most_probable(
    lines: MaskedTexts, model: LanguageModel, frame: TextFrame, *, count: int, tokens_per_batch: int | None
) -> Top:
    """For every masked piece, in the order of the blanks; results stay on the device until all are complete."""
    device, size = model.device, model.model.config.vocab_size
    masks = np.array([blank.end - blank.first for _, blank in lines.blanks], dtype=np.int64)
    starts = np.cumsum(masks) - masks
    pieces = torch.zeros((int(masks.sum()), count), dtype=torch.int32, device=device)
    logits = torch.zeros((int(masks.sum()), count), device=device)
    budget = tokens_per_batch or TOKENS_PER_BATCH.get(device.type, TOKENS_PER_BATCH["cpu"])
    lengths = np.array([frame.length(len(lines.pieces[number])) for number, _ in lines.blanks], dtype=np.int64)
    costs = np.maximum(lengths, masks * size * budget // LOGITS_PER_BATCH)
    allowed = _allowed(model)
    with evaluating(model.model):
        for batch in token_budget_batches(costs, tokens_per_batch=budget):
            blanks = [lines.blanks[at] for at in batch]
            kinds = np.repeat([KINDS.index(blank.kind) for _, blank in blanks], masks[batch])
            found = _logits(model, frame.masked(lines.pieces, blanks))
            found.masked_fill_(~allowed[_tensor(kinds, device)], -torch.inf)
            best = found.topk(count, dim=1)
            positions = np.concatenate([np.arange(starts[at], starts[at] + masks[at]) for at in batch])
            of_batch = _tensor(positions, device)
            pieces[of_batch], logits[of_batch] = best.indices.int(), best.values
    return Top(pieces.cpu().numpy(), logits.cpu().numpy())


def _allowed(model: LanguageModel) -> Tensor:
    """(kinds, vocabulary): the pieces that may replace a word of a kind."""
    named = (model.vocabulary.words, model.vocabulary.characters)
    return torch.tensor([[name is not None for name in names] for names in named], device=model.device)


def _logits(model: LanguageModel, masked: MaskedRows) -> Tensor:
    """(masks, vocabulary). Only the hidden states of masks are passed from the body to the head, whatever kind of head
    it is: logits of all tokens would take a thousand times the memory."""
    device = model.device
    rows, columns = _tensor(masked.rows, device), _tensor(masked.columns, device)

    def only_masks(_module: Any, _inputs: Any, output: Any) -> Any:
        output.last_hidden_state = output.last_hidden_state[rows, columns, None].float()
        # The head runs in full precision: in bf16 many words would be equally probable. The end of autocast resets it.
        torch.set_autocast_enabled(device.type, False)
        return output

    hook = model.model.base_model.register_forward_hook(only_masks)
    try:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=model.arithmetic == "bf16"):
            inputs = {name: _tensor(values, device) for name, values in masked.inputs.items()}
            found: Tensor = model.model(**inputs).logits[:, 0]
    finally:
        hook.remove()
    return found


def _tensor(values: npt.NDArray[np.integer[Any]], device: torch.device) -> Tensor:
    return sent(torch.from_numpy(values), device)
