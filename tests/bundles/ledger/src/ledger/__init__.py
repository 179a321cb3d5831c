"""A sink that writes down what it accepts and is often unwell, and a source of numbers: what crash tests judge by.

``book`` is the file a run of a task writes, ``sink`` and ``source`` are the connectors. Their twins in Java, which
write the same, are in ``tests/crash/java``.
"""
