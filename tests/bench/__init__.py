"""Measures Hearth against Java's Kafka Connect, in alternating runs on the same machine and the same broker.

`tools/bench` starts `__main__`. A case is a function that takes a `Bench`, makes runs and returns a `Result`;
`throughput`, `plugin_list`, `startup`, `latency` and `recovery` contain cases, `meter` measures the resources of a
side, `report` prints the table and the JSON. Both sides are real: a broker, a worker process, files on disk.
"""
