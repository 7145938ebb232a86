"""Which artifacts each field of the recipe decides: markers, what follows from them, and the list of all exceptions."""

from typing import Annotated, Any

import pytest
from pydantic import Field

from limbeck.recipe.base import Section
from limbeck.recipe.decisions import (
    EVERYTHING,
    ArtifactName,
    by_content,
    decides,
    decides_nothing,
    decisions,
    fields_marked,
    has_effect_if,
    settings,
)
from limbeck.recipe.recipe import Recipe

# What each table decides unless a field of it is marked otherwise.
TABLES = {
    "name": "",
    "minutes": "",
    "corpus": "corpus",
    "transfer": "transfer",
    "augmentation": "augmented",
    "teacher": "teacher",
    "labeling": "labels",
    "student": "vocabulary sized_vocabulary students baseline",
    "distillation": "students baseline",
    "candidates": "vocabulary sized_vocabulary students",
    "export": "exports",
    "evaluation": "report",
    "tracking": "",
}
# Of an endpoint: its answers do not depend on these.
HOW_IT_IS_ASKED = (
    *("url", "key_from", "concurrency", "requests_per_minute", "tokens_per_minute", "timeout", "retries"),
    *("retry_seconds", "answer_retries", "prices", "tokenizer"),
)
# Every field that decides something else than its table does.
EXCEPTIONS = {
    "corpus.corrections": "report",
    "corpus.labelled_by": "report",
    "transfer.rows": "transfer chosen",
    "transfer.choice": "transfer chosen",
    "transfer.least_confidence": "transfer chosen",
    "transfer.seed": "transfer chosen",
    "augmentation.processes": "",
    "teacher.checkpoint": "teacher pretrained baseline",
    "teacher.pretraining": "pretrained",
    "teacher.compile": "",
    "teacher.processes": "",
    "distillation.processes": "",
    "teacher.seeds": "",
    "teacher.near_chance": "",
    "teacher.uncovered": "labels",
    "teacher.members": "members",
    "teacher.calibration": "teacher members labels",
    **dict.fromkeys(("teacher.max_requests", "teacher.max_tokens", "teacher.max_cost"), "labels"),
    **dict.fromkeys((f"teacher.{name}" for name in HOW_IT_IS_ASKED), ""),
    "labeling.store": "",
    "labeling.tokens_per_batch": "",
    "labeling.rows_per_shard": "",
    "student.dropout": "students baseline",
    "student.dropout_on": "students baseline",
    "student.max_norm": "students baseline",
    "student.batch_size": "students baseline",
    "student.learning_rate": "students baseline",
    "student.tune_vectors": "students baseline",
    "student.max_length": "students baseline",
    "student.pooling": "students baseline",
    "student.start": "students baseline",
    "student.teacher_layers": "students baseline",
    "student.max_size_mb": "vocabulary sized_vocabulary",
    "student.width": "students baseline sized_vocabulary",
    "student.heads": "students baseline sized_vocabulary",
    "student.layer_groups": "students baseline sized_vocabulary",
    "student.inner_size": "students baseline sized_vocabulary",
    "distillation.seeds": "",
    "distillation.baseline": "",
    "distillation.at_once": "",
    "distillation.teach_foreign": "",  # the rows themselves are in the keys
    "distillation.losses": "students",
    "distillation.stages": "students",
    "export.precisions": "",
    "export.blend": "",
    "export.teacher": "",
}
# Paths and names that are in keys as fingerprints. Each needs code that computes one: see pipeline.
FINGERPRINTED = {
    *("corpus.train", "corpus.dev", "corpus.test", "corpus.hub", "corpus.corrections", "corpus.labelled_by"),
    *("transfer.files", "transfer.hub"),
    *("augmentation.methods.path", "augmentation.methods.checkpoint", "augmentation.methods.word_vectors"),
    *("teacher.checkpoint", "teacher.path", "student.word_vectors", "student.start", "student.vocabulary.path"),
    "export.abstain.foreign",
}


class Inner(Section):
    """A table inside another."""

    plain: int = 1
    path: Annotated[str, by_content()] = "file"
    chosen: Annotated[int, decides("chosen")] = 2


class Outer(Section):
    """A table with fields of every marker."""

    plain: int = 1
    nothing: Annotated[int, decides_nothing()] = 2
    other: Annotated[int, decides("labels", "report")] = Field(default=3, ge=0)
    table: Annotated[Inner, decides("corpus")] = Inner()
    tables: list[Inner] = Field(default=[Inner(), Inner(chosen=5)])
    is_read: bool = False
    conditional: Annotated[int, has_effect_if("is_read")] = 0

    @property
    def fields_without_effect(self) -> frozenset[str]:
        return frozenset() if self.is_read else fields_marked(type(self), has_effect_if("is_read"))


@pytest.mark.parametrize(
    ("artifact", "found"),
    [
        ("corpus", {"plain": 1, "table": {"plain": 1}, "tables": [{"plain": 1}, {"plain": 1}], "is_read": False}),
        ("labels", {"plain": 1, "other": 3, "tables": [{"plain": 1}, {"plain": 1}], "is_read": False}),
        (
            "chosen",
            {
                "plain": 1,
                "table": {"chosen": 2},
                "tables": [{"plain": 1, "chosen": 2}, {"plain": 1, "chosen": 5}],
                "is_read": False,
            },
        ),
    ],
)
def test_a_key_has_the_fields_that_name_the_artifact_and_those_that_name_none(
    artifact: ArtifactName, found: dict[str, Any]
) -> None:
    assert settings(Outer(), artifact) == found


def test_a_field_may_be_without_effect_beside_another() -> None:
    assert "conditional" not in settings(Outer(), "corpus")
    assert settings(Outer(is_read=True), "corpus")["conditional"] == 0


def test_fields_are_found_by_their_marker() -> None:
    assert fields_marked(Outer, decides_nothing()) == {"nothing"}


def test_a_field_without_a_marker_decides_everything_that_its_table_decides() -> None:
    found = {decision.path: decision for decision in decisions(Outer)}

    assert found["plain"].artifacts == EVERYTHING
    assert found["table.plain"].artifacts == {"corpus"}
    assert found["table.path"].artifacts == {"corpus"}
    assert [path for path, decision in found.items() if decision.by_content] == ["table.path", "tables.path"]


def test_every_field_of_the_recipe_has_a_known_decision() -> None:
    """A new field decides what its table decides; to mark it otherwise is to add it here."""
    surprising = {
        decision.path: " ".join(sorted(decision.artifacts))
        for decision in decisions(Recipe)
        if decision.artifacts != expected(decision.path) and not decision.path.startswith("candidates.")
    }

    assert surprising == {
        "student.max_size_mb": "report sized_vocabulary vocabulary",  # files above it are not shipped as the best
        "student.start_share": "baseline students",
        "distillation.baseline_epochs": "baseline",
        "student.layers": "baseline sized_vocabulary students",  # of a transformer, not of a Bi-LSTM
        "student.embedding_size": "baseline sized_vocabulary students",  # of one with shared layers
        # The vocabulary of n-grams has a fit, which reads as much of a text as the student.
        "student.start": "baseline sized_vocabulary students vocabulary",
        "student.max_length": "baseline sized_vocabulary students vocabulary",
    }


def test_a_candidate_decides_what_a_student_decides_except_for_a_baseline_that_it_does_not_have() -> None:
    known = {(decision.path, decision.section): decision.artifacts for decision in decisions(Recipe)}
    of_candidates = {found for found in known if found[0].startswith("candidates.")}
    of_student = {(path.replace("candidates.", "student."), section) for path, section in of_candidates}

    assert of_student == {found for found in known if found[0].startswith("student.")}
    for path, section in of_candidates:
        same = known[path.replace("candidates.", "student."), section]
        assert known[path, section] - {"baseline"} == same - {"baseline"}


def expected(path: str) -> set[str]:
    """The exception for the field, or for the table that it is in, or what the whole table decides."""
    steps = path.removeprefix("teacher.members.").split(".")
    inside = [".".join(steps[:depth]) for depth in range(len(steps), 0, -1)]
    if path.startswith("teacher.members."):
        own = {f"teacher.{name}" for name in inside} & (EXCEPTIONS.keys() - {"teacher.members"})
        return set(EXCEPTIONS[own.pop()].split()) if own else {"members"}
    known = EXCEPTIONS | TABLES
    return set(known[next(name for name in inside if name in known)].split())


def test_every_exception_is_about_a_field_there_is() -> None:
    assert EXCEPTIONS.keys() | TABLES.keys() <= {decision.path for decision in decisions(Recipe)}


def test_paths_are_in_no_key_and_each_has_its_fingerprint() -> None:
    found = {decision.path for decision in decisions(Recipe) if decision.by_content}

    assert {
        path.replace("teacher.members.", "teacher.").replace("candidates.", "student.") for path in found
    } == FINGERPRINTED
