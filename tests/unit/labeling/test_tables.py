"""What `limbeck labels` prints."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from limbeck.labeling.summary import SplitSummary
from limbeck.labeling.tables import print_labels, print_verification
from limbeck.labeling.verification import Verification

HEAD = {
    "teacher": "tiny[bert]",
    "fingerprint": "abc123",
    "rows": 1200,
    "labelled": 1100,
    "distinct_texts": 900,
    "features": None,
    "asked": 450,
    "rows_per_second": 2345.6,
    "hit_rate": 0.5,
    "store": "/runs/.label-store",
    "store_mb": 1.25,
    "shards": 3,
}
TRAIN = SplitSummary(
    rows=1000,
    labelled=900,
    distinct_texts=800,
    entropy=0.1234,
    entropy_share=0.178,
    teacher_balance={"no": 0.25, "yes": 0.75},
    corpus_balance={"no": 0.5, "yes": 0.5},
)
TRANSFER = replace(TRAIN, rows=200, labelled=0, entropy=None, entropy_share=None, corpus_balance=None)
SOUND = Verification(
    rows=256,
    silent=0,
    largest_difference=0.0002,
    mean_difference=0.00001,
    agreement=1.0,
    tolerance=0.001,
    shards=3,
    damaged=[],
)


def printed_labels(*, width: int = 100, **splits: SplitSummary) -> str:
    file = io.StringIO()
    print_labels(HEAD, splits, Console(file=file, width=width))
    return file.getvalue()


def printed_verification(found: Verification, *, precision: str = "fp32") -> str:
    file = io.StringIO()
    print_verification(found, precision=precision, console=Console(file=file, width=200))
    return file.getvalue()


def test_the_head_says_who_was_asked_and_what_was_in_the_store() -> None:
    text = printed_labels(train=TRAIN)

    assert "tiny[bert], fingerprint abc123" in text
    assert "1,100 of 1,200 rows, 900 distinct texts" in text
    assert "450 texts at 2,346 rows/s; hit rate of the store 50.0%" in text
    assert "/runs/.label-store: 1.2 MB of this teacher in 3 shards" in text


def test_every_split_has_a_line_and_every_class_one() -> None:
    lines = printed_labels(train=TRAIN, transfer=TRANSFER).splitlines()

    assert ["train", "1,000", "900", "800", "0.123", "17.8%"] in [line.split() for line in lines]
    assert ["transfer", "200", "0", "800", "–", "–"] in [line.split() for line in lines]
    assert ["yes", "75.0%", "50.0%", "75.0%"] in [line.split() for line in lines]


def test_of_very_many_classes_only_the_first_are_shown() -> None:
    balance = {f"class-{number}": 1 / 50 for number in range(50)}

    text = printed_labels(train=replace(TRAIN, teacher_balance=balance, corpus_balance=None))

    assert "class-19" in text
    assert "class-20" not in text
    assert "30 more classes" in text


def test_sound_labels_are_called_so() -> None:
    text = printed_verification(SOUND)

    assert "256 rows, 100.00% with the same label" in text
    assert "0.0002 at most" in text
    assert "allowed: 0.001" in text
    assert "The labels are what the teacher answers now." in text


@pytest.mark.parametrize("fault", [{"largest_difference": 0.5}, {"silent": 4, "agreement": 0.98}])
def test_labels_that_are_not_sound_are_called_so_and_what_to_do_is_said(fault: dict[str, object]) -> None:
    text = printed_verification(replace(SOUND, **fault))  # type: ignore[arg-type]  # one fact of any type

    assert "not what the teacher answers now" in text
    assert "run the recipe again" in text


def test_a_damaged_shard_is_no_fault_of_labels_that_are_right() -> None:
    text = printed_verification(replace(SOUND, damaged=["/store/a/shard.arrow"]))

    assert "are what the teacher answers now. Remove the damaged shards" in text


def test_damaged_shards_are_named() -> None:
    assert "/store/a/shard.arrow" in printed_verification(replace(SOUND, damaged=["/store/a/shard.arrow"]))


def test_why_half_precision_may_differ_is_said() -> None:
    assert "share its batch" in printed_verification(replace(SOUND, tolerance=0.25), precision="bf16")
    assert "share its batch" not in printed_verification(SOUND)


def test_names_are_not_taken_for_markup() -> None:
    balance = {"[b]": 0.25, "[/]": 0.5, ":x:": 0.25}
    odd = replace(TRAIN, teacher_balance=balance, corpus_balance=None)

    file = io.StringIO()

    print_labels(HEAD, {"[red]": odd}, Console(file=file, width=100))

    lines = file.getvalue().splitlines()

    assert [line.split()[0] for line in lines if line.split()[1:] in (["25.0%"], ["50.0%"])] == list(balance)
    assert ["[red]", "1,000", "900", "800", "0.123", "17.8%"] in [line.split() for line in lines]
    assert "[red]: teacher" in "\n".join(lines)
