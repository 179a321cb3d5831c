"""The task runtime: the loop of one Connect task, inside a Spark executor.

``task`` begins and ends a run. ``source`` and ``sink`` are the two loops; each reads top to bottom. Between the task's
stage process and Kafka lies the ``pipeline``: transformations and converters, each in the ``place`` its environment
asks for. The ``outbox`` sends what a source returned, in order, and ``position`` decides which source offsets may be
committed; ``tolerance`` decides what becomes of a record that fails, ``subscription`` what a sink reads and ``topic``
how a source's topics come to be; ``link`` is the task's end of its link to the host.
"""
