"""What a reader has to know, in words: rows that a student could have seen, a model that is missing."""

from collections.abc import Iterator, Mapping
from typing import Any

from limbeck.errors import some
from limbeck.report import score_words, wording

HELD_OUT = ("dev", "test")
BELOW = {"rival": "ten lines of scikit-learn", "baseline": "the student without a teacher"}  # roles, in words
FEWEST_MISSED = 3  # rows of a class that is never answered: one or two are easily missed by a good model
SHOWN_ELSEWHERE = (
    *("name", "labels", "language", "pair", "multi_label", "labels_from", "rows", "rows_per_label", "overlap"),
)


def warnings(report: Mapping[str, Any]) -> list[str]:
    """Models that are left out, and what is wrong with the numbers or the teacher; one sentence each."""
    return [*refused(report), *doubts(report)]


def refused(report: Mapping[str, Any]) -> list[str]:
    """One sentence for each model that is not part of the run, because its file is not what was trained."""
    return [
        f"{one['name']} is left out because its {one['precision']} file does not match the trained student "
        f"({one['reason']})"
        for one in report.get("refused") or []
    ]


def doubts(report: Mapping[str, Any]) -> list[str]:
    """Leaks, classes that the best model never answers, and a teacher that others beat; one sentence each."""
    return [*leaks(report), *never_answered(report), *weak_teacher(report)]


def never_answered(report: Mapping[str, Any]) -> list[str]:
    """Classes of some of the judged rows that the best model answers for no row."""
    model = wording.main_model(report)
    counts = (model or {}).get("confusion")
    if model is None or not counts or wording.constant_answer(model, report):
        return []
    given = [sum(column) for column in zip(*counts, strict=True)]
    labels = report["corpus"]["labels"]
    rows = {label: sum(row) for label, row, count in zip(labels, counts, given, strict=True) if not count}
    missed = [f"{label} × {count:,}" for label, count in rows.items() if count >= FEWEST_MISSED]
    if not missed:
        return []
    mean = sum(map(sum, counts)) / sum(1 for row in counts if sum(row))
    are_rare = any(FEWEST_MISSED <= count < mean / 2 for count in rows.values())
    advice = '; corpus.class_weights = "balanced" makes rare classes count more' if are_rare else ""
    return [f"{model['name']} answers for no row: {some(missed, most=6)}{advice}"]


def weak_teacher(report: Mapping[str, Any]) -> list[str]:
    """One sentence for each of rival and student alone that is more accurate than the teacher, with advice."""
    if wording.is_score(report):
        return score_words.weak_teacher(report)
    teacher = wording.teacher_of(report)["accuracy"]
    found = []
    for entry in report["models"]:
        own = entry.get("accuracy_on_teacher_rows", entry["accuracy"])
        if entry["role"] not in BELOW or teacher is None or own is None or own <= teacher:
            continue
        test = (entry.get("mcnemar") or {}).get("teacher")
        noise = " (within the noise)" if test and test["p"] >= wording.SIGNIFICANT else ""
        found.append(
            f"the teacher is below {entry['name']}, {BELOW[entry['role']]}: {wording.percent(teacher)} % against "
            f"{wording.percent(own)} %{noise}; a student learns its mistakes too: fine-tune the teacher longer or with "
            "a higher learning rate, or use a stronger checkpoint"
        )
    return found


def leaks(report: Mapping[str, Any]) -> list[str]:
    """One sentence per overlap that was not removed; each makes the numbers look better than they are."""
    return [
        f'{counts}: results look better than they are; {section}.overlap = "remove" in the recipe removes them'
        for section, counts, mode in _overlaps(report)
        if mode != "remove"
    ]


def notes(report: Mapping[str, Any]) -> list[str]:
    """What is needed to read the numbers correctly: labels that train lacks, rows without a teacher label, and where
    the labels come from."""
    return [
        *_unknown(report),
        *_unanswered(report),
        *_labels_of_columns(report),
        *_labelled_by(report),
        *_cut(report),
        *_sampled_rival(report),
        *_chosen_on_dev(report),
        *corrected(report),
    ]


def corrected(report: Mapping[str, Any]) -> list[str]:
    """One sentence about labels that were corrected after a review, and what that changed; none without corrections."""
    facts: Mapping[str, Any] = report.get("corrections") or {}
    if not facts:
        return []
    counts = {"labels corrected": "changed", "rows dropped": "dropped", "rows added": "added"}
    done = ", ".join(f"{facts[name]:,} {what}" for what, name in counts.items() if facts[name])
    start = f"after a review of the run {facts['of']}: {done or 'nothing changed'}"
    changes = [
        f"{line['model']} {wording.percent(line['before'])} → {wording.percent(line['after'])} %"
        for line in facts["models"]
    ]
    split = report["judged_split"]
    if not changes or facts["same_rows"] is None:
        return [f"{start}; that run has no report to compare with"]
    if not facts["same_rows"]:
        return [f"{start}; rows or labels of {split} changed too, so its numbers are not comparable with those before"]
    return [f"{start}; {wording.measure(report)} on the same {report['judged_rows']:,} {split} rows: {some(changes)}"]


def _cut(report: Mapping[str, Any]) -> list[str]:
    left_out = report["corpus"].get("beyond_max_rows_left_out", 0)
    rows = report["corpus"]["rows"]["train"]
    whole = f"{rows:,} of {rows + left_out:,} training rows"
    rival = f", {one['name']} as well" if (one := wording.rival_of(report)) else ""
    return [f"all models learned from {whole} (corpus.max_rows){rival}"] if left_out else []


def _sampled_rival(report: Mapping[str, Any]) -> list[str]:
    rival = wording.rival_of(report) or {}
    used, rows = rival.get("train_rows", 0), rival.get("of_train_rows", 0)
    return (
        [f"{rival['name']} was trained on {used:,} of {rows:,} training rows, to take seconds"] if used < rows else []
    )


def _chosen_on_dev(report: Mapping[str, Any]) -> list[str]:
    if report["judged_split"] != "dev" or not report.get("best"):
        return []
    return [
        f"{report['best']} was chosen as the best on the same dev rows that the numbers are about; a test file gives "
        "numbers that chose nothing"
    ]


def _unknown(report: Mapping[str, Any]) -> list[str]:
    """Labels of the judged rows that train lacks."""
    unknown: Mapping[str, int] = report["corpus"].get("unknown_in_test") or {}
    if not unknown or report["judged_split"] != "test":
        return []
    names = some([f"{name} × {count:,}" for name, count in unknown.items()], most=6)
    result = "they are ignored" if wording.is_multi_label(report) else "every answer to such a row counts as wrong"
    return [f"labels of test rows that train does not have: {names}; {result}"]


def _unanswered(report: Mapping[str, Any]) -> list[str]:
    if not wording.has_teacher(report):
        return []
    split, rows = report["judged_split"], report["judged_rows"]
    answered = wording.teacher_of(report).get("judged_rows", rows)
    if answered == rows:
        return []
    if answered == 0:
        return [f"the teacher has no labels for the {rows:,} {split} rows: nothing here can be compared with it"]
    counts = f"the teacher has no labels for {rows - answered:,} of {rows:,} {split} rows"
    return [f"{counts}: its own numbers and all agreement with it are about the other {answered:,}"]


def _labels_of_columns(report: Mapping[str, Any]) -> list[str]:
    if report["corpus"].get("labels_from") != "columns" or report.get("labelled_by"):
        return []
    rule = "label is the largest of its columns"
    if wording.is_multi_label(report):
        rule = "labels are all of its columns with 0.5 or more"
    agreement = f"{wording.measure(report)} here means agreement with it"
    return [f"a row's {rule}; if a model wrote those columns, {agreement}"]


def _labelled_by(report: Mapping[str, Any]) -> list[str]:
    """What the labels of a language model took, and how much more of them taught a first student."""
    facts: Mapping[str, Any] = report.get("labelled_by") or {}
    if not facts:
        return []
    spent = facts["spent"]
    cost = f", cost {spent['cost']:,.2f}" if "cost" in spent else ""
    tokens = spent["tokens_in"] + spent["tokens_out"]
    found = [
        f"{facts['model']} labelled {facts['answered']:,} texts to learn from, of {facts['texts']:,} in all, in "
        f"{spent['requests']:,} requests and {tokens:,} tokens{cost}"
    ]
    curve = [point for point in facts.get("curve") or [] if point["accuracy"] is not None]
    if len(curve) > 1:
        points = " · ".join(f"{point['asked']:,} texts {wording.percent(point['accuracy'])} %" for point in curve)
        found.append(f"agreement of a first student with it: {points}; {facts['why_stopped']}")
    return found


def corpus_facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts about the corpus other than name, sizes and classes, as pairs of name and value."""
    noted = {name: value for name, value in report["corpus"].items() if name not in SHOWN_ELSEWHERE}
    return [*_removed(report, "corpus"), *_flat(noted)]


def transfer_facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How the transfer text was gathered; empty without transfer text."""
    noted = {name: value for name, value in (report["transfer"] or {}).items() if name != "overlap"}
    return [*_flat(noted), *_removed(report, "transfer")]


def augmentation_facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How copies of training rows and transfer text were made; empty without copies."""
    noted = dict(report.get("augmentation") or {})
    methods = noted.pop("methods", [])
    return [*_flat(noted), *(pair for method in methods for pair in _of_method(method))]


def _of_method(method: Mapping[str, Any]) -> list[tuple[str, str]]:
    return _flat({name: value for name, value in method.items() if name != "kind"}, str(method["kind"]))


def _overlaps(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Recipe section, what was found in words, and what was done about it."""
    for section, place in (("corpus", "train"), ("transfer", "the transfer text")):
        overlap = (report[section] or {}).get("overlap") or {}
        for split in HELD_OUT:
            found = overlap.get("splits", {}).get(split)
            if found and found["found"]:
                rows = f"{found['found']:,} of {found['rows']:,} {split} rows"
                yield section, f"{rows} appear in {place} ({found['verbatim']:,} verbatim)", str(overlap.get("mode"))


def _removed(report: Mapping[str, Any], wanted: str) -> list[tuple[str, str]]:
    return [
        ("removed", counts.replace("appear in", "were in"))
        for section, counts, mode in _overlaps(report)
        if section == wanted and mode == "remove"
    ]


def _flat(facts: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Nested facts as pairs; empty and zero values are omitted."""
    if isinstance(facts, Mapping):
        return [pair for name, value in facts.items() for pair in _flat(value, f"{prefix} {name}".replace("_", " "))]
    if isinstance(facts, list) and facts and all(isinstance(item, Mapping) for item in facts):
        parts = ((f"{prefix} {item.get('kind', '')}", {k: v for k, v in item.items() if k != "kind"}) for item in facts)
        return [pair for name, part in parts for pair in _flat(part, name)]
    return [(prefix.strip(), _in_words(facts))] if facts else []


def _in_words(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.4g}"
        case list():
            return ", ".join(_in_words(item) for item in value)
        case _:
            return str(value)
