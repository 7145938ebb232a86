"""Whether a model is right as often as it is sure, before and after its temperature."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from limbeck.report.plots.drawing import COLOURS, DASHED, INK, canvas, drawing, legend, short, svg

SMALLEST, LARGEST = 8.0, 90.0  # areas of marks, by the rows they stand for


def reliability(entries: Sequence[Mapping[str, Any]]) -> str | None:
    """Accuracy against confidence, bin by bin, larger marks for more rows; on the dashed line both are the same."""
    known = [entry for entry in entries if entry.get("reliability")]
    if not known:
        return None
    with drawing():
        figure, axes = canvas(xlabel="confidence (%)", ylabel="right (%)")
        axes.plot([0, 100], [0, 100], color=INK, alpha=0.5, linestyle=DASHED, linewidth=0.9)
        lowest = 100.0
        for entry in known:
            colour, name = COLOURS[entry["role"]], short(entry["name"])
            _draw_bins(axes, entry["reliability"], colour=colour, name=name)
            lowest = min(lowest, *(100 * min(bin_["confidence"], bin_["accuracy"]) for bin_ in entry["reliability"]))
            if entry.get("reliability_calibrated"):
                scaled = f"{name}, T = {entry['temperature']:.2f}" if entry.get("temperature") else f"{name}, scaled"
                _draw_bins(axes, entry["reliability_calibrated"], colour=colour, name=scaled, is_after=True)
        start = max(0.0, lowest - 5)
        axes.set(xlim=(start, 101), ylim=(start, 102))
        legend(axes)
        return svg(figure, name="reliability", title="how often a model is right, by how sure it is")


def _draw_bins(
    axes: Axes, bins: Sequence[Mapping[str, Any]], *, colour: str, name: str, is_after: bool = False
) -> None:
    most = max(bin_["rows"] for bin_ in bins)
    sure, right = ([100 * bin_[key] for bin_ in bins] for key in ("confidence", "accuracy"))
    areas = [SMALLEST + (LARGEST - SMALLEST) * bin_["rows"] / most for bin_ in bins]
    axes.plot(sure, right, color=colour, linewidth=1.2, linestyle=":" if is_after else "-", label=name)
    face = "none" if is_after else colour
    axes.scatter(sure, right, s=areas, facecolors=face, edgecolors=colour, alpha=0.75, linewidths=1.1, zorder=3)
