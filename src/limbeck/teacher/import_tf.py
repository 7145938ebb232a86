"""Converts a TensorFlow BERT checkpoint, raw or fine-tuned, to a Hugging Face folder with the same outputs."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor
from transformers import (
    AlbertForMaskedLM,
    AlbertForSequenceClassification,
    AlbertModel,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
)

from limbeck.errors import PathUnusable, TeacherError, some
from limbeck.teacher.tf_config import (
    TensorFlowBertConfig,
    bert_tokenizer,
    lowers_case,
    read_bert_config,
    read_vocabulary,
    transformers_config,
)
from limbeck.teacher.tf_weights import (
    TensorFlowCheckpoint,
    TfNetwork,
    find_tf_checkpoint,
    network_of,
    open_tf_checkpoint,
)
from limbeck.training.modes import quiet_transformers


class ClassNamesUnfit(TeacherError):
    """The given class names do not fit the checkpoint."""

    def __init__(self, *, labels: Sequence[str], reason: str) -> None:
        super().__init__(
            f"cannot name the classes {', '.join(labels)}",
            found=reason,
            advice="Give one name for each row of output_weights, in that order: --labels negative,positive",
        )


@dataclass(frozen=True)
class Imported:
    """What was written, for the user."""

    folder: Path
    summary: str
    notes: tuple[str, ...]  # what was dropped, guessed or invented


def import_tf(
    checkpoint: Path, out: Path, *, labels: Sequence[str] | None = None, lowercase: bool | None = None
) -> Imported:
    """Write the checkpoint to the folder `out`, atomically.

    `checkpoint` is the prefix of its files, one of them, or the folder of just one checkpoint; bert_config.json and
    vocab.txt are next to it. `labels` are the classes in the order of output_weights. With `lowercase` None, it
    depends on the config files next to the checkpoint and, if these do not say, on the vocabulary.
    """
    out = out.expanduser().resolve()
    _refuse_place(out)
    prefix = find_tf_checkpoint(checkpoint.expanduser())
    config = read_bert_config(prefix)
    variables = open_tf_checkpoint(prefix)
    network = network_of(variables, config)
    names = _class_names(labels, class_count=network.class_count)
    tokens = read_vocabulary(prefix, rows=config.vocab_size)
    lowered, why_lowered = lowers_case(prefix, config=config, tokens=tokens, asked=lowercase)

    quiet_transformers()
    settings = transformers_config(config, factorised=network.factorised, padding=tokens.index("[PAD]"), labels=names)
    model, other_weights = _loaded(_model_class(network), settings, network, variables)
    with _atomic_folder(out) as scratch:
        model.save_pretrained(scratch, state_dict={**model.state_dict(), **other_weights})
        bert_tokenizer(tokens, lowercase=lowered, max_length=config.max_position_embeddings).save_pretrained(scratch)
    return Imported(
        folder=out,
        summary=_summary(config, network, parameters=_count(model, other_weights)),
        notes=(
            f"case is {'lowered' if lowered else 'kept'}, {why_lowered}",
            *_notes(network, activation=config.hidden_act, named=labels is not None),
        ),
    )


def _refuse_place(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise PathUnusable(path=str(out), reason="it is a file", advice="Give the name of a new folder.")
    if out.is_dir() and any(out.iterdir()):
        advice = "Give another name, or remove it first."
        raise PathUnusable(path=str(out), reason="it already exists and is not empty", advice=advice)


def _class_names(labels: Sequence[str] | None, *, class_count: int | None) -> list[str] | None:
    """None for a checkpoint without a classifier; LABEL_0 … if no names are given."""
    if labels is None:
        return None if class_count is None else [f"LABEL_{number}" for number in range(class_count)]
    if class_count is None:
        reason = "the checkpoint has no classifier (output_weights), so there is nothing to name"
        raise ClassNamesUnfit(labels=labels, reason=reason)
    if len(labels) != class_count:
        raise ClassNamesUnfit(labels=labels, reason=f"output_weights has {class_count} classes, one in each row")
    if not all(labels) or len(set(labels)) != len(labels):
        raise ClassNamesUnfit(labels=labels, reason="a name is empty or appears twice")
    return list(labels)


def _model_class(network: TfNetwork) -> Any:
    if network.predicts_masked:
        return AlbertForMaskedLM if network.factorised else BertForMaskedLM
    if network.class_count is None:
        return AlbertModel if network.factorised else BertModel
    return AlbertForSequenceClassification if network.factorised else BertForSequenceClassification


def _loaded(
    kind: Any, settings: Any, network: TfNetwork, variables: TensorFlowCheckpoint
) -> tuple[Any, dict[str, Tensor]]:
    """The model, and weights that it does not have: a masked language model has no pooler, its teacher may have one."""
    weights = {weight.name: weight.tensor(variables) for weight in network.weights}
    other_weights = {name: weights.pop(name) for name in [*weights] if network.predicts_masked and ".pooler." in name}
    model = kind(settings) if network.pooled or network.predicts_masked else kind(settings, add_pooling_layer=False)
    found = model.load_state_dict(weights, strict=False)
    state = model.state_dict()
    filled = {state[name].data_ptr() for name in weights}
    random = [
        name for name in found.missing_keys if state[name].data_ptr() not in filled
    ]  # not tied to a loaded weight
    mistakes = [*random, *found.unexpected_keys]
    assert not mistakes, f"every weight of the model has a variable, and the other way round: {mistakes}"
    return model, other_weights


def _count(model: Any, other_weights: Mapping[str, Tensor]) -> int:
    """Number of parameters, those of a separate pooler included."""
    return int(model.num_parameters()) + sum(weight.numel() for weight in other_weights.values())


@contextmanager
def _atomic_folder(out: Path) -> Iterator[Path]:
    """Yield a scratch folder next to `out` that is renamed to it if the block succeeds, and removed if not."""
    scratch = out.with_name(f"{out.name}.partial")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        scratch.mkdir(parents=True)
        yield scratch
        if out.is_dir():
            out.rmdir()  # it was empty before; if it is not any more, the system refuses
        scratch.rename(out)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _summary(config: TensorFlowBertConfig, network: TfNetwork, *, parameters: int) -> str:
    kind = "ALBERT without shared layers" if network.factorised else "BERT"
    widths = f"{config.num_hidden_layers} layers × {config.hidden_size}"
    if network.factorised:
        widths += f", embedding {config.embedding_width}"
    head = "a head for masked words" if network.predicts_masked else "no classifier"
    if network.class_count is not None:
        head = f"{network.class_count} classes"
    return f"{kind}, {widths}, {config.vocab_size:,} tokens, {parameters / 1e6:.1f}M parameters, {head}"


def _notes(network: TfNetwork, *, activation: str, named: bool) -> Iterator[str]:
    if activation == "gelu":
        yield 'hidden_act "gelu" is computed with erf; if your code approximates it with tanh, write "gelu_tanh" there'
    if network.dropped:
        count = len(network.dropped)
        yield f"dropped: {count} variables of the pre-training heads ({some(network.dropped, most=2)})"
    if network.factorised:
        yield "its embedding is factorised, which in transformers only ALBERT has: written as ALBERT, same outputs"
    if not network.pooled:
        yield "it has no pooler: fine-tuning initialises a new one"
    if network.class_count is not None and not named:
        yield f"its classes are called LABEL_0 … LABEL_{network.class_count - 1}; name them with --labels"
