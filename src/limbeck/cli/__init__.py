"""The command line: one thin file per command; heavy rooms are imported when a command needs them."""

# Importing a file adds its command to the app: this is the order of `limbeck --help`.
# isort: off
from limbeck.cli import demo
from limbeck.cli import init
from limbeck.cli import run
from limbeck.cli import search
from limbeck.cli import doctor
from limbeck.cli import report
from limbeck.cli import compare
from limbeck.cli import label
from limbeck.cli import labels
from limbeck.cli import review
from limbeck.cli import transfer
from limbeck.cli import augment
from limbeck.cli import recipes
from limbeck.cli import predict
from limbeck.cli import evaluate
from limbeck.cli import drift
from limbeck.cli import serve
from limbeck.cli import pretrain
from limbeck.cli import import_tf
from limbeck.cli import bench
from limbeck.cli import push
from limbeck.cli import package
from limbeck.cli import vectors
from limbeck.cli import sbom
# isort: on

from limbeck.cli.app import EXTRA_OF, app, main

__all__ = [
    "EXTRA_OF",
    "app",
    "augment",
    "bench",
    "compare",
    "demo",
    "doctor",
    "drift",
    "evaluate",
    "import_tf",
    "init",
    "label",
    "labels",
    "main",
    "package",
    "predict",
    "pretrain",
    "push",
    "recipes",
    "report",
    "review",
    "run",
    "sbom",
    "search",
    "serve",
    "transfer",
    "vectors",
]
