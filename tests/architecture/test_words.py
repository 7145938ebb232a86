"""Plain words: phrases that the glossary replaced do not come back into code, messages, benchmarks and docs."""

import re
from pathlib import Path

import limbeck

SRC = Path(str(limbeck.__file__)).parent
ROOT = Path(__file__).resolve().parents[2]
OWN_TEXTS = {"sample_texts.py", "uneven_classes.py"}  # sentences for models to read: any English may be in them
CODE = {".py", ".cpp", ".hpp", ".html", ".jinja"}
INSTEAD = {
    r"\bstands? in\b": "appears in, is in",
    r"\bstands? for\b": "means, replaces",
    r"\banew\b": "again, rebuilt",
    r"\bmade anew\b": "rebuilt",
    r"\bthrice\b": "three times",
    r"\btold\b": "reported, shown",
    r"\bleft out:": "default:",
    r"\bsays nothing of\b": "does not describe, has no answer for",
    r"\b(classroom|apprentice|pupils?|lessons)\b": "training inputs, student, training rows",
}


def test_the_old_phrases_do_not_come_back() -> None:
    code = [path for folder in (SRC, ROOT / "benchmarks") for path in folder.rglob("*") if path.suffix in CODE]
    pages = [*code, *(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
    found = [
        f"{path.name}:{number}: {match[0]!r}; say {instead}"
        for path in sorted(pages)
        if path.name not in OWN_TEXTS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        for phrase, instead in INSTEAD.items()
        if (match := re.search(phrase, line, re.IGNORECASE))
    ]

    assert found == []
