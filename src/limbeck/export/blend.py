"""A blend: several exported students as one model, which averages their calibrated logits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import Member, ModelFacts, ModelFolder, copy_model, save_facts
from limbeck.artifacts.rows import Rows
from limbeck.export.parity import runtime_rows
from limbeck.export.run import calibration_rows
from limbeck.progress import Reporter
from limbeck.recipe.export import Export
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.engine import blended
from limbeck.training.skill import Labels
from limbeck.training.temperature import fitted_temperature, negative_log_likelihood

Logits = npt.NDArray[np.float32]
MOST_MEMBERS = 4  # each takes its own time for every row


@dataclass(frozen=True)
class Blend:
    """Some of the models, with equal weights."""

    members: tuple[int, ...]  # their places
    temperature: float  # fitted on dev, as for any exported file
    log_loss: float | None  # on dev, at this temperature; None without labelled rows


def export_blend(
    section: Export,
    *,
    models: Sequence[ModelFolder],
    name: str,
    rows: Rows,
    out: Path,
    key: Key,
    reporter: Reporter,
) -> ModelFolder:
    """Write those of the models that are best together on `rows` as one model at `out`.

    Each member is a folder inside it, with the files that it has by itself. As when a student is exported, logits are
    those of onnxruntime, so that the folder does not depend on the machine that writes it.
    """
    facts = [model.facts() for model in models]
    with written_atomically(out, kind="model", key=key) as scratch:
        known = rows.select(calibration_rows(rows))
        logits = [_logits(model, known) for model in models] if len(known) else []
        best = chosen_blend(
            logits,
            known.labels,
            temperatures=[its.temperature for its in facts],
            calibrate=section.calibrate,
        )
        chosen = [facts[place] for place in best.members]
        for place, its in zip(best.members, chosen, strict=True):
            copy_model(models[place], scratch / its.name)
        save_facts(scratch, _facts(chosen, name=name, temperature=best.temperature))
    reporter.note(_summary(ModelFolder(out), best, rows=len(known)))
    return ModelFolder(out)


def _logits(model: ModelFolder, rows: Rows) -> Logits:
    return Classifier(model, threads=torch.get_num_threads(), engine="onnx").logits(runtime_rows(rows))


def chosen_blend(
    logits: Sequence[Logits], labels: Labels, *, temperatures: Sequence[float], calibrate: bool = True
) -> Blend:
    """The subset of two to four models with the lowest log-loss of the labels; of equal ones the smallest.

    Without labelled rows, and so without logits, the first four.
    """
    if not logits:
        return Blend(tuple(range(len(temperatures)))[:MOST_MEMBERS], temperature=1.0, log_loss=None)
    tried = [
        _blend(members, logits, labels, temperatures=temperatures, calibrate=calibrate)
        for members in subsets(len(temperatures))
    ]
    return min(tried, key=lambda blend: blend.log_loss or 0.0)


def subsets(count: int) -> Iterator[tuple[int, ...]]:
    """All ways to choose two to four of so many models, small ones first."""
    for size in range(2, min(count, MOST_MEMBERS) + 1):
        yield from combinations(range(count), size)


def _blend(
    members: tuple[int, ...],
    logits: Sequence[Logits],
    labels: Labels,
    *,
    temperatures: Sequence[float],
    calibrate: bool,
) -> Blend:
    factors = [1 / len(members) / temperatures[place] for place in members]
    together = blended([logits[place] for place in members], factors=factors)
    temperature = fitted_temperature(together, labels) if calibrate else 1.0
    return Blend(members, temperature, negative_log_likelihood(together, labels, temperature=temperature))


def _facts(members: Sequence[ModelFacts], *, name: str, temperature: float) -> ModelFacts:
    first = members[0]
    return ModelFacts(
        name=name,
        kind="blend",
        precision=first.precision,
        labels=first.labels,
        language=first.language,
        pair=first.pair,
        max_length=max(member.max_length for member in members),
        parameters=sum(member.parameters for member in members),
        parameters_without_embeddings=sum(member.parameters_without_embeddings for member in members),
        multi_label=first.multi_label,
        temperature=temperature,
        members=tuple(Member(member.name, weight=1 / len(members)) for member in members),
    )


def _summary(model: ModelFolder, blend: Blend, *, rows: int) -> str:
    facts = model.facts()
    names = ", ".join(member.folder for member in facts.members)
    fit = "" if blend.log_loss is None else f"; log-loss {blend.log_loss:.3f} on {rows:,} rows of dev"
    return f"  {facts.name}: {names}; {model.size_mb():.1f} MB{fit}"
