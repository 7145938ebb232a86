"""Rows that splits share, texts with several labels, and uneven classes are found; a clean corpus is not troubled."""

from collections.abc import Callable
from typing import Any

from limbeck.doctor.corpus import balance, contradictions, overlap

Row = tuple[str, str]
Make = Callable[..., Any]


def test_a_clean_corpus_gives_no_findings(make_corpus_of: Make, make_known: Make, hundred: list[Row]) -> None:
    known = make_known(corpus=make_corpus_of(train=hundred[:60], dev=hundred[60:80], test=hundred[80:]))

    assert [*overlap(known), *contradictions(known), *balance(known)] == []


def test_dev_rows_in_train_are_counted_exactly(make_corpus_of: Make, make_known: Make, hundred: list[Row]) -> None:
    shouted = [(text.upper(), label) for text, label in hundred[50:52]]
    corpus = make_corpus_of(
        train=hundred[:60] + shouted, dev=[*hundred[53:60], ("Text  Number 50", "bad"), *hundred[60:]]
    )

    (finding,) = overlap(make_known(corpus=corpus))

    assert finding.level == "error"
    assert finding.what == "8 of 48 dev rows appear in train"
    assert finding.evidence == "7 verbatim, 1 except for case, width and spaces"
    assert 'overlap = "remove"' in finding.advice


def test_few_shared_rows_are_a_warning(make_corpus_of: Make, make_known: Make) -> None:
    rows = [(f"row {number}", "good" if number % 2 else "bad") for number in range(400)]

    (finding,) = overlap(make_known(corpus=make_corpus_of(train=rows[:200], dev=rows[199:])))

    assert finding.level == "warning"
    assert finding.what == "1 of 201 dev rows appear in train"


def test_rows_that_were_removed_are_only_a_note(make_corpus_of: Make, make_known: Make, hundred: list[Row]) -> None:
    corpus = make_corpus_of(train=hundred[:60], dev=hundred[50:], overlap="remove")

    (finding,) = overlap(make_known(corpus=corpus))

    assert finding.level == "note"
    assert finding.what == "10 of 50 dev rows were in train"
    assert "10 training rows were removed" in finding.evidence


def test_test_rows_in_dev_are_found(make_corpus_of: Make, make_known: Make, hundred: list[Row]) -> None:
    corpus = make_corpus_of(train=hundred[:60], dev=hundred[60:80], test=[*hundred[77:80], *hundred[80:]])

    (finding,) = overlap(make_known(corpus=corpus))

    assert finding.level == "warning"
    assert finding.what == "3 of 23 test rows appear in dev"


def test_texts_with_both_labels_are_found_with_an_example(
    make_corpus_of: Make, make_known: Make, hundred: list[Row]
) -> None:
    torn = [("Text number 1", "bad"), ("text number 2", "good")]

    (finding,) = contradictions(make_known(corpus=make_corpus_of(train=hundred[:60] + torn, dev=hundred[60:])))

    assert finding.level == "warning"
    assert finding.what == "2 texts appear in the corpus with different labels"
    assert finding.evidence == "4 of 102 rows (3.9%); such as “text number 1”: bad, good"


def test_a_single_contradiction_in_many_rows_is_a_note(make_corpus_of: Make, make_known: Make) -> None:
    rows = [(f"row {number}", "good" if number % 2 else "bad") for number in range(1000)]

    (finding,) = contradictions(
        make_known(corpus=make_corpus_of(train=[*rows[:900], ("row 1", "bad")], dev=rows[900:]))
    )

    assert finding.level == "note"


def test_the_same_set_of_labels_is_no_contradiction(make_corpus_of: Make, make_known: Make) -> None:
    train = [("a", "x|y"), ("a", "y|x"), ("b", "x"), ("B", "x|y")]
    corpus = make_corpus_of(train=train, dev=[("c", "x"), ("d", "y")], multi_label=True)

    (finding,) = contradictions(make_known(corpus=corpus))

    assert finding.what == "1 texts appear in the corpus with different labels"
    assert finding.evidence.endswith("such as “b”: x, x + y")


def test_a_class_of_few_rows_is_found(make_corpus_of: Make, make_known: Make, hundred: list[Row]) -> None:
    rare = [(f"rare {number}", "odd") for number in range(9)]
    corpus = make_corpus_of(train=hundred[:60] + rare, dev=[*hundred[60:], ("rare", "odd")])

    (finding,) = balance(make_known(corpus=corpus))

    assert finding.level == "warning"
    assert finding.what == "1 of 3 classes have fewer than 10 training rows"
    assert finding.evidence == "odd 9"


def test_uneven_classes_are_a_warning_unless_they_are_weighted(make_corpus_of: Make, make_known: Make) -> None:
    train = [(f"common {number}", "common") for number in range(111)] + [
        (f"rare {number}", "rare") for number in range(11)
    ]
    dev = [("common", "common"), ("rare", "rare")]

    plain = balance(make_known(corpus=make_corpus_of(train=train, dev=dev)))
    weighted = balance(make_known(corpus=make_corpus_of(train=train, dev=dev, class_weights="balanced")))

    assert [(finding.level, finding.evidence) for finding in plain] == [
        ("warning", "common 111, rare 11 training rows")
    ]
    assert [finding.level for finding in weighted] == ["note"]


def test_ten_times_as_many_rows_are_not_uneven_yet(make_corpus_of: Make, make_known: Make) -> None:
    train = [(f"common {number}", "common") for number in range(110)] + [
        (f"rare {number}", "rare") for number in range(11)
    ]

    assert balance(make_known(corpus=make_corpus_of(train=train, dev=[("c", "common"), ("r", "rare")]))) == []


def test_a_class_that_nothing_is_judged_by_is_found(make_corpus_of: Make, make_known: Make, hundred: list[Row]) -> None:
    corpus = make_corpus_of(train=hundred, dev=[("one", "good"), ("two", "good")])

    (cut_off,) = balance(make_known(corpus=corpus))
    (given,) = balance(make_known({"corpus": {"train": "train.csv", "dev": "dev.csv"}}, corpus=corpus))

    assert given.what == cut_off.what == "no dev row has bad"
    assert given.advice == "Put rows of every class into dev, or omit dev: a part of train is used then."
    assert cut_off.advice == "Put rows of every class into a dev of your own (corpus.dev), or label more of them."
