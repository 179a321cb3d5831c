"""The program of a stage process, and what the task runtime shares with it.

A stage is a child process in which the plugins of one environment run. The process needs nothing but the
standard library, ``hearth_api`` and pyarrow, so that a bundle finds no package of the host beside its own.
``frame`` and ``channel`` are the protocol (written down in ``PROTOCOL.md``); ``plugins`` holds loaded plugins,
``transformation`` and ``converter`` run them on batches, in a stage process as well as inside the task runtime;
``connector``, ``source`` and ``sink`` answer the calls of the contract; ``__main__`` is where the process begins.
"""
