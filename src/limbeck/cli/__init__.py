"""The command line: one function a command, thin; heavy rooms are imported when a command needs them."""

# Importing a file puts its commands into the table: this is the order of `limbeck --help`.
# isort: off
from limbeck.cli import working
from limbeck.cli import examining
from limbeck.cli import looking
from limbeck.cli import using
from limbeck.cli import measuring
# isort: on

from limbeck.cli.app import EXTRA_OF, app, main

__all__ = ["EXTRA_OF", "app", "examining", "looking", "main", "measuring", "using", "working"]
