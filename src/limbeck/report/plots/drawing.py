"""What all plots share: canvas, colours, legend, and the SVG text, the same bytes for the same numbers."""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

from limbeck.progress import visible

INK = "#010203"  # a placeholder: it becomes CSS's currentColor in the SVG text
COLOURS = {
    "teacher": "#d9822b",
    "rival": "#b565c9",
    "baseline": "#8a8f98",
    "student": "#3b82d6",
    "export": "#2fa36b",
}  # for light and dark
MARKERS = {"teacher": "*", "rival": "s", "baseline": "o", "student": "o", "export": "D"}
PALETTE = ("#3b82d6", "#d9822b", "#2fa36b", "#b565c9", "#c9485b", "#8a8f98", "#a88f22", "#2aa5b5")
DASHED = (0, (6, 4))
WIDTH, HEIGHT = 4.2, 3.0  # inches: narrow, so that letters stay legible on a phone
MAX_NAME = 28  # characters of a model's or run's name in a plot
MAX_PERCENT = 102.0  # upper end of an axis in percent: space for marks at 100
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "limbeck", "text.parse_math": False, "font.size": 9}


@contextmanager
def drawing() -> Iterator[None]:
    """Our settings while a plot is drawn. Letters stay text, so glyphs missing from the font do not matter; and the
    place of a legend takes a second to find only where the machine is busy."""
    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Creating legend with loc")
        yield


def canvas(*, xlabel: str, ylabel: str, width: float = WIDTH, height: float = HEIGHT) -> tuple[Figure, Axes]:
    """An empty plot; without pyplot, so that no global state is left."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    figure.patch.set_alpha(0)
    axes.patch.set_alpha(0)
    axes.set_xlabel(xlabel, color=INK)
    axes.set_ylabel(ylabel, color=INK)
    axes.tick_params(which="both", colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.grid(visible=True, color=INK, alpha=0.12, linewidth=0.6)
    return figure, axes


def short(name: object, *, most: int = MAX_NAME) -> str:
    """A name that is short enough for a plot."""
    text = visible(" ".join(str(name).split()))
    return text if len(text) <= most else text[: most - 1] + "…"


def end_at_100(axes: Axes) -> None:
    """End an axis in percent just above 100."""
    axes.set_ylim(top=min(axes.get_ylim()[1], MAX_PERCENT))


def legend(axes: Axes, **where: object) -> None:
    """A legend, if anything has a name."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, labelcolor=INK, fontsize=8, **where)


def svg(figure: Figure, *, name: str, title: str) -> str:
    """The figure as an element for a page: no prolog, no dates, ids that no other plot has.

    The element itself has the id `plot-NAME`, and the title for screen readers.
    """
    buffer = io.StringIO()
    for label in figure.findobj(Text):
        label.set_text(visible(label.get_text()))  # SVG has no control characters, not even escaped
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    return f'<svg id="plot-{name}" role="img" aria-label="{escape(title)}"' + text.removeprefix("<svg")
