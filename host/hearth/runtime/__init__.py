"""The task runtime: the loop of one Connect task, inside a Spark executor.

``task`` runs a task from start to end: it joins the host, opens what the task's ``plan`` requires, builds the loop and
closes everything; ``end`` stops a run from outside. ``source`` and ``sink`` are the two loops. Messages of the host,
the stage and the context arrive in the ``event_queue``; the loops report to the ``observer``. ``task_log`` sends log
lines to the host, ``dead_letter`` writes failed records, including those a task reports itself
(``errant_record``), ``subscription`` selects the topics of a sink, ``topic`` creates those of a source,
``packed_rows`` serializes records of many kinds that were polled together, and ``launcher`` is the interface that
starts tasks here. ``shared_runtime`` is a process that runs several tasks.

A record of a source goes from its poll to its commit through ``hearth_stage.source``,
``hearth_stage.poll_buffer``, ``hearth_stage.tenant``, ``event_queue``, ``source``, ``pipeline``,
``hearth_execution.converter``, ``hearth_execution.plugins``, ``send_buffer``, ``hearth.kafka.producer``, ``position``
and ``link``, in this order.

One that is written exactly once is committed by ``exactly_once`` and ``hearth.kafka.transactional_producer``, with the
offset it was read at.

A record of a sink goes from its fetch to its commit through ``hearth.kafka.consumer``, ``sink``, ``delivery``,
``pipeline``, ``hearth_execution.converter``, ``hearth_execution.plugins``, ``put_loop``, ``consumption``,
``hearth.staging.tolerance``, ``hearth_stage.tenant``, ``hearth_stage.sink`` and ``event_queue``, in this order.

Below these are the carriers, which do not look into records. Between loops and plugins: ``conversion``,
``poll_queue``, ``hearth.staging.chain``, ``hearth.staging.place``, ``served_call``, ``hearth.staging.source_stage``
and ``hearth.staging.poll_watch``. Between processes: ``hearth.isolation.stage``,
``hearth.isolation.stage_connection``, ``hearth_stage.program``, ``hearth_stage.channel``, ``hearth_stage.frame``,
``hearth_stage.form`` and ``hearth.link.encryption``, with the messages of ``hearth_stage.call``,
``hearth_stage.conversion_call``, ``hearth_stage.task_call`` and ``hearth_stage.poll_times``, and the record headers of
``hearth_execution.raw_header``. Between the two clients and librdkafka: ``hearth.kafka.outgoing``,
``hearth.kafka.fetched``, ``hearth.kafka.linger``, ``hearth.kafka.commit_queue``, ``hearth.kafka.c_memory``,
``hearth.kafka.c_object``, ``hearth.kafka.client_log`` and ``hearth.kafka.kafka_error``.
In addition, each round asks ``subscription`` whether topics appeared or disappeared, ``context_request`` what a sink's
task requested, ``partition_flow`` which partitions are paused, ``guarantee`` whether a commit is due, and
``pause_detector`` whether the run must be confirmed first; the ``observer`` receives what happens to records, and
counts it in ``hearth.link.task_counts``.
The author API is used everywhere, and not listed.
A test checks these paragraphs against the imports.
"""
