"""From the share of texts that a fallback may get to the student's confidence below which it gets them."""

from numbers import Real
from pathlib import Path

import numpy as np

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.model_profile import ModelProfile
from limbeck.errors import LimbeckError
from limbeck.runtime.fallbacks.fallback import FallbackOptionsWrong

EQUAL = (
    "on dev the student is as accurate as the teacher: the fallback is never asked, unless a share or a threshold is "
    "given"
)
NEVER = "the threshold is 0: the fallback is never asked"


class ThresholdUnknown(LimbeckError):
    """Nothing says how sure a student must be to answer by itself."""

    def __init__(self, *, folder: Path, reason: str, or_share: bool = False) -> None:
        share = "a share of the texts, --share 0.2, or " if or_share else ""
        super().__init__(
            f"it is not known when '{folder}' is to ask its fallback",
            found=reason,
            advice=f"Give {share}the confidence from 0 to 1 up to which the fallback is asked: --threshold 0.8. "
            "`limbeck run` writes the folder again with what is missing.",
        )


def threshold_of(model: ModelFolder, *, share: float | None = None, threshold: float | None = None) -> float:
    """The confidence up to which the fallback is asked, from 0, never, to 1, always.

    `share` of the rows of dev are at most as confident. With neither of the two: the one that asks least and is as
    accurate on dev as the teacher. Raises ThresholdUnknown, and FallbackOptionsWrong for numbers that are not from 0 to
    1.
    """
    refuse_numbers(share=share, threshold=threshold)
    if threshold is not None:
        return threshold
    if share in (0, 1):
        return float(share)
    profile = model.profile()
    if profile is None:
        reason = "its folder has no profile.json, where the confidences on dev are: an earlier version wrote it"
        raise ThresholdUnknown(folder=model.folder, reason=reason)
    if share is not None:
        return threshold_for_share(profile, share)
    if profile.cascade is None:
        reason = "its profile.json has no curve of the cascade: the teacher did not answer dev, or not with labels"
        raise ThresholdUnknown(folder=model.folder, reason=reason, or_share=True)
    return profile.cascade.cheapest.threshold


def refuse_numbers(*, share: float | None, threshold: float | None) -> None:
    """Raise FallbackOptionsWrong for both of them, and for what is no number from 0 to 1."""
    if share is not None and threshold is not None:
        raise FallbackOptionsWrong("--share and --threshold say the same thing", advice="Give one of them.")
    for name, value in (("share", share), ("threshold", threshold)):
        if value is not None and not (isinstance(value, Real) and 0 <= value <= 1):
            what = f"--{name} must be a number from 0 to 1, not {value!r:.40}"
            raise FallbackOptionsWrong(what, advice=f"A fifth is --{name} 0.2")


def never_asked(threshold: float, profile: ModelProfile | None) -> str | None:
    """A sentence for whoever started a cascade whose fallback is never asked at this threshold; None for others."""
    if threshold > 0:
        return None
    curve = profile.cascade if profile else None
    return EQUAL if curve is not None and curve.cheapest.threshold <= 0 else NEVER


def threshold_for_share(profile: ModelProfile, share: float) -> float:
    """The confidence that this share of the rows of dev do not exceed.

    Rows of equal confidence go to the fallback together, or not at all: whichever is nearer to the share.
    """
    quantiles = np.array(profile.confidence_quantiles)
    shares = np.linspace(0, 1, len(quantiles))
    found = float(np.interp(share, shares, quantiles))
    equal = shares[quantiles == found]
    if len(equal) < 2:
        return found
    below, up_to = float(equal[0]), float(equal[-1])
    return found if up_to - share <= share - below else float(np.nextafter(found, 0))
