"""Several fine-tunings from one start, and the mean of their weights: a "model soup".

Fine-tuned on few rows, an encoder depends on the order of the rows and on dropout; answers that are averaged over
several fine-tunings depend on them less. Weights that have one start can be averaged themselves (Wortsman et al. 2022,
arXiv:2203.05482), and then the teacher is as quick as one.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from limbeck.artifacts.corpus import Corpus
from limbeck.progress import Reporter
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.teacher.encoder import Encoder
from limbeck.teacher.fine_tune import HISTORY, History, fine_tune, judge, start_encoder
from limbeck.training.checkpoints import BEST, CHECKPOINT
from limbeck.training.device import training_device
from limbeck.training.epochs import AVERAGED, kept_entry, on_dev, score_of
from limbeck.training.tracks import Tracks

APART = 1_000  # between the seeds of one teacher: those of `seeds` are usually next to each other
WEIGHTS = "fine-tuned.safetensors"  # of one that is finished


def fine_tune_several(
    section: EncoderTeacher, *, corpus: Corpus, work: Path, reporter: Reporter, tracks: Tracks, name: str
) -> tuple[Encoder, History]:
    """The encoder with the mean of the weights of `section.fine_tunings` fine-tunings, or with those of the best one
    where the mean is worse on dev by more than two standard errors; and what was found: the epochs of the first, and
    an entry for the mean. Each of them keeps its own state in `work`, so that a stopped one goes on."""
    found = []
    for number in range(section.fine_tunings):
        one = section.model_copy(update={"seed": section.seed + APART * number, "fine_tunings": 1})
        what = f"{name}, {number + 1} of {section.fine_tunings}"
        found.append(
            _finished(one, corpus=corpus, work=work / str(number), reporter=reporter, tracks=tracks, name=what)
        )
    encoder = start_encoder(section, corpus=corpus)
    encoder.model.to(training_device())
    _put(encoder, mean_of([load_file(weights) for weights, _ in found]))
    together = {**judge(encoder, corpus.splits["dev"], by_macro_f1=corpus.is_uneven), AVERAGED: len(found)}
    entries = [kept_entry(history) for _, history in found]
    best = max(range(len(found)), key=lambda number: score_of(entries[number]))
    history = [{key: value for key, value in entry.items() if key != "kept"} for entry in found[0][1]]
    if score_of(together) >= score_of(entries[best]) - 2 * together.get("dev_noise", 0.0):
        reporter.note(f"  the mean of their weights: {on_dev(together)}")
        return encoder, [*history, {**together, "kept": True}]
    reporter.note(f"  the mean of their weights is worse, {on_dev(together)}: the best of them is kept")
    _put(encoder, load_file(found[best][0]))
    return encoder, found[best][1]


def _finished(
    section: EncoderTeacher, *, corpus: Corpus, work: Path, reporter: Reporter, tracks: Tracks, name: str
) -> tuple[Path, History]:
    """One fine-tuning: the file with its weights, which is there only once it is complete, and its history."""
    weights, history_file = work / WEIGHTS, work / HISTORY
    work.mkdir(parents=True, exist_ok=True)
    if not weights.exists():
        encoder = start_encoder(section, corpus=corpus)
        history = fine_tune(encoder, section, corpus=corpus, work=work, reporter=reporter, tracks=tracks, name=name)
        history_file.write_text(json.dumps(history), encoding="utf-8")
        state = {key: value.detach().cpu().contiguous().clone() for key, value in encoder.model.state_dict().items()}
        save_file(state, weights.with_suffix(".partial"))
        weights.with_suffix(".partial").replace(weights)
        for state_of_training in (CHECKPOINT, BEST):  # four times the weights, for every fine-tuning
            (work / state_of_training).unlink(missing_ok=True)
    found: History = json.loads(history_file.read_text(encoding="utf-8"))
    return weights, found


def mean_of(models: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of every weight; whole numbers (positions) are those of the first."""
    first = models[0]
    return {
        name: torch.stack([model[name].double() for model in models]).mean(dim=0).to(value.dtype)
        if value.is_floating_point()
        else value
        for name, value in first.items()
    }


def _put(encoder: Encoder, weights: dict[str, Any]) -> None:
    encoder.model.load_state_dict(weights)
