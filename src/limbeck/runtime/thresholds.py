"""From the share of texts that a fallback may get to the student's confidence below which it gets them."""

from pathlib import Path

import numpy as np

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.model_profile import ModelProfile
from limbeck.errors import LimbeckError


class ThresholdUnknown(LimbeckError):
    """Nothing says how sure a student must be to answer by itself."""

    def __init__(self, *, folder: Path, reason: str) -> None:
        super().__init__(
            f"it is not known when '{folder}' is to ask its fallback",
            found=reason,
            advice="Give the confidence from 0 to 1 up to which the fallback is asked: --threshold 0.8, in Python "
            "threshold=0.8. `limbeck run` writes the folder again with what is missing.",
        )


def threshold_of(model: ModelFolder, *, share: float | None = None, threshold: float | None = None) -> float:
    """The confidence up to which the fallback is asked, from 0, never, to 1, always.

    `share` of the rows of dev are at most as confident. With neither of the two: the one that asks least and is as
    accurate on dev as the teacher. Raises ThresholdUnknown, and ValueError for numbers that are not from 0 to 1.
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
        raise ThresholdUnknown(folder=model.folder, reason=f"{reason}. A share of the texts can be given: --share 0.2")
    return profile.cascade.cheapest.threshold


def refuse_numbers(*, share: float | None, threshold: float | None) -> None:
    """Raise ValueError for both of them, and for a number that is not from 0 to 1."""
    if share is not None and threshold is not None:
        raise ValueError("give share or threshold, not both")
    for name, value in (("share", share), ("threshold", threshold)):
        if value is not None and not 0 <= value <= 1:
            raise ValueError(f"{name} must be from 0 to 1, not {value}")


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
