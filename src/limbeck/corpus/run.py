"""The stage `read_corpus`: read the labelled rows, check them, split off dev and test, compare the splits, save."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_json import LONGEST_NAME
from limbeck.corpus.findings import Findings, Overlap, facts_of, find_overlap, find_repeats, report_findings
from limbeck.corpus.labelled import Classes, LabelledRows, name_classes
from limbeck.corpus.scores import as_scored_rows, by_quantile, scale_of, score_facts
from limbeck.corpus.slice_values import slice_values
from limbeck.corpus.source import CorpusSource, read_source
from limbeck.corpus.splits import choose_rows, cut_off
from limbeck.errors import DataError, OneClassOnly, TooFewRows, some
from limbeck.progress import Reporter
from limbeck.recipe.corpus import CorpusSection
from limbeck.tasks import SCORE

CUT_SPLITS = ("dev", "test")


class LabelsAllEmpty(DataError):
    """No training row of a multi-label corpus has a label."""

    def __init__(self, *, path: str, rows: int) -> None:
        super().__init__(
            f"none of the {rows:,} training rows of '{path}' has a label",
            advice="With multi_label, some rows may have no label, but not every row; check the `label` column of the "
            "recipe.",
        )


class LabelTooLong(DataError):
    """A label is so long that no exported model could have it."""

    def __init__(self, *, path: str, label: str) -> None:
        super().__init__(
            f"a label of '{path}' has {len(label):,} characters; at most {LONGEST_NAME:,} are allowed",
            found=f"it starts with {label[:40]!r}",
            advice="Check that `label` is not the column of the texts, or give a shorter name to it with label_names.",
        )


class LabelUnknown(DataError):
    """No row of dev or of test has a label that a training row has."""

    def __init__(self, *, split: str, unknown: Sequence[str], known: Sequence[str], file: str) -> None:
        self.unknown = tuple(unknown)
        labels = some([repr(name) for name in known], most=12)
        super().__init__(
            f"{split} has only labels that train does not have: {some([repr(name) for name in unknown])}",
            found=f"train's labels: {labels}; the labels of {split} are those of {file}",
            advice="Write the labels the same way in both files, or give names to them with label_names.",
        )


def read_corpus(section: CorpusSection, *, out: Path, key: Key, reporter: Reporter, name: str) -> Corpus:
    """Read the labelled rows, make a dev split if there is none, and report what is suspicious about them."""
    with written_atomically(out, kind="corpus", key=key) as scratch:
        source = read_source(section, reporter=reporter)
        classes = _classes(section, source)
        if not section.is_score:
            _check_labels(section, source, classes)
            source = _without_unknown(section, source, classes)
        findings = _prepare(section, source)
        facts = facts_of(section, source=source, classes=classes, findings=findings, name=name)
        if section.is_score:
            scale = scale_of(section, findings.splits, source.names)
            facts |= score_facts(scale, findings.splits)
            splits = {split: as_scored_rows(rows, scale) for split, rows in findings.splits.items()}
        else:
            unknown = list(source.unknown.get("test", {}))
            splits = {
                split: rows.as_rows(classes, is_multi_label=section.multi_label, unknown=unknown)
                for split, rows in findings.splits.items()
            }
        foreign = {split: rows.unlabelled() for split, rows in source.foreign.items()}
        judged = splits["test" if "test" in splits else "dev"]
        values = slice_values(section, judged.ids)
        save_corpus(scratch, splits=splits, facts=facts, foreign=foreign, slice_values=values)
    report_findings(facts, classes, reporter=reporter)
    return Corpus(out)


def _prepare(section: CorpusSection, source: CorpusSource) -> Findings:
    splits, origins = _with_cuts(section, source)
    overlap = find_overlap(splits["train"], {split: splits[split] for split in CUT_SPLITS if split in splits})
    whole = len(splits["train"])
    splits["train"], removed = _train_rows(section, splits["train"], overlap)
    cut = whole - removed - len(splits["train"])
    repeats = find_repeats(splits["train"])
    return Findings(splits, origins, overlap=overlap, removed=removed, cut=cut, repeats=repeats)


def _classes(section: CorpusSection, source: CorpusSource) -> Classes:
    """The classes of the training rows; a class that has a column is included even if no row has it. Of scores only the
    name of the one output."""
    if section.is_score:
        return Classes(names=[SCORE], class_of={}, unused_names=[], unnamed=[])
    columns = source.class_order if isinstance(section.label, list) else []
    labels = {*source.splits["train"].label_counts, *columns}
    used = section.only_labels or section.label_names.values()
    names = {label: name for label, name in section.label_names.items() if name in used}
    return name_classes(labels, label_names=names, order=source.class_order)


def _check_labels(section: CorpusSection, source: CorpusSource, classes: Classes) -> None:
    train = source.splits["train"]
    present = {classes.names[classes.class_of[label]] for label in train.label_counts}
    if section.multi_label and not present:
        raise LabelsAllEmpty(path=source.names["train"], rows=len(train))
    if not section.multi_label and len(present) == 1:
        raise OneClassOnly(path=source.names["train"], label=present.pop(), rows=len(train))
    if longest := [name for name in classes.names if len(name) > LONGEST_NAME]:
        raise LabelTooLong(path=source.names["train"], label=longest[0])
    for split, rows in source.splits.items():
        if rows.label_counts and not rows.label_counts.keys() & classes.class_of.keys():
            unknown = list(rows.label_counts)
            raise LabelUnknown(split=split, unknown=unknown, known=list(classes.class_of), file=source.names[split])


def _without_unknown(section: CorpusSection, source: CorpusSource, classes: Classes) -> CorpusSource:
    """Count the labels of dev and test that train lacks. Nothing can predict them, so a test row with one is judged as
    wrong; of dev, on which models are chosen, such rows are dropped. Of several labels per row, the others stay."""
    splits, found = dict(source.splits), {}
    for split, rows in source.splits.items():
        unknown = {label: count for label, count in rows.label_counts.items() if label not in classes.class_of}
        if not unknown:
            continue
        found[split] = unknown
        if section.multi_label:
            known = [tuple(label for label in labels if label not in unknown) for labels in rows.labels]
            splits[split] = replace(rows, labels=known)
        elif split == "dev":
            splits[split] = rows.select(at for at, (label,) in enumerate(rows.labels) if label not in unknown)
    return replace(source, splits=splits, unknown=found)


def _with_cuts(section: CorpusSection, source: CorpusSource) -> tuple[dict[str, LabelledRows], dict[str, str]]:
    """The splits, with dev, and test if asked for, cut from train if the source has none; and where each comes from."""
    splits = dict(source.splits)
    train_size = len(splits["train"])
    origins = {split: "file" if section.hub is None else "data set" for split in CUT_SPLITS if split in splits}
    for split, fraction in (("dev", section.dev_fraction), ("test", section.test_fraction)):
        if split in splits or fraction == 0:
            continue
        grouped = by_quantile(splits["train"]) if section.is_score else splits["train"]
        stays, cut = cut_off(grouped, count=max(1, round(train_size * fraction)), seed=section.split_seed, name=split)
        splits[split] = splits["train"].select(cut)
        splits["train"] = splits["train"].select(stays)
        origins[split] = f"cut from train, {fraction * 100:g} %, seed {section.split_seed}"
    return splits, origins


def _train_rows(section: CorpusSection, train: LabelledRows, overlap: Overlap) -> tuple[LabelledRows, int]:
    """The training rows that are used, and how many were removed because they appear in dev or test."""
    removed = 0
    if section.overlap == "remove" and overlap.train_positions:
        unwanted = set(overlap.train_positions)
        kept = train.select(at for at in range(len(train)) if at not in unwanted)
        if not section.is_score and len(kept.label_counts) < len(train.label_counts):
            what = "train without the rows that appear in dev or test (a class has no rows left)"
            raise TooFewRows(what=what, rows=len(kept), needed=len(kept) + 1)
        train, removed = kept, len(unwanted)
    if section.max_rows is not None:
        grouped = by_quantile(train) if section.is_score else train
        train = train.select(choose_rows(grouped, count=section.max_rows, seed=section.split_seed))
    return train, removed
