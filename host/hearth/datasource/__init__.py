"""Any connector as a data source of Spark: DataFrames read from a source, and written to a sink, without Kafka.

``option`` says what a user may set, and ``option_name`` puts names back into their own case; ``planning`` makes the
plans of a connector's tasks of them, on the driver, and ``instruction`` words what goes wrong for who reads Spark's
errors.

A ``batch_read`` polls until a source is empty, by a thread that is ahead of Spark (``read_ahead``). What it has,
``polled_rows``, becomes a ``spark_batch``, typed by a ``schema_probe`` where nobody has given a schema.

A ``stream_read`` hands out each ``segment`` of a ``spool``, which lies in a ``spool_store``. A ``spooling_task`` fills
it: a ``driver_task``, beside the driver, or an ``executor_process``, which a ``task_launch`` starts and an
``executor_task`` watches, by what both say in ``spool_control``.

A ``write`` gives each partition to a ``written_task`` on an executor, which is a ``kept_task`` between micro-batches;
one that is no query takes a ``batch_number``. A row becomes a record by ``row_form``, its columns by
``connect_column`` and ``header_form``, and by ``row_reading`` where a converter reads them. A ``written_row`` that
failed goes to a ``dead_letter_file``.
"""
