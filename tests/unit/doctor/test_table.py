"""What a person sees: the worst first, with evidence and advice, and one line when all is well."""

import io

from rich.console import Console

from limbeck.doctor.finding import Examination, Finding, print_examination, worst_first

ERROR = Finding("manifest", "error", "a [file] is damaged", "it changed", "Run it again.")
WARNING = Finding("gain", "warning", "worse than alone", "70 % against 80 %", "Look below.", reasons=("weak", "short"))
NOTE = Finding("overlap", "note", "rows were in train", "10 verbatim", "Nothing to do.")


def printed(*findings: Finding, not_checked: dict[str, str] | None = None, width: int = 80) -> str:
    found = Examination("toy", "run", worst_first(findings), ["overlap", "gain"], not_checked or {})
    file = io.StringIO()
    print_examination(found, Console(file=file, width=width))
    return file.getvalue()


def test_the_worst_comes_first_each_with_its_sign() -> None:
    text = printed(NOTE, WARNING, ERROR)

    lines = [line.rstrip() for line in text.splitlines()]
    assert [line[0] for line in lines if line[:2] in ("✗ ", "! ", "· ")] == ["✗", "!", "·"]
    assert lines[0] == "✗ manifest a [file] is damaged"
    assert lines[-1] == "2 checks: 1 error, 1 warning, 1 note"


def test_evidence_reasons_and_advice_stand_below_in_this_order() -> None:
    text = printed(WARNING)

    places = [text.index(part) for part in ("worse than alone", "70 %", "1. weak", "2. short", "→ Look below.")]
    assert places == sorted(places)


def test_silence_is_one_line() -> None:
    assert printed() == "2 checks, all fine\n"


def test_notes_alone_are_fine() -> None:
    assert printed(NOTE).endswith("2 checks, all fine\n")


def test_what_was_not_checked_is_reported_with_the_reason() -> None:
    text = printed(not_checked={"int8": "no report yet", "copies": "no [augmentation]", "noise": "no report yet"})

    assert "not checked: int8, noise (no report yet)\n" in text
    assert "not checked: copies (no [augmentation])\n" in text


def test_a_narrow_terminal_loses_no_word() -> None:
    text = printed(WARNING, width=30)

    assert "against" in text
    assert max(map(len, text.splitlines())) <= 30


def test_errors_decide_and_json_has_it_all() -> None:
    found = Examination("toy", "run", [ERROR, NOTE], ["overlap"], {"gain": "no report"})

    assert found.has_errors
    assert not found.is_fine
    assert found.as_json()["findings"][0] == {
        "check": "manifest",
        "level": "error",
        "what": "a [file] is damaged",
        "evidence": "it changed",
        "advice": "Run it again.",
        "reasons": (),
    }
    assert found.as_json()["not_checked"] == {"gain": "no report"}


def test_names_in_findings_are_not_taken_for_markup() -> None:
    odd = "[b] [/] :x:"

    text = printed(
        Finding("gain", "error", f"what {odd}", f"evidence {odd}", f"advice {odd}", reasons=(f"reason {odd}",))
    )

    assert all(f"{part} {odd}" in text for part in ("what", "evidence", "advice", "reason"))
