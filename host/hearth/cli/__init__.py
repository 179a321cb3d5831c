"""The command line: wires the other packages together and holds no logic itself.

Each command is a module (`..._command`) that `main` imports when the command is called, so `hearth plugins list` never
loads the REST API. Only `main` turns errors into a message, a hint and an exit code.
"""
