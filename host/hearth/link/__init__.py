"""What the two ends of a task link share; one end is the host's, the other the task's.

Frames and messages follow the stage protocol (``hearth_stage/PROTOCOL.md``, section 11). ``encryption`` is the
connection, ``link_call`` its messages, ``admission`` the address and token with which a task connects, and
``heartbeat`` detects a lost peer. The task's end is ``hearth.runtime.link``, the host's ``hearth.herder.task_link``.
"""
