"""What a student is trained or judged on: rows as tokens on the device, their labels, and what the teacher said."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.text.framed_tokenizer import FramedTokenizer
from limbeck.text.student_tokenizer import PAD_ID, StudentTokenizer
from limbeck.training.cuda_graphs import Slots, Widths
from limbeck.training.device import sent
from limbeck.training.token_rows import TokenRows

ROWS_AT_ONCE = 65_536  # whose texts are in memory while they are tokenised

TokenizerKind = Literal["words", "framed"]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TrainingRows:
    """Rows as tokens, their labels, and what the teacher said (nothing, if alone)."""

    columns: dict[str, TokenRows]  # "input_ids"; of pairs "pair_ids" for words, "token_type_ids" in a frame
    pad: int
    labels: Tensor  # (rows), or (rows, classes) with several labels a row; -1 where there is none
    teacher_logits: Tensor  # (rows, classes)
    teacher_features: Tensor | None = None  # (rows, width), in half precision

    def __len__(self) -> int:
        return len(self.labels)

    def inputs(self, places: Places | Slots) -> dict[str, Tensor]:
        """The model's inputs for these rows."""
        slots = self.slots(places)
        width, *others = slots.widths
        ids, mask = self.columns["input_ids"].padded(slots.chosen, width=width, pad=self.pad)
        found = {"input_ids": ids, "attention_mask": mask}
        if "pair_ids" in self.columns:
            pairs = self.columns["pair_ids"].padded(slots.chosen, width=others[0], pad=self.pad)
            found["pair_ids"], found["pair_mask"] = pairs
        if "token_type_ids" in self.columns:
            found["token_type_ids"], _ = self.columns["token_type_ids"].padded(slots.chosen, width=width, pad=0)
        return found

    def widths(self, places: Places) -> list[int]:
        """Tokens of the longest of these rows; where two texts are read apart, of each."""
        names = [name for name in ("input_ids", "pair_ids") if name in self.columns]
        return [self.columns[name].width(places) for name in names]

    def all_widths(self) -> Widths:
        """For steps that are captured."""
        return Widths(self.widths, most=int(self.lengths().max(initial=1)))

    def slots(self, places: Places | Slots) -> Slots:
        """The rows on the device, padded to the longest."""
        return places if isinstance(places, Slots) else Slots(self.chosen(places), tuple(self.widths(places)))

    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each row; of two texts that are read apart, those of the longer one."""
        lengths = self.columns["input_ids"].lengths
        return np.maximum(lengths, self.columns["pair_ids"].lengths) if "pair_ids" in self.columns else lengths

    def chosen(self, places: Places) -> Tensor:
        """The places on the device."""
        return sent(torch.from_numpy(places), self.labels.device)


def training_rows_of(
    rows: Rows,
    labels: TeacherLabels | None,
    *,
    tokenizer: Path,
    kind: TokenizerKind,
    classes: int,
    max_length: int,
    with_features: bool,
    device: torch.device,
) -> TrainingRows:
    """Tokenise the rows once, and put all that the training needs of them on the device."""
    said: npt.NDArray[Any] = labels.for_rows(rows.ids) if labels else np.zeros((len(rows), classes), dtype=np.float32)
    features = torch.from_numpy(labels.features_for(rows.ids)).to(device) if labels and with_features else None
    if kind == "framed":
        framed = FramedTokenizer.load(tokenizer)
        columns, pad = _framed(rows, framed, max_length=max_length, device=device), framed.pad_id
    else:
        words = StudentTokenizer.load(tokenizer)
        columns, pad = _words(rows, words, max_length=max_length, device=device), PAD_ID
    return TrainingRows(
        columns=columns,
        pad=pad,
        labels=torch.from_numpy(rows.labels.copy()).to(device),
        teacher_logits=torch.from_numpy(said).to(device),
        teacher_features=features,
    )


def _words(rows: Rows, tokenizer: StudentTokenizer, *, max_length: int, device: torch.device) -> dict[str, TokenRows]:
    def tokens(column: Literal["texts", "pairs"]) -> TokenRows:
        blocks = (getattr(block, column) for block in rows.slices(ROWS_AT_ONCE))
        return TokenRows.of((tokenizer.encode(block, max_length=max_length) for block in blocks), device=device)

    found = {"input_ids": tokens("texts")}
    return {**found, "pair_ids": tokens("pairs")} if rows.is_pair else found


def _framed(rows: Rows, tokenizer: FramedTokenizer, *, max_length: int, device: torch.device) -> dict[str, TokenRows]:
    """One text of ids for each row, also of a pair; and where a pair's second text begins, if the teacher tells so."""
    blocks = rows.slices(ROWS_AT_ONCE)
    if not rows.is_pair:
        ids = (tokenizer.encode(block.texts, max_length=max_length) for block in blocks)
        return {"input_ids": TokenRows.of(ids, device=device)}
    names = ("input_ids", "token_type_ids") if tokenizer.has_types else ("input_ids",)
    both = (tokenizer.encode_pairs(block.texts, block.pairs or [], max_length=max_length) for block in blocks)
    return dict(zip(names, TokenRows.together(both, columns=len(names), device=device), strict=True))
