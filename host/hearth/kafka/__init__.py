"""Kafka clients: batches of columns in and out of librdkafka, topics (``admin``) and client settings (``client``).

confluent-kafka bundles librdkafka and calls it once per message, with one Python object each. Here a batch is two
Arrow buffers instead: ``library`` declares the few C functions that the record path needs (their ABI is stable within
``librdkafka.so.1``), ``c_object`` creates their arguments, ``kafka_error`` represents their errors, ``c_memory`` turns
addresses into Arrow columns, ``producer`` and ``consumer`` move columns, and an ``interceptor`` sets what the
functions cannot. A message costs a quarter of a microsecond of Python instead of one to three.

A consumer has four parts: ``membership`` removes members left by earlier runs and leaves the group, ``assignment``
notifies a listener before partitions are assigned or revoked, ``fetched`` reads each message once and frees it, and
``commit_queue`` answers every commit.
"""
