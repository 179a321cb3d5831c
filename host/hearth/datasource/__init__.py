"""Spark data source for connectors: reads DataFrames from a source and writes them to a sink, without Kafka.

``option`` defines the user's options, and ``option_name`` restores the case of their names; ``planning`` makes the
plans of a connector's tasks from them, on the driver, and ``data_source_error`` words errors for readers of Spark's.

A ``batch_read`` polls until a source is empty, on a thread that reads ahead of Spark (``read_ahead``). The
``polled_rows`` become a ``spark_batch``, with the types of a ``schema_probe`` if the user gives no schema.

A ``stream_read`` returns each ``segment`` of a ``spool``, which is kept in a ``spool_store``. A ``spooling_task``
fills it: a ``driver_task`` on the driver, or an ``executor_process``, which ``task_launch`` starts and
``executor_task`` watches; both communicate by ``spool_control``.

A ``write`` passes each partition to a ``written_task`` on an executor, which is a ``kept_task`` between micro-batches;
a batch write has a ``batch_number``. ``row_form`` turns rows into records, ``connect_column`` and ``header_form``
convert their columns, and ``row_reading`` columns that a converter reads. A ``written_row`` that failed goes to a
``dead_letter_file``.
"""
