"""The page of a report, written again when there is more to show: a review of the same corpus."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import read_manifest, read_small_json
from limbeck.artifacts.report import Report
from limbeck.report.html import page

REVIEW = Path("review", "page.json")  # in the folder of a run
FORM = 1  # of that file
MARK = '<h2 id="review">'  # in a page that has a review


def keep_review(run: Path, content: Mapping[str, Any], *, corpus: str) -> None:
    """Keep what a page shows of a review of the corpus with this fingerprint, texts included."""
    kept = {"form": FORM, "corpus": corpus, "content": content}
    (run / REVIEW).write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")


def complete_report_page(run: Path) -> None:
    """Write the page if it is missing, or lacks the review that there is of the same corpus: a report that was made
    again takes it over."""
    report = Report(run / "report")
    manifest = read_manifest(report.folder, kind="report")
    if report.html.is_file() and (has_review(run) or _review(run, corpus=manifest.key.inputs.get("corpus")) is None):
        return
    write_report_page(run)


def has_review(run: Path) -> bool:
    """Whether RUN/report/report.html is there, and shows a review."""
    html = Report(run / "report").html
    return html.is_file() and MARK in html.read_text(encoding="utf-8", errors="replace")


def write_report_page(run: Path) -> bool:
    """Write RUN/report/report.html from report.json, and from the review of the run if it is about the same corpus.

    False if the manifest of an earlier version lists the page, which then stays as it is.
    """
    report = Report(run / "report")
    manifest = read_manifest(report.folder, kind="report")
    if report.html.name in manifest.files:
        return False
    text = page(report.data, review=_review(run, corpus=manifest.key.inputs.get("corpus")))
    scratch = report.html.with_name(f"{report.html.name}.partial")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(report.html)
    return True


def _review(run: Path, *, corpus: str | None) -> Mapping[str, Any] | None:
    """None without a review, with one of other rows, and with a file that another version wrote."""
    try:
        kept = read_small_json(run / REVIEW)
        same = kept["form"] == FORM and kept["corpus"] == corpus
        content: Mapping[str, Any] | None = kept["content"] if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return content
