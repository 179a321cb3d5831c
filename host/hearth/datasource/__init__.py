"""Any connector as a data source of Spark: DataFrames read from a source, and written to a sink, without Kafka.

``option`` says what a user may set, and ``option_name`` puts names back into their own case.
"""
