"""Places the plugins of a task where they run and calls them there; nothing here uses a Kafka client.

``plugin_plan`` lists the plugins of a task with their configurations; ``place`` starts their stages and loads them,
and nothing else does. ``chain`` runs the transformations outside the task's stage; ``source_stage`` and ``sink_stage``
start the task in its own stage and handle its messages, and ``poll_watch`` detects a poll that hangs. ``polled_task``
combines these for a source whose records are read directly, not through Kafka. ``tolerance`` decides about failed
records and reports them to the ``failure_log``.

The task runtime uses this between Kafka and the stages, the data source between Spark and the stages.
"""
