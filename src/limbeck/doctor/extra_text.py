"""Checks of the extra text: held-out rows in it, how far it is from the corpus, and whether copies are useful."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from limbeck.doctor.corpus import level_of_leak, match_counts
from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known
from limbeck.labeling.choice import UNSURE
from limbeck.transfer.domain import FAR

MIN_EXTRA_ENTROPY = 0.05  # as a share of the maximum entropy: smaller differences are ignored
FLIPS = 0.2  # share of copies
NEW_LABEL_METHODS = ("pairing", "exchange")  # a new pair has its own label
FEW_SOURCES = 0.5  # share of the rows that could be copied
UNCHANGED = 0.9  # share of the copies requested


def transfer_overlap(known: Known) -> list[Finding]:
    """Rows of dev and test that appear in the gathered text."""
    found = known.transfer.quality["overlap"]
    splits = {split: counts for split, counts in found["splits"].items() if counts["found"] or counts["near"]}
    return [_overlap_finding(split, counts, mode=found["mode"]) for split, counts in splits.items()]


def _overlap_finding(split: str, counts: Mapping[str, int], *, mode: str) -> Finding:
    rows = f"{counts['found']:,} of {counts['rows']:,} {split} rows"
    evidence = match_counts(counts)
    if mode == "remove":
        what, advice = f"{rows} were in the transfer text", "Nothing to do: they were removed."
        return Finding("transfer-overlap", "note", what, evidence, advice)
    return Finding(
        "transfer-overlap",
        level_of_leak((counts["found"] + counts["near"]) / counts["rows"]),
        f"{rows} appear in the transfer text",
        evidence,
        'Results look better than they are: set overlap = "remove" in [transfer].',
    )


def domain(known: Known) -> list[Finding]:
    """Gathered text with other words than the corpus, or on which the teacher is far less sure."""
    return [*_other_words(known.transfer.quality["domain"]), *_entropy(known)]


def _other_words(shares: Mapping[str, float]) -> Iterator[Finding]:
    if shares["words_in_train"] < FAR:
        yield Finding(
            "domain",
            "note",
            "the transfer text has other words than the corpus",
            f"{shares['words_in_train']:.0%} of its running words appear in train, against "
            f"{shares['dev_words_in_train']:.0%} of those of dev",
            "General text helps if rows are few; text of the same kind helps more. `limbeck transfer RUN` shows it.",
        )


def _entropy(known: Known) -> Iterator[Finding]:
    """The teacher's entropy on the text; nothing before the teacher has labelled it."""
    if not known.has("chosen"):
        return
    quality, classes = known.chosen.quality, 2 if known.corpus.is_multi_label else len(known.corpus.labels)
    there, own = quality.get("transfer", {}).get("teacher_entropy"), quality["teacher_entropy"].get("dev")
    if there is None or own is None:
        return
    if there > UNSURE * own and there - own > MIN_EXTRA_ENTROPY * math.log(classes):
        yield Finding(
            "domain",
            "warning",
            "the teacher is far less sure on the transfer text than on the corpus",
            f"its entropy is {there:.2f} nats there and {own:.2f} on dev",
            'Gather text of the same kind, or select from it: choice = "nearest" or least_confidence in [transfer].',
        )


def copies(known: Known) -> list[Finding]:
    """Copies that all come from a few rows, that change nothing, or that change the label."""
    quality = known.copies.quality
    judged = known.chosen.quality.get("augmented", {}) if known.has("chosen") else {}
    return [*_sources(quality), *_without_effect(quality), *_flips(judged)]


def _sources(quality: Mapping[str, Any]) -> Iterator[Finding]:
    used, possible = quality["sources_used"], min(quality["sources"], quality["kept"])
    if possible > 1 and (used == 1 or used < FEW_SOURCES * possible):
        yield Finding(
            "copies",
            "error" if used == 1 else "warning",
            f"all copies come from {used:,} {'' if 'of_transfer' in quality else 'training '}row{'s' * (used > 1)}",
            f"{quality['kept']:,} copies; {_sources_of(quality)}",
            "Use methods that can change more rows (a larger fraction), or remove the copies.",
        )


def _sources_of(quality: Mapping[str, Any]) -> str:
    if "of_transfer" not in quality:
        return f"train has {quality['sources']:,} rows"
    return f"{quality['sources']:,} rows of train and transfer text were to be copied"


def _without_effect(quality: Mapping[str, Any]) -> Iterator[Finding]:
    """Methods of which no copy was kept, or copies that are nearly all unchanged."""
    if idle := [method["kind"] for method in quality["methods"] if not method["kept"]]:
        yield Finding(
            "copies",
            "warning",
            f"no copy made by {', '.join(idle)} was kept",
            f"{quality['asked']:,} copies were requested; its copies are unchanged or already exist",
            "Raise its fraction or probability, or remove it. `limbeck augment FILE --method …` shows what it does.",
        )
    elif quality["unchanged"] > UNCHANGED * quality["asked"]:
        yield Finding(
            "copies",
            "warning",
            f"{quality['unchanged'] / quality['asked']:.0%} of the copies are identical to their source",
            f"{quality['kept']:,} of {quality['asked']:,} were kept",
            "Raise the fractions of the methods in [augmentation].",
        )


def _flips(judged: Mapping[str, Any]) -> Iterator[Finding]:
    """Methods whose copies often get another label from the teacher than their source, each and in total."""
    flipping = {
        method["kind"]: method["label_flips"]
        for method in judged.get("methods", [])
        if (method["label_flips"] or 0) > FLIPS and method["kind"] not in NEW_LABEL_METHODS
    }
    makes_new = any(method["kind"] in NEW_LABEL_METHODS for method in judged.get("methods", []))
    if flipping or ((judged.get("label_flips") or 0) > FLIPS and not makes_new):
        by_method = ", ".join(f"{kind} {share:.0%}" for kind, share in flipping.items()) or "no method by itself"
        yield Finding(
            "copies",
            "warning",
            "many copies have another label than their source",
            f"{judged['label_flips']:.0%} of all copies; {by_method}",
            "Change fewer words (a smaller fraction) or remove that method: such copies hardly fit the task.",
        )
