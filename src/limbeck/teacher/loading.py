"""Loading an encoder: to be fine-tuned, to be taken as it is, or as a run has saved it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification

from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import CheckpointDamaged, LimbeckError, NeverFineTuned, TaskDiffers, some
from limbeck.recipe.teacher import EncoderTeacher, LongTexts
from limbeck.teacher.encoder import Encoder
from limbeck.teacher.head import class_order, classes_of, final_layer, name_classes, put_in_order, start_afresh
from limbeck.teacher.tokenizer import load_tokenizer
from limbeck.training.device import Arithmetic, choose_arithmetic, training_device
from limbeck.training.modes import quiet_transformers

ONE_LABEL, SEVERAL_LABELS = "single_label_classification", "multi_label_classification"  # as transformers says it


def load_encoder(
    folder: Path,
    *,
    max_length: int,
    arithmetic: Arithmetic,
    long_texts: LongTexts = "head",
    head_share: float = 0.25,
    labels: Sequence[str] | None = None,
    multi_label: bool = False,
    label_names: Mapping[str, str] | None = None,
) -> Encoder:
    """From a Hugging Face folder; with `labels`, with a head for these classes.

    The checkpoint's own head is kept if its classes have these names in this order, or if `label_names` (theirs →
    ours) says which is which; else it starts fresh, and `note` says so.
    """
    quiet_transformers()
    with _damage_told(folder):
        config = AutoConfig.from_pretrained(folder)
        tokenizer = load_tokenizer(folder, config)
    theirs = classes_of(config)
    order = _order_to_keep(theirs, labels, label_names=label_names or {}, folder=folder)
    fitted = {"num_labels": len(labels), "ignore_mismatched_sizes": True} if labels and order is None else {}
    with _damage_told(folder):
        model, loading = AutoModelForSequenceClassification.from_pretrained(
            folder, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **fitted
        )
    _refuse_strange_weights(model, missing=loading["missing_keys"], folder=folder)
    encoder = Encoder(
        model=model,
        tokenizer=tokenizer,
        max_length=min(max_length, _positions(model) or max_length),
        arithmetic=arithmetic,
        fresh=frozenset(loading["missing_keys"]),
        long_texts=long_texts,
        head_share=head_share,
    )
    if labels is not None:
        _fit_head(encoder, labels, order=order, theirs=theirs)
        _set_task(model, multi_label=multi_label)
    _forget_memories(model)
    return encoder


def load_ready(folder: Path, *, section: EncoderTeacher, labels: Sequence[str], multi_label: bool) -> Encoder:
    """A checkpoint that is a classifier already: nothing in it starts at random, its classes are the corpus's."""
    encoder = load_encoder(
        folder,
        max_length=section.max_length,
        arithmetic=choose_arithmetic(section.precision),
        long_texts=section.long_texts,
        head_share=section.head_share,
    )
    model = encoder.model
    _refuse_random_weights(encoder, folder=folder, checkpoint=section.checkpoint)
    order = class_order(
        classes_of(model.config), labels, label_names=section.label_names, checkpoint=section.checkpoint
    )
    found, needed = model.config.problem_type, SEVERAL_LABELS if multi_label else ONE_LABEL
    if found not in (None, needed):  # None: it does not say
        raise TaskDiffers(checkpoint=section.checkpoint, found=found, needed=needed)
    put_in_order(model, order)
    name_classes(model, labels)
    _set_task(model, multi_label=multi_label)
    return encoder


def open_teacher(teacher: TeacherFolder) -> Encoder:
    """The encoder of a run, ready to be asked as it was judged, on the GPU if there is one."""
    facts = teacher.facts
    assert facts.max_length is not None, "every encoder has one"
    encoder = load_encoder(
        teacher.folder,
        max_length=facts.max_length,
        arithmetic="bf16" if facts.precision == "bf16" else "fp32",
        long_texts="head_and_tail" if facts.long_texts == "head_and_tail" else "head",
        head_share=facts.head_share,
    )
    model: nn.Module = encoder.model
    model.to(training_device()).eval()
    return encoder


@contextmanager
def _damage_told(folder: Path) -> Iterator[None]:
    """Whatever a broken checkpoint makes transformers raise becomes an error that names the folder."""
    try:
        yield
    except LimbeckError:
        raise
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise CheckpointDamaged(path=folder, reason=reason) from error


def _order_to_keep(
    theirs: Sequence[str], labels: Sequence[str] | None, *, label_names: Mapping[str, str], folder: Path
) -> list[int] | None:
    """The order of classes that makes the checkpoint's head one for the labels; None where it is one for others."""
    if labels is None or not (label_names or list(theirs) == list(labels)):
        return None
    return class_order(theirs, labels, label_names=label_names, checkpoint=folder.name)


def _fit_head(encoder: Encoder, labels: Sequence[str], *, order: list[int] | None, theirs: Sequence[str]) -> None:
    """Only names do not make a head one for other classes: with as many classes it would fit, and speak of others."""
    model = encoder.model
    if order is not None:
        put_in_order(model, order)
    else:
        had_one = not encoder.fresh & _names_of(model, final_layer(model))
        encoder.fresh |= set(start_afresh(model))
        if had_one:
            way_out = "; label_names in [teacher] would keep it" if len(theirs) == len(labels) else ""
            encoder.note = f"the checkpoint's head is for other classes ({some(theirs)}) and starts fresh{way_out}"
    name_classes(model, labels)


def _names_of(model: nn.Module, part: nn.Module) -> set[str]:
    """The names that the weights of one part have in the whole model."""
    own = {id(parameter) for parameter in part.parameters()}
    return {name for name, parameter in model.named_parameters() if id(parameter) in own}


def _set_task(model: Any, *, multi_label: bool) -> None:
    """So that whoever loads the saved folder knows; where nothing is said, one label a row is meant."""
    if multi_label:
        model.config.problem_type = SEVERAL_LABELS
    elif model.config.problem_type is not None:
        model.config.problem_type = ONE_LABEL


def _forget_memories(model: Any) -> None:
    """XLNet would keep the states of every layer for a next part of the text, which never comes here."""
    if getattr(model.config, "use_mems_eval", False):
        model.config.use_mems_eval = False


def _refuse_strange_weights(model: Any, *, missing: Collection[str], folder: Path) -> None:
    """Transformers starts what it does not find at random, and says so in a warning that nobody sees here."""
    encoder = [name for name, _ in model.named_parameters() if name.startswith(f"{model.base_model_prefix}.")]
    lost = [name for name in encoder if name in missing]
    if 2 * len(lost) > len(encoder):
        reason = f"{len(lost)} of the {len(encoder)} weights of its config are not in its files: {some(lost)}"
        raise CheckpointDamaged(path=folder, reason=reason)


def _refuse_random_weights(encoder: Encoder, *, folder: Path, checkpoint: str) -> None:
    """Of a teacher that is taken as it is, not one weight may be missing."""
    below = _names_of(encoder.model, encoder.model.base_model)
    missing = sorted(encoder.fresh & {name for name, _ in encoder.model.named_parameters()})
    of_head = [name for name in missing if name not in below]
    if of_head:
        raise NeverFineTuned(checkpoint=checkpoint, missing=of_head)
    if missing:
        reason = f"weights that its classifier needs are not in its files, and would be random: {some(missing)}"
        raise CheckpointDamaged(path=folder, reason=reason)


def _positions(model: Any) -> int | None:
    """How many tokens the model has positions for; None when it has no such limit."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.num_embeddings - module.padding_idx - 1)  # RoBERTa and MPNet count from behind padding
    limit = getattr(model.config, "max_position_embeddings", None)
    return limit if isinstance(limit, int) and limit > 0 else None
