"""The plugins of a task, brought to where they run and asked there, whoever has them: no Kafka client is known here.

``plugin_plan`` says which plugins a task has and what they are told, ``place`` starts their stages and loads them: it
is the one way to do so. ``chain`` is its transformations, hop by hop; ``source_stage`` and ``sink_stage`` start the
task in its own stage and take what that says, and ``poll_watch`` sees that a source comes back from its polls.
``polled_task`` is all of this for a source whose records are wanted as they are, not in Kafka.
``tolerance`` decides about records that failed, and the ``failure_log`` hears of them.

The task runtime stands on this, between Kafka and the stages, and so does the data source, between Spark and them.
"""
