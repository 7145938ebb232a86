"""The stage `distil_in_general`: windows of text, an encoder's layers and words, a transformer that learns them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.general_folder import GeneralFacts, GeneralFolder, save_general_facts
from limbeck.artifacts.manifest import WORK, Key
from limbeck.errors import TeacherError
from limbeck.general.clock import Clock
from limbeck.general.layers_card import write_layers_card
from limbeck.general.layers_task import LayersTask, Learner
from limbeck.general.plan import Steps, planned
from limbeck.general.sentences import Source
from limbeck.general.windows import windows_of
from limbeck.models.masked_head import masked_lm_student
from limbeck.models.size import parameter_count
from limbeck.progress import Reporter, TerminalReporter
from limbeck.recipe.general_layers import GeneralLayers, GeneralLayersRecipe
from limbeck.text.language import detect_language
from limbeck.training.checkpoints import best_of, progress_of
from limbeck.training.device import choose_arithmetic, training_device
from limbeck.training.loop import train
from limbeck.training.modes import quiet_transformers
from limbeck.training.processes import process_count, reporter_of_member, run_together
from limbeck.training.shares import from_first_process
from limbeck.training.token_rows import TokenRows

FEW_TOKENS = 1_000_000
PLAN, HANDED_OVER = "plan.json", "together.safetensors"  # in the work folder; what a group of processes reads


class WordModel(Protocol):
    """What this stage needs of an encoder: with a head for masked words, which may be new, and its tokenizer."""

    @property
    def model(self) -> Any: ...
    @property
    def tokenizer(self) -> Any: ...
    @property
    def max_length(self) -> int: ...
    @property
    def has_new_head(self) -> bool: ...


@dataclass(frozen=True)
class NamedTeacher:
    """The encoder, which is loaded when it is needed; `objective(student, teacher)` compares the layers of both."""

    name: str
    fingerprint: str
    open: Callable[[], WordModel]
    objective: Callable[[Any, Any], nn.Module]
    as_member: str  # "module:function" for a process of a group: calls `distil_as_member` with this teacher


class NoHead(TeacherError):
    """Losses on masked words need a head that the checkpoint does not have."""

    def __init__(self, *, checkpoint: str, losses: Sequence[str]) -> None:
        super().__init__(
            f"{', '.join(losses)} needs an encoder that predicts masked words, and '{checkpoint}' does not",
            found="its files have no weights of a head for masked words",
            advice="Name one that does, such as bert-base-uncased; or make one: run a recipe with the table "
            "[teacher.pretraining] on your text, and name its folder runs/NAME/pretrained/CHECKPOINT in "
            "general.teacher. Or use losses on layers alone.",
        )


def distil_in_general(
    recipe: GeneralLayersRecipe,
    *,
    sources: Sequence[Source],
    teacher: NamedTeacher,
    machine: Mapping[str, Any],
    out: Path,
    key: Key,
    reporter: Reporter,
) -> GeneralFolder:
    """A transformer that knows the layers and words of an encoder, and no task.

    A killed run continues its training from the last checkpoint; the text is cut into windows again, which gives the
    same ones. The teacher runs on every batch, and nothing of it is written.
    """
    quiet_transformers()
    section = recipe.general
    with written_atomically(out, kind="general", key=key) as scratch:
        clock = Clock.found(scratch / WORK)
        opened, section, learner = _opened(recipe, teacher)
        student: Any = learner.student
        rows, text = _rows(section, recipe, sources, opened.tokenizer, work=scratch / WORK, reporter=reporter)
        task = LayersTask(section, rows, opened.model, opened.tokenizer, choose_arithmetic(section.precision))
        if (processes := process_count(section.processes, default=1)) > 1:
            together = _Together(recipe, teacher.as_member, processes)
            plan, history = _train_together(learner, task, clock, together, reporter=reporter)
        else:
            plan, history = _train(learner, task, clock, reporter=reporter)
        kept = student if section.on_words else student.base_model
        kept.cpu().save_pretrained(scratch)
        opened.tokenizer.save_pretrained(scratch)
        facts = _facts(recipe, section, student, opened, teacher=teacher, rows=len(rows), text=text, plan=plan)
        facts = replace(facts, history=history, minutes=round(clock.seconds / 60, 1), machine=machine)
        save_general_facts(scratch, facts)
        write_layers_card(scratch, facts)
    first, last = history[0]["dev_loss"], history[-1]["dev_loss"]
    windows = f"{task.held_back:,} windows held back"
    reporter.note(f"  {section.name}: loss on {windows}: {first:.4f} before, {last:.4f} after")
    return GeneralFolder(out)


def _opened(recipe: GeneralLayersRecipe, teacher: NamedTeacher) -> tuple[WordModel, GeneralLayers, Learner]:
    """The teacher, the section with a window that it can read, and the student with its objective."""
    section, opened = recipe.general, teacher.open()
    if section.on_words and opened.has_new_head:
        raise NoHead(checkpoint=teacher.name, losses=[loss.kind for loss in section.on_words])
    section = section.model_copy(update={"window": min(section.window, opened.max_length)})
    torch.manual_seed(section.seed)  # only now: opening a checkpoint draws random numbers
    student: Any = masked_lm_student(recipe.student, teacher=opened.model)
    return opened, section, Learner(student, section, teacher.objective(student, opened.model))  # or they do not fit


def _facts(
    recipe: GeneralLayersRecipe,
    section: GeneralLayers,
    student: Any,
    opened: WordModel,
    *,
    teacher: NamedTeacher,
    rows: int,
    text: Mapping[str, Any],
    plan: Steps,
) -> GeneralFacts:
    theirs = opened.model.config
    shape = {"width": theirs.hidden_size, "layers": theirs.num_hidden_layers}
    return GeneralFacts(
        name=section.name,
        kind=recipe.student.kind,
        shape=_shape_of(student.config),
        language=section.language,
        width=student.config.hidden_size,
        words=student.get_input_embeddings().num_embeddings,
        sentences=rows,
        encoders=[{"name": teacher.name, "fingerprint": teacher.fingerprint, **shape}],
        settings={
            "general": section.model_dump(mode="json", exclude={"teacher"}),  # which may be a path
            "student": recipe.student.model_dump(mode="json"),
            "steps": plan.steps,
            "speed": plan.speed,
            "parameters": parameter_count(student if section.on_words else student.base_model),
            "has_head": bool(section.on_words),
        },
        text=text,
    )


def _rows(
    section: GeneralLayers,
    recipe: GeneralLayersRecipe,
    sources: Sequence[Source],
    tokenizer: Any,
    *,
    work: Path,
    reporter: Reporter,
) -> tuple[TokenRows, dict[str, Any]]:
    """All windows, the first of which are held back, and where they come from."""
    work.mkdir(parents=True, exist_ok=True)
    file = work / "tokenizer.json"  # for the processes that tokenise
    tokenizer.backend_tokenizer.save(str(file))
    with reporter.bar("tokenising text", total=sum(source.size for source in sources), unit="bytes") as bar:
        windows, counts, beginning = windows_of(section, recipe.transfer, sources, tokenizer=file, bar=bar)
    if (found := detect_language(beginning)) != section.language:
        warning = f'the text looks like "{found}", and general.language is "{section.language}"'
        reporter.note(f"  warning: {warning}", style="warning")
    if counts["tokens"] < FEW_TOKENS:
        warning = f"{counts['tokens']:,} tokens teach little about a language: give ten million or more"
        reporter.note(f"  warning: {warning}", style="warning")
    rows = TokenRows.of([[window.tolist() for window in windows]], device=torch.device("cpu"))
    return rows, {"files": [source.name for source in sources], **counts}


@dataclass(frozen=True)
class _Together:
    """Several processes that are to train."""

    recipe: GeneralLayersRecipe
    function: str
    processes: int


def _train_together(
    learner: Learner, task: LayersTask, clock: Clock, together: _Together, *, reporter: Reporter
) -> tuple[Steps, list[dict[str, Any]]]:
    """As `_train`, by several processes, to which the windows are handed over in a file."""
    reporter.note(f"  {task.section.name}: distilled by {together.processes} processes together")
    work, device = clock.file.parent, training_device()
    before = task.to(device).judge(learner.to(device))
    rows = {"ids": task.rows.flat, "lengths": torch.from_numpy(task.rows.lengths)}
    save_file(rows, str(work / HANDED_OVER))
    job = {
        "recipe": together.recipe.model_dump(mode="json", exclude_unset=True),
        "work": str(work.resolve()),
        "seconds": clock.seconds,
        "prints": isinstance(reporter, TerminalReporter),
    }
    run_together(together.function, job, processes=together.processes)
    learner.load_state_dict(best_of(work))
    plan = planned(task.section, task.lengths, speed=dict, file=work / PLAN)
    return plan, [{"epoch": 0, **before}, *progress_of(work)["history"]]


def distil_as_member(recipe: GeneralLayersRecipe, teacher: NamedTeacher, job: Mapping[str, Any]) -> None:
    """One process of a group: the same teacher and student in each, and the windows that the first process cut."""
    quiet_transformers()
    work = Path(job["work"])
    opened, section, learner = _opened(recipe, teacher)
    found = load_file(str(work / HANDED_OVER))
    rows = TokenRows.of_arrays([(found["ids"].numpy(), found["lengths"].numpy())], device=torch.device("cpu"))
    task = LayersTask(section, rows, opened.model, opened.tokenizer, choose_arithmetic(section.precision))
    clock = Clock(Clock.found(work).file, job["seconds"], time.monotonic())
    _train(learner, task, clock, reporter=reporter_of_member(prints=job["prints"]))


def _train(
    learner: Learner, task: LayersTask, clock: Clock, *, reporter: Reporter
) -> tuple[Steps, list[dict[str, Any]]]:
    """Leave the last weights in the learner; returns the plan, and what was found before and after every round."""
    device, section, work = training_device(), task.section, clock.file.parent
    task.to(device)
    learner.to(device)

    def make_plan() -> Steps:
        found = planned(section, task.lengths, speed=lambda: task.speed(learner), file=work / PLAN)
        return replace(found, lengths=found.lengths[:0])  # which all have

    plan = replace(from_first_process(make_plan), lengths=task.lengths)
    before = from_first_process(lambda: task.judge(learner))
    torch.manual_seed(section.seed)

    def losses(trained: Any, numbers: Any, done: float) -> dict[str, Tensor]:
        return task.losses(trained, numbers, done)

    def judge(trained: nn.Module) -> dict[str, float]:
        clock.keep()
        return task.judge(trained)

    progress = train(
        learner,
        plan.settings,
        arithmetic=task.arithmetic,
        batches=lambda number: [places + task.held_back for places in plan.batches(number)],
        losses=losses,
        validate=judge,
        work_folder=work,
        reporter=reporter,
        what=f"distilling {section.name} ({task.arithmetic})",
        keep="last",
        losses_share=True,
    )
    return plan, [{"epoch": 0, **before}, *progress.history]


def _shape_of(config: Any) -> dict[str, Any]:
    """The keys of [student] that give this shape."""
    inner = config.hidden_dim if config.model_type == "distilbert" else config.intermediate_size
    return {
        "family": config.model_type,
        "layers": config.num_hidden_layers,
        "width": config.hidden_size,
        "heads": config.num_attention_heads,
        "inner_size": inner,
    }
