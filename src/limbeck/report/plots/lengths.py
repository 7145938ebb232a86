"""How good every model is on short and on long texts."""

from collections.abc import Mapping
from typing import Any

from limbeck.report import wording
from limbeck.report.plots.drawing import COLOURS, MARKERS, canvas, drawing, end_at_all, legend, short, svg


def accuracy_by_length(report: Mapping[str, Any]) -> str | None:
    """Accuracy in the quarters of the judged rows by length, one line per model; None where it is not known."""
    known = [entry for entry in report["models"] if entry.get("by_length")]
    if not known:
        return None
    unit = "characters" if report["corpus"]["language"] == "zh" else "words"
    # The teacher comes first and need not have answered all rows; the last model has all groups.
    groups = known[-1]["by_length"]
    with drawing():
        figure, axes = canvas(xlabel=f"{unit} in a text (and rows)", ylabel=f"{wording.measure(report)} (%)")
        places = {tuple(group["words"]): place for place, group in enumerate(groups)}
        for entry in known:
            answered = [group for group in entry["by_length"] if group["accuracy"] is not None]
            shown = [group for group in answered if tuple(group["words"]) in places]
            axes.plot(
                [places[tuple(group["words"])] for group in shown],
                [100 * group["accuracy"] for group in shown],
                color=COLOURS[entry["role"]],
                marker=MARKERS[entry["role"]],
                markersize=8 if entry["role"] == "teacher" else 4,
                linewidth=1.3,
                label=short(entry["name"]),
            )
        axes.set_xticks(range(len(groups)), [_named(group) for group in groups], fontsize=8)
        axes.margins(x=0.08, y=0.15)
        end_at_all(axes)
        legend(axes)
        return svg(figure, name="lengths", title=f"{wording.measure(report)} by the length of texts")


def _named(group: Mapping[str, Any]) -> str:
    low, high = group["words"]
    span = f"{low:,}" if low == high else f"{low:,}–{high:,}"
    return f"{span}\n({group['rows']:,})"
