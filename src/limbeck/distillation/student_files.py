"""What is written beside the weights of a trained student: its facts, its history, and its tokenizer's settings."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tokenizers import Tokenizer

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.student_folder import StudentFacts
from limbeck.kinds import STUDENT_KINDS
from limbeck.models.size import parameter_count, parameter_count_without_embeddings
from limbeck.recipe.student import AnyStudent
from limbeck.training.epochs import Progress

Role = Literal["student", "baseline"]


def history_of(finished: Sequence[Progress]) -> list[dict[str, Any]]:
    """All epochs in order; with several training stages, each epoch has the number of its stage."""
    if len(finished) == 1:
        return finished[0].history
    epochs = [
        {**epoch, "stage": stage} for stage, progress in enumerate(finished, start=1) for epoch in progress.history
    ]
    return [{**epoch, "epoch": number} for number, epoch in enumerate(epochs, start=1)]


def facts_of(
    model: Any,
    student: AnyStudent,
    *,
    role: Role,
    seed: int,
    name: str,
    corpus: Corpus,
    max_length: int,
    finished: Sequence[Progress],
) -> StudentFacts:
    *earlier, last = finished
    best = last.best
    assert best is not None, "every training has an epoch"
    return StudentFacts(
        name=name,
        kind=student.kind,
        role=role,
        seed=seed,
        labels=corpus.labels,
        language=corpus.language,
        pair=corpus.is_pair,
        max_length=max_length,
        parameters=parameter_count(model),
        parameters_without_embeddings=parameter_count_without_embeddings(model),
        best_epoch=sum(len(progress.history) for progress in earlier) + last.best_epoch + 1,
        dev_accuracy=best.get("dev_accuracy"),
        multi_label=corpus.is_multi_label,
        dev_score=best["dev_score"],
        dev_measure=_measure(best),
        scale=None if corpus.scale is None else corpus.scale.as_json(),
        tokenizer=STUDENT_KINDS[student.kind].tokenizer,
    )


def _measure(best: dict[str, Any]) -> Literal["accuracy", "macro F1", "Spearman"]:
    """What the dev score is."""
    if "dev_spearman" in best:
        return "Spearman"
    return "macro F1" if "dev_macro_f1" in best else "accuracy"


def write_tokenizer_config(folder: Path, model: Any, *, max_length: int) -> None:
    """Write tokenizer_config.json next to the tokenizer.json of a saved student."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    config = model.config
    reads_types = (getattr(config, "type_vocab_size", None) or 0) > 1
    written = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
        "padding_side": "right",
        "truncation_side": "right",
        "pad_token": tokenizer.id_to_token(config.pad_token_id),
        "model_input_names": ["input_ids", *(["token_type_ids"] if reads_types else []), "attention_mask"],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(written, indent=1, ensure_ascii=False), encoding="utf-8")
