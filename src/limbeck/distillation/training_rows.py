"""The rows that a student is trained or evaluated on: tokens on the device, labels, and the teacher's answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import NO_LABEL, Rows, joined
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.text.framed_tokenizer import FramedTokenizer
from limbeck.text.student_tokenizer import PAD_ID, StudentTokenizer
from limbeck.training.cuda_graphs import Slots, Widths
from limbeck.training.device import sent
from limbeck.training.token_rows import TokenRows

ROWS_AT_ONCE = 65_536  # tokenised at a time, to limit the texts in memory

TokenizerKind = Literal["words", "framed"]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TrainingRows:
    """Rows as tokens, their labels, and the teacher's answers (zeros for the baseline)."""

    columns: dict[str, TokenRows]  # "input_ids"; for pairs also "pair_ids" (words) or "token_type_ids" (framed)
    pad: int
    # (rows), or (rows, classes) with several labels per row; -1 on rows without a label. Scores: NaN on rows without
    labels: Tensor
    teacher_logits: Tensor  # (rows, classes)
    teacher_features: Tensor | None = None  # (rows, width), in half precision
    row_numbers: Tensor | None = None  # (rows): the place of each row's id among all ids in sorted order

    def __len__(self) -> int:
        return len(self.labels)

    def row_groups(self) -> Tensor | None:
        """(rows), by row number: its class, or without a label the teacher's best one; with several labels per row, and
        for scores, every row is a group of its own."""
        if self.row_numbers is None or self.labels.ndim > 1 or self.labels.is_floating_point():
            return self.row_numbers
        groups = torch.where(self.labels == NO_LABEL, self.teacher_logits.argmax(dim=-1), self.labels)
        return torch.empty_like(groups).index_copy(0, self.row_numbers, groups)

    def inputs(self, places: Places | Slots) -> dict[str, Tensor]:
        """The model's inputs for these rows."""
        slots = self.slots(places)
        width, *others = slots.widths
        ids, mask = self.columns["input_ids"].padded(slots.chosen, width=width, pad=self.pad)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if "pair_ids" in self.columns:
            pairs = self.columns["pair_ids"].padded(slots.chosen, width=others[0], pad=self.pad)
            inputs["pair_ids"], inputs["pair_mask"] = pairs
        if "token_type_ids" in self.columns:
            inputs["token_type_ids"], _ = self.columns["token_type_ids"].padded(slots.chosen, width=width, pad=0)
        return inputs

    def widths(self, places: Places) -> list[int]:
        """Tokens of the longest of these rows; of each text, if the two texts of a pair are read separately."""
        names = [name for name in ("input_ids", "pair_ids") if name in self.columns]
        return [self.columns[name].width(places) for name in names]

    def all_widths(self) -> Widths:
        """The widths of all batches, for steps that are captured."""
        return Widths(self.widths, most=int(self.lengths().max(initial=1)))

    def slots(self, places: Places | Slots) -> Slots:
        """The row numbers on the device, and the width to pad to."""
        return places if isinstance(places, Slots) else Slots(self.chosen(places), tuple(self.widths(places)))

    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each row; those of the longer text, if the two texts of a pair are read separately."""
        lengths = self.columns["input_ids"].lengths
        return np.maximum(lengths, self.columns["pair_ids"].lengths) if "pair_ids" in self.columns else lengths

    def chosen(self, places: Places) -> Tensor:
        """The row numbers on the device."""
        return sent(torch.from_numpy(places), self.labels.device)


def rows_to_train_on(corpus: Corpus, extra: Sequence[Rows], labels: TeacherLabels | None) -> Rows:
    """What the student is trained on: without a teacher the labelled rows, else all rows with the teacher's labels."""
    if labels is None:
        return corpus.splits["train"]
    rows = joined([corpus.splits["train"], *extra])
    if not any(labels.facts.get("uncovered", {}).values()):
        return rows
    return rows.select(np.flatnonzero(labels.covers(rows.ids)))


def training_rows_of(
    rows: Rows,
    labels: TeacherLabels | None,
    *,
    tokenizer: Path,
    kind: TokenizerKind,
    classes: int,
    max_length: int,
    with_features: bool,
    with_numbers: bool = False,
    device: torch.device,
    foreign: Sequence[Rows] = (),
) -> TrainingRows:
    """Tokenise the rows once, and copy what the training needs to the device.

    `foreign` rows come behind the others, with logits of zero: equal probabilities for all labels.
    """
    logits: npt.NDArray[Any] = labels.for_rows(rows.ids) if labels else np.zeros((len(rows), classes), np.float32)
    if foreign:
        flat = np.zeros((sum(map(len, foreign)), classes), logits.dtype)
        logits, rows = np.concatenate([logits, flat]), joined([rows, *foreign])
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
        labels=torch.from_numpy(_labels(rows)).to(device),
        teacher_logits=torch.from_numpy(logits).to(device),
        teacher_features=features,
        row_numbers=_numbers(rows.ids).to(device) if with_numbers else None,
    )


def _numbers(ids: Sequence[str]) -> Tensor:
    """Ids are unique, so sorting gives each a number that does not depend on the order of the rows."""
    return torch.from_numpy(np.argsort(np.argsort(np.asarray(ids))))


def _labels(rows: Rows) -> npt.NDArray[Any]:
    """A copy that torch may write to; scores in the precision of the networks, which not every device exceeds."""
    return rows.labels.astype(np.float32 if rows.labels.dtype.kind == "f" else rows.labels.dtype, copy=True)


def _words(rows: Rows, tokenizer: StudentTokenizer, *, max_length: int, device: torch.device) -> dict[str, TokenRows]:
    def tokens(column: Literal["texts", "pairs"]) -> TokenRows:
        blocks = (getattr(block, column) for block in rows.slices(ROWS_AT_ONCE))
        return TokenRows.of((tokenizer.encode(block, max_length=max_length) for block in blocks), device=device)

    columns = {"input_ids": tokens("texts")}
    return {**columns, "pair_ids": tokens("pairs")} if rows.is_pair else columns


def _framed(rows: Rows, tokenizer: FramedTokenizer, *, max_length: int, device: torch.device) -> dict[str, TokenRows]:
    """One sequence of ids per row, also for a pair; and the token types of pairs, if the tokenizer has them."""
    blocks = rows.slices(ROWS_AT_ONCE)
    if not rows.is_pair:
        ids = (tokenizer.encode(block.texts, max_length=max_length) for block in blocks)
        return {"input_ids": TokenRows.of(ids, device=device)}
    names = ("input_ids", "token_type_ids") if tokenizer.has_types else ("input_ids",)
    both = (tokenizer.encode_pairs(block.texts, block.pairs or [], max_length=max_length) for block in blocks)
    return dict(zip(names, TokenRows.together(both, columns=len(names), device=device), strict=True))
