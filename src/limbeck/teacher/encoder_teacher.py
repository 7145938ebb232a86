"""An encoder as the teacher: fine-tuned on the corpus, or taken as it is, and saved as a Hugging Face folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import WORK
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.models.size import parameter_count, parameter_count_without_embeddings
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.teacher.averaged import fine_tune_several
from limbeck.teacher.checkpoint import checkpoint_fingerprint, find_checkpoint, weights_in
from limbeck.teacher.encoder import Encoder
from limbeck.teacher.fine_tune import fine_tune, judge, label_loss, label_tensor, start_encoder
from limbeck.teacher.loading import load_ready
from limbeck.teacher.preparation import BeforeRun, Preparation, ReadyTeacher, labelled, scale_fact
from limbeck.training.device import accelerator_for, per_second, training_device
from limbeck.training.epochs import is_rising, kept_entry, on_dev, rise_in_words
from limbeck.training.optimiser import optimiser_for
from limbeck.training.skill import rows_of_others

STEPS, WARM_UP_ROWS = 4, 16  # of a timing
PROBE_ROWS, MOST_SECONDS = 8, 10.0  # of long texts, whose whole timing would take more than so long, only some are read


def prepare_encoder(section: EncoderTeacher, given: Preparation) -> TeacherFolder:
    """Fine-tune it, unless it is taken as it is, judge it on dev, and save it."""
    corpus, reporter = given.corpus, given.reporter
    started = section.model_copy(update={"checkpoint": str(given.pretrained or section.checkpoint)})
    as_it_is = section.train == "none"
    encoder = (
        _ready(find_checkpoint(section.checkpoint), section, corpus)
        if as_it_is
        else start_encoder(started, corpus=corpus)
    )
    if encoder.note:
        reporter.note(f"  {encoder.note}")
    if encoder.max_length < section.max_length:
        reporter.note(f"  it reads {encoder.max_length:,} tokens at most, not max_length = {section.max_length:,}")
    with written_atomically(given.out, kind="teacher", key=given.key) as scratch:
        if as_it_is:
            history = [{"epoch": 0, **judge(encoder, corpus.splits["dev"], by_macro_f1=corpus.is_uneven)}]
        else:
            checkpoint = Path(section.checkpoint).name
            where: Any = {"corpus": corpus, "work": scratch / WORK, "reporter": reporter, "tracks": given.tracks}
            where |= {"name": checkpoint if given.out.name == "teacher" else given.out.name}  # members have their own
            if section.fine_tunings > 1:
                encoder, history = fine_tune_several(started, **where)
            else:
                history = fine_tune(encoder, started, **where)
        encoder.save(scratch)
        facts = _facts(encoder, section, corpus=corpus, history=history)
        save_teacher_facts(scratch, facts)
        (scratch / "history.json").write_text(json.dumps(history, indent=1), encoding="utf-8")
    size = (facts.parameters or 0) / 1e6
    reporter.note(f"  teacher {facts.name}: {on_dev(kept_entry(history))}, {size:.1f}M parameters")
    if facts.still_learning:
        reporter.note(f"  still learning when training ended: {rise_in_words(history)}; more epochs may help")
    return TeacherFolder(given.out)


def encoder_inputs(section: EncoderTeacher) -> dict[str, str]:
    """The checkpoint by its contents, or by its name on the hub."""
    return {"checkpoint": checkpoint_fingerprint(section.checkpoint)}


def ready_encoder(section: EncoderTeacher, look: BeforeRun) -> ReadyTeacher | None:
    """The encoder if it is taken as it is; None where it is yet to be fine-tuned."""
    if section.train != "none":
        return None
    encoder = _ready(look.find_checkpoint(section.checkpoint), section, look.corpus)
    return ReadyTeacher(Path(section.checkpoint).name, encoder, encoder.arithmetic)


def encoder_parameters(section: EncoderTeacher, look: BeforeRun) -> int | None:
    """How many numbers the checkpoint holds."""
    return weights_in(look.find_checkpoint(section.checkpoint))


def encoder_rates(section: EncoderTeacher, corpus: Corpus, rows: Rows, asked: Rows) -> tuple[float, float] | None:
    """Rows per second of fine-tuning on `rows`, and of labelling those that are `asked`, on this machine, timed for a
    few seconds; None if it is not fine-tuned."""
    if section.train == "none":
        return None
    encoder = start_encoder(section.model_copy(update={"head": "own"}), corpus=corpus)
    model = encoder.model.to(training_device())
    first = rows.select(range(min(WARM_UP_ROWS, len(rows))))
    encoder.logits(first.texts, first.pairs)
    labelling = _rate_of_labelling(encoder, asked)
    accelerator, loss = accelerator_for(encoder.arithmetic), label_loss(corpus)
    optimiser = optimiser_for(model, learning_rate=1e-6, weight_decay=0.0)
    tokens, labels = encoder.tokenise(rows.texts, rows.pairs), label_tensor(rows)
    in_order = np.argsort([len(row["input_ids"]) for row in tokens])  # as in training: batches of similar lengths
    size = min(section.batch_size, len(rows))
    starts = np.linspace(0, len(rows) - size, STEPS).astype(int).tolist()

    def steps(starts: list[int], size: int) -> None:
        for start in starts:
            places = in_order[start : start + size]
            with accelerator.autocast():
                logits = model(**encoder.batch([tokens[place] for place in places])).logits
            loss(logits.float(), labels[places].to(encoder.device)).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            optimiser.zero_grad()

    model.train()
    return _rate_of_steps(steps, starts, size), labelling


def _rate_of_labelling(encoder: Encoder, asked: Rows) -> float:
    some = asked.select(np.linspace(0, len(asked) - 1, min(len(asked), WARM_UP_ROWS)).astype(int))
    rate = per_second(lambda: encoder.logits(some.texts, some.pairs), rows=len(some))
    if len(asked) / rate > MOST_SECONDS:
        return rate
    return per_second(lambda: encoder.logits(asked.texts, asked.pairs), rows=len(asked))


def _rate_of_steps(steps: Callable[[list[int], int], None], starts: list[int], size: int) -> float:
    """Every shape is read once before it is timed: the first step of each takes up to twice as long on a CPU."""
    few, middle = min(PROBE_ROWS, size), starts[1:3]
    steps(middle, few)
    rate = per_second(lambda: steps(middle, few), rows=few * len(middle))
    if 2 * size * STEPS / rate > MOST_SECONDS:
        return rate
    steps(starts, size)
    return per_second(lambda: steps(starts, size), rows=size * STEPS)


def _ready(folder: Path, section: EncoderTeacher, corpus: Corpus) -> Encoder:
    encoder = load_ready(folder, section=section, labels=corpus.labels, task=corpus.task, scale=corpus.scale)
    encoder.model.to(training_device())
    return encoder


def _facts(encoder: Encoder, section: EncoderTeacher, *, corpus: Corpus, history: list[dict[str, Any]]) -> TeacherFacts:
    best, dev = kept_entry(history), labelled(corpus.splits["dev"])
    return TeacherFacts(
        name=Path(section.checkpoint).name,
        kind="encoder",
        labels=corpus.labels,
        multi_label=corpus.is_multi_label,
        scale=scale_fact(corpus),
        dev_accuracy=best.get("dev_accuracy"),
        dev_spearman=best.get("dev_spearman"),
        dev_skill=best.get("dev_skill"),
        dev_macro_f1=best.get("dev_macro_f1"),
        still_learning=is_rising(history, rows=len(corpus.splits["dev"])),
        dev_rows=len(dev),
        dev_others=rows_of_others(dev.labels),
        max_length=encoder.max_length,
        long_texts=section.long_texts,
        head_share=section.head_share,
        precision=encoder.arithmetic,
        parameters=parameter_count(encoder.model),
        parameters_without_embeddings=parameter_count_without_embeddings(encoder.model),
    )
