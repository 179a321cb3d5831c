"""The clients of Kafka: whole batches in and out of librdkafka, topics (``admin``) and settings (``client``).

confluent-kafka brings librdkafka and calls it once per message, with one Python object each. A batch here is two Arrow
buffers instead: ``library`` declares the few C functions that the record path needs (their ABI is stable within
``librdkafka.so.1``), ``c_object`` makes what they take and ``kafka_error`` tells how they fail, ``c_memory`` turns
addresses into Arrow columns, ``producer`` and ``consumer`` move columns, an ``interceptor`` writes what the functions
cannot say. A message costs a quarter of a microsecond of Python instead of one to three.

A consumer is made of four promises: its ``membership`` is taken from earlier runs and given back, its ``assignment``
has a listener hear before partitions come or go, what was ``fetched`` is read once and freed, and its ``commit_queue``
has an answer to every commit.
"""
