"""The stage `teach_in_general`: sentences, their vectors from encoders, a student that learns them; one artifact."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.general_folder import GeneralFacts, GeneralFolder, save_general
from limbeck.artifacts.manifest import WORK, Key
from limbeck.general.card import write_card
from limbeck.general.clock import Clock
from limbeck.general.processes import Rows, in_processes, words_of
from limbeck.general.sentences import Source, sentences_of
from limbeck.general.words_task import WordsTask, taught
from limbeck.kinds import STUDENT_KINDS
from limbeck.models.word_student import PAD
from limbeck.progress import Bar, Reporter
from limbeck.recipe.general import General, GeneralRecipe
from limbeck.recipe.student import WordStudent
from limbeck.text.language import detect_language
from limbeck.text.student_tokenizer import StudentTokenizer
from limbeck.text.word_tokenizer import build_word_tokenizer
from limbeck.text.word_vectors import principal_components
from limbeck.training.device import training_device
from limbeck.training.token_rows import TokenRows

TOKENISED_AT_ONCE = 8_192  # sentences, by one process
SENTENCES_AT_ONCE = 65_536  # that are counted, or encoded, with one call
FEW_SENTENCES = 10_000


class SentenceEncoder(Protocol):
    """What this stage needs of an encoder."""

    def logits_and_features(
        self, texts: Sequence[str], pairs: None, *, pooling: Any, bar: Bar
    ) -> tuple[Any, npt.NDArray[np.float16]]:
        """Logits, which are not used, and (texts, width): the mean of the last states."""

    def word_states(self, words: Sequence[str], *, are_pieces: bool, bar: Bar) -> npt.NDArray[np.float32]:
        """(words, width): the state for each word by itself."""


@dataclass(frozen=True)
class NamedEncoder:
    """An encoder that is loaded when it is needed, and released afterwards."""

    name: str
    fingerprint: str
    open: Callable[[], AbstractContextManager[SentenceEncoder]]


def teach_in_general(
    recipe: GeneralRecipe,
    *,
    sources: Sequence[Source],
    encoders: Sequence[NamedEncoder],
    machine: Mapping[str, Any],
    out: Path,
    key: Key,
    reporter: Reporter,
) -> GeneralFolder:
    """A student whose vectors of words and body know what the encoders make of sentences.

    A killed run continues its training from the last checkpoint; the encoders' vectors, which are on disk only for the
    time of a training by several processes, are computed again.
    """
    section, student = recipe.general, recipe.student
    with written_atomically(out, kind="general", key=key) as scratch:
        clock = Clock.found(scratch / WORK)
        with reporter.bar("cutting text", total=sum(source.size for source in sources), unit="bytes") as bar:
            sentences, counts = sentences_of(section, recipe.transfer, sources, bar=bar)
        _warn(section, sentences, reporter)
        tokenizer = _tokenizer(section, student, sentences, scratch / "tokenizer.json", reporter)
        rows = _token_rows(scratch / "tokenizer.json", sentences, max_length=student.max_length, reporter=reporter)
        targets, vectors = _from_encoders(encoders, sentences, tokenizer, student.embedding_size, reporter)
        task = WordsTask(section, rows, targets)
        model, history = taught(student, vectors, task, clock, reporter=reporter)
        cosines = [history[-1][f"cosine_{number}"] for number in range(len(encoders))]
        model.body.cpu().save_pretrained(scratch)  # config.json, and weights that are replaced below
        if section.table == "int8":  # transformers would take the numbers of the table for vectors
            (scratch / "config.json").unlink()
        facts = GeneralFacts(
            name=section.name,
            kind=student.kind,
            shape=shape_of(student),
            language=section.language,
            width=model.body.config.embedding_size,
            words=len(tokenizer),
            sentences=len(sentences),
            encoders=[
                {"name": one.name, "fingerprint": one.fingerprint, "width": target.shape[1], "cosine": cosine}
                for one, target, cosine in zip(encoders, targets, cosines, strict=True)
            ],
            settings={
                "general": section.model_dump(mode="json", exclude={"encoders"}),  # which may be paths
                "student": student.model_dump(mode="json"),
            },
            text={"files": [source.name for source in sources], **counts},
            history=history,
            minutes=round(clock.seconds / 60, 1),
            machine=machine,
        )
        save_general(scratch, _weights(model.body), facts, table=section.table)
        write_card(scratch, facts)
    near = ", ".join(f"{cosine:.3f} to {one.name}" for one, cosine in zip(encoders, cosines, strict=True))
    reporter.note(f"  {section.name}: mean cosine on {task.held_back:,} sentences held back: {near}")
    return GeneralFolder(out)


def _warn(section: General, sentences: Sequence[str], reporter: Reporter) -> None:
    """What makes a general student of little use."""
    if (found := detect_language(sentences)) != section.language:
        text = f'the text looks like "{found}", and general.language is "{section.language}"'
        reporter.note(f"  warning: {text}", style="warning")
    if len(sentences) < FEW_SENTENCES:
        text = f"{len(sentences):,} sentences teach little about a language: give a hundred thousand or more"
        reporter.note(f"  warning: {text}", style="warning")


def shape_of(student: WordStudent) -> dict[str, Any]:
    """The settings that fix the shape of its body; the width of the vectors of words is a fact of its own."""
    return {name: getattr(student, name) for name in STUDENT_KINDS[student.kind].body_shape or ()}


def _tokenizer(
    section: General, student: WordStudent, sentences: Sequence[str], path: Path, reporter: Reporter
) -> StudentTokenizer:
    vocabulary = student.vocabulary
    with reporter.bar("counting words", total=len(sentences), unit="sentences") as bar:

        def read() -> Any:
            for start in range(0, len(sentences), SENTENCES_AT_ONCE):
                block = sentences[start : start + SENTENCES_AT_ONCE]
                yield from block
                bar.advance(len(block))

        tokenizer = build_word_tokenizer(
            read(),
            language=section.language,
            max_size=vocabulary.max_size,
            min_count=vocabulary.min_count,
            lowercase=vocabulary.lowercase,
            segmenter=vocabulary.segmenter,
        )
    tokenizer.save(path)
    return tokenizer


def _token_rows(tokenizer: Path, sentences: Sequence[str], *, max_length: int, reporter: Reporter) -> TokenRows:
    """The ids of all sentences, from several processes if there are many; one without any token is the unknown word."""
    blocks = (sentences[start : start + TOKENISED_AT_ONCE] for start in range(0, len(sentences), TOKENISED_AT_ONCE))
    size = sum(map(len, sentences))
    with reporter.bar("tokenising", total=len(sentences), unit="sentences") as bar:

        def rows() -> Iterator[Rows]:
            for found in in_processes(partial(words_of, tokenizer, max_length), blocks, size=size):
                yield found
                bar.advance(len(found[1]))

        return TokenRows.of_arrays(rows(), device=training_device())


def _from_encoders(
    encoders: Sequence[NamedEncoder],
    sentences: Sequence[str],
    tokenizer: StudentTokenizer,
    width: int,
    reporter: Reporter,
) -> tuple[list[Tensor], npt.NDArray[np.float32]]:
    """(sentences, width of the encoder) from each, on the training device; and vectors of words from the first."""
    targets, vectors = [], None
    for one in encoders:
        with one.open() as encoder:
            found: list[Tensor] = []
            with reporter.bar(f"sentences through {one.name}", total=len(sentences), unit="sentences") as bar:
                for start in range(0, len(sentences), SENTENCES_AT_ONCE):
                    block = sentences[start : start + SENTENCES_AT_ONCE]
                    _, features = encoder.logits_and_features(block, None, pooling="mean", bar=bar)
                    found.append(torch.from_numpy(features).to(training_device()))
            targets.append(torch.cat(found))
            if vectors is None:
                words = tokenizer.vocabulary
                with reporter.bar(f"words through {one.name}", total=len(words), unit="words") as bar:
                    states = encoder.word_states(words, are_pieces=False, bar=bar)
                vectors = principal_components(states, width=width)
    assert vectors is not None, "there is at least one encoder"
    vectors[PAD] = 0.0
    return targets, vectors


def _weights(body: Any) -> dict[str, npt.NDArray[np.float32]]:
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in body.state_dict().items()}
