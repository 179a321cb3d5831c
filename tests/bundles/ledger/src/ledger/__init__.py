"""A sink that books the records it accepts and often fails, and a source of numbers, for the crash tests.

``book`` is the file that a run of a task writes, ``sink`` and ``source`` are the connectors. Their Java twins, which
write the same, are in ``tests/crash/java``.
"""
