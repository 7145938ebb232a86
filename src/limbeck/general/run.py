"""The stage `teach_in_general`: sentences, their vectors from encoders, a student that learns them; one artifact."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.general_folder import GeneralFacts, GeneralFolder, save_general
from limbeck.artifacts.manifest import WORK, Key
from limbeck.general.card import write_card
from limbeck.general.clock import Clock
from limbeck.general.losses import neighbour_kl, vector_cosine
from limbeck.general.processes import Rows, in_processes, words_of
from limbeck.general.sentences import Source, sentences_of
from limbeck.kinds import STUDENT_KINDS
from limbeck.models.students import word_student
from limbeck.models.word_student import PAD
from limbeck.progress import Bar, Reporter
from limbeck.recipe.general import General, GeneralRecipe
from limbeck.recipe.student import WordStudent
from limbeck.text.language import detect_language
from limbeck.text.student_tokenizer import StudentTokenizer
from limbeck.text.word_tokenizer import build_word_tokenizer
from limbeck.text.word_vectors import principal_components
from limbeck.training.batches import length_batches, token_budget_batches
from limbeck.training.device import (
    Arithmetic,
    Bf16Missing,
    choose_arithmetic,
    refuse_bf16_recurrence,
    training_device,
)
from limbeck.training.loop import train
from limbeck.training.modes import evaluating
from limbeck.training.token_rows import TokenRows

Places = npt.NDArray[np.int64]
TOKENISED_AT_ONCE = 8_192  # sentences, by one process
SENTENCES_AT_ONCE = 65_536  # that are counted, or encoded, with one call
FEW_SENTENCES = 10_000
TOKENS_PER_BATCH = 65_536  # of held-back sentences
LABELS = ["0", "1"]  # of a head that is not trained, and not kept


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

    A killed run continues its training from the last checkpoint; the encoders' vectors, which are never on disk, are
    computed again.
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
        torch.manual_seed(section.seed)  # only now: opening an encoder draws random numbers
        model = _Taught(student, words=len(tokenizer), vectors=vectors, widths=[one.shape[1] for one in targets])
        task = _Task(section, rows, targets)
        history = _train(model, task, clock, work=scratch / WORK, reporter=reporter)
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


class _Taught(nn.Module):
    """The student without its head, and a projection of its features to the vectors of each encoder."""

    def __init__(
        self, student: WordStudent, *, words: int, vectors: npt.NDArray[np.float32], widths: Sequence[int]
    ) -> None:
        super().__init__()
        plain = student.model_copy(update={"tune_vectors": True, "dense_size": 0})
        self.body = word_student(
            plain, vocabulary_size=words, embedding_size=vectors.shape[1], labels=LABELS, pair=False
        )
        self.body.start_vectors(torch.from_numpy(vectors))
        self.projections = nn.ModuleList(nn.Linear(self.body.features, width) for width in widths)

    def forward(self, ids: Tensor, mask: Tensor) -> list[Tensor]:
        """(sentences, width) for each encoder."""
        features = self.body.dropout(self.body(ids, attention_mask=mask).features)
        return [projection(features).float() for projection in self.projections]


@dataclass(frozen=True)
class _Task:
    """The sentences; the first ones are held back."""

    section: General
    rows: TokenRows
    targets: Sequence[Tensor]

    @property
    def held_back(self) -> int:
        return min(self.section.held_back, max(1, len(self.rows) // 10))

    def losses(self, model: Any, places: Places) -> dict[str, Tensor]:
        """The two losses, each the mean over the encoders."""
        chosen = torch.from_numpy(places).to(self.rows.flat.device)
        answers = model(*self.rows.batch(places, pad=PAD))
        wanted = [target[chosen].float() for target in self.targets]
        pairs = list(zip(answers, wanted, strict=True))
        terms = {"cosine": torch.stack([vector_cosine(*pair) for pair in pairs]).mean()}
        if self.section.neighbours:
            temperature = self.section.temperature
            near = torch.stack([neighbour_kl(*pair, temperature=temperature) for pair in pairs]).mean()
            terms["neighbours"] = self.section.neighbours * near
        return terms

    def judge(self, model: nn.Module) -> dict[str, float]:
        """The mean cosine to each encoder on the sentences that are held back."""
        sums = torch.zeros(len(self.targets), device=self.rows.flat.device)
        with evaluating(model):
            lengths = self.rows.lengths[: self.held_back]
            for places in token_budget_batches(lengths, tokens_per_batch=TOKENS_PER_BATCH):
                chosen = torch.from_numpy(places).to(self.rows.flat.device)
                answers = model(*self.rows.batch(places, pad=PAD))
                cosines = [
                    nn.functional.cosine_similarity(answer, target[chosen].float(), dim=-1).sum()
                    for answer, target in zip(answers, self.targets, strict=True)
                ]
                sums += torch.stack(cosines)
        means: list[float] = (sums / self.held_back).tolist()
        return {"dev_loss": 1 - float(np.mean(means)), **{f"cosine_{at}": mean for at, mean in enumerate(means)}}


def _train(model: _Taught, task: _Task, clock: Clock, *, work: Path, reporter: Reporter) -> list[dict[str, Any]]:
    section, held_back = task.section, task.held_back
    lengths = task.rows.lengths[held_back:]
    arithmetic = _arithmetic(section, is_recurrent=any(isinstance(layer, nn.RNNBase) for layer in model.modules()))
    work.mkdir(parents=True, exist_ok=True)

    def batches(epoch: int) -> list[Places]:
        found = length_batches(lengths, batch_size=section.batch_size, seed=section.seed, epoch=epoch)
        return [places + held_back for places in found]

    def judge(trained: nn.Module) -> dict[str, float]:
        clock.keep()
        return task.judge(trained)

    progress = train(
        model.to(training_device()),
        section,
        arithmetic=arithmetic,
        batches=batches,
        losses=lambda trained, places, _done: task.losses(trained, places),
        validate=judge,
        work_folder=work,
        reporter=reporter,
        what=f"teaching {section.name} ({arithmetic})",
        keep="last",
    )
    shutil.rmtree(work, ignore_errors=True)
    return progress.history


def _arithmetic(section: General, *, is_recurrent: bool) -> Arithmetic:
    """The one that was asked for; "auto" is fp32 where bf16 cannot train a recurrent layer."""
    arithmetic = choose_arithmetic(section.precision)
    try:
        refuse_bf16_recurrence(arithmetic, is_recurrent=is_recurrent)
    except Bf16Missing:
        if section.precision != "auto":
            raise
        return "fp32"
    return arithmetic


def _weights(body: Any) -> dict[str, npt.NDArray[np.float32]]:
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in body.state_dict().items()}
