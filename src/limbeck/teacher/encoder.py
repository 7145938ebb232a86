"""A transformers sequence classifier with its tokenizer: computes logits, features of texts and vectors of words."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limbeck.models.decoders import is_decoder, place_read, token_of_empty_texts
from limbeck.models.tokenizer import reads_last_token
from limbeck.progress import Bar
from limbeck.recipe.teacher import LongTexts
from limbeck.teacher.tokens import IDS, TYPES, Numbers, TokenRow, Tokens, tokens_of
from limbeck.text.student_tokenizer import MASK
from limbeck.training.batches import prefetched, token_budget_batches
from limbeck.training.device import Arithmetic, sent
from limbeck.training.modes import evaluating

# A GPU needs large batches. A CPU does not: from about 8,000 tokens on, every layer allocates new memory from the
# system, and in trials on one thread 1,024 tokens took less time per row than 4,096, more so with wide teachers.
TOKENS_PER_BATCH = {"cpu": 1024, "cuda": 65_536}

ROWS_AHEAD = 4096  # that are tokenised while the device computes the same number

Pooling = Literal["cls", "mean"]
Logits = npt.NDArray[np.float32]
Features = npt.NDArray[np.float16]
Answer = tuple[Logits, Features | None]
Block = tuple[Sequence[str], Sequence[str] | None]  # texts, and second texts
Batch = tuple[npt.NDArray[np.int64], dict[str, Tensor]]  # places of rows, and the rows padded


@dataclass(frozen=True)
class Reading:
    """A tokenised block of texts."""

    rows: int
    batches: Iterable[Batch]


@dataclass
class Encoder:
    """A model, its tokenizer, and its settings for inference."""

    model: Any  # a transformers model for sequence classification
    tokenizer: Any
    max_length: int
    arithmetic: Arithmetic
    fresh: frozenset[str] = frozenset()  # weights that the checkpoint did not have: they are initialised at random
    note: str | None = None  # what was found while loading, for the reporter
    long_texts: LongTexts = "head"
    head_share: float = 0.25

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        device: torch.device = next(iter(self.model.parameters())).device
        return device

    def tokenise(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[TokenRow]:
        """Ids with the model's special tokens, truncated to `max_length`; the longer text of a pair is cut first."""
        return self._tokens(texts, pairs).rows()

    def _tokens(self, texts: Sequence[str], pairs: Sequence[str] | None) -> Tokens:
        tokens = tokens_of(
            self.tokenizer,
            self._with_own_mask(texts),
            None if pairs is None else self._with_own_mask(pairs),
            max_length=self.max_length,
            long_texts=self.long_texts,
            head_share=self.head_share,
        )
        return tokens if tokens.lengths.all() else tokens.without_empty_rows(token_of_empty_texts(self.tokenizer))

    def _with_own_mask(self, texts: Sequence[str]) -> list[str]:
        """Texts have the student's mask token for a masked word; replace it by the mask token of this tokenizer."""
        own = self.tokenizer.mask_token or self.tokenizer.unk_token
        if own is None or own == MASK:
            return list(texts)
        return [text.replace(MASK, own) if MASK in text else text for text in texts]

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
    ) -> Logits:
        """(rows, classes) in the order of the texts; in eval mode, without gradients."""
        return self._asked(texts, pairs, pooling=None, tokens_per_batch=tokens_per_batch, bar=bar)[0]

    def logits_and_features(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        pooling: Pooling,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> tuple[Logits, Features]:
        """The logits as `logits` gives them, and (rows, width): one vector for each row, from its last hidden states.

        "cls" is the state of the token that the classifier reads, "mean" the mean over all tokens except padding. An
        encoder that reads two texts separately has one vector for both poolings: the input of its classifier.
        """
        logits, features = self._asked(texts, pairs, pooling=pooling, tokens_per_batch=tokens_per_batch, bar=bar)
        assert features is not None, "asked with a pooling"
        return logits, features

    def in_turn(
        self,
        blocks: Iterable[Block],
        *,
        pooling: Pooling | None = None,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> Generator[Answer, None, None]:
        """The result of `logits` for one block of texts after the other; with a pooling, of `logits_and_features`.

        While a GPU computes a block, the next one is tokenised here, on another thread. If the model runs on the CPU,
        the two would compete for it. Close the generator if it may not be exhausted.
        """
        readings = (self._read(texts, pairs, tokens_per_batch=tokens_per_batch) for texts, pairs in blocks)
        with closing(prefetched(readings) if self._is_on_gpu else readings) as read:
            for reading in read:
                yield self._computed(reading, pooling=pooling, bar=bar)

    def _asked(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        pooling: Pooling | None,
        tokens_per_batch: int | None,
        bar: Bar | None,
    ) -> Answer:
        """All texts as one block; as several if a GPU would be idle until the last text is tokenised."""
        if not self._is_on_gpu or len(texts) <= ROWS_AHEAD:
            return self._computed(self._read(texts, pairs, tokens_per_batch=tokens_per_batch), pooling=pooling, bar=bar)
        lengths = [len(text) + len(pair) for text, pair in zip(texts, pairs or repeat(""), strict=False)]
        order = np.argsort(lengths, kind="stable")[::-1]  # if memory runs out, it does so at the start
        parts = [order[start : start + ROWS_AHEAD] for start in range(0, len(order), ROWS_AHEAD)]
        blocks = ((_chosen(texts, part), None if pairs is None else _chosen(pairs, part)) for part in parts)
        with closing(self.in_turn(blocks, pooling=pooling, tokens_per_batch=tokens_per_batch, bar=bar)) as answers:
            logits, features = zip(*answers, strict=True)
        back = np.argsort(order)
        return np.concatenate(logits)[back], None if pooling is None else np.concatenate(features)[back]

    def _read(self, texts: Sequence[str], pairs: Sequence[str] | None, *, tokens_per_batch: int | None) -> Reading:
        """Tokenise and batch these texts, ready to be sent to the device."""
        batches = self._batches(self._tokens(texts, pairs), tokens_per_batch=tokens_per_batch)
        return Reading(len(texts), list(batches) if self._is_on_gpu else batches)

    def _computed(self, reading: Reading, *, pooling: Pooling | None, bar: Bar | None) -> Answer:
        config = self.model.config
        found = torch.zeros((reading.rows, config.num_labels), device=self.device)
        width = getattr(config, "pair_feature_size", config.hidden_size) if pooling else 0
        features = torch.zeros((reading.rows, width), dtype=torch.float16, device=self.device)
        with self._asking():
            for places, batch in self._sent(reading.batches, bar=bar):
                answer = self.model(**batch, **({"output_hidden_states": True} if pooling else {}))
                found[places] = answer.logits.float()  # copied to the CPU at the end: no batch waits
                own = getattr(answer, "features", None)
                if pooling and own is not None:
                    features[places] = own.half()
                elif pooling:
                    states = answer.hidden_states[-1].float()
                    mask = batch["attention_mask"].bool()
                    pooled = self._state_read(states, batch) if pooling == "cls" else mean_state(states, mask)
                    features[places] = pooled.half()
        return found.cpu().numpy(), features.cpu().numpy() if pooling else None

    def _state_read(self, states: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        """(rows, width): the state of the token that the classifier reads; padding is on the other side."""
        if self._is_decoder:
            places = place_read(batch[IDS], padding=self.tokenizer.pad_token_id)
            return states[torch.arange(len(places), device=states.device), places]
        return states[:, -1 if reads_last_token(self.model.config) else 0]

    @cached_property
    def _is_decoder(self) -> bool:
        return is_decoder(self.model.config)

    def word_states(
        self, words: Sequence[str], *, are_pieces: bool, bar: Bar, tokens_per_batch: int | None = None
    ) -> npt.NDArray[np.float32]:
        """(words, width): for each word alone, the mean of its last hidden states without the special tokens.

        With `are_pieces` the words are tokens of this tokenizer: tokenising "##ing" again would change it. A word
        without any token gets the mean of all others.
        """
        tokens = Tokens.of(self._pieces(words)) if are_pieces else self._tokens(words, None)
        ids = set(self.tokenizer.all_special_ids) - {self.tokenizer.unk_token_id}
        special = torch.tensor(sorted(ids), dtype=torch.long, device=self.device)
        found = torch.zeros((len(words), self.model.config.hidden_size), device=self.device)
        has_tokens = torch.zeros(len(words), dtype=torch.bool, device=self.device)
        with self._asking():
            for places, batch in self._sent(self._batches(tokens, tokens_per_batch=tokens_per_batch), bar=bar):
                states = self.model(**batch, output_hidden_states=True).hidden_states[-1].float()
                inside = batch["attention_mask"].bool() & ~torch.isin(batch["input_ids"], special)
                found[places], has_tokens[places] = mean_state(states, inside), inside.any(dim=1)
        found[~has_tokens] = found.sum(dim=0) / has_tokens.sum().clamp(min=1)
        return found.cpu().numpy()

    def _pieces(self, pieces: Sequence[str]) -> list[TokenRow]:
        """Each piece as one token, between the special tokens of a text."""
        row = self.tokenizer("a", return_special_tokens_mask=True)
        of_text = [place for place, is_special in enumerate(row.pop("special_tokens_mask")) if not is_special]
        first, end = of_text[0], of_text[-1] + 1
        frame = {name: [*column[: first + 1], *column[end:]] for name, column in row.items()}
        before, after = frame["input_ids"][:first], frame["input_ids"][first + 1 :]
        numbers = self.tokenizer.convert_tokens_to_ids(list(pieces))
        return [{**frame, "input_ids": [*before, number, *after]} for number in numbers]

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Eval mode, no gradients, in the precision that it was evaluated in."""
        autocast = torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.arithmetic == "bf16")
        with evaluating(self.model), autocast:
            yield

    @property
    def _is_on_gpu(self) -> bool:
        """Whether the model runs on a GPU, so that the CPU is free."""
        return self.device.type != "cpu"

    def _batches(self, tokens: Tokens, *, tokens_per_batch: int | None) -> Iterator[Batch]:
        """The positions of rows of similar length, and these rows padded to one length."""
        budget = tokens_per_batch or TOKENS_PER_BATCH.get(self.device.type, TOKENS_PER_BATCH["cpu"])
        for places in token_budget_batches(tokens.lengths, tokens_per_batch=budget):
            yield places, padded(tokens, places, self.tokenizer)

    def _sent(self, batches: Iterable[Batch], *, bar: Bar | None) -> Iterator[tuple[Tensor, dict[str, Tensor]]]:
        """Batches on the model's device; advances the bar after each."""
        for places, batch in batches:
            yield (
                sent(torch.from_numpy(places), self.device),
                {name: sent(tensor, self.device) for name, tensor in batch.items()},
            )
            if bar:
                bar.advance(len(places))

    def save(self, folder: Path) -> None:
        """Write a Hugging Face folder."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def _chosen(texts: Sequence[str], places: npt.NDArray[np.int64]) -> list[str]:
    return [texts[place] for place in places]


def mean_state(states: Tensor, inside: Tensor) -> Tensor:
    """(rows, width): the mean of the states (rows, tokens, width) that are inside; zeros if none is."""
    return (states * inside[..., None]).sum(dim=1) / inside.sum(dim=1, keepdim=True).clamp(min=1)


def padded_batch(rows: Sequence[Mapping[str, list[int]]], tokenizer: Any) -> dict[str, Tensor]:
    """The rows, padded as by `padded`; all columns of a row have the same length."""
    return padded(Tokens.of(rows), np.arange(len(rows)), tokenizer)


def padded(tokens: Tokens, chosen: Numbers, tokenizer: Any) -> dict[str, Tensor]:
    """(rows, tokens) for each column of the chosen rows, padded on the tokenizer's side with its padding values.

    The result always has an attention mask.
    """
    lengths = tokens.lengths[chosen]
    width = int(lengths.max(initial=0))
    first = np.zeros_like(lengths) if tokenizer.padding_side == "right" else width - lengths
    places = np.arange(width)[None, :] - first[:, None]  # in the row
    inside = (places >= 0) & (places < lengths[:, None])
    taken = (tokens.starts[chosen][:, None] + places)[inside]
    values = padding_values(tokenizer)
    found = {"attention_mask": torch.from_numpy(inside.astype(np.int64))}
    for name, column in tokens.columns.items():
        block = np.full(inside.shape, values.get(name, 0), dtype=np.int64)
        block[inside] = column[taken]
        found[name] = torch.from_numpy(block)
    return found


def padding_values(tokenizer: Any) -> dict[str, int]:
    """The padding value of each column; 0 for all others."""
    return {IDS: tokenizer.pad_token_id, TYPES: tokenizer.pad_token_type_id}
