"""Loads plugins and runs them on batches, in a stage process or inside the task runtime.

``load`` finds a plugin's class; ``plugins`` holds the plugins of a task in one environment, by role, and narrows a
failure down to the failing records. ``transformation`` and ``converter`` run them on batches, in batch form if the
plugin has one that accepts the batch, record by record otherwise. ``retry`` repeats a failed operation, and
``failure`` holds an error as data that can be sent to another process. ``order`` keeps the rows of a batch in order;
``raw_header`` handles headers in Kafka's form. Nothing here depends on processes or sockets: the standard library,
``hearth_api`` and pyarrow suffice, so that a stage can use it in a bundle's environment.
"""
