"""Confluent's JDBC connectors: a source that reads tables and queries, a sink that writes tables, both in columns.

`jdbc_source` and `jdbc_sink` contain the connectors, `source_setting` and `sink_setting` their keys. `dialect` holds
what differs between databases, one module each. The source task asks one `TableReader` per table for batches, the sink
task gives a `TableWriter` per table its rows. The plugin uses only `hearth_api`, Arrow and the drivers.
"""

VERSION = "0.1.0"
"""The version of the connectors, shown to users as the plugin version."""
