"""A sequence classifier of transformers with its tokenizer: asked for logits, or for the states of single words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import CheckpointDamaged
from limbeck.progress import Bar
from limbeck.training.batches import token_budget_batches
from limbeck.training.device import Arithmetic
from limbeck.training.modes import evaluating, quiet_transformers


@dataclass
class Encoder:
    """A model, its tokenizer, and how it is to be asked."""

    model: Any  # a transformers model for sequence classification
    tokenizer: Any
    max_length: int
    arithmetic: Arithmetic

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
        return {name: tensor.to(self.device) for name, tensor in padded.items()}

    def logits(
        self, texts: Sequence[str], pairs: Sequence[str] | None, *, tokens_per_batch: int, bar: Bar | None = None
    ) -> npt.NDArray[np.float32]:
        """(rows, classes) in the order of the texts; in eval mode, without gradients, whatever the batch."""
        rows = self.tokenise(texts, pairs)
        lengths = np.array([len(row["input_ids"]) for row in rows], dtype=np.int64)
        found = np.zeros((len(rows), self.model.config.num_labels), dtype=np.float32)
        with evaluating(self.model), self._autocast():
            for places in token_budget_batches(lengths, tokens_per_batch=tokens_per_batch):
                answer = self.model(**self.batch([rows[place] for place in places])).logits
                found[places] = answer.float().cpu().numpy()
                if bar:
                    bar.advance(len(places))
        return found

    def word_states(self, words: Sequence[str], *, tokens_per_batch: int, bar: Bar) -> npt.NDArray[np.float32]:
        """(words, width): for each word alone, the mean of its last hidden states without the special tokens."""
        rows = self.tokenise(words)
        lengths = np.array([len(row["input_ids"]) for row in rows], dtype=np.int64)
        special = set(self.tokenizer.all_special_ids) - {self.tokenizer.unk_token_id}
        found = np.zeros((len(rows), self.model.config.hidden_size), dtype=np.float32)
        with evaluating(self.model), self._autocast():
            for places in token_budget_batches(lengths, tokens_per_batch=tokens_per_batch):
                batch = self.batch([rows[place] for place in places])
                states = self.model(**batch, output_hidden_states=True).hidden_states[-1].float()
                inside = torch.isin(batch["input_ids"], torch.tensor(sorted(special), device=self.device)).logical_not()
                inside = inside & batch["attention_mask"].bool()
                sums = (states * inside[..., None]).sum(dim=1)
                found[places] = (sums / inside.sum(dim=1, keepdim=True).clamp(min=1)).cpu().numpy()
                bar.advance(len(places))
        return found

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
        model = AutoModelForSequenceClassification.from_pretrained(
            folder, use_safetensors=True, dtype=torch.float32, **classes
        )
    except Exception as error:  # whatever a broken checkpoint makes transformers raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise CheckpointDamaged(path=folder, reason=reason) from error
    # Tokenising once and padding each batch by itself is what we want; the hint against it is for other uses.
    tokenizer.deprecation_warnings["Asking-to-pad-a-fast-tokenizer"] = True
    limit = getattr(model.config, "max_position_embeddings", None)
    max_length = min(max_length, limit) if isinstance(limit, int) and limit > 0 else max_length
    return Encoder(model=model, tokenizer=tokenizer, max_length=max_length, arithmetic=arithmetic)


def open_teacher(teacher: TeacherFolder) -> Encoder:
    """The fine-tuned teacher of a run, ready to be asked, on the GPU if there is one."""
    facts = teacher.facts
    arithmetic: Arithmetic = "bf16" if facts.precision == "bf16" else "fp32"
    encoder = load_encoder(teacher.folder, max_length=facts.max_length, arithmetic=arithmetic)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model: nn.Module = encoder.model
    model.to(device).eval()
    return encoder
