"""A blend: several exported students as one model, a weighted mean of their calibrated logits, or of their scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import Member, ModelFacts, ModelFolder, copy_model, save_facts
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.export.abstain import abstaining_in_words, with_abstention
from limbeck.export.parity import runtime_rows
from limbeck.export.profile import Origin, write_profile
from limbeck.export.run import calibration_rows
from limbeck.progress import Reporter
from limbeck.recipe.export import Export
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.engine import blended
from limbeck.runtime.row import Row
from limbeck.training.dev_targets import cross_entropy, dev_targets, probabilities, squared_error
from limbeck.training.skill import Labels, are_scores
from limbeck.training.temperature import fitted_temperature, negative_log_likelihood

Logits = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
MOST_MEMBERS = 4  # each takes its own time for every row
LEAST_WEIGHT = 0.05  # a member with less is not worth its time
STEPS, STEP = 300, 0.5  # of the fit of the weights, which takes milliseconds
DIGITS = 3


@dataclass(frozen=True)
class Blend:
    """Some of the models, each with its weight; the weights sum to one, but for rounding."""

    members: tuple[int, ...]  # their places
    weights: tuple[float, ...]
    temperature: float  # fitted on dev, as for any exported file
    log_loss: float | None  # on dev, at this temperature; None without labelled rows. Of scores: the squared error


def export_blend(
    section: Export,
    *,
    models: Sequence[ModelFolder],
    name: str,
    rows: Rows,
    out: Path,
    key: Key,
    reporter: Reporter,
    teacher: TeacherLabels | None = None,
    origin: Origin | None = None,
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
            teacher=None if teacher is None else teacher.if_complete(known.ids),
            calibrate=section.calibrate,
        )
        chosen = [facts[place] for place in best.members]
        for place, its in zip(best.members, chosen, strict=True):
            copy_model(models[place], scratch / its.name, has_profile=False)
        blend = _facts(chosen, name=name, blend=best)
        save_facts(scratch, blend)
        if blend.task.has_classes:  # a profile is about confidence and labels
            together = _blended(best, logits, facts)  # of the rows that a profile is about, too
            about = runtime_rows(known)

            def logits_of(asked: Sequence[Row]) -> Logits:
                return together if logits and asked == about else _logits_of(ModelFolder(scratch), asked)

            origin = origin or Origin()
            blend, abstain = with_abstention(
                section.abstain, scratch, blend, rows=rows, logits_of=logits_of, foreign=origin.foreign
            )
            write_profile(
                scratch,
                blend,
                rows=rows,
                logits_of=logits_of,
                origin=origin,
                examples=section.examples,
                abstain=abstain,
            )
    reporter.note(_summary(ModelFolder(out), best, rows=len(known)))
    return ModelFolder(out)


def _logits(model: ModelFolder, rows: Rows) -> Logits:
    return _logits_of(model, runtime_rows(rows))


def _logits_of(model: ModelFolder, rows: Sequence[Row]) -> Logits:
    return Classifier(model, threads=torch.get_num_threads(), engine="onnx").logits(rows)


def _blended(blend: Blend, logits: Sequence[Logits], facts: Sequence[ModelFacts]) -> Logits:
    """(rows, classes): the logits of the blend from those of all models; without these there are none."""
    if not logits:
        return np.zeros((0, 0), dtype=np.float32)
    factors = [weight / facts[place].temperature for place, weight in zip(blend.members, blend.weights, strict=True)]
    return blended([logits[place] for place in blend.members], factors=factors)


def chosen_blend(
    logits: Sequence[Logits],
    labels: Labels,
    *,
    temperatures: Sequence[float],
    teacher: Logits | None = None,
    calibrate: bool = True,
) -> Blend:
    """Two to four of the models, with weights that make them best together on dev.

    That is by the cross-entropy to the labels and, on a small dev, to the teacher's probabilities (`dev_targets`).
    Without labelled rows, and so without logits, the first four with equal weights.
    """
    if not logits:
        count = min(len(temperatures), MOST_MEMBERS)
        return Blend(tuple(range(count)), (round(1 / count, DIGITS),) * count, temperature=1.0, log_loss=None)
    calibrated = [one.astype(np.float64) / of_one for one, of_one in zip(logits, temperatures, strict=True)]
    targets = dev_targets(labels, teacher=teacher, models=calibrated)
    members = tuple(range(len(logits)))
    while True:
        among = [calibrated[place] for place in members]
        if are_scores(labels):
            weights = fitted_score_weights(among, targets)
        else:
            weights = fitted_weights(among, targets, multi_label=labels.ndim == 2)
        keep = np.flatnonzero(weights >= LEAST_WEIGHT)
        keep = keep[np.argsort(-weights[keep], kind="stable")][:MOST_MEMBERS]
        if len(keep) < 2:  # one alone is a model of its own: the best one beside it
            keep = np.argsort(-weights, kind="stable")[:2]
            weights = np.clip(weights, LEAST_WEIGHT, 1 - LEAST_WEIGHT)
        if len(keep) == len(members) or len(members) == 2:
            break
        members = tuple(members[place] for place in sorted(keep.tolist()))
    shares = tuple(round(float(weight), DIGITS) for weight in weights / weights.sum())
    together = blended(
        [logits[place] for place in members],
        factors=[share / temperatures[place] for share, place in zip(shares, members, strict=True)],
    )
    if are_scores(labels):
        return Blend(members, shares, 1.0, squared_error(together, labels[:, np.newaxis]))
    temperature = fitted_temperature(together, labels) if calibrate else 1.0
    return Blend(members, shares, temperature, negative_log_likelihood(together, labels, temperature=temperature))


def fitted_weights(logits: Sequence[Floats], targets: Floats, *, multi_label: bool) -> Floats:
    """The weights w ≥ 0, Σ w = 1, of the lowest cross-entropy of Σ wₘ zₘ to the targets.

    It is convex in w. Exponentiated gradient (Kivinen and Warmuth 1997): w ← w · exp(-step · ∂/∂w), then Σ w = 1 again.
    A step that makes it worse is taken back and halved: logits that nobody calibrated may be large.
    """
    return _descended(
        logits,
        loss=lambda together: cross_entropy(together, targets, multi_label=multi_label),
        errors=lambda together: (probabilities(together, multi_label=multi_label) - targets) / len(targets),
    )


def fitted_score_weights(outputs: Sequence[Floats], targets: Floats) -> Floats:
    """The weights w ≥ 0, Σ w = 1, of the lowest mean squared error of Σ wₘ zₘ to the targets, in the same way."""
    return _descended(
        outputs,
        loss=lambda together: squared_error(together, targets),
        errors=lambda together: 2 * (together - targets) / len(targets),
    )


def _descended(
    logits: Sequence[Floats], *, loss: Callable[[Floats], float], errors: Callable[[Floats], Floats]
) -> Floats:
    """The weights at the end of the descent; `errors` are the derivatives of the loss by the summed logits."""
    weights, step = np.full(len(logits), 1 / len(logits)), STEP
    lowest = loss(_sum(logits, weights))
    for _ in range(STEPS):
        of_rows = errors(_sum(logits, weights))
        slopes = np.array([float((of_rows * one).sum()) for one in logits])
        tried = weights * np.exp(-step * (slopes - slopes.min()))
        tried /= tried.sum()
        found = loss(_sum(logits, tried))
        if found <= lowest:
            weights, lowest = tried, found
        else:
            step /= 2
    return weights


def _sum(logits: Sequence[Floats], weights: Floats) -> Floats:
    together: Floats = np.tensordot(weights, np.stack(logits), axes=1)
    return together


def _facts(members: Sequence[ModelFacts], *, name: str, blend: Blend) -> ModelFacts:
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
        scale=first.scale,
        temperature=blend.temperature,
        members=tuple(Member(its.name, weight=weight) for its, weight in zip(members, blend.weights, strict=True)),
    )


def _summary(model: ModelFolder, blend: Blend, *, rows: int) -> str:
    facts = model.facts()
    names = ", ".join(f"{member.weight:.0%} {member.folder}" for member in facts.members)
    fit = "" if blend.log_loss is None else f"; log-loss {blend.log_loss:.3f} on {rows:,} rows of dev"
    if facts.scale and blend.log_loss is not None:
        fit = f"; root mean squared error {blend.log_loss**0.5 * facts.scale.sd:.3g} on {rows:,} rows of dev"
    return f"  {facts.name}: {names}; {model.size_mb():.1f} MB{fit}{abstaining_in_words(model)}"
