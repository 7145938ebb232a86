"""A review as one self-contained page: labels that look wrong and why, overlapping classes, rows to label next."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from limbeck.report.templates import rendered
from limbeck.report.wording import percent

if TYPE_CHECKING:
    from limbeck.review.class_overlap import Confusion
    from limbeck.review.run import Review
    from limbeck.review.wrong_labels import DoubtfulRow

PAGE, TEMPLATE = "review.html", "review.html.jinja"
MOST_ROWS, MOST_PAIRS = 500, 50
MOST_CHARACTERS = 1_000  # of a text


def page(content: Mapping[str, Any]) -> str:
    """The HTML. All text from outside is escaped, and no request leaves the page."""
    return rendered(TEMPLATE, review=content)


def content_of(found: "Review") -> dict[str, Any]:
    """What a page shows, in words; also of the report's."""
    return {
        "run": found.folder.parent.name,
        "judged": [
            f"{one['split']}: {one['doubtful']:,} of {one['rows']:,} labels look wrong; judged by {one['by']}"
            for one in found.judged
        ],
        "rows": [_row(row) for row in found.doubtful[:MOST_ROWS]],
        "doubtful": len(found.doubtful),
        "pairs": [
            {
                "first": pair.first,
                "second": pair.second,
                "confused": f"{pair.confused:,}",
                "forth": _confusion(pair.forth),
                "back": _confusion(pair.back),
            }
            for pair in found.pairs[:MOST_PAIRS]
        ],
        "next_rows": [
            {
                "text": _text(row.text, row.pair),
                "teacher": _answer(row.teacher, row.teacher_sure),
                "student": _answer(row.student, row.student_sure),
            }
            for row in found.next_rows[:MOST_ROWS]
        ],
    }


def _row(row: "DoubtfulRow") -> dict[str, Any]:
    return {
        "text": _text(row.text, row.pair),
        "label": row.label,
        "proposed": row.suggested or "?",
        "sure": percent(row.sure, digits=0),
        "reason": row.reason,
        "where": f"{row.file}, row {row.row:,}",
    }


def _answer(label: str, sure: float | None) -> str:
    return label if sure is None else f"{label} ({percent(sure, digits=0)} %)"


def _confusion(found: "Confusion") -> str:
    return f"{found.rows:,}: {_text(found.example, None)}" if found.rows else "0"


def _text(text: str, pair: str | None) -> str:
    whole = " ".join((text if pair is None else f"{text} ⇄ {pair}").split())
    return whole if len(whole) <= MOST_CHARACTERS else f"{whole[:MOST_CHARACTERS]}…"
