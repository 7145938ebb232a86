"""What a transformer student takes over from the checkpoint that it starts from, and whether that has other tokens."""

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from limbeck.distillation.transformer_vocabulary import all_tokens
from limbeck.errors import StudentError
from limbeck.models.checkpoint import damage_as_user_errors, find_checkpoint, from_folder
from limbeck.models.layer_parts import FAMILIES, own_layers
from limbeck.models.tokenizer import load_tokenizer
from limbeck.models.transformer import shape_for, student_family
from limbeck.models.transformer_start import layer_sources
from limbeck.recipe.student import Transformer
from limbeck.training.modes import quiet_transformers

ALIKE = ("model", "normalizer", "pre_tokenizer", "post_processor")  # parts of a tokenizer.json that make the tokens
NO_CHOICE = {"dropout", "cache_capacity"}  # of a model of tokens: settings that change no token


class TokensDiffer(StudentError):
    """A loss on layers needs equal tokens, and the student has those of a checkpoint that are not its teacher's."""

    def __init__(self, *, losses: Sequence[str], start: str, teacher: str) -> None:
        self.losses = tuple(losses)
        super().__init__(
            f"{', '.join(losses)} compares token by token, and the student has other tokens than its teacher",
            found=f"student.start: {start}; teacher.checkpoint: {teacher}",
            advice="Use losses on logits or features, such as soft_targets, or start from a checkpoint with the "
            "teacher's tokens.",
        )


def what_is_taken(section: Transformer, start: Any, *, new_parts: Collection[str], labels: Sequence[str]) -> str:
    """One line: what the student has of the checkpoint, and by name what it has not.

    `new_parts` are the weights of a classifier that the checkpoint's files lack.
    """
    theirs = start.config
    shape, family = shape_for(section, theirs), student_family(section, model_type=theirs.model_type)
    if theirs.model_type not in FAMILIES:
        return f"only its embeddings, as a {theirs.model_type} has no layers that a {family} could take"
    if shape.width != theirs.hidden_size:
        return f"only its embeddings, reduced to width {shape.width}; its layers have width {theirs.hidden_size}"
    count, own = own_layers(theirs), section.layer_groups if section.shares_layers else shape.layers
    sources = layer_sources(section.teacher_layers, student_layers=own, teacher_layers=count)
    taken = f"all of its {count} layers" if sources == [*range(count)] else f"its layers {sources} of {count}"
    lost = [f"{name}s ({own}, and it has {other})" for name, own, other in _differences(shape, theirs) if own != other]
    if family != theirs.model_type:
        lost.append(f"what a {family} has no place for")
    new = sorted(
        {_part(name) for name in new_parts} | ({"classifier"} if _has_other_classes(theirs, labels) else set())
    )
    return "; ".join([
        f"{taken}, and its embeddings",
        *([f"not taken over: {', '.join(lost)}"] if lost else []),
        *([f"new: {', '.join(new)}"] if new else []),
    ])  # fmt: skip


def _differences(shape: Any, theirs: Any) -> list[tuple[str, int, int]]:
    inner = next(getattr(theirs, name) for name in ("intermediate_size", "hidden_dim") if hasattr(theirs, name))
    return [
        ("feed-forward layer", shape.inner_size, inner),
        ("attention head", shape.heads, theirs.num_attention_heads),
    ]


def _has_other_classes(theirs: Any, labels: Sequence[str]) -> bool:
    return list(theirs.id2label.values()) != list(labels)


def _part(name: str) -> str:
    """The module of a weight, without the prefix of the model."""
    return name.rpartition(".")[0].split(".", 1)[-1] if "pooler" in name else name.partition(".")[0]


def refuse_other_tokens(start: str, teacher: str, *, losses: Sequence[str]) -> None:
    """Raises TokensDiffer unless both checkpoints turn every text into the same ids."""
    if _tokens_of(start, what="student") != _tokens_of(teacher, what="teacher"):
        raise TokensDiffer(losses=losses, start=start, teacher=teacher)


def _tokens_of(checkpoint: str, *, what: str) -> dict[str, Any]:
    """What makes the tokens of a checkpoint, framed as those of a student, so that names of masks do not matter."""
    quiet_transformers()
    folder: Path = find_checkpoint(checkpoint, what=what)
    with damage_as_user_errors(folder, what=what):
        theirs = load_tokenizer(folder, from_folder(AutoConfig, folder))
    state = json.loads(all_tokens(theirs.backend_tokenizer.to_str(), theirs).to_json())
    model = {key: value for key, value in state["model"].items() if key not in NO_CHOICE}
    added = {token["content"]: token["id"] for token in state["added_tokens"]}
    return {**{part: state.get(part) for part in ALIKE}, "model": model, "added": added}
