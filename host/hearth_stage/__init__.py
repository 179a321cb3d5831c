"""The process of a stage, and the protocol between it and its runtime.

A stage is a child process that runs the plugins of one environment. It needs only the standard library,
``hearth_api``, ``hearth_execution`` and pyarrow, so that a bundle sees no other package of the host. ``frame`` and
``channel`` implement the protocol (``PROTOCOL.md``), which task and host use between them as well. Its messages are
dataclasses that both sides share, based on ``call`` and declared in ``plugin_call``, ``conversion_call``,
``task_call`` and ``connector_call``; ``form`` converts their members to and from frames, and ``operation`` lists them
all. The other modules run in the process only: ``connector``, ``source``, ``sink`` and ``definition`` answer calls,
``tenant`` is the loop that receives them, one per tenant of the process, ``program`` routes each call to its tenant,
``__main__`` is the entry point, and ``import_path`` defines which packages the stage and the Pythons that its plugins
start can import. ``fork_server`` forks stages, with the messages of ``fork_answer``.
"""
