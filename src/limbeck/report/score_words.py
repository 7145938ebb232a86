"""What the numbers of a report about scores mean, in words (standard library alone)."""

from collections.abc import Mapping
from typing import Any

from limbeck.report import wording
from limbeck.report.wording import Entry, Sentence

GOOD_SHARE = 0.9  # of the teacher's correlation; a student that keeps less has lost a lot
BELOW = {"rival": "ten lines of scikit-learn", "baseline": "the student without a teacher"}
FEW_ROWS = 60


def verdict_sentences(report: Mapping[str, Any]) -> list[Sentence]:
    """What the best model is worth beside the rival, what it keeps of the teacher, what distilling gained, what it
    costs."""
    model = wording.main_model(report)
    if model is None:
        return [Sentence("There is no student in this report to compare with the teacher.")]
    rest = [*_against_teacher(model, report), *_gained(model)]
    rest.sort(key=lambda sentence: not sentence.is_loss)
    return [_against_rival(model, report), *rest, Sentence(f"It {wording.cost_in_words(model, report)}.")]


def reached(entry: Entry) -> str:
    """`Spearman 0.842 (root mean squared error 0.61)`."""
    return f"Spearman {wording.decimal(entry.get('spearman'))} (root mean squared error {number(entry.get('rmse'))})"


def number(value: float | None) -> str:
    """An error in the units of the scores, with three significant digits."""
    return wording.UNKNOWN if value is None else f"{value:.3g}".replace("-", "−")


def interval(entry: Entry, name: str) -> str:
    """`0.810–0.861`."""
    bounds = entry.get(f"{name}_ci95")
    if not bounds:
        return wording.UNKNOWN
    shown = wording.decimal if name in ("spearman", "pearson") else number
    return f"{shown(bounds[0])}–{shown(bounds[1])}"


def with_spread(entry: Entry, name: str) -> str:
    """`0.842 ± 0.003`; without the spread for a single seed."""
    shown = wording.decimal if name in ("spearman", "pearson") else number
    mean = shown(entry.get(name))
    if entry["seed_count"] < 2 or entry.get(name) is None:
        return mean
    return f"{mean}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{shown(entry[f'{name}_sd'])}"


def difference(gain: Mapping[str, Any]) -> str:
    """`+0.031`, in brackets if it is no more than noise."""
    low, high = gain["spearman_ci95"]
    shown = signed(gain["spearman"])
    return f"({shown})" if low <= 0 <= high else shown


def signed(value: float) -> str:
    """`+0.031`, with a true minus sign below zero."""
    return f"{value:+.3f}".replace("-", "−")


def _bounds(gain: Mapping[str, Any]) -> str:
    low, high = gain["spearman_ci95"]
    return f"95 % interval {signed(low)} to {signed(high)}"


def _against_rival(model: Entry, report: Mapping[str, Any]) -> Sentence:
    alone = ", trained without the teacher and still the best on dev," if model["role"] == "baseline" else ""
    name, gain, rival = f"{model['name']}{alone}", model.get("score_gain_over_rival"), wording.rival_of(report)
    if not gain or not rival:
        return Sentence(f"{name} has {reached(model)}.")
    low, high = gain["spearman_ci95"]
    if high < 0:
        return Sentence(
            f"{rival['name']}, ten lines of scikit-learn, beats {model['name']}, the best model: {reached(rival)} "
            f"against {reached(model)} ({_bounds(gain)}).",
            is_loss=True,
        )
    if low > 0:
        more = f"{wording.decimal(gain['spearman'])} more than {rival['name']}"
        return Sentence(f"{name} has {reached(model)}: {more} ({_bounds(gain)}).")
    if gain["rmse_ci95"][0] > 0:
        low, high = gain["rmse_ci95"]
        less = (
            f"{number(gain['rmse'])} less than that of {rival['name']} (95 % interval {number(low)} to {number(high)})"
        )
        return Sentence(f"{name} has {reached(model)}: an error {less}, with rows ordered as well.")
    noise = f"no difference beyond the noise to {rival['name']}: {signed(gain['spearman'])} ({_bounds(gain)})"
    return Sentence(f"{name} has {reached(model)}, {noise}.")


def _against_teacher(model: Entry, report: Mapping[str, Any]) -> list[Sentence]:
    if not wording.has_teacher(report):
        return []
    teacher, rows = wording.teacher_of(report), report["judged_rows"]
    known = teacher.get("judged_rows", rows)
    if teacher.get("spearman") is None or not known:
        return [Sentence(f"The teacher has no scores for the {report['judged_split']} rows.")]
    own = (model.get("on_teacher_rows") or model)["spearman"]
    where = "" if known == rows else f" on the {known:,} of {rows:,} rows that the teacher scored"
    lost = teacher["spearman"] - own
    has = f"Spearman {wording.decimal(teacher['spearman'])}"
    if abs(lost) < 0.0005:
        return [Sentence(f"It orders rows as well as the teacher, {has}{where}.")]
    words = f"It is {wording.decimal(abs(lost))} {'below' if lost > 0 else 'above'} the teacher, {has}{where}"
    share = own / teacher["spearman"] if teacher["spearman"] > 0 else None
    is_loss = lost > 0 and share is not None and share < GOOD_SHARE
    kept = f": it keeps {wording.percent(share, digits=0)} % of its correlation" if lost > 0 and share else ""
    return [Sentence(f"{words}{kept}.", is_loss)]


def _gained(model: Entry) -> list[Sentence]:
    if words := gain_in_words(model):
        gain = model["score_gain_over_baseline"]
        return [Sentence(f"{words[0].upper()}{words[1:]}.", is_loss=gain["spearman_ci95"][1] < 0)]
    return []


def gain_in_words(entry: Entry) -> str:
    """What distilling gained over the same student alone; empty without one. A gain whose interval includes zero is not
    called a gain."""
    gain = entry.get("score_gain_over_baseline")
    if not gain:
        return ""
    low, high = gain["spearman_ci95"]
    one_seed = ", one seed" if entry["seed_count"] == 1 else ""
    by = wording.decimal(abs(gain["spearman"]))
    if low > 0:
        return f"distilling gained {by} over the same student trained alone ({_bounds(gain)}{one_seed})"
    if high < 0:
        return f"distilling lost {by} against the same student trained alone ({_bounds(gain)}{one_seed})"
    return (
        f"distilling made no difference beyond the noise: {signed(gain['spearman'])} against the same student trained "
        f"alone ({_bounds(gain)}{one_seed})"
    )


def weak_teacher(report: Mapping[str, Any]) -> list[str]:
    """One sentence for each of rival and student alone that orders rows better than the teacher, with advice."""
    teacher, found = wording.teacher_of(report).get("spearman"), []
    for entry in report["models"]:
        own = (entry.get("on_teacher_rows") or entry).get("spearman")
        if entry["role"] not in BELOW or teacher is None or own is None or own <= teacher:
            continue
        found.append(
            f"the teacher is below {entry['name']}, {BELOW[entry['role']]}: Spearman {wording.decimal(teacher)} "
            f"against {wording.decimal(own)}; a student learns its mistakes too: fine-tune the teacher longer or "
            "with a higher learning rate, or use a stronger checkpoint"
        )
    return found


def few_rows(report: Mapping[str, Any]) -> list[str]:
    """With few judged rows: that correlations are uncertain."""
    rows = report["judged_rows"]
    if rows >= FEW_ROWS:
        return []
    judged = f"only {rows:,} {report['judged_split']} row{'' if rows == 1 else 's'} to judge by"
    return [f"{judged}: look at the intervals, which are wide"]
