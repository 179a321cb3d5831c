"""What the two ends of a task link have in common; one end is the host's, the other that of a task.

The frames and messages are those of the stage protocol (``hearth_stage/PROTOCOL.md``, section 11). ``encryption`` is
the connection they travel on, ``link_call`` what is said on it, ``admission`` what a task is told so that its host
lets it in, ``heartbeat`` how either side knows that the other is there. The task's end is ``hearth.runtime.link``, the
host's ``hearth.herder.task_link``.
"""
