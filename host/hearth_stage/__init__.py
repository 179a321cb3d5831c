"""The process of a stage, and the wire between it and whoever started it.

A stage is a child process in which the plugins of one environment run. The process needs nothing but the
standard library, ``hearth_api``, ``hearth_execution`` and pyarrow, so that a bundle finds no package of the host
beside its own. ``frame`` and ``channel`` are the wire (written down in ``PROTOCOL.md``), over which a task speaks with
its host, too. What is said on it are ``call``s: each is a dataclass that both sides share, in ``plugin_call``,
``conversion_call``, ``task_call`` and ``connector_call``; ``form`` makes of its members how it stands in a frame, and
``operation`` lists all there are. The rest is the process, which nobody imports: ``connector``, ``source``, ``sink``
and ``definition`` answer the calls of the contract, ``tenant`` is the loop that takes them, one for each of those that
share the process, ``program`` tells whose a call is, ``__main__`` is where the process begins, and ``import_path``
what it finds, as does each Python that its plugins start. ``fork_server`` is a process that becomes many of them, as
``fork_answer`` tells.
"""
