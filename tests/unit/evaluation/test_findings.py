"""Overlap is told where it matters, and told apart from overlap that was removed."""

from typing import Any

from limbeck.evaluation import findings


def test_rows_left_in_train_are_warned_about(report: dict[str, Any]) -> None:
    report["corpus"]["overlap"] |= {"mode": "report", "splits": {"test": {"rows": 801, "found": 11, "verbatim": 9}}}

    (warning,) = findings.warnings(report)

    assert warning.startswith("11 of 801 test rows stand in train (9 verbatim)")
    assert 'corpus.overlap = "remove"' in warning


def test_rows_that_were_kept_out_are_a_fact_and_no_warning(report: dict[str, Any]) -> None:
    assert findings.warnings(report) == []
    assert ("kept out", "4 of 801 test rows stood in the transfer text (3 verbatim)") in findings.transfer_facts(report)


def test_facts_are_written_in_words_and_empty_ones_left_out(report: dict[str, Any]) -> None:
    report["corpus"] |= {"empty_texts": {"train": 0, "dev": 2}, "test_from": None}

    facts = dict(findings.corpus_facts(report))

    assert facts["duplicates in train"] == "17"
    assert facts["empty texts dev"] == "2"
    assert not {"empty texts train", "test from", "name"} & set(facts)


def test_a_run_without_transfer_text_has_no_transfer_facts(report: dict[str, Any]) -> None:
    report["transfer"] = None

    assert findings.transfer_facts(report) == []
    assert findings.warnings(report) == []
