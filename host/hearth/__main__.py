"""`python -m hearth` is the command `hearth`."""

from hearth.cli.main import main

main()
