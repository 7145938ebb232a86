import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from limbeck.augmentation import masked_predictions
from limbeck.augmentation.masked_predictions import answers_about
from limbeck.augmentation.show import NEW, OLD, before_after, methods_asked, show_copies
from limbeck.errors import ColumnMissing, RecipeInvalid
from limbeck.progress import SilentReporter
from limbeck.recipe.augmentation import Masking, Ngram


def shown(path: Path, *methods: str, **options: Any) -> str:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    defaults: dict[str, Any] = {"text": None, "pair": None, "show": 3, "header": True, "seed": 0}
    show_copies(path, methods=methods, console=console, reporter=SilentReporter(), **{**defaults, **options})
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def coloured(line: Any, style: str) -> list[str]:
    return [line.plain[span.start : span.end] for span in line.spans if span.style == style]


def test_changed_words_are_coloured() -> None:
    went, came = before_after("a good, long film", "a [MASK], film")

    assert went.plain == "- a good, long film"
    assert came.plain == "+ a [MASK], film"
    assert coloured(went, OLD) == ["good", "long"]
    assert coloured(came, NEW) == ["[MASK]"]


def test_chinese_is_compared_by_characters() -> None:
    went, came = before_after("剧情太差", "剧情[MASK]差")

    assert coloured(went, OLD) == ["太"]
    assert coloured(came, NEW) == ["[MASK]"]


def test_rows_are_shown_before_and_after(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "".join(f"the story number {number},yes\n" for number in range(9)))

    lines = shown(path, "masking", "pos_swap").splitlines()

    assert lines[0] == "- the story number 0"
    assert lines[1].startswith("+ ")
    assert lines[1][2:] != lines[0][2:]
    assert len([line for line in lines if line.startswith("- ")]) == 3


def test_a_language_model_is_asked_about_a_few_rows_only(
    tmp_path: Path, make_language_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked about every word: for a complete file that would take hours."""
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "".join(f"good film {number},yes\n" for number in range(99)))
    folder = make_language_model(["good", "film", "story", "a"])
    asked: list[int] = []

    def watched(texts: list[str], *arguments: Any, **options: Any) -> Any:
        asked.append(len(texts))
        return answers_about(texts, *arguments, **options)

    monkeypatch.setattr(masked_predictions, "answers_about", watched)
    lines = shown(path, f"masked_lm:checkpoint={folder}").splitlines()

    assert asked == [12]
    assert len([line for line in lines if line.startswith("+ ")]) == 3


def test_of_pairs_both_texts_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("one two\tthree four\n")

    lines = shown(path, "masking:fraction=1", text="0", pair="1", header=False).splitlines()

    assert [lines[0], lines[2]] == ["- one two", "- three four"]
    assert {lines[1], lines[3]} <= {"+ [MASK] [MASK]", "+ one two", "+ three four"}


def test_plain_lines_need_no_column(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("我喜欢酒店的早餐\n", encoding="utf-8")

    assert "+ [MASK][MASK][MASK][MASK][MASK]\n" in shown(path, "masking:fraction=1")


def test_a_file_of_several_columns_asks_for_one(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("sentence,label\na,b\n")

    with pytest.raises(ColumnMissing, match="sentence, label"):
        shown(path, "masking")


def test_methods_are_given_by_kind_and_options() -> None:
    section = methods_asked(["masking", "ngram:probability=0.5,longest=3"], seed=7)

    assert section.methods == [Masking(kind="masking"), Ngram(kind="ngram", probability=0.5, longest=3)]
    assert section.seed == 7


@pytest.mark.parametrize(
    ("methods", "problem"),
    [
        (["maskin"], "did you mean 'masking'"),
        (["masking:fraction=2"], "fraction"),
        (["masking:fraktion=0.1"], "unknown key"),
        (["masking:fraction"], "--set methods.0.fraction"),
        (["word_vectors"], "methods.0.path: missing"),
    ],
)
def test_an_invalid_method_is_reported(methods: list[str], problem: str) -> None:
    with pytest.raises(RecipeInvalid, match=problem):
        methods_asked(methods, seed=0)
