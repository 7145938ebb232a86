"""Overlap is reported where it matters, and distinguished from overlap that was removed."""

from typing import Any

from limbeck.report import findings


def test_rows_in_train_are_warned_about(report: dict[str, Any]) -> None:
    report["corpus"]["overlap"] |= {"mode": "report", "splits": {"test": {"rows": 801, "found": 11, "verbatim": 9}}}

    (warning,) = findings.warnings(report)

    assert warning.startswith("11 of 801 test rows appear in train (9 verbatim)")
    assert 'corpus.overlap = "remove"' in warning


def test_a_model_that_is_left_out_is_warned_about(report: dict[str, Any]) -> None:
    reason = "largest difference of a logit for its scale on 63 rows: 3 at a scale of 5; allowed: 0.0005"
    report["refused"] = [{"name": "ngrams", "precision": "fp32", "reason": reason, "advice": ""}]

    (warning,) = findings.warnings(report)

    assert warning == f"ngrams is left out because its fp32 file does not match the trained student ({reason})"
    assert findings.doubts(report) == []  # which the cards of the other models have


def test_rows_that_were_removed_are_a_fact_and_no_warning(report: dict[str, Any]) -> None:
    assert findings.warnings(report) == []
    assert ("removed", "4 of 801 test rows were in the transfer text (3 verbatim)") in findings.transfer_facts(report)


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


def test_a_teacher_that_answered_all_needs_no_note(report: dict[str, Any]) -> None:
    assert findings.notes(report) == []

    report["models"][0]["judged_rows"] = 801

    assert findings.notes(report) == []


def test_rows_without_a_teacher_label_are_counted(report: dict[str, Any]) -> None:
    report["models"][0]["judged_rows"] = 500

    (note,) = findings.notes(report)

    assert note.startswith("the teacher has no labels for 301 of 801 test rows")
    assert note.endswith("the other 500")


def test_labels_that_train_lacks_are_named(report: dict[str, Any]) -> None:
    report["corpus"]["unknown_in_test"] = {"so so": 12, "mixed": 1}

    (note,) = findings.notes(report)

    assert note == (
        "labels of test rows that train does not have: so so × 12, mixed × 1; "
        "every answer to such a row counts as wrong"
    )


def test_a_teacher_without_any_label_is_noted(silent_report: dict[str, Any]) -> None:
    (note,) = findings.notes(silent_report)

    assert note.startswith("the teacher has no labels for the 801 test rows")


def test_labels_made_of_columns_are_noted_once(report: dict[str, Any]) -> None:
    report["corpus"]["labels_from"] = "columns"

    (note,) = findings.notes(report)

    assert note == (
        "a row's label is the largest of its columns; if a model wrote those columns, accuracy here means agreement "
        "with it"
    )
    assert not [name for name, _ in findings.corpus_facts(report) if "labels" in name]


def test_several_labels_made_of_columns_are_noted_as_such(report: dict[str, Any]) -> None:
    report["corpus"] |= {"labels_from": "columns", "multi_label": True}

    (note,) = findings.notes(report)

    assert note.startswith("a row's labels are all of its columns with 0.5 or more")
    assert "exact match here means" in note


def test_the_numbers_of_every_method_go_by_its_kind(report: dict[str, Any]) -> None:
    report["augmentation"] = {
        "kept": 900,
        "methods": [{"kind": "masking", "kept": 500}, {"kind": "ngram", "kept": 400}],
    }

    assert findings.augmentation_facts(report) == [("kept", "900"), ("masking kept", "500"), ("ngram kept", "400")]


def test_a_teacher_below_the_rival_or_the_student_alone_is_warned_about(rival_report: dict[str, Any]) -> None:
    assert findings.warnings(rival_report) == []
    rival_report["models"][0]["accuracy"] = 0.87
    rival_report["models"][1]["mcnemar"] = {"teacher": {"p": 0.001, "only_this": 50, "only_other": 20}}
    rival_report["models"][2] |= {"accuracy": 0.88, "mcnemar": {"teacher": {"p": 0.4, "only_this": 9, "only_other": 7}}}

    rival, alone = findings.warnings(rival_report)

    assert rival.startswith("the teacher is below tfidf, ten lines of scikit-learn: 87.0 % against 89.0 %; a student")
    assert alone.startswith(
        "the teacher is below bilstm-alone, the student without a teacher: 87.0 % against 88.0 % (wi"
    )
    assert "fine-tune the teacher longer" in rival
    assert findings.leaks(rival_report) == []


def test_a_rival_that_was_trained_on_a_sample_is_noted(rival_report: dict[str, Any]) -> None:
    rival_report["models"][1] |= {"train_rows": 50_000, "of_train_rows": 120_000}

    assert findings.notes(rival_report) == ["tfidf was trained on 50,000 of 120,000 training rows, to take seconds"]


def test_training_rows_that_nobody_learned_from_are_noted(rival_report: dict[str, Any]) -> None:
    rows = rival_report["corpus"]["rows"]["train"]
    rival_report["corpus"]["beyond_max_rows_left_out"] = 5_000

    (note,) = findings.notes(rival_report)

    assert (
        note == f"all models learned from {rows:,} of {rows + 5_000:,} training rows (corpus.max_rows), tfidf as well"
    )


def test_a_choice_on_the_judged_rows_is_noted(rival_report: dict[str, Any]) -> None:
    rival_report["judged_split"] = "dev"

    (note,) = findings.notes(rival_report)

    assert note.startswith("bilstm-int8 was chosen as the best on the same dev rows")


def test_classes_that_the_best_model_never_answers_are_named(rival_report: dict[str, Any]) -> None:
    best = next(entry for entry in rival_report["models"] if entry["name"] == rival_report["best"])
    first, second = rival_report["corpus"]["labels"][:2]
    assert findings.never_answered(rival_report) == []

    rival_report["corpus"]["labels"] = [first, second, "legal"]
    best["confusion"] = [[40, 5, 0], [4, 44, 0], [3, 4, 0]]

    (found,) = findings.never_answered(rival_report)
    assert "answers for no row: legal × 7" in found
    assert "class_weights" in found


def test_a_class_of_one_or_two_rows_is_easily_missed_and_weights_help_only_rare_ones(
    rival_report: dict[str, Any],
) -> None:
    best = next(entry for entry in rival_report["models"] if entry["name"] == rival_report["best"])
    rival_report["corpus"]["labels"] = ["access", "billing", "legal"]

    best["confusion"] = [[40, 5, 0], [4, 44, 0], [1, 1, 0]]
    assert findings.never_answered(rival_report) == []

    best["confusion"] = [[9, 1, 0], [1, 9, 0], [6, 4, 0]]
    assert findings.never_answered(rival_report) == [f"{best['name']} answers for no row: legal × 10"]


def test_facts_of_several_methods_are_pairs_of_plain_words(rival_report: dict[str, Any]) -> None:
    methods = [{"kind": "masking", "label_flips": 0.25}, {"kind": "ngram", "label_flips": 0.5}]
    rival_report["augmentation"] = {"copies": 2, "chosen": {"rows": 7, "methods": methods}}

    assert findings.augmentation_facts(rival_report) == [
        ("copies", "2"),
        ("chosen rows", "7"),
        ("chosen methods masking label flips", "0.25"),
        ("chosen methods ngram label flips", "0.5"),
    ]
