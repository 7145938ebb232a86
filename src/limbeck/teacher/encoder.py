"""A sequence classifier of transformers with its tokenizer: asked for logits, or for the states of texts and words."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limbeck.models.tokenizer import reads_last_token
from limbeck.progress import Bar
from limbeck.recipe.teacher import LongTexts
from limbeck.teacher.long_texts import kept_places
from limbeck.teacher.padding import padded_batch
from limbeck.text.student_tokenizer import MASK
from limbeck.training.batches import token_budget_batches
from limbeck.training.device import Arithmetic, sent
from limbeck.training.modes import evaluating

# A GPU wants large batches. A CPU does not: from about 8,000 tokens on every layer begins by asking the system for
# fresh memory, and in trials on one thread 1,024 tokens took less time a row than 4,096, more so with wide teachers.
TOKENS_PER_BATCH = {"cpu": 1024, "cuda": 65_536}

Pooling = Literal["cls", "mean"]
TokenRow = dict[str, list[int]]  # input_ids and what else the model reads, for each token of a row


@dataclass
class Encoder:
    """A model, its tokenizer, and how it is to be asked."""

    model: Any  # a transformers model for sequence classification
    tokenizer: Any
    max_length: int
    arithmetic: Arithmetic
    fresh: frozenset[str] = frozenset()  # weights that the checkpoint did not have: they start at random
    note: str | None = None  # what was found while loading, for whoever waits
    long_texts: LongTexts = "head"
    head_share: float = 0.25

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        device: torch.device = next(iter(self.model.parameters())).device
        return device

    def tokenise(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[TokenRow]:
        """Ids with the model's own special tokens, cut to `max_length`; of a pair the longer text is cut first."""
        if not texts:
            return []
        from_end = self.long_texts == "head"
        columns = self.tokenizer(
            self._with_own_mask(texts),
            self._with_own_mask(pairs) if pairs is not None else None,
            truncation=from_end,
            max_length=self.max_length if from_end else None,
            verbose=False,
        )
        rows = [{name: column[row] for name, column in columns.items()} for row in range(len(texts))]
        too_long = [place for place, row in enumerate(rows) if len(row["input_ids"]) > self.max_length]
        for place in too_long:  # none where texts were cut from their end
            rows[place] = self._cut_out(rows[place], columns.sequence_ids(place))
        return rows

    def _with_own_mask(self, texts: Sequence[str]) -> list[str]:
        """A masked word stands in a text as the student's mask; here it becomes what this tokenizer calls a mask."""
        own = self.tokenizer.mask_token or self.tokenizer.unk_token
        if own is None or own == MASK:
            return list(texts)
        return [text.replace(MASK, own) if MASK in text else text for text in texts]

    def _cut_out(self, row: TokenRow, texts_of_tokens: Sequence[int | None]) -> TokenRow:
        """The row without the middle of its texts."""
        kept = kept_places(texts_of_tokens, max_length=self.max_length, head_share=self.head_share)
        return {name: [column[place] for place in kept] for name, column in row.items()}

    def batch(self, rows: Sequence[Mapping[str, list[int]]]) -> dict[str, Tensor]:
        """Padded as this tokenizer pads, on the model's device."""
        return {name: sent(tensor, self.device) for name, tensor in padded_batch(rows, self.tokenizer).items()}

    def logits(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> npt.NDArray[np.float32]:
        """(rows, classes) in the order of the texts; in eval mode, without gradients, whatever the batch."""
        rows = self.tokenise(texts, pairs)
        found = torch.zeros((len(rows), self.model.config.num_labels), device=self.device)
        with self._asking():
            for places, batch in self._batches(rows, tokens_per_batch=tokens_per_batch, bar=bar):
                found[places] = self.model(**batch).logits.float()  # read at the end: no batch waits
        return found.cpu().numpy()

    def logits_and_features(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        pooling: Pooling,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float16]]:
        """The logits as `logits` gives them, and (rows, width): one vector for each row, from its last hidden states.

        "cls" is the state of the token that the classifier reads, "mean" the mean over all tokens but padding.
        """
        rows = self.tokenise(texts, pairs)
        config = self.model.config
        found = torch.zeros((len(rows), config.num_labels), device=self.device)
        features = torch.zeros((len(rows), config.hidden_size), dtype=torch.float16, device=self.device)
        read = -1 if reads_last_token(config) else 0  # padding is on the other side
        with self._asking():
            for places, batch in self._batches(rows, tokens_per_batch=tokens_per_batch, bar=bar):
                answer = self.model(**batch, output_hidden_states=True)
                states = answer.hidden_states[-1].float()
                pooled = states[:, read] if pooling == "cls" else mean_state(states, batch["attention_mask"].bool())
                found[places], features[places] = answer.logits.float(), pooled.half()
        return found.cpu().numpy(), features.cpu().numpy()

    def word_states(
        self, words: Sequence[str], *, are_pieces: bool, bar: Bar, tokens_per_batch: int | None = None
    ) -> npt.NDArray[np.float32]:
        """(words, width): for each word alone, the mean of its last hidden states without the special tokens.

        With `are_pieces` the words are tokens of this tokenizer: to cut "##ing" once more would make it another word.
        A word of which the tokenizer leaves nothing gets the mean of all others.
        """
        rows = self._pieces(words) if are_pieces else self.tokenise(words)
        ids = set(self.tokenizer.all_special_ids) - {self.tokenizer.unk_token_id}
        special = torch.tensor(sorted(ids), dtype=torch.long, device=self.device)
        found = torch.zeros((len(rows), self.model.config.hidden_size), device=self.device)
        has_tokens = torch.zeros(len(rows), dtype=torch.bool, device=self.device)
        with self._asking():
            for places, batch in self._batches(rows, tokens_per_batch=tokens_per_batch, bar=bar):
                states = self.model(**batch, output_hidden_states=True).hidden_states[-1].float()
                inside = batch["attention_mask"].bool() & ~torch.isin(batch["input_ids"], special)
                found[places], has_tokens[places] = mean_state(states, inside), inside.any(dim=1)
        found[~has_tokens] = found.sum(dim=0) / has_tokens.sum().clamp(min=1)
        return found.cpu().numpy()

    def _pieces(self, pieces: Sequence[str]) -> list[TokenRow]:
        """Each piece as it is, between the special tokens that stand around a text."""
        row = self.tokenizer("a", return_special_tokens_mask=True)
        of_text = [place for place, is_special in enumerate(row.pop("special_tokens_mask")) if not is_special]
        first, behind = of_text[0], of_text[-1] + 1
        frame = {name: [*column[: first + 1], *column[behind:]] for name, column in row.items()}
        before, after = frame["input_ids"][:first], frame["input_ids"][first + 1 :]
        numbers = self.tokenizer.convert_tokens_to_ids(list(pieces))
        return [{**frame, "input_ids": [*before, number, *after]} for number in numbers]

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Eval mode, no gradients, in the arithmetic it was judged in."""
        autocast = torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.arithmetic == "bf16")
        with evaluating(self.model), autocast:
            yield

    def _batches(
        self, rows: Sequence[TokenRow], *, tokens_per_batch: int | None, bar: Bar | None
    ) -> Iterator[tuple[Tensor, dict[str, Tensor]]]:
        """The places of rows of similar length, and these rows padded to one length; what is done moves the bar."""
        budget = tokens_per_batch or TOKENS_PER_BATCH.get(self.device.type, TOKENS_PER_BATCH["cpu"])
        lengths = np.array([len(row["input_ids"]) for row in rows], dtype=np.int64)
        for places in token_budget_batches(lengths, tokens_per_batch=budget):
            yield sent(torch.from_numpy(places), self.device), self.batch([rows[place] for place in places])
            if bar:
                bar.advance(len(places))

    def save(self, folder: Path) -> None:
        """As a Hugging Face folder."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def mean_state(states: Tensor, inside: Tensor) -> Tensor:
    """(rows, width): the mean of the states (rows, tokens, width) that are inside; zeros where none is."""
    return (states * inside[..., None]).sum(dim=1) / inside.sum(dim=1, keepdim=True).clamp(min=1)
