"""Measures Hearth against Java's Kafka Connect, in alternating runs on the same machine and the same broker.

`tools/bench` starts `__main__`. A case is a function of a `Bench` that makes runs and returns a `Result`;
`throughput`, `plugin_list`, `startup`, `latency` and `recovery` hold the cases, `meter` what the processes of a side
cost, `report` the table and the JSON. Both sides are real: a broker, a worker process, files on disk.
"""
