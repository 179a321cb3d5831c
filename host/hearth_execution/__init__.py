"""Plugins at work: loaded, and run on batches, in a stage process as well as inside the task runtime.

``load`` finds a plugin's class, and ``plugins`` holds what one environment brings to a task, by role, and narrows a
failure down to the records that fail. ``transformation`` and ``converter`` run them on batches, each in its batch form
where it has one that takes the batch, and record by record otherwise. ``retry`` tries a record again, and ``failure``
says what was raised, as data that may cross to another process. ``order`` keeps the rows of a batch in order,
``raw_header`` knows headers as Kafka has them. Nothing here knows a process or a socket: the standard library,
``hearth_api`` and pyarrow are enough, so that a stage may bring it into a bundle's environment.
"""
