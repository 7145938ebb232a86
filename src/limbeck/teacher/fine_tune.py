"""Fine-tuning an encoder on the corpus: every weight, or its head alone; in one process, or in several."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows, some_of_every_class
from limbeck.models.mean_encoder import MeanEncoderConfig
from limbeck.progress import Reporter, TerminalReporter
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.teacher.checkpoint import find_checkpoint
from limbeck.teacher.encoder import Encoder, padding_values
from limbeck.teacher.loading import load_encoder
from limbeck.teacher.probe import fit_head
from limbeck.teacher.tokens import MASK, Tokens
from limbeck.training.batches import length_batches
from limbeck.training.checkpoints import best_of
from limbeck.training.cuda_graphs import Slots, Widths
from limbeck.training.device import choose_arithmetic
from limbeck.training.epochs import Progress, on_dev
from limbeck.training.loop import train
from limbeck.training.modes import evaluating
from limbeck.training.processes import process_count, reporter_of_member, run_together
from limbeck.training.skill import judged, skill
from limbeck.training.token_rows import TokenRows
from limbeck.training.tracks import Tracks

History = list[dict[str, Any]]
HISTORY = "history.json"  # in the work folder: what a group of processes found
# Others ask the GPU for a number in every step (XLM, Longformer), or draw on the CPU which layers to leave out (BART).
CAPTURABLE = {"albert", "bert", "camembert", "distilbert", "electra", "ernie", "mpnet", "roberta", "xlm-roberta"}


def start_encoder(section: EncoderTeacher, *, corpus: Corpus) -> Encoder:
    """The checkpoint with a head for the corpus's classes; the seed fixes its new weights."""
    torch.manual_seed(section.seed)
    encoder = load_encoder(
        find_checkpoint(section.checkpoint),
        max_length=section.max_length,
        long_texts=section.long_texts,
        head_share=section.head_share,
        arithmetic=choose_arithmetic(section.precision),
        labels=corpus.labels,
        task=corpus.task,
        label_names=section.label_names,
        apart=section.pairs == "apart",
        head=section.head,
    )
    if section.train == "head":
        _freeze_encoder(encoder)
    return encoder


def fine_tune(
    encoder: Encoder,
    section: EncoderTeacher,
    *,
    corpus: Corpus,
    work: Path,
    reporter: Reporter,
    tracks: Tracks,
    name: str,
) -> History:
    """Leave the weights of the epoch that is kept in the encoder; returns what was found after every epoch, with
    `"kept": True` in that one's entry."""
    processes = process_count(section.processes)
    if processes == 1:
        return _fine_tune_here(encoder, section, corpus=corpus, work=work, reporter=reporter, tracks=tracks, name=name)
    reporter.note(f"  fine-tuning in {processes} processes")
    work.mkdir(parents=True, exist_ok=True)
    job = {
        "section": section.model_dump(mode="json"),
        "corpus": str(corpus.folder.resolve()),
        "work": str(work.resolve()),
        "tracks": {**asdict(tracks), "folder": str(tracks.folder.resolve())},
        "prints": isinstance(reporter, TerminalReporter),
        "name": name,
    }
    run_together("limbeck.teacher.fine_tune:fine_tune_as_member", job, processes=processes)
    encoder.model.load_state_dict(best_of(work))
    history: History = json.loads((work / HISTORY).read_text(encoding="utf-8"))
    return history


def fine_tune_as_member(job: Mapping[str, Any]) -> None:
    """One process of a group: everything is loaded again, the same in each; the first one saves the results."""
    section, corpus = EncoderTeacher.model_validate(job["section"]), Corpus(Path(job["corpus"]))
    tracks = Tracks(**{**job["tracks"], "folder": Path(job["tracks"]["folder"])})
    history = _fine_tune_here(
        start_encoder(section, corpus=corpus),
        section,
        corpus=corpus,
        work=Path(job["work"]),
        reporter=reporter_of_member(prints=job["prints"]),
        tracks=tracks,
        name=job["name"],
    )
    if os.environ.get("RANK", "0") == "0":
        (Path(job["work"]) / HISTORY).write_text(json.dumps(history), encoding="utf-8")


def _fine_tune_here(
    encoder: Encoder,
    section: EncoderTeacher,
    *,
    corpus: Corpus,
    work: Path,
    reporter: Reporter,
    tracks: Tracks,
    name: str,
) -> History:
    rows = rows_to_learn(corpus.splits["train"], section)
    tokens = encoder.tokenise(rows.texts, rows.pairs)
    lengths = np.array([len(row["input_ids"]) for row in tokens], dtype=np.int64)
    labels = label_tensor(rows)
    loss = label_loss(corpus)
    widths = Widths(lambda places: [int(lengths[places].max())], most=int(lengths.max(initial=1)))
    if section.compile:
        _compile(encoder.model)

    def batches(epoch: int) -> list[npt.NDArray[np.int64]]:
        return length_batches(lengths, batch_size=section.batch_size, seed=section.seed, epoch=epoch)

    @cache
    def table() -> TokenTable:
        return TokenTable.of(Tokens.of(tokens), labels, tokenizer=encoder.tokenizer, device=encoder.device)

    def losses(model: nn.Module, places: npt.NDArray[np.int64] | Slots, _done: float) -> dict[str, Tensor]:
        if isinstance(places, Slots):
            batch, wanted = table().inputs(places), table().labels[places.chosen]
        else:
            batch, wanted = encoder.batch([tokens[place] for place in places]), labels[places].to(encoder.device)
        return {"hard_labels": loss(model(**batch).logits.float(), wanted)}

    def validate(model: nn.Module) -> dict[str, float]:
        with evaluating(model):
            return judge(encoder, corpus.splits["dev"], by_macro_f1=corpus.is_uneven)

    def judge_start() -> dict[str, float]:
        found = validate(encoder.model)
        reporter.note(f"  head on the frozen encoder: {on_dev(found)}; fine-tuning starts from there")
        return found

    fits = section.head == "mean"
    fitted = fit_head(encoder, rows, corpus=corpus, loss=loss, reporter=reporter) if fits else None
    progress = train(
        encoder.model,
        section,
        arithmetic=encoder.arithmetic,
        batches=batches,
        losses=losses,
        validate=validate,
        work_folder=work,
        reporter=reporter,
        what=f"fine-tuning {name} ({encoder.arithmetic})",
        tracks=tracks,
        keep=section.keep,
        judge_start=judge_start if fits else None,
        widths=widths if can_be_captured(encoder, section) else None,
    )
    return _whole_history(progress, fitted, reporter)


def rows_to_learn(train: Rows, section: EncoderTeacher) -> Rows:
    """The training rows, or `max_rows` of them with some of every class."""
    return some_of_every_class(train, most=section.max_rows, seed=section.seed)


def _whole_history(progress: Progress, fitted: dict[str, Any] | None, reporter: Reporter) -> History:
    """The epochs, after the fitted head if there was one; the one that is kept is marked."""
    start = [] if fitted is None else [{**fitted, **(progress.start or {})}]
    history = [*start, *({**entry} for entry in progress.history)]
    history[len(start) + progress.best_epoch]["kept"] = True
    if progress.best_epoch < 0:
        reporter.note("  no epoch was better on dev than the head on the frozen encoder, which is kept")
    return history


def can_be_captured(encoder: Encoder, section: EncoderTeacher) -> bool:
    """Whether a step does the same on every batch of a shape, and never asks the GPU for a number: so we have read."""
    config = encoder.model.config
    family = config.encoder["model_type"] if config.model_type == MeanEncoderConfig.model_type else config.model_type
    return family in CAPTURABLE and not section.compile and encoder.tokenizer.padding_side == "right"


def judge(encoder: Encoder, rows: Rows, *, by_macro_f1: bool = False) -> dict[str, float]:
    """How well the encoder does on these rows; rows without a label are skipped."""
    rows = rows if rows.is_labelled.all() else rows.select(np.flatnonzero(rows.is_labelled))
    logits = encoder.logits(rows.texts, rows.pairs)
    found = skill(logits, rows.labels)
    return {**judged(logits, rows.labels, by_macro_f1=by_macro_f1), **({} if found is None else {"dev_skill": found})}


def label_tensor(rows: Rows) -> Tensor:
    """The labels, as a loss reads them: scores in single precision."""
    labels = torch.from_numpy(rows.labels.copy())
    return labels.float() if labels.is_floating_point() else labels


def label_loss(corpus: Corpus) -> Callable[[Tensor, Tensor], Tensor]:
    """Cross-entropy to the label of each row, or to each of its labels, with the corpus's class weights; for scores the
    mean squared error."""

    @cache
    def weights_on(device: torch.device) -> Tensor | None:
        return None if corpus.class_weights is None else torch.tensor(corpus.class_weights, device=device)

    def to_one(logits: Tensor, labels: Tensor) -> Tensor:
        weight = weights_on(logits.device)
        # Divided by the rows, not by their weights: then parts of a batch add up to the whole of it.
        return F.cross_entropy(logits, labels, weight=weight, reduction="sum") / len(labels)

    def to_several(logits: Tensor, labels: Tensor) -> Tensor:
        weight = weights_on(logits.device)
        return F.binary_cross_entropy_with_logits(logits, labels.float(), pos_weight=weight)

    def to_scores(logits: Tensor, labels: Tensor) -> Tensor:
        return F.mse_loss(logits[:, 0], labels)

    match corpus.task.name:
        case "one_label":
            return to_one
        case "label_sets":
            return to_several
        case "score":
            return to_scores
        case _:
            assert_never(corpus.task.name)


def _freeze_encoder(encoder: Encoder) -> None:
    """Everything below the classification head is frozen, except what the checkpoint does not have (a pooler)."""
    below = {id(parameter) for parameter in encoder.model.base_model.parameters()}
    for name, parameter in encoder.model.named_parameters():
        parameter.requires_grad_(id(parameter) not in below or name in encoder.fresh)


def _compile(model: nn.Module) -> None:
    """Batches differ in length, so shapes are dynamic; where compiling fails (no compiler), it runs uncompiled."""
    torch._dynamo.config.suppress_errors = True
    model.compile(dynamic=True)


@dataclass(frozen=True)
class TokenTable:
    """All that a step of fine-tuning reads of its rows."""

    columns: dict[str, TokenRows]
    padding: dict[str, int]
    labels: Tensor

    @classmethod
    def of(cls, tokens: Tokens, labels: Tensor, *, tokenizer: Any, device: torch.device) -> "TokenTable":
        """For tokenizers that pad behind the text."""
        bounds = torch.from_numpy(np.append(tokens.starts, tokens.lengths.sum())).to(device)
        columns = {
            name: TokenRows(torch.from_numpy(column.astype(np.int32)).to(device), bounds, tokens.lengths)
            for name, column in tokens.columns.items()
        }
        return cls(columns, padding_values(tokenizer), labels.to(device))

    def inputs(self, slots: Slots) -> dict[str, Tensor]:
        """What the model reads; as limbeck.teacher.encoder makes it, but for the width."""
        (width,) = slots.widths
        found: dict[str, Tensor] = {}
        for name, column in self.columns.items():
            found[name], inside = column.padded(slots.chosen, width=width, pad=self.padding.get(name, 0))
        return {MASK: inside, **found}
