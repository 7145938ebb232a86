"""The student with its objective, and what it reads: windows, masks, and the teacher's states and words for them."""

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from limbeck.general.losses import soft_words
from limbeck.models.layer_states import LayerReader, LayerStates
from limbeck.recipe.general_layers import GeneralLayers, MaskedWords, SoftWords
from limbeck.training.device import Arithmetic, sent
from limbeck.training.masking import Masked, MaskingVocabulary, masked, output_at, part_of
from limbeck.training.modes import evaluating
from limbeck.training.shares import ALONE, Share, share_of_group
from limbeck.training.token_rows import TokenRows

TRAINING, EVALUATION = 0, 1  # part of the seed, so that training and evaluation have different masks
TIMED_BATCHES = 3
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Read:
    """What a model makes of a batch."""

    layers: LayerStates | None = None
    words: Tensor | None = None  # (masked, vocabulary): its logits at the masked tokens


def read(model: Any, inputs: Mapping[str, Tensor], targets: Masked | None, section: GeneralLayers) -> Read:
    """What the losses need of a masked language model; without losses on words its head does not run."""
    needs_layers = bool(section.on_layers)
    whole = model if targets is not None else model.base_model
    queries = any(loss.reads_attention for loss in section.on_layers)
    with LayerReader(whole, queries=queries) as reader:
        if targets is None:
            output = whole(**inputs, output_hidden_states=True)
        else:
            output = output_at(whole, inputs, targets, output_hidden_states=needs_layers)
        layers = reader.states(output) if needs_layers else None
    return Read(layers, None if targets is None else output.logits[0])


class Learner(nn.Module):
    """A student and the losses on its layers, whose projections are trained with it."""

    def __init__(self, student: Any, section: GeneralLayers, on_layers: nn.Module) -> None:
        super().__init__()
        self.student, self.on_layers, self._section = student, on_layers, section
        if not section.on_words:  # nothing would train the head
            for name, weight in student.named_parameters():
                weight.requires_grad_(name.startswith(f"{student.base_model_prefix}."))

    def forward(
        self,
        inputs: Mapping[str, Tensor],
        targets: Masked | None,
        teacher: Read,
        done: float,
        weights: Mapping[str, float] | None = None,
    ) -> dict[str, Tensor]:
        """The weighted losses by name; `weights` are the factors for means over a process's share of a batch."""
        terms: dict[str, Tensor] = {}
        weights = weights or {}
        own = read(self.student, inputs, targets, self._section)
        for loss in self._section.on_words:
            assert own.words is not None
            assert targets is not None
            factor = loss.weight * weights.get("words", 1.0)
            terms[loss.kind] = factor * _on_words(loss, own.words, teacher.words, targets)
        if self._section.on_layers:
            terms |= self.on_layers(own.layers, teacher.layers, inputs["attention_mask"], done, weights)
        return terms


def _on_words(loss: MaskedWords | SoftWords, own: Tensor, theirs: Tensor | None, targets: Masked) -> Tensor:
    if not len(targets.answers):  # a process's share of a batch may have no masked token
        return own.float().sum() * 0.0
    if isinstance(loss, SoftWords):
        assert theirs is not None, "the teacher has a head too"
        return soft_words(own, theirs, temperature=loss.temperature)
    return F.cross_entropy(own.float(), sent(torch.from_numpy(targets.answers), own.device))


@dataclass(frozen=True)
class LayersTask:
    """The windows, of which the first are held back, and the teacher."""

    section: GeneralLayers
    rows: TokenRows
    teacher: Any
    tokenizer: Any
    arithmetic: Arithmetic

    def to(self, device: torch.device) -> Self:
        """With the teacher on this device, which nothing trains."""
        self.teacher.to(device).eval().requires_grad_(False)
        return self

    @property
    def held_back(self) -> int:
        """How many windows are not learned from."""
        return min(self.section.held_back, max(1, len(self.rows) // 10))

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of the windows that are learned from."""
        return self.rows.lengths[self.held_back :]

    @cached_property
    def _vocabulary(self) -> MaskingVocabulary:
        return MaskingVocabulary.of(self.tokenizer)

    def losses(self, learner: Any, numbers: Places, done: float, *, seed: int | None = None) -> dict[str, Tensor]:
        """The losses on the windows with these numbers of a plan; the masks follow from the numbers.

        In a group of processes each computes those of its share of the windows, weighted so that their mean over the
        processes is the loss. With a seed it is an evaluation, of one process.
        """
        learned, kind, share = len(self.lengths), TRAINING, share_of_group()
        places = (numbers - self.held_back) % learned + self.held_back
        if seed is not None:
            places, kind, share = numbers, EVALUATION, ALONE
        masks = [self.section.seed, kind, int(numbers[0]) if seed is None else seed]
        inputs, targets, weights = self._batch(places, masks, share)
        with torch.no_grad(), self._autocast():
            teacher = read(self.teacher, inputs, targets, self.section)
        found: dict[str, Tensor] = learner(inputs, targets, teacher, done, weights)
        return found

    def judge(self, learner: Any) -> dict[str, float]:
        """The mean losses on the windows held back, whose masks are always the same."""
        sums: dict[str, Tensor] = {}
        size = self.section.batch_size
        with evaluating(learner), self._autocast():
            for number, start in enumerate(range(0, self.held_back, size)):
                places = np.arange(start, min(start + size, self.held_back))
                for name, term in self.losses(learner, places, 1.0, seed=number).items():
                    sums[name] = sums.get(name, torch.zeros_like(term)) + term * len(places)
        means = {f"dev_{name}": float(term) / self.held_back for name, term in sums.items()}
        return {"dev_loss": sum(means.values()), **means}

    def speed(self, learner: Any) -> dict[str, float]:
        """Windows a second: read by the teacher alone, and learned from. The random state stays as it is."""
        size = min(self.section.batch_size, len(self.lengths))
        places = np.arange(self.held_back, self.held_back + size)
        inputs, targets, _ = self._batch(places, [self.section.seed, TRAINING, 0], share_of_group())

        def ask() -> None:
            with torch.no_grad(), self._autocast():
                read(self.teacher, inputs, targets, self.section)

        def learn() -> None:
            with self._autocast():
                terms = self.losses(learner, places, 0.0)
            torch.stack(list(terms.values())).sum().backward()  # type: ignore[no-untyped-call]
            learner.zero_grad()

        learner.train()
        with _same_random_state():
            return {name: size / _seconds(work) for name, work in (("teacher", ask), ("student", learn))}

    def _batch(
        self, places: Places, seed: list[int], share: Share
    ) -> tuple[dict[str, Tensor], Masked | None, dict[str, float]]:
        """Inputs, masked tokens, and factors of this process's share; everything is drawn for the batch as a whole."""
        ids, inside = self.rows.batch(places, pad=self.tokenizer.pad_token_id or 0)
        own, weights = share.own(np.arange(len(places))), share.weights(self.rows.lengths[places])
        targets = None
        if self.section.on_words:
            fraction = self.section.masked_fraction
            targets = masked(ids.numpy(), inside.numpy().astype(bool), self._vocabulary, fraction=fraction, seed=seed)
            if not share.is_all:
                weights["words"] = share.weight(np.bincount(targets.rows, minlength=len(places)))
                targets = part_of(targets, own)
            ids = torch.from_numpy(targets.ids)
        elif not share.is_all:
            ids = ids[own]
        device = next(self.teacher.parameters()).device
        return {"input_ids": sent(ids, device), "attention_mask": sent(inside[own], device)}, targets, weights

    def _autocast(self) -> AbstractContextManager[Any]:
        device = next(self.teacher.parameters()).device
        return torch.autocast(device.type, dtype=torch.bfloat16) if self.arithmetic == "bf16" else nullcontext()


@contextmanager
def _same_random_state() -> Iterator[None]:
    with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if torch.cuda.is_available() else []):
        yield


def _seconds(work: Any) -> float:
    """Of one call, after one that is not counted."""
    work()
    _wait()
    started = time.perf_counter()
    for _ in range(TIMED_BATCHES):
        work()
    _wait()
    return (time.perf_counter() - started) / TIMED_BATCHES


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
