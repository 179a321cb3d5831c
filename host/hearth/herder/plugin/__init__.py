"""Resolves plugins for the herder, and runs them in child processes.

`directory` resolves names and version ranges (`version`) to plugins and their environments.
A `stage` is a child process in which one or several tenants call plugins; `pool` keeps one for each environment. A
`staged_connector` is a connector instance in such a process, shared or its own."""
