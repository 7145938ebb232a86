"""Leaks, foreign text and useless copies are found by what was counted while the text was made and labelled."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.transfer_text import TransferText
from limbeck.doctor.extra_text import copies, domain, transfer_overlap
from limbeck.progress import SilentReporter
from limbeck.recipe.transfer import Transfer
from limbeck.transfer.run import gather_transfer

Row = tuple[str, str]
Make = Callable[..., Any]
OF_COPIES = {
    "asked": 1000, "unchanged": 300, "kept": 600, "sources": 100, "sources_used": 100,
    "methods": [{"kind": "masking", "kept": 400}, {"kind": "ngram", "kept": 300}],
}  # fmt: skip


@pytest.fixture
def gathered(make_corpus_of: Make, hundred: list[Row], tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """gathered(lines, overlap=…): a corpus, and the transfer text of these lines."""

    def gather(lines: list[str], **settings: Any) -> dict[str, Any]:
        corpus = make_corpus_of(train=hundred[:60], dev=hundred[60:])
        (tmp_path / "lines.txt").write_text("\n".join(lines), encoding="utf-8")
        section = Transfer(files=[str(tmp_path / "lines.txt")], near_duplicates=1.0, **settings)
        key, out = Key(section={}, inputs={}), tmp_path / "transfer"
        return {
            "corpus": corpus,
            "transfer": gather_transfer(section, corpus=corpus, out=out, key=key, reporter=SilentReporter()),
        }

    return gather


def of_quality(**quality: Any) -> Any:
    """An artifact of which only the numbers are looked at."""
    return SimpleNamespace(quality=quality)


def test_new_text_of_the_domain_gives_no_findings(gathered: Make, make_known: Make) -> None:
    known = make_known(**gathered(["text number", "number text", "another text number 3"]))

    assert [*transfer_overlap(known), *domain(known)] == []


def test_held_out_rows_that_stay_in_the_text_are_an_error(gathered: Make, make_known: Make) -> None:
    lines = ["text number 60", "TEXT number 61", "some other text"]

    (finding,) = transfer_overlap(make_known(**gathered(lines, overlap="report", form="as_is")))

    assert finding.level == "error"
    assert finding.what == "2 of 40 dev rows appear in the transfer text"
    assert finding.evidence.startswith("1 verbatim, 1 except for case")


def test_held_out_rows_that_were_kept_out_are_a_note(gathered: Make, make_known: Make) -> None:
    known = make_known(**gathered(["text number 60", "some other text"]))

    (finding,) = transfer_overlap(known)

    assert finding.level == "note"
    assert finding.what == "1 of 40 dev rows were in the transfer text"


def test_text_of_other_words_is_found(gathered: Make, make_known: Make) -> None:
    known = make_known(**gathered(["quarterly revenue of the insurance sector", "text about bonds and yields"]))

    (finding,) = domain(known)

    assert finding.level == "note"
    assert finding.evidence.startswith("9% of its running words appear in train")  # 1 of 11


@pytest.mark.parametrize(("there", "count"), [(0.50, 1), (0.28, 0), (0.10, 0)])
def test_text_that_the_teacher_doubts_is_found(gathered: Make, make_known: Make, there: float, count: int) -> None:
    """1.5 times the entropy on dev, which is 0.2: and not where that is a difference in the last digits."""
    chosen = of_quality(teacher_entropy={"dev": 0.2}, transfer={"rows": 2, "teacher_entropy": there})

    findings = domain(make_known(**gathered(["text number"]), chosen=chosen))

    assert [finding.what for finding in findings] == [
        "the teacher is far less sure on the transfer text than on the corpus"
    ] * count


def test_a_little_more_than_nearly_no_doubt_is_nothing(gathered: Make, make_known: Make) -> None:
    chosen = of_quality(teacher_entropy={"dev": 0.001}, transfer={"rows": 2, "teacher_entropy": 0.03})

    assert domain(make_known(**gathered(["text number"]), chosen=chosen)) == []


def test_copies_of_many_rows_give_no_findings(make_known: Make) -> None:
    chosen = of_quality(augmented={"label_flips": 0.05, "methods": [{"kind": "masking", "label_flips": 0.2}]})

    assert copies(make_known(copies=of_quality(**OF_COPIES), chosen=chosen)) == []


def test_copies_of_one_row_alone_are_an_error(make_known: Make) -> None:
    (finding,) = copies(make_known(copies=of_quality(**{**OF_COPIES, "sources_used": 1})))

    assert finding.level == "error"
    assert finding.what == "all copies come from 1 training row"
    assert finding.evidence == "600 copies; train has 100 rows"


def test_copies_of_transfer_text_are_reported_as_such(make_known: Make) -> None:
    quality = {**OF_COPIES, "sources": 1_000, "sources_used": 30, "of_transfer": {"sources": 900}}

    (finding,) = copies(make_known(copies=of_quality(**quality)))

    assert finding.what == "all copies come from 30 rows"
    assert finding.evidence == "600 copies; 1,000 rows of train and transfer text were to be copied"


def test_copies_of_few_rows_are_a_warning_but_few_copies_are_not(make_known: Make) -> None:
    few_sources = copies(make_known(copies=of_quality(**{**OF_COPIES, "sources_used": 49})))
    few_copies = copies(make_known(copies=of_quality(**{**OF_COPIES, "kept": 20, "sources_used": 18})))

    assert [finding.level for finding in few_sources] == ["warning"]
    assert few_copies == []


def test_a_method_that_changes_nothing_is_named(make_known: Make) -> None:
    methods = [{"kind": "masking", "kept": 400}, {"kind": "word_vectors", "kept": 0}]

    (finding,) = copies(make_known(copies=of_quality(**{**OF_COPIES, "methods": methods})))

    assert finding.what == "no copy made by word_vectors was kept"


def test_copies_that_hardly_ever_differ_are_found(make_known: Make) -> None:
    (finding,) = copies(
        make_known(copies=of_quality(**{**OF_COPIES, "unchanged": 950, "kept": 50, "sources_used": 50}))
    )

    assert finding.what == "95% of the copies are identical to their source"


def test_copies_that_change_the_label_are_found_by_method(make_known: Make) -> None:
    judged = {
        "label_flips": 0.18,
        "methods": [{"kind": "masking", "label_flips": 0.1}, {"kind": "ngram", "label_flips": 0.31}],
    }

    (finding,) = copies(make_known(copies=of_quality(**OF_COPIES), chosen=of_quality(augmented=judged)))

    assert finding.level == "warning"
    assert finding.evidence == "18% of all copies; ngram 31%"


def test_new_pairs_may_have_another_label(make_known: Make) -> None:
    judged = {"label_flips": 0.4, "methods": [{"kind": "pairing", "label_flips": 0.5}]}

    assert copies(make_known(copies=of_quality(**OF_COPIES), chosen=of_quality(augmented=judged))) == []


def test_a_part_is_a_transfer_text(gathered: Make) -> None:
    assert isinstance(gathered(["text number"])["transfer"], TransferText)
