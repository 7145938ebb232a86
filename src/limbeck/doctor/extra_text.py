"""Text beside the corpus: held-out rows in it, how far from the corpus it is, and what copies became of train."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from limbeck.doctor.corpus import how_alike, level_of_leak
from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known
from limbeck.labeling.choice import UNSURE
from limbeck.transfer.domain import FAR

LEAST_DOUBT = 0.05  # of what a teacher that knows nothing would show: less of a difference is none
FLIPS = 0.2  # share of copies
MEANT_TO_FLIP = ("pairing",)  # a new pair has a label of its own
FEW_SOURCES = 0.5  # share of the rows that copies could be of
UNCHANGED = 0.9  # share of the copies asked for


def transfer_overlap(known: Known) -> list[Finding]:
    """Rows of dev and test that stand in the gathered text."""
    found = known.transfer.quality["overlap"]
    splits = {split: counts for split, counts in found["splits"].items() if counts["found"] or counts["near"]}
    return [_met(split, counts, mode=found["mode"]) for split, counts in splits.items()]


def _met(split: str, counts: Mapping[str, int], *, mode: str) -> Finding:
    rows = f"{counts['found']:,} of {counts['rows']:,} {split} rows"
    evidence = how_alike(counts)
    if mode == "remove":
        what, advice = f"{rows} stood in the transfer text", "Nothing to do: they are kept out."
        return Finding("transfer-overlap", "note", what, evidence, advice)
    return Finding(
        "transfer-overlap",
        level_of_leak((counts["found"] + counts["near"]) / counts["rows"]),
        f"{rows} stand in the transfer text",
        evidence,
        'Results look better than they are: set overlap = "remove" in [transfer].',
    )


def domain(known: Known) -> list[Finding]:
    """Gathered text of other words than the corpus, or of which the teacher is far less sure."""
    return [*_other_words(known.transfer.quality["domain"]), *_doubt(known)]


def _other_words(shares: Mapping[str, float]) -> Iterator[Finding]:
    if shares["words_in_train"] < FAR:
        yield Finding(
            "domain",
            "warning",
            "the transfer text has other words than the corpus",
            f"{shares['words_in_train']:.0%} of its running words stand in train; of those of dev "
            f"{shares['dev_words_in_train']:.0%} do",
            "Gather text of the same kind: text of another domain teaches little. `limbeck transfer RUN` shows it.",
        )


def _doubt(known: Known) -> Iterator[Finding]:
    """Judged once the teacher has labelled it, and not before."""
    if not known.has("chosen"):
        return
    quality, classes = known.chosen.quality, 2 if known.corpus.is_multi_label else len(known.corpus.labels)
    there, own = quality.get("transfer", {}).get("teacher_entropy"), quality["teacher_entropy"].get("dev")
    if there is None or own is None:
        return
    if there > UNSURE * own and there - own > LEAST_DOUBT * math.log(classes):
        yield Finding(
            "domain",
            "warning",
            "the teacher is far less sure of the transfer text than of the corpus",
            f"its entropy is {there:.2f} nats there and {own:.2f} on dev",
            'Gather text of the same kind, or choose among it: choice = "nearest" or least_confidence in [transfer].',
        )


def copies(known: Known) -> list[Finding]:
    """Copies that are all of one row, that change nothing, or that change the label."""
    quality = known.copies.quality
    judged = known.chosen.quality.get("augmented", {}) if known.has("chosen") else {}
    return [*_sources(quality), *_idle(quality), *_flips(judged)]


def _sources(quality: Mapping[str, Any]) -> Iterator[Finding]:
    used, possible = quality["sources_used"], min(quality["sources"], quality["kept"])
    if possible > 1 and (used == 1 or used < FEW_SOURCES * possible):
        yield Finding(
            "copies",
            "error" if used == 1 else "warning",
            f"the copies are of {used:,} {'' if 'of_transfer' in quality else 'training '}row{'s' * (used > 1)} only",
            f"{quality['kept']:,} copies; {_sources_of(quality)}",
            "Give methods that can change more rows (a larger fraction), or take the copies out.",
        )


def _sources_of(quality: Mapping[str, Any]) -> str:
    if "of_transfer" not in quality:
        return f"train has {quality['sources']:,} rows"
    return f"{quality['sources']:,} rows of train and transfer text were to be copied"


def _idle(quality: Mapping[str, Any]) -> Iterator[Finding]:
    """Methods without a single copy that was kept; or hardly any copy at all."""
    if idle := [method["kind"] for method in quality["methods"] if not method["kept"]]:
        yield Finding(
            "copies",
            "warning",
            f"{', '.join(idle)} made no copy that was kept",
            f"of {quality['asked']:,} copies asked for; all its words were left alone, or gave what was there before",
            "Raise its fraction or probability, or take it out. `limbeck augment FILE --method …` shows what it does.",
        )
    elif quality["unchanged"] > UNCHANGED * quality["asked"]:
        yield Finding(
            "copies",
            "warning",
            f"{quality['unchanged'] / quality['asked']:.0%} of the copies are what they were copied from",
            f"{quality['kept']:,} of {quality['asked']:,} were kept",
            "Raise the fractions of the methods in [augmentation].",
        )


def _flips(judged: Mapping[str, Any]) -> Iterator[Finding]:
    """The methods that make the teacher change its mind, or all of them together."""
    flipping = {
        method["kind"]: method["label_flips"]
        for method in judged.get("methods", [])
        if (method["label_flips"] or 0) > FLIPS and method["kind"] not in MEANT_TO_FLIP
    }
    makes_new = any(method["kind"] in MEANT_TO_FLIP for method in judged.get("methods", []))
    if flipping or ((judged.get("label_flips") or 0) > FLIPS and not makes_new):
        by_method = ", ".join(f"{kind} {share:.0%}" for kind, share in flipping.items()) or "no method by itself"
        yield Finding(
            "copies",
            "warning",
            "many copies have another label than the row they were made from",
            f"{judged['label_flips']:.0%} of all copies; {by_method}",
            "Change fewer words (a smaller fraction) or take that method out: such copies are hardly text of the task.",
        )
