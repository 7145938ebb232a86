"""A sequence classifier of transformers with its tokenizer: asked for logits, or for the states of single words."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import CheckpointDamaged, some
from limbeck.progress import Bar
from limbeck.training.batches import token_budget_batches
from limbeck.training.device import Arithmetic, sent, training_device
from limbeck.training.modes import evaluating, quiet_transformers

# A GPU wants large batches. A CPU does not: from about 8,000 tokens on, the states of a layer outgrow what the C
# library keeps for reuse, and every layer begins by asking the system for fresh memory (twice as slow when measured).
TOKENS_PER_BATCH = {"cpu": 4096, "cuda": 65_536}


@dataclass
class Encoder:
    """A model, its tokenizer, and how it is to be asked."""

    model: Any  # a transformers model for sequence classification
    tokenizer: Any
    max_length: int
    arithmetic: Arithmetic
    fresh: frozenset[str] = frozenset()  # weights that the checkpoint did not have: they start at random

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        device: torch.device = next(iter(self.model.parameters())).device
        return device

    def tokenise(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[dict[str, list[int]]]:
        """Ids with the model's own special tokens, cut to `max_length`; of a pair the longer text is cut first."""
        if not texts:
            return []
        columns = self.tokenizer(
            list(texts),
            list(pairs) if pairs is not None else None,
            truncation=True,
            max_length=self.max_length,
        )
        return [{name: column[row] for name, column in columns.items()} for row in range(len(texts))]

    def batch(self, rows: Sequence[Mapping[str, list[int]]]) -> dict[str, Tensor]:
        """Padded as this tokenizer pads, on the model's device."""
        padded = self.tokenizer.pad([dict(row) for row in rows], return_tensors="pt")
        return {name: sent(tensor, self.device) for name, tensor in padded.items()}

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
        with evaluating(self.model), self._autocast():
            for places in token_budget_batches(
                _lengths(rows), tokens_per_batch=tokens_per_batch or self._tokens_per_batch()
            ):
                answer = self.model(**self.batch([rows[place] for place in places])).logits
                found[sent(torch.from_numpy(places), self.device)] = answer.float()  # read at the end: no batch waits
                if bar:
                    bar.advance(len(places))
        return found.cpu().numpy()

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
        counts = torch.zeros(len(rows), 1, device=self.device)  # tokens of each word
        with evaluating(self.model), self._autocast():
            for places in token_budget_batches(
                _lengths(rows), tokens_per_batch=tokens_per_batch or self._tokens_per_batch()
            ):
                batch = self.batch([rows[place] for place in places])
                chosen = sent(torch.from_numpy(places), self.device)
                states = self.model(**batch, output_hidden_states=True).hidden_states[-1].float()
                inside = batch["attention_mask"].bool() & ~torch.isin(batch["input_ids"], special)
                found[chosen] = (states * inside[..., None]).sum(dim=1)
                counts[chosen] = inside.sum(dim=1, keepdim=True).float()
                bar.advance(len(places))
        found /= counts.clamp(min=1)
        found[counts[:, 0] == 0] = found.sum(dim=0) / (counts > 0).sum().clamp(min=1)
        return found.cpu().numpy()

    def _pieces(self, pieces: Sequence[str]) -> list[dict[str, list[int]]]:
        """Each piece as it is, between the special tokens that stand around a text."""
        row = self.tokenizer("a", return_special_tokens_mask=True)
        before = row["special_tokens_mask"].index(0)
        behind = before + row["special_tokens_mask"].count(0)
        numbers = self.tokenizer.convert_tokens_to_ids(list(pieces))
        rows = [[*row["input_ids"][:before], number, *row["input_ids"][behind:]] for number in numbers]
        return [{"input_ids": ids, "attention_mask": [1] * len(ids)} for ids in rows]

    def _tokens_per_batch(self) -> int:
        return TOKENS_PER_BATCH.get(self.device.type, TOKENS_PER_BATCH["cpu"])

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.arithmetic == "bf16")

    def save(self, folder: Path) -> None:
        """As a Hugging Face folder."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def load_encoder(
    folder: Path, *, max_length: int, arithmetic: Arithmetic, labels: Sequence[str] | None = None
) -> Encoder:
    """From a Hugging Face folder; with `labels` the head is made for them, fresh unless it has as many classes."""
    quiet_transformers()
    classes: dict[str, Any] = {}
    if labels is not None:
        classes = {
            "num_labels": len(labels),
            "id2label": dict(enumerate(labels)),
            "label2id": {label: number for number, label in enumerate(labels)},
            "ignore_mismatched_sizes": True,
        }
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True)
        model, loading = AutoModelForSequenceClassification.from_pretrained(
            folder, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **classes
        )
    except Exception as error:  # whatever a broken checkpoint makes transformers raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise CheckpointDamaged(path=folder, reason=reason) from error
    _refuse_strange_weights(model, missing=loading["missing_keys"], folder=folder)
    # Tokenising once and padding each batch by itself is what we want; the hint against it is for other uses.
    tokenizer.deprecation_warnings["Asking-to-pad-a-fast-tokenizer"] = True
    return Encoder(
        model=model,
        tokenizer=tokenizer,
        max_length=min(max_length, _positions(model) or max_length),
        arithmetic=arithmetic,
        fresh=frozenset(loading["missing_keys"]),
    )


def _refuse_strange_weights(model: Any, *, missing: Collection[str], folder: Path) -> None:
    """Transformers starts what it does not find at random, and says so in a warning that nobody sees here."""
    encoder = [name for name, _ in model.named_parameters() if name.startswith(f"{model.base_model_prefix}.")]
    lost = [name for name in encoder if name in missing]
    if 2 * len(lost) > len(encoder):
        reason = f"{len(lost)} of the {len(encoder)} weights of its config are not in its files: {some(lost)}"
        raise CheckpointDamaged(path=folder, reason=reason)


def _positions(model: Any) -> int | None:
    """How many tokens the model has positions for; None when it has no such limit."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.num_embeddings - module.padding_idx - 1)  # RoBERTa and MPNet count from behind padding
    limit = getattr(model.config, "max_position_embeddings", None)
    return limit if isinstance(limit, int) and limit > 0 else None


def _lengths(rows: Sequence[Mapping[str, list[int]]]) -> npt.NDArray[np.int64]:
    return np.array([len(row["input_ids"]) for row in rows], dtype=np.int64)


def open_teacher(teacher: TeacherFolder) -> Encoder:
    """The fine-tuned teacher of a run, ready to be asked, on the GPU if there is one."""
    facts = teacher.facts
    arithmetic: Arithmetic = "bf16" if facts.precision == "bf16" else "fp32"
    encoder = load_encoder(teacher.folder, max_length=facts.max_length, arithmetic=arithmetic)
    model: nn.Module = encoder.model
    model.to(training_device()).eval()
    return encoder
