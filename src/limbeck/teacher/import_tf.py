"""A TensorFlow BERT checkpoint, raw or fine-tuned, as a Hugging Face folder with the same outputs."""

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
from limbeck.teacher.tf_weights import TensorFlowCheckpoint, TfNetwork, find_tf_checkpoint, lay_out, open_tf_checkpoint
from limbeck.training.modes import quiet_transformers


class ClassNamesUnfit(TeacherError):
    """Names for the classes of a checkpoint that do not fit them."""

    def __init__(self, *, labels: Sequence[str], reason: str) -> None:
        super().__init__(
            f"cannot name the classes {', '.join(labels)}",
            found=reason,
            advice="Give one name for each row of output_weights, in that order: --labels negative,positive",
        )


@dataclass(frozen=True)
class Imported:
    """What was written, in words."""

    folder: Path
    summary: str
    notes: tuple[str, ...]  # what was left out, guessed or made up


def import_tf(
    checkpoint: Path, out: Path, *, labels: Sequence[str] | None = None, lowercase: bool | None = None
) -> Imported:
    """Write the checkpoint to the folder `out`, whole or not at all.

    `checkpoint` is the prefix of its files, one of them, or the folder of just one checkpoint; bert_config.json and
    vocab.txt lie beside it. `labels` are the classes in the order of output_weights. `lowercase` None goes by what
    lies beside the checkpoint, and by the vocabulary where nothing is said.
    """
    out = out.expanduser().resolve()
    _refuse_place(out)
    prefix = find_tf_checkpoint(checkpoint.expanduser())
    config = read_bert_config(prefix)
    variables = open_tf_checkpoint(prefix)
    network = lay_out(variables, config)
    names = _class_names(labels, class_count=network.class_count)
    tokens = read_vocabulary(prefix, rows=config.vocab_size)
    lowered, why_lowered = lowers_case(prefix, config=config, tokens=tokens, asked=lowercase)

    quiet_transformers()
    settings = transformers_config(config, factorised=network.factorised, padding=tokens.index("[PAD]"), labels=names)
    model, beside = _loaded(_model_class(network), settings, network, variables)
    with _folder_written_whole(out) as scratch:
        model.save_pretrained(scratch, state_dict={**model.state_dict(), **beside})
        bert_tokenizer(tokens, lowercase=lowered, max_length=config.max_position_embeddings).save_pretrained(scratch)
    return Imported(
        folder=out,
        summary=_summary(config, network, parameters=_count(model, beside)),
        notes=(
            f"case is {'lowered' if lowered else 'kept'}, {why_lowered}",
            *_notes(network, activation=config.hidden_act, named=labels is not None),
        ),
    )


def _refuse_place(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise PathUnusable(path=str(out), reason="it is a file", advice="Give the name of a folder that is not there.")
    if out.is_dir() and any(out.iterdir()):
        advice = "Give another name, or remove it first."
        raise PathUnusable(path=str(out), reason="it is already there and not empty", advice=advice)


def _class_names(labels: Sequence[str] | None, *, class_count: int | None) -> list[str] | None:
    """None for a checkpoint without a classifier; made-up names where none are given."""
    if labels is None:
        return None if class_count is None else [f"LABEL_{number}" for number in range(class_count)]
    if class_count is None:
        reason = "the checkpoint has no classifier (output_weights), so there is nothing to name"
        raise ClassNamesUnfit(labels=labels, reason=reason)
    if len(labels) != class_count:
        raise ClassNamesUnfit(labels=labels, reason=f"output_weights has {class_count} classes, one in each row")
    if not all(labels) or len(set(labels)) != len(labels):
        raise ClassNamesUnfit(labels=labels, reason="a name is empty or stands there twice")
    return list(labels)


def _model_class(network: TfNetwork) -> Any:
    if network.guesses:
        return AlbertForMaskedLM if network.factorised else BertForMaskedLM
    if network.class_count is None:
        return AlbertModel if network.factorised else BertModel
    return AlbertForSequenceClassification if network.factorised else BertForSequenceClassification


def _loaded(
    kind: Any, settings: Any, network: TfNetwork, variables: TensorFlowCheckpoint
) -> tuple[Any, dict[str, Tensor]]:
    """The model, and weights that it has no place for: one that guesses words has no pooler, and its teacher may."""
    weights = {weight.name: weight.tensor(variables) for weight in network.weights}
    beside = {name: weights.pop(name) for name in [*weights] if network.guesses and ".pooler." in name}
    model = kind(settings) if network.pooled or network.guesses else kind(settings, add_pooling_layer=False)
    found = model.load_state_dict(weights, strict=False)
    state = model.state_dict()
    filled = {state[name].data_ptr() for name in weights}
    random = [name for name in found.missing_keys if state[name].data_ptr() not in filled]  # not a second name
    mistakes = [*random, *found.unexpected_keys]
    assert not mistakes, f"every weight of the model has a variable, and every variable a place: {mistakes}"
    return model, beside


def _count(model: Any, beside: Mapping[str, Tensor]) -> int:
    """Parameters, those of a pooler that lies beside the model included."""
    return int(model.num_parameters()) + sum(weight.numel() for weight in beside.values())


@contextmanager
def _folder_written_whole(out: Path) -> Iterator[Path]:
    """Yield a scratch folder beside `out` that takes its place if the block succeeds, and is removed if not."""
    scratch = out.with_name(f"{out.name}.partial")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        scratch.mkdir(parents=True)
        yield scratch
        if out.is_dir():
            out.rmdir()  # it was empty when we looked; if it is no more, the system refuses
        scratch.rename(out)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _summary(config: TensorFlowBertConfig, network: TfNetwork, *, parameters: int) -> str:
    kind = "ALBERT without shared layers" if network.factorised else "BERT"
    widths = f"{config.num_hidden_layers} layers × {config.hidden_size}"
    if network.factorised:
        widths += f", embedding {config.embedding_width}"
    head = "a head for masked words" if network.guesses else "no classifier"
    if network.class_count is not None:
        head = f"{network.class_count} classes"
    return f"{kind}, {widths}, {config.vocab_size:,} tokens, {parameters / 1e6:.1f}M parameters, {head}"


def _notes(network: TfNetwork, *, activation: str, named: bool) -> Iterator[str]:
    if activation == "gelu":
        yield 'hidden_act "gelu" is taken by erf; if your code approximates it by tanh, write "gelu_tanh" there'
    if network.left_out:
        count = len(network.left_out)
        yield f"left out: {count} variables of the pre-training heads ({some(network.left_out, most=2)})"
    if network.factorised:
        yield "its embedding is factorised, which transformers has in ALBERT alone: written as one, of the same outputs"
    if not network.pooled:
        yield "it has no pooler: fine-tuning starts a fresh one"
    if network.class_count is not None and not named:
        yield f"its classes are called LABEL_0 … LABEL_{network.class_count - 1}; name them with --labels"
