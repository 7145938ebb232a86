"""The card of a shipped model: a README.md with the metadata that the Hugging Face Hub reads."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from limbeck.errors import in_shell, some
from limbeck.kinds import STUDENT_KINDS
from limbeck.progress import visible
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.losses import AnyLoss
from limbeck.recipe.schedule import Schedule
from limbeck.report import abstaining, findings, score_words, sentences, wording
from limbeck.report.markdown import as_markdown, code, markdown
from limbeck.report.tables.formats import Format, written
from limbeck.report.tables.grid import Grid
from limbeck.report.tables.quality import quality_grid
from limbeck.report.tables.scores import score_quality_grid
from limbeck.text.language import NAMES

MAX_RANK = 10  # columns of a higher rank are only in the report
MAX_LABELS = 12  # more labels are counted, not listed
ALONE = "- Cross-entropy to the labels of the corpus, without the teacher."
ALONE_ON_SCORES = "- Mean squared error to the scores of the corpus, without the teacher."
STARTED = "- It started from the general student `{}`, taught by sentence encoders on other text."
DEV = "It was judged on dev, which also chose the epoch that was kept: the numbers are a little too good."
ONE_SEED = "One seed was trained: how much of the numbers is noise is not known."


def model_card(
    report: Mapping[str, Any],
    name: str,
    *,
    objective: Sequence[str],
    max_length: int,
    folder: str | None = None,
    start: str = "",
) -> str:
    """The card of the model `name` of this report; `objective` describes its training objective, line by line.

    `folder` is the name of its folder, if that is not the model's own name; `start` that of the general student which
    it started from.
    """
    at = next(at for at, entry in enumerate(report["models"]) if entry["name"] == name)
    front, usage = metadata(report, report["models"][at]), _usage(report, folder or name)
    classes = some([code(label) for label in report["corpus"]["labels"]], most=MAX_LABELS)
    report = as_markdown(report)
    entry = report["models"][at]
    alone = ALONE_ON_SCORES if wording.is_score(report) else ALONE
    parts = [
        front,
        f"# {markdown(name)}",
        _description(report, entry, classes=classes),
        "## Numbers",
        _numbers(report, entry),
        "## Data",
        "\n".join(_data(report)),
        "## Teacher",
        _teacher(report),
        "## Objective",
        "\n".join(
            [*([alone] if entry["role"] == "baseline" else objective), *([STARTED.format(start)] if start else [])]
        ),
        "## Size and speed",
        _cost(report, entry),
        "## How to use",
        usage,
        "## Limits",
        "\n".join(f"- {limit}" for limit in _limits(report, entry, max_length=max_length)),
    ]
    return "\n\n".join(parts) + "\n"


def metadata(report: Mapping[str, Any], entry: wording.Entry) -> str:
    """The front matter: YAML, with all texts quoted as in JSON, which is valid YAML."""
    corpus = report["corpus"]
    names, measured = (
        "[accuracy, f1]",
        [
            f"    - {{type: accuracy, name: {_quoted(wording.measure(report))}, value: {_four(entry['accuracy'])}}}",
            f"    - {{type: f1, name: macro F1, value: {_four(entry['macro_f1'])}}}",
        ],
    )
    if wording.is_score(report):
        names = "[spearmanr, pearsonr, mse]"
        measured = [
            f"    - {{type: spearmanr, name: Spearman, value: {_four(entry.get('spearman'))}}}",
            f"    - {{type: pearsonr, name: Pearson, value: {_four(entry.get('pearson'))}}}",
        ]
    of_teacher = ["knowledge-distillation"] if wording.has_teacher(report) else []
    tags = ["text-classification", *of_teacher, "onnx", str(entry["kind"]), str(entry["precision"])]
    tags += ["regression"] if wording.is_score(report) else []
    lines = [
        "---",
        f"language: {_quoted(corpus['language'])}",
        "library_name: limbeck",
        "pipeline_tag: text-classification",
        f"tags: [{', '.join(_quoted(tag) for tag in tags)}]",
        f"metrics: {names}",
        "model-index:",
        f"- name: {_quoted(entry['name'])}",
        "  results:",
        "  - task: {type: text-classification, name: Text Classification}",
        f"    dataset: {{type: {_quoted(corpus['name'])}, name: {_quoted(corpus['name'])}, "
        f"split: {_quoted(report['judged_split'])}}}",
        "    metrics:",
        *measured,
        "---",
    ]
    return "\n".join(lines)


def _four(value: float | None) -> str:
    return "null" if value is None else f"{value:.4f}"


def _description(report: Mapping[str, Any], entry: wording.Entry, *, classes: str) -> str:
    kind, size = _title(entry), wording.three_figures(entry["size_mb"])
    rows = "pairs of texts" if report["corpus"]["pair"] else "texts"
    how = "any number of labels" if wording.is_multi_label(report) else "one label"
    origin = f"distilled from {wording.teacher_of(report)['name']}"
    if entry["role"] == "baseline" or not wording.has_teacher(report):
        origin = "trained alone, without a teacher" + (", for comparison" if wording.has_teacher(report) else "")
    if scale := report["corpus"].get("scale"):
        classes, how = f"{scale['low']:g} to {scale['high']:g}", "a score"
    between = "from" if scale else "of:"
    return (
        f"A {kind} ({entry['precision']}, {size} MB) that gives {rows} {how} {between} {classes}. It was {origin}, "
        "with Limbeck, and runs in ONNX Runtime without PyTorch."
    )


def _numbers(report: Mapping[str, Any], entry: wording.Entry) -> str:
    """The quality table with this model and those it is compared with, and the result in words."""
    grid = score_quality_grid(report) if wording.is_score(report) else quality_grid(report)
    table = written([_with_teacher(grid, entry)], Format.MARKDOWN).rstrip("\n")
    words = [_seeds(entry), *(_chosen(report, entry) or _gain(entry))]
    words += [sentence for sentence in sentences.differences(report) if sentence.startswith(f"{entry['name']}: ")]
    return "\n\n".join([table, *(f"{sentence}." for sentence in words)])


def _seeds(entry: wording.Entry) -> str:
    count, shipped = entry["seed_count"], entry.get("shipped_accuracy")
    copies = f"Mean and spread over {count} seeds" if count > 1 else "One seed"
    numbers = f" ({', '.join(str(seed) for seed in entry['seeds'])})" if entry.get("seeds") else ""
    ships = "" if shipped is None else f"; the copy in this folder has {wording.percent(shipped)} %"
    return f"{copies}{numbers}{ships}"


def _chosen(report: Mapping[str, Any], entry: wording.Entry) -> list[str]:
    """That it is the best model of the run, and the verdict."""
    if report.get("best") != entry["name"]:
        return []
    choice = report.get("choice") or {}
    by = f" by {choice['by']} on {choice['rows']:,} dev rows" if choice else ""
    share = choice.get("teacher_share", 0.0)
    by += f", where the teacher's answers count {share:.0%}" if share else ""
    others = len(choice.get("equal", [])) - 1
    lowest = "highest rank correlation" if wording.is_score(report) else "lowest cross-entropy"
    tie = f", the one with the {lowest} of {others + 1} that are equal within noise" if others > 0 else ""
    return [f"The best model of its run{by}{tie}", wording.verdict(report).rstrip(".")]


def _gain(entry: wording.Entry) -> list[str]:
    gain = entry.get("gain_over_baseline")
    if not gain and not entry.get("score_gain_over_baseline"):
        return []
    words = wording.gain_in_words(gain, seeds=entry["seed_count"]) if gain else score_words.gain_in_words(entry)
    return [f"{words[0].upper()}{words[1:]}"]


def _with_teacher(grid: Grid, entry: wording.Entry) -> Grid:
    """The lines of this model, of the teacher and of the baseline, with the most important columns."""
    chosen = grid.at([column for column, field in enumerate(grid.fields) if field.rank < MAX_RANK])
    lines = [line for line in chosen.lines if _belongs(line.values, entry)]
    return replace(chosen, lines=tuple(lines), notes=())


def _belongs(values: Mapping[str, Any], entry: wording.Entry) -> bool:
    return values["model"] == entry["name"] or values["role"] in ("teacher", "baseline", "rival")


def _data(report: Mapping[str, Any]) -> Iterator[str]:
    corpus = report["corpus"]
    rows = ", ".join(f"{count:,} {split}" for split, count in corpus["rows"].items())
    yield f"- {corpus['name']}: {rows} rows; {NAMES.get(corpus['language'], corpus['language'])}."
    of_train = (corpus.get("rows_per_label") or {}).get("train") or {}
    if of_train:
        rarest = len(of_train) > MAX_LABELS
        counts = sorted(of_train.items(), key=lambda item: item[1]) if rarest else list(of_train.items())
        shown = some([f"{label} {count:,}" for label, count in counts], most=MAX_LABELS)
        yield f"- Train rows by label{', the rarest first' if rarest else ''}: {shown}."
    if report["transfer"] and report["transfer"].get("kept"):
        yield f"- {report['transfer']['kept']:,} rows of unlabelled text, which the teacher labelled."
    if (copies := report.get("augmentation") or {}).get("kept"):
        yield f"- {copies['kept']:,} changed copies of {_originals(copies)}, which the teacher labelled."


def _originals(copies: Mapping[str, Any]) -> str:
    """What they are copies of."""
    if "of_transfer" not in copies:
        return "training rows"
    return "training rows and of this text" if copies["copies"] else "this text"


def _teacher(report: Mapping[str, Any]) -> str:
    if not wording.has_teacher(report):
        return "None: it was trained on the labels of the training rows alone."
    teacher = wording.teacher_of(report)
    of_dev = teacher.get("dev_accuracy")
    on_dev = "" if of_dev is None else f"; {wording.percent(of_dev)} % on dev"
    if teacher.get("dev_spearman") is not None:
        on_dev = f"; Spearman {wording.decimal(teacher['dev_spearman'])} on dev"
    size = "" if teacher["parameters"] is None else f", {wording.count(teacher['parameters'])} parameters"
    members = f" of {', '.join(teacher['members'])}" if teacher.get("members") else ""
    return f"{teacher['name']} ({teacher['kind']}{members}{size}){on_dev}."


def _cost(report: Mapping[str, Any], entry: wording.Entry) -> str:
    machine, times = report["machine"], entry["latency_ms"] or {}
    shown = [f"{which} {wording.milliseconds(entry, which)} ms" for which in ("p50", "p95", "p99") if times.get(which)]
    faster = entry["speedup_over_teacher"]
    int8 = entry.get("speedup_over_teacher_int8")
    compared = "" if faster is None else f"; {wording.times(faster)} the teacher's speed"
    compared += f", {wording.times(int8)} that of the teacher as an int8 file" if int8 else ""
    rate = wording.three_figures(entry["rows_per_second"])
    answer = "score" if wording.is_score(report) else "label"
    threads = f"{machine['threads']} thread{'' if machine['threads'] == 1 else 's'}"
    return (
        f"- {wording.count(entry['parameters'])} parameters, "
        f"{wording.count(entry['parameters_without_embeddings'])} without embeddings; "
        f"{wording.three_figures(entry['size_mb'])} MB.\n"
        f"- Text to {answer}: {', '.join(shown)}; {rate} rows/s in batches{compared}.\n"
        f"- Measured on {machine['cpu']}, {threads}."
    )


def _usage(report: Mapping[str, Any], name: str) -> str:
    name = visible(" ".join(name.split()))
    trial = sentences.try_it(report, name)
    return (
        f"```\npip install limbeck\n{trial.command}\nlimbeck predict {in_shell(name)} texts.txt\n"
        f"limbeck serve {in_shell(name)}\n```\n\n"
        f"```python\nimport limbeck\n\nmodel = limbeck.load({_quoted(name)})\nmodel.predict({trial.rows})\n```\n\n"
        f"{code(name)} is this folder."
    )


def _limits(report: Mapping[str, Any], entry: wording.Entry, *, max_length: int) -> Iterator[str]:
    """What the numbers do not show."""
    corpus = report["corpus"]
    language = NAMES.get(corpus["language"], corpus["language"])
    judged = f"{report['judged_rows']:,} {report['judged_split']} rows of {corpus['name']}"
    yield f"Judged on {judged} only: text of another kind, or from a later time, may give other numbers."
    yield f"For {language} texts; it reads the first {max_length:,} tokens of a text."
    found = report.get("abstaining") or {}
    if found.get("threshold"):
        own = found["model"] == entry["name"]
        yield abstaining.threshold(found) if own else "It gives no label where it is not sure enough."
    if report["judged_split"] == "dev":
        yield DEV
    if entry["seed_count"] == 1:
        yield ONE_SEED
    if scale := corpus.get("scale"):
        yield f"Scores are between {scale['low']:g} and {scale['high']:g}, as in training; it knows no others."
    gain = entry.get("gain_over_baseline")
    if gain and gain["ci95"][0] <= 0 <= gain["ci95"][1]:
        low, high = (wording.signed(bound) for bound in gain["ci95"])
        yield f"Distilling made no difference beyond noise: the gain's 95 % interval is {low} to {high} points."
    for warning in findings.doubts(report):
        yield f"{warning[0].upper()}{warning[1:]}."
    for note in [*findings.notes(report), *sentences.few_rows(report), *(entry.get("remarks") or [])]:
        yield f"{note[0].upper()}{note[1:]}."


def _title(entry: wording.Entry) -> str:
    """What it is; of a blend also what it was made from."""
    if members := entry.get("members"):
        return f"blend of {' and '.join(members)}"
    kind = entry["kind"]
    return STUDENT_KINDS[kind].title if kind in STUDENT_KINDS else kind


def _quoted(text: Any) -> str:
    return json.dumps(visible(str(text)), ensure_ascii=False)


def objective_in_words(section: Distillation) -> list[str]:
    """Markdown with a line per loss; with several training stages, below a line per stage."""
    if not section.stages:
        return [f"- {_loss(loss)}" for loss in section.losses]
    lines = []
    for number, stage in enumerate(section.stages, start=1):
        lines.append(f"{number}. {stage.epochs} epoch{'' if stage.epochs == 1 else 's'}:")
        lines += [f"   - {_loss(loss)}" for loss in stage.losses]
    return lines


def _loss(loss: AnyLoss) -> str:
    """Its name, its settings, and the first sentence of its section's docstring."""
    table = loss.model_dump(exclude={"kind", "options", *loss.fields_without_effect}, exclude_none=True)
    settings = ", ".join(f"{key.replace('_', ' ')} {_in_words(getattr(loss, key))}" for key in table)
    sentences = re.split(r"\.\s+(?=[A-Z])", " ".join((type(loss).__doc__ or "").split()))  # not after "et al."
    meaning = sentences[0].rstrip(".")
    return f"`{loss.name}` ({settings}): {meaning}."


def _in_words(value: Any) -> str:
    if isinstance(value, Schedule):
        return f"from {value.start:g} to {value.end:g} ({value.kind.replace('_', ' ')})"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join("→".join(map(str, item)) if isinstance(item, list) else _in_words(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
