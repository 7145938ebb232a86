"""The page of a report, with and without a review of its corpus."""

import json
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import MANIFEST, Key, faults_of, fingerprint_of, read_manifest
from limbeck.artifacts.report import save_report
from limbeck.pipeline import report_page as room
from limbeck.pipeline.report_page import MARK, REVIEW, complete_report_page, has_review, keep_review, write_report_page

CONTENT = {"rows": [], "judged": ["train: 1 of 10 labels look wrong"]}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with a report of the corpus c1; the page is what it is made from."""

    def page(report: Any, *, review: Any = None) -> str:
        return json.dumps([report["run"], review])

    monkeypatch.setattr(room, "page", page)
    with written_atomically(tmp_path / "report", kind="report", key=Key({}, {"corpus": "c1"})) as scratch:
        save_report(scratch, data={"run": "films"}, page="at first")
    (tmp_path / "review").mkdir()
    return tmp_path


def written(run: Path) -> Any:
    return json.loads((run / "report" / "report.html").read_text(encoding="utf-8"))


def test_a_review_of_the_same_corpus_is_on_the_page_and_the_report_stays_whole(run: Path) -> None:
    before = read_manifest(run / "report", kind="report")

    keep_review(run, CONTENT, corpus="c1")

    assert write_report_page(run)
    assert written(run) == ["films", CONTENT]
    after = read_manifest(run / "report", kind="report")
    assert (after.fingerprint, faults_of(run / "report", after)) == (before.fingerprint, [])


@pytest.mark.parametrize("kept", ["another corpus", "another form", "damaged", "nothing"])
def test_another_review_is_not(run: Path, kept: str) -> None:
    keep_review(run, CONTENT, corpus="c2" if kept == "another corpus" else "c1")
    if kept == "another form":
        (run / REVIEW).write_text('{"form": 99}', encoding="utf-8")
    if kept == "damaged":
        (run / REVIEW).write_text("{", encoding="utf-8")
    if kept == "nothing":
        (run / REVIEW).unlink()

    assert write_report_page(run)
    assert written(run) == ["films", None]


def test_a_run_completes_the_page_where_something_is_missing(run: Path) -> None:
    page = run / "report" / "report.html"

    complete_report_page(run)
    assert page.read_text(encoding="utf-8") == "at first"
    page.unlink()
    complete_report_page(run)
    assert written(run) == ["films", None]
    keep_review(run, CONTENT, corpus="c1")
    complete_report_page(run)
    assert written(run) == ["films", CONTENT]
    page.write_text(MARK, encoding="utf-8")
    complete_report_page(run)
    assert page.read_text(encoding="utf-8") == MARK
    assert has_review(run)


def test_the_page_of_an_earlier_version_is_left_as_it_is(run: Path) -> None:
    place = run / "report" / MANIFEST
    manifest = json.loads(place.read_text(encoding="utf-8"))
    assert "report.html" not in manifest["files"]
    manifest["files"]["report.html"] = next(iter(manifest["files"].values()))
    contents = "\n".join(f"{name} {facts['blake2b']}" for name, facts in manifest["files"].items())
    manifest["fingerprint"] = fingerprint_of(contents)
    place.write_text(json.dumps(manifest), encoding="utf-8")

    assert not write_report_page(run)
    assert (run / "report" / "report.html").read_text(encoding="utf-8") == "at first"
    assert not has_review(run)
