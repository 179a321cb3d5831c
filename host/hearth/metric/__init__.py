"""Metrics: what a host knows of its tasks and itself, under Kafka Connect's names and those of dashboards.

A run counts in the executor (``hearth.link.task_counts``) and reports with its heartbeats. Here ``sample_window``
makes rates and averages of the reports; ``task_metric`` keeps those of one task, ``worker_metric`` those of the
worker. ``sensor`` is what a metric is; ``task_sensor`` and ``worker_sensor`` declare each of them once.
``metric_name`` has the names that published dashboards query, ``exposition`` writes them as Prometheus reads them.
"""
