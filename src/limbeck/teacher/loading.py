"""Loading an encoder: to be fine-tuned, to be taken as it is, or as a run has saved it."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

from limbeck.artifacts.score_scale import ScoreScale
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import CheckpointDamaged, TeacherError, some
from limbeck.models.checkpoint import damage_as_user_errors, from_folder, model_from_folder
from limbeck.models.decoders import is_decoder, prepare_decoder, separate_pairs
from limbeck.models.mean_encoder import MeanEncoderConfig, mean_encoder_of
from limbeck.models.size import position_count
from limbeck.models.tokenizer import load_tokenizer, refuse_tokens_without_rows
from limbeck.models.twin_encoder import FAMILIES, TwinEncoderConfig, twin_of, typed_pairs
from limbeck.recipe.teacher import EncoderTeacher, Head, LongTexts
from limbeck.tasks import TASKS, Task
from limbeck.teacher.encoder import Encoder
from limbeck.teacher.head import class_order, classes_of, final_layer, name_classes, put_in_order, start_afresh
from limbeck.training.device import Arithmetic, choose_arithmetic, training_device
from limbeck.training.modes import quiet_transformers

ONE_LABEL = "single_label_classification"  # as transformers says it


class NeverFineTuned(TeacherError):
    """A checkpoint without a trained classification head is to be used as it is."""

    def __init__(self, *, checkpoint: str, missing: Sequence[str]) -> None:
        self.missing = tuple(missing)
        super().__init__(
            f"'{checkpoint}' has never been fine-tuned as a classifier: its head would be random",
            found=f"not in its files: {some(missing, most=4)}",
            advice='Set teacher.train = "all" to fine-tune it on the corpus, or name a checkpoint that is a '
            "classifier.",
        )


class TextsNotApart(TeacherError):
    """A checkpoint that is to read the two texts of a pair one by one cannot."""

    def __init__(self, *, path: Path, reason: str) -> None:
        super().__init__(
            f"'{path}' cannot read the texts of a pair one by one",
            found=reason,
            advice="Remove teacher.pairs, or use another checkpoint.",
        )


class TaskDiffers(TeacherError):
    """A checkpoint that is used as it is gives one label a row and the corpus has several, or the other way round."""

    def __init__(self, *, checkpoint: str, found: str, needed: str) -> None:
        super().__init__(
            f"'{checkpoint}' was trained for another task than the corpus's",
            found=f"problem_type in its config.json: {found}; the corpus needs: {needed}",
            advice='Set teacher.train = "all", or correct problem_type in config.json if it is wrong.',
        )


def load_encoder(
    folder: Path,
    *,
    max_length: int,
    arithmetic: Arithmetic,
    long_texts: LongTexts = "head",
    head_share: float = 0.25,
    labels: Sequence[str] | None = None,
    task: Task = TASKS["one_label"],
    label_names: Mapping[str, str] | None = None,
    apart: bool = False,
    head: Head = "own",
) -> Encoder:
    """From a Hugging Face folder; with `labels`, with a head for these classes.

    The checkpoint's own head is kept if its classes have these names in this order, or if `label_names` (theirs →
    ours) says which is which; otherwise it is new, and `note` says so. With `apart`, an encoder that reads the texts
    of a pair together becomes one that reads each by itself, with a new head; with `head = "mean"` it gets a new head
    that reads the mean of its states.
    """
    quiet_transformers()
    with damage_as_user_errors(folder):
        config = from_folder(AutoConfig, folder)
        tokenizer = load_tokenizer(folder, config)
    theirs = classes_of(config)
    becomes_twin = apart and config.model_type != TwinEncoderConfig.model_type
    becomes_mean = head == "mean" and config.model_type != MeanEncoderConfig.model_type
    gets_head = becomes_twin or becomes_mean
    order = _order_to_keep(theirs, labels, label_names=label_names or {}, folder=folder)
    loses_head, order = gets_head and order is not None, None if gets_head else order
    fitted = {"num_labels": len(labels)} if labels and order is None else {}
    if becomes_twin:
        _refuse_apart(config, tokenizer, folder=folder)
    with damage_as_user_errors(folder):
        model, loading = model_from_folder(
            AutoModel if gets_head else AutoModelForSequenceClassification,
            folder,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are refused below, in our own words
            **({} if gets_head else fitted),
        )
    if gets_head:
        classes = fitted.get("num_labels", len(theirs))
        if becomes_twin:
            typed_pairs(tokenizer)
            wrapped = twin_of(model, cls_token_id=tokenizer.cls_token_id, labels=classes)
        else:
            wrapped = mean_encoder_of(model, labels=classes)
        model, loading = wrapped, _inside(wrapped, loading)
    if is_decoder(config):
        prepare_decoder(model, tokenizer)
        if labels is not None:
            separate_pairs(tokenizer)
    _refuse_strange_weights(model, missing=loading["missing_keys"], folder=folder)
    _refuse_other_shapes(model, loading["mismatched_keys"], folder=folder)
    if not fitted:
        _refuse_other_head(model, loading["mismatched_keys"], folder=folder)
    refuse_tokens_without_rows(tokenizer, model, folder=folder)
    encoder = Encoder(
        model=model,
        tokenizer=tokenizer,
        max_length=min(max_length, position_count(model) or max_length),
        arithmetic=arithmetic,
        fresh=frozenset(loading["missing_keys"]),
        long_texts=long_texts,
        head_share=head_share,
    )
    if labels is not None:
        _fit_head(encoder, labels, order=order, theirs=theirs)
        _set_task(model, task)
        encoder.note = encoder.note or _note_on_pairs(config, apart=apart, loses_head=loses_head)
    _forget_memories(model)
    return encoder


def _note_on_pairs(config: Any, *, apart: bool, loses_head: bool) -> str | None:
    if loses_head:
        return "the checkpoint's own head is not used; a new one is trained"
    if config.model_type == TwinEncoderConfig.model_type and not apart:
        return "the checkpoint reads the texts of a pair apart, and goes on to"
    return None


def _refuse_apart(config: Any, tokenizer: Any, *, folder: Path) -> None:
    if config.model_type not in FAMILIES:
        raise TextsNotApart(path=folder, reason=f"it is a {config.model_type}; known: {', '.join(FAMILIES)}")
    if tokenizer.cls_token_id is None or tokenizer.sep_token_id is None:
        raise TextsNotApart(path=folder, reason="its tokenizer has no tokens that a text begins and ends with")


def _inside(wrapped: Any, loading: Mapping[str, Any]) -> dict[str, Collection[Any]]:
    """What was found while loading, by the names that the weights have inside the model with a new head."""
    inside, names = wrapped.base_model_prefix, {name for name, _ in wrapped.named_parameters()}
    missing = {f"{inside}.{name}" for name in loading["missing_keys"]} & names
    mismatched = [(f"{inside}.{name}", *shapes) for name, *shapes in loading["mismatched_keys"]]
    return {"missing_keys": missing | {"classifier.weight", "classifier.bias"}, "mismatched_keys": mismatched}


def load_ready(
    folder: Path, *, section: EncoderTeacher, labels: Sequence[str], task: Task, scale: ScoreScale | None = None
) -> Encoder:
    """A checkpoint that is a classifier already: nothing in it starts at random, its classes are the corpus's. One of
    scores gives them as they are in the corpus: its head is changed to give them in the standard units of the `scale`.
    """
    encoder = load_encoder(
        folder,
        max_length=section.max_length,
        arithmetic=choose_arithmetic(section.precision),
        long_texts=section.long_texts,
        head_share=section.head_share,
    )
    model = encoder.model
    _refuse_random_weights(encoder, folder=folder, checkpoint=section.checkpoint)
    found, needed = model.config.problem_type, task.problem_type or ONE_LABEL
    if scale is not None and model.config.num_labels != 1:
        outputs = f"{model.config.num_labels} outputs"
        raise TaskDiffers(checkpoint=section.checkpoint, found=outputs, needed="one output, a score")
    names = {} if scale is None else {classes_of(model.config)[0]: labels[0]}
    order = class_order(
        classes_of(model.config), labels, label_names=names or section.label_names, checkpoint=section.checkpoint
    )
    if found not in (None, needed):  # None: it does not say
        raise TaskDiffers(checkpoint=section.checkpoint, found=found, needed=needed)
    put_in_order(model, order)
    name_classes(model, labels)
    _set_task(model, task)
    if scale is not None:
        _in_standard_units(model, scale)
    return encoder


def _in_standard_units(model: Any, scale: ScoreScale) -> None:
    layer = final_layer(model)
    with torch.no_grad():
        if layer.bias is None:
            layer.bias = nn.Parameter(layer.weight.new_zeros(1))
        layer.weight.div_(scale.sd)
        layer.bias.sub_(scale.mean).div_(scale.sd)


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


def _refuse_other_shapes(model: Any, mismatched: Collection[Any], *, folder: Path) -> None:
    """Only the head may have another shape than the config says; anything else would start at random, unseen."""
    names = [entry if isinstance(entry, str) else entry[0] for entry in mismatched]
    strange = sorted(name for name in names if name.startswith(f"{model.base_model_prefix}."))
    if strange:
        reason = f"weights of another shape than its config.json says: {some(strange)}"
        raise CheckpointDamaged(path=folder, reason=reason)


def _refuse_other_head(model: Any, mismatched: Collection[Any], *, folder: Path) -> None:
    """Where the checkpoint's own head is kept, it may not have another shape either."""
    if not mismatched:
        return
    name, found, _ = min(mismatched, key=lambda entry: (len(entry[1]), entry[0]))
    raise CheckpointDamaged(
        path=folder,
        reason=f"its head has {found[0]} outputs in its weights ({name}), and {model.config.num_labels} classes in its "
        f"config.json",
        advice="Correct id2label and label2id in its config.json: a name for each output of the head, in their order.",
    )


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
            encoder.note = (
                f"the checkpoint's head is for other classes ({some(theirs)}) and is replaced by a new one{way_out}"
            )
    name_classes(model, labels)


def _names_of(model: nn.Module, part: nn.Module) -> set[str]:
    """The names that the weights of one part have in the whole model."""
    own = {id(parameter) for parameter in part.parameters()}
    return {name for name, parameter in model.named_parameters() if id(parameter) in own}


def _set_task(model: Any, task: Task) -> None:
    """So that whoever loads the saved folder knows; where nothing is said, one label a row is meant."""
    if task.problem_type is not None:
        model.config.problem_type = task.problem_type
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
