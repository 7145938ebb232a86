"""The card of a teacher that is kept as a model: a README.md with its numbers and how it is asked by a student."""

import json
from collections.abc import Mapping
from typing import Any

from limbeck.errors import in_shell, some
from limbeck.progress import visible
from limbeck.report import score_words, wording
from limbeck.report.markdown import code, markdown

MAX_LABELS = 12  # more labels are counted, not listed


def teacher_card(report: Mapping[str, Any], *, folder: str, size_mb: float, max_length: int) -> str:
    """The card of the int8 file of this report's teacher, in a folder of this name."""
    teacher, corpus = wording.teacher_of(report), report["corpus"]
    labels = some([code(label) for label in corpus["labels"]], most=MAX_LABELS)
    labels = "a score" if wording.is_score(report) else labels
    rows = "pairs of texts" if corpus["pair"] else "texts"
    best = report.get("best") or "STUDENT"
    parts = [
        _front(report, folder),
        f"# {markdown(folder)}",
        f"{markdown(visible(teacher['name']))} as an int8 ONNX file ({wording.three_figures(size_mb)} MB), for {rows} "
        f"of {markdown(visible(corpus['name']))}: {labels}. It runs without PyTorch, and reads the first "
        f"{max_length:,} tokens of a text.",
        "## Numbers",
        _numbers(report, teacher),
        "## How to use",
        f"{_behind(best, folder, report)}```\nlimbeck predict {in_shell(folder)} texts.txt\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _behind(best: str, folder: str, report: Mapping[str, Any]) -> str:
    """How a cascade asks it; a score has no confidence to ask by."""
    if wording.is_score(report):
        return ""
    return (
        f"Behind a student, which asks it only about what it is not sure of:\n\n```\nlimbeck predict "
        f"{in_shell(best)} texts.txt --fallback {in_shell(folder)}\n```\n\nOr by itself:\n\n"
    )


def _front(report: Mapping[str, Any], folder: str) -> str:
    texts = (report["corpus"]["language"], folder)
    language, name = (json.dumps(visible(str(text)), ensure_ascii=False) for text in texts)
    tags = '["text-classification", "onnx", "int8"]'
    lines = [f"language: {language}", "library_name: limbeck", "pipeline_tag: text-classification", f"tags: {tags}"]
    return "\n".join(["---", *lines, "model-index:", f"- name: {name}", "  results: []", "---"])


def _numbers(report: Mapping[str, Any], teacher: wording.Entry) -> str:
    """Those of the teacher that was not rounded, and how often this file agrees with it."""
    lines = []
    if teacher.get("accuracy") is not None:
        rows = f"{report['judged_rows']:,} {report['judged_split']} rows"
        lines.append(f"- The teacher, before it was made smaller: {wording.percent(teacher['accuracy'])} % of {rows}.")
    if wording.is_score(report) and teacher.get("spearman") is not None:
        rows = f"{report['judged_rows']:,} {report['judged_split']} rows"
        lines.append(f"- The teacher, before it was made smaller: {score_words.reached(teacher)} on {rows}.")
    int8 = report.get("teacher_int8") or {}
    if wording.is_score(report):
        return "\n".join(lines) or "- It was not judged on rows of its own."
    if int8.get("agreement") is not None:
        agreement = wording.percent(int8["agreement"])
        lines.append(f"- This file gives the teacher's label on {agreement} % of {int8['agreement_rows']:,} rows.")
    return "\n".join(lines) or "- It was not judged on rows of its own."
