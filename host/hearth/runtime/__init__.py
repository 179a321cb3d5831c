"""The task runtime: the loop of one Connect task, inside a Spark executor.

``task`` runs a task from top to bottom: it joins the host, opens what the task needs as its ``plan`` says, builds the
loop whole, and closes everything; ``end`` is what ends a run from outside. ``source`` and ``sink`` are the two loops.
What host, stage and context tell a task arrives in the ``event_queue``; what the loops do, the ``observer`` hears.
``task_log`` takes what is logged here to the host, ``dead_letter`` keeps records that failed, be it that a task found
one bad itself (``errant_record``), ``subscription`` says what a sink reads, ``topic`` how the topics of a source come
to be, ``packed_rows`` writes records of many kinds that were polled together, and ``launcher`` is what puts a task
here.
``shared_runtime`` is a process in which several run beside each other.

A record of a source goes from its poll to its commit through ``hearth_stage.source``,
``hearth_stage.poll_buffer``, ``hearth_stage.tenant``, ``event_queue``, ``source``, ``pipeline``,
``hearth_execution.converter``, ``hearth_execution.plugins``, ``send_buffer``, ``hearth.kafka.producer``, ``position``
and ``link``, in this order.

One that is written exactly once is committed by ``exactly_once`` and ``hearth.kafka.transactional_producer``, with the
offset it was read at.

A record of a sink goes from its fetch to its commit through ``hearth.kafka.consumer``, ``sink``, ``delivery``,
``pipeline``, ``hearth_execution.converter``, ``hearth_execution.plugins``, ``put_loop``, ``consumption``,
``hearth.staging.tolerance``, ``hearth_stage.tenant``, ``hearth_stage.sink`` and ``event_queue``, in this order.

Below these lies what carries whatever it is given. Between loops and plugins, wherever these are: ``conversion``,
``hearth.staging.chain``, ``hearth.staging.place``, ``served_call``, ``hearth.staging.source_stage`` and
``hearth.staging.poll_watch``. Between processes: ``hearth.isolation.stage``, ``hearth.isolation.stage_connection``,
``hearth_stage.program``, ``hearth_stage.channel``, ``hearth_stage.frame``, ``hearth_stage.form`` and
``hearth.link.encryption``, with what is said in ``hearth_stage.call``, ``hearth_stage.conversion_call`` and
``hearth_stage.task_call``, and the headers of Kafka's records as ``hearth_execution.raw_header`` holds them. Between
the two clients and librdkafka: ``hearth.kafka.fetched``, ``hearth.kafka.linger``, ``hearth.kafka.commit_queue``,
``hearth.kafka.c_memory``, ``hearth.kafka.c_object``, ``hearth.kafka.client_log`` and ``hearth.kafka.kafka_error``.
Beside the way, in every round ``subscription`` is asked whether topics came or went, ``context_request`` what a sink's
task asked for, ``partition_flow`` which partitions rest, ``guarantee`` whether a commit is due, and ``pause_detector``
whether somebody has to be asked first whether this run still counts; the ``observer`` hears what became of records.
The author API is everybody's, and not counted.
A test holds these paragraphs and what runs together.
"""
