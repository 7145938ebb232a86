"""The report's pictures as SVG text: the same numbers give the same bytes, and ink follows the page's colour."""

from limbeck.report.plots.against import SIZE, TIME, accuracy_against
from limbeck.report.plots.cascade import cascade
from limbeck.report.plots.confusion import confusion, most_confused
from limbeck.report.plots.lengths import accuracy_by_length
from limbeck.report.plots.reliability import reliability
from limbeck.report.plots.terms import loss_terms
from limbeck.report.plots.training import training_accuracy, training_loss

__all__ = [
    "SIZE",
    "TIME",
    "accuracy_against",
    "accuracy_by_length",
    "cascade",
    "confusion",
    "loss_terms",
    "most_confused",
    "reliability",
    "training_accuracy",
    "training_loss",
]
