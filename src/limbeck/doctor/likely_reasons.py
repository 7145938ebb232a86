"""Why a distilled student may be no better than the same student alone: the reasons with evidence, in order."""

from collections.abc import Iterator, Mapping
from typing import Any

from limbeck.doctor.extra_text import FLIPS, NEW_LABEL_METHODS
from limbeck.doctor.known import Known
from limbeck.doctor.reading import UNKNOWN_SHARE
from limbeck.doctor.tokens import sample
from limbeck.doctor.training import empty, rising_students, weak_losses

HARDLY_BETTER = 0.01  # a useful teacher is more accurate than the student alone by at least this
NEAR_PERFECT = 0.99  # accuracy of the student alone
HOT = 8.0  # above this temperature, classes hardly differ


def model_of(report: Mapping[str, Any], role: str) -> dict[str, Any]:
    """The first model of this role, but as baseline that of the first student; an empty dict if the report has none."""
    found = [model for model in report["models"] if model["role"] == role]
    if role == "baseline":  # the report may lack the first student, or its baseline: a refused export is left out
        own = f"{model_of(report, 'student').get('name')}-alone"
        found.sort(key=lambda model: str(model.get("name")).removesuffix("-int8") != own)
    return next(iter(found), {})


def likely_reasons(known: Known) -> list[str]:
    """The reasons that there is evidence for, the likeliest first."""
    found = [
        *_weak_teacher(known.report),
        *_objective(known),
        *_no_text(known),
        *_too_short(known),
        *_unknown_words(known),
        *_flips(known),
    ]
    return found or ["none of the usual ones: try a lower distillation.learning_rate, and more seeds"]


def _weak_teacher(report: Mapping[str, Any]) -> Iterator[str]:
    if (report.get("corpus") or {}).get("task") == "regression":
        alone, teacher = (model_of(report, role).get("spearman") for role in ("baseline", "teacher"))
        if alone is not None and teacher is not None and teacher < alone + HARDLY_BETTER:
            yield f"the teacher is hardly better itself: Spearman {teacher:.3f} against {alone:.3f} alone"
        return
    baseline, teacher = model_of(report, "baseline"), model_of(report, "teacher").get("accuracy")
    alone = baseline.get("accuracy_on_teacher_rows", baseline.get("accuracy"))  # on the rows the teacher has labelled
    if alone is not None and alone > NEAR_PERFECT:
        yield f"the student alone is right on {alone:.1%} of the rows: there is almost nothing left to gain"
    elif teacher is not None and alone is not None and teacher < alone + HARDLY_BETTER:
        compared = "worse itself" if teacher < alone else "hardly better itself"
        accuracies = f"{teacher:.1%} against {alone:.1%} alone"
        yield f"the teacher is {compared}: {accuracies}; fine-tune it longer, or use a stronger one"


def _objective(known: Known) -> Iterator[str]:
    for loss in known.recipe.distillation.every_loss:
        temperature = getattr(loss, "temperature", None)
        if isinstance(temperature, int | float) and temperature > HOT:
            yield f"{loss.kind} has a temperature of {temperature:g}, at which classes hardly differ"
    findings = [*(empty(known) if known.has("corpus") else []), *(weak_losses(known) if known.has("students") else [])]
    yield from (f"{finding.what}: {finding.evidence}" for finding in findings)


def _no_text(known: Known) -> Iterator[str]:
    if known.recipe.transfer is None and known.recipe.augmentation is None:
        rows = f"the {len(known.corpus.splits['train']):,} training rows" if known.has("corpus") else "train"
        yield f"it was trained on {rows} alone; unlabelled text of the same kind ([transfer]) helps most"


def _too_short(known: Known) -> Iterator[str]:
    if known.has("students", "corpus") and (rising := rising_students(known)):
        yield f"its last epoch was the best in {len(rising)} of {len(known.students)} seeds: train longer"


def _unknown_words(known: Known) -> Iterator[str]:
    if known.has("student_reading", "corpus"):
        share = known.student_reading.unknown_share(sample(known.corpus.splits["dev"]))
        if share > UNKNOWN_SHARE:
            pieces = ", or pieces" if known.recipe.student.vocabulary.kind == "words" else ""
            yield f"{share:.1%} of the words of dev are unknown to it: a larger vocabulary{pieces}"


def _flips(known: Known) -> Iterator[str]:
    judged = known.chosen.quality.get("augmented", {}) if known.has("chosen") else {}
    is_intended = any(method["kind"] in NEW_LABEL_METHODS for method in judged.get("methods", []))
    flips = judged.get("label_flips")
    if flips is not None and flips > FLIPS and not is_intended:
        yield f"{flips:.0%} of the changed copies have another label than their source: change fewer words"
