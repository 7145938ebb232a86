"""How a report's numbers are formatted, and the verdict in a few sentences (standard library alone).

A number that is not known, such as the size of a teacher that is a file, is None in the report and a dash in text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Entry = Mapping[str, Any]

UNKNOWN = "–"
BEST_FOLDER = "models/best"  # within the run
SIGNIFICANT = 0.05  # p below this is a difference beyond noise


def measure(report: Mapping[str, Any]) -> str:
    """The name of the share of right rows: with several labels per row, all of them must be right. Of scores: the name
    of the correlation."""
    if is_score(report):
        return "Spearman"
    return "exact match" if is_multi_label(report) else "accuracy"


def is_multi_label(report: Mapping[str, Any]) -> bool:
    """Whether a row of the corpus may have several labels."""
    return bool(report["corpus"].get("multi_label"))


def is_score(report: Mapping[str, Any]) -> bool:
    """Whether a row of the corpus has a score: then accuracy and everything else about classes is None."""
    return bool(report["corpus"].get("task") == "regression")


def axis(report: Mapping[str, Any]) -> str:
    """The measure on an axis of a plot, where shares are in percent."""
    return f"{measure(report)} (× 100)" if is_score(report) else f"{measure(report)} (%)"


def headline(entry: Entry) -> float | None:
    """The first number of a model: its accuracy; of scores, Spearman's correlation."""
    found = entry["accuracy"] if entry["accuracy"] is not None else entry.get("spearman")
    return None if found is None else float(found)


def headline_interval(entry: Entry) -> list[float] | None:
    """The 95 % interval of that number."""
    found: list[float] | None = entry["accuracy_ci95"] or entry.get("spearman_ci95")
    return found


def percent(fraction: float | None, *, digits: int = 1) -> str:
    """0.928 as `92.8`."""
    return UNKNOWN if fraction is None else f"{100 * fraction:.{digits}f}"


def accuracy(entry: Entry) -> str:
    """`92.8 ± 0.3`; without the spread for a single seed."""
    mean = percent(entry["accuracy"])
    return (
        mean
        if entry["seed_count"] < 2
        else f"{mean}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{percent(entry['accuracy_sd'])}"
    )


def interval(entry: Entry) -> str:
    """`91.0–94.4`."""
    if entry["accuracy_ci95"] is None:
        return UNKNOWN
    low, high = entry["accuracy_ci95"]
    return f"{percent(low)}–{percent(high)}"


def milliseconds(entry: Entry, which: str) -> str:
    """The time of one text, "p50", "p95" or "p99"."""
    return three_figures((entry["latency_ms"] or {}).get(which))


def count(number: float | None) -> str:
    """`109.5M`, `823k`, `412`."""
    if number is None:
        return UNKNOWN
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.1f}{letter}" if scaled < 100 and letter != "k" else f"{scaled:.0f}{letter}"
    return f"{number:.0f}"


def parameters(entry: Entry) -> str:
    """All parameters, and in brackets those outside the embeddings."""
    if entry["parameters"] is None:
        return UNKNOWN
    return f"{count(entry['parameters'])} ({count(entry['parameters_without_embeddings'])})"


def three_figures(number: float | None) -> str:
    """`0.412`, `3.07`, `86.1`, `1,240`: about three figures, whatever the size."""
    if number is None:
        return UNKNOWN
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}" if number >= 1 else f"{number:.3f}"


def signed(fraction: float | None, *, digits: int = 1) -> str:
    """0.013 as `+1.3`, with a true minus sign below zero; what rounds to zero has no sign."""
    if fraction is None:
        return UNKNOWN
    text = f"{100 * fraction:+.{digits}f}".replace("-", "−")
    return text if any(digit in text for digit in "123456789") else text[1:]


def decimal(number: float | None) -> str:
    """0.8561 as `0.856`, with a true minus sign below zero."""
    return UNKNOWN if number is None else f"{number:.3f}".replace("-", "−")


def p_value(p: float | None) -> str:
    """`0.31`, `0.042`, `<0.001`."""
    if p is None:
        return UNKNOWN
    return "<0.001" if p < 0.001 else f"{p:.2f}" if p >= 0.1 else f"{p:.3f}"


def times(factor: float | None) -> str:
    """`120×`, `4.6×`, `0.83×`."""
    if factor is None:
        return UNKNOWN
    return f"{factor:,.0f}×" if factor >= 10 else f"{factor:.1f}×" if factor >= 1 else f"{factor:.2f}×"


# In the place of a teacher's entry, where a run has none: nothing is known of it.
NO_TEACHER: Entry = {
    "name": "none",
    "role": "teacher",
    "kind": "none",
    **dict.fromkeys(("accuracy", "spearman", "per_class", "latency_ms", "rows_per_second")),
    **dict.fromkeys(("parameters", "parameters_without_embeddings", "size_mb", "multiply_adds")),
    "judged_rows": 0,
}


def teacher_of(report: Mapping[str, Any]) -> Entry:
    """The teacher's entry; of a run without a teacher NO_TEACHER."""
    return next((entry for entry in report["models"] if entry["role"] == "teacher"), NO_TEACHER)


def has_teacher(report: Mapping[str, Any]) -> bool:
    """Whether the run had a teacher."""
    return teacher_of(report) is not NO_TEACHER


def baseline_of(report: Mapping[str, Any]) -> Entry | None:
    """The entry of the student that was trained alone."""
    return next((entry for entry in report["models"] if entry["role"] == "baseline"), None)


def rival_of(report: Mapping[str, Any]) -> Entry | None:
    """The entry of the rival, TF-IDF with a linear classifier; None if the report has none."""
    return next((entry for entry in report["models"] if entry["role"] == "rival"), None)


def best_of(report: Mapping[str, Any]) -> Entry | None:
    """The entry of the model that was chosen as the best on dev; None if none was, as in old reports."""
    return next((entry for entry in report["models"] if entry["name"] == report.get("best")), None)


def main_model(report: Mapping[str, Any]) -> Entry | None:
    """The entry that the verdict is about: the best; without one the first student, or else the first exported file."""
    if best := best_of(report):
        return dict(best)
    for role in ("student", "export"):
        for entry in report["models"]:
            if entry["role"] == role:
                return dict(entry)
    return None


def marked_models(report: Mapping[str, Any]) -> list[Entry]:
    """All entries; that of the best has `is_best`, and stands out in tables."""
    best = report.get("best")
    return [{**entry, "is_best": True} if best and entry["name"] == best else entry for entry in report["models"]]


@dataclass(frozen=True)
class Sentence:
    """A sentence of the verdict; a loss is shown in red."""

    text: str
    is_loss: bool = False


NEARLY_EVERY = 0.99  # share of rows with the same answer
GOOD_SHARE = 0.9  # of what the teacher has above chance; a student that keeps less has lost a lot


def verdict(report: Mapping[str, Any]) -> str:
    """The result of the run in a few sentences that claim no more than the numbers show."""
    return " ".join(sentence.text for sentence in verdict_sentences(report))


def verdict_sentences(report: Mapping[str, Any]) -> list[Sentence]:
    """What the best model is worth, what it keeps of the teacher, what it costs, and what distilling gained.

    If a language model gave the labels, the first sentence says so. Then one is about the best model and the rival.
    Losses come before gains, and speed and size last.
    """
    if is_score(report):
        from limbeck.report.score_words import verdict_sentences as of_scores  # it builds on this file

        return of_scores(report)
    model, first = main_model(report), _whose_labels(report)
    if model is None:
        return [*first, Sentence("There is no student in this report to compare with the teacher.")]
    gain = model.get("gain_over_baseline")
    gained = [_capital(gain_in_words(gain, seeds=model["seed_count"]))] if gain else []
    rest = [
        *_against_teacher(model, report),
        *(Sentence(f"{words}.", is_loss=gain["ci95"][1] < 0) for words in gained if gain),
    ]
    rest.sort(key=lambda sentence: not sentence.is_loss)
    return [*first, _against_rival(model, report), *rest, Sentence(f"It {cost_in_words(model, report)}.")]


def _whose_labels(report: Mapping[str, Any]) -> list[Sentence]:
    """If a language model gave the labels: that all numbers are agreement with it, or which rows a person checked."""
    facts: Mapping[str, Any] = report.get("labelled_by") or {}
    if not facts:
        return []
    name = facts["model"]
    if not facts["checked"] or report["judged_split"] != "test":
        text = f"No person has checked a label here: every number measures agreement with {name}, and nothing else."
        return [Sentence(text, is_loss=True)]
    rows = f"{facts['checked']:,} rows"
    return [
        Sentence(f"A person has labelled the {rows} of test that the numbers are about; {name} labelled all others.")
    ]


def _capital(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}"


def _against_rival(model: Entry, report: Mapping[str, Any]) -> Sentence:
    """The first sentence: what the model reaches, and whether ten lines of scikit-learn reach as much."""
    by_f1 = (report.get("choice") or {}).get("by") == "macro F1" and not is_multi_label(report)
    f1 = f" (macro F1 {percent(model['macro_f1'])})" if by_f1 and model.get("macro_f1") is not None else ""
    name, reached = _introduced(model), f"{percent(model['accuracy'])} % {measure(report)}{f1}"
    if constant := constant_answer(model, report):
        return Sentence(f"{name} {constant}{_beside_rival(report)}.", is_loss=True)
    gain, rival = model.get("gain_over_rival"), rival_of(report)
    if not gain or not rival:
        return Sentence(f"{name} has {reached}.")
    low, high = gain["ci95"]
    bounds, points = f"95 % interval {signed(low)} to {signed(high)}", percent(abs(gain["accuracy"]))
    if high < 0:
        others = f"{percent(rival['accuracy'])} % {measure(report)}"
        return Sentence(
            f"{rival['name']}, ten lines of scikit-learn, beats {model['name']}, the best model, by {points} points: "
            f"{others} against {percent(model['accuracy'])} % ({bounds}).",
            is_loss=True,
        )
    if low > 0:
        return Sentence(f"{name} has {reached}, {points} points more than {rival['name']} ({bounds}).")
    difference = f"no difference beyond the noise to {rival['name']}: {signed(gain['accuracy'])} points ({bounds})"
    return Sentence(f"{name} has {reached}, {difference}.")


def _introduced(model: Entry) -> str:
    """Its name; and that a model without a teacher is the best, if it is."""
    is_alone = model["role"] == "baseline"
    return (
        f"{model['name']}, trained without the teacher and still the best on dev," if is_alone else str(model["name"])
    )


def _beside_rival(report: Mapping[str, Any]) -> str:
    rival = rival_of(report)
    return f"; {rival['name']} has {percent(rival['accuracy'])} %" if rival else ""


def constant_answer(model: Entry, report: Mapping[str, Any]) -> str | None:
    """That a model gives the same answer for (nearly) every row, or no right one; None if it does not."""
    if is_multi_label(report):
        classes = model.get("per_class") or [{"f1": 1.0}]
        return (
            "finds no label of any row: its F1 is 0 for every class" if not any(one["f1"] for one in classes) else None
        )
    counts = model.get("confusion")
    if not counts:
        return None
    rows = sum(map(sum, counts))
    given = [sum(column) for column in zip(*counts, strict=True)]
    most = max(range(len(given)), key=given.__getitem__)
    others_given, others = rows - given[most], rows - sum(counts[most])
    if given[most] < NEARLY_EVERY * rows or 2 * others_given >= others:
        return None
    every = "every row" if not others_given else "nearly every row"
    return (
        f"answers '{report['corpus']['labels'][most]}' for {every}, and has learned nothing: its "
        f"{percent(model['accuracy'])} % {measure(report)} is the share of that class"
    )


def _against_teacher(model: Entry, report: Mapping[str, Any]) -> list[Sentence]:
    """The points that it is above or below the teacher, and what it keeps of the teacher's lead over chance.

    Compared on the rows that the teacher has labelled: a file need not cover all rows.
    """
    if not has_teacher(report):
        return []
    teacher, rows = teacher_of(report), report["judged_rows"]
    known = teacher.get("judged_rows", rows)
    if teacher["accuracy"] is None or not known:
        return [Sentence(f"The teacher has no labels for the {report['judged_split']} rows.")]
    own = model.get("accuracy_on_teacher_rows", model["accuracy"])
    where = "" if known == rows else f" on the {known:,} of {rows:,} rows that the teacher labelled"
    lost = teacher["accuracy"] - own
    points = f"{percent(abs(lost))} points {'below' if lost > 0 else 'above'} the teacher"
    share = kept_above_chance(own, teacher["accuracy"], report)
    kept = f": it keeps {percent(share)} % of what the teacher has above chance" if share is not None else ""
    if round(lost, 4) == 0:
        return [Sentence(f"It is as good as the teacher, {percent(teacher['accuracy'])} %{where}.")]
    is_loss = lost > 0 and share is not None and share < GOOD_SHARE
    test = (model.get("mcnemar") or {}).get("teacher")
    if test and test["p"] >= SIGNIFICANT and not is_loss:
        noise = f"no difference beyond the noise (McNemar's p {p_value(test['p'])})"
        return [Sentence(f"It is {points}, {percent(teacher['accuracy'])} %{where}: {noise}.")]
    return [Sentence(f"It is {points}, {percent(teacher['accuracy'])} %{where}{kept if lost > 0 else ''}.", is_loss)]


def kept_above_chance(accuracy: float, teacher: float, report: Mapping[str, Any]) -> float | None:
    """(accuracy - chance) / (teacher - chance); None if chance is not known, or the teacher is no better than it.

    Chance is always giving the most frequent label. A share of the teacher's accuracy alone would praise a model that
    has learned nothing: of a class with 70 % of the rows it keeps 78 % of a teacher with 90 %.
    """
    found = (report.get("chance") or {}).get("accuracy")
    if found is None or teacher <= found:
        return None
    return max(0.0, float((accuracy - found) / (teacher - found)))


def cost_in_words(model: Entry, report: Mapping[str, Any]) -> str:
    """Compared with the teacher's cost, if that is known; and the model's own."""
    teacher = teacher_of(report)
    own = f"takes {one_text(model)} for a text and {three_figures(model['size_mb'])} MB"
    if model["speedup_over_teacher"] is None or teacher["size_mb"] is None:
        return own
    speed = _comparison(model["speedup_over_teacher"], more="faster", less="slower")
    size = _comparison(teacher["size_mb"] / model["size_mb"], more="smaller", less="larger")
    return f"{own}: {speed} and {size} than the teacher"


def one_text(entry: Entry) -> str:
    """The time of one text with its unit: `86.4 ms`, `33.1 µs`."""
    time = (entry["latency_ms"] or {}).get("p50")
    if time is None:
        return UNKNOWN
    return (
        f"{three_figures(time)}\N{NO-BREAK SPACE}ms"
        if time >= 1
        else f"{three_figures(1000 * time)}\N{NO-BREAK SPACE}µs"
    )


def _comparison(factor: float, *, more: str, less: str) -> str:
    return f"{times(factor)} {more}" if factor >= 1 else f"{times(1 / factor)} {less}"


def gain_in_words(gain: Mapping[str, Any], *, seeds: int) -> str:
    """A gain whose 95 % interval includes zero is not called a gain."""
    points = percent(abs(gain["accuracy"]))
    low, high = gain["ci95"]
    bounds = f"95 % interval {signed(low)} to {signed(high)}"
    one_seed = ", one seed" if seeds == 1 else ""
    if low > 0:
        return f"distilling gained {points} points over the same student trained alone ({bounds}{one_seed})"
    if high < 0:
        return f"distilling lost {points} points against the same student trained alone ({bounds}{one_seed})"
    return (
        f"distilling made no difference beyond the noise: {signed(gain['accuracy'])} points against the same student "
        f"trained alone ({bounds}{one_seed})"
    )
