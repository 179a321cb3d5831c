"""The command line wires the other parts together and holds no logic of its own.

Each command is a module (`..._command`) that `main` imports when it is called, so `hearth plugins list` never loads
the REST API. `main` alone turns errors into a message, a hint and an exit code.
"""
