"""Spark: one long-running Spark task and one Spark job for each Connect task.

``spark_launcher`` runs on the host and is the only part that talks to a SparkContext; ``executor`` is what Spark calls
in an executor; ``daemon`` is the process from which Spark forks its Python workers, warm, and ``prewarm`` has one
started in each executor; ``environment_archive`` brings environments to executors on other machines. ``gateway``
starts the JVM, ``standalone_master`` finds out whether the master lets this host in, ``address`` knows where executors
find it, ``slot`` tells of tasks that wait. No record flows through the JVM, so the RDD interface is enough and
Catalyst never wakes.
"""
