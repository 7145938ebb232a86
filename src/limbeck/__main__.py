"""`python -m limbeck`: the same as the command `limbeck`."""

from limbeck.cli import main

main()
