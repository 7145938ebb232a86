"""`limbeck.LimbeckClassifier`: runs as an estimator of scikit-learn."""

from limbeck.estimator.limbeck_classifier import LimbeckClassifier

__all__ = ["LimbeckClassifier"]
