"""A sink for Delta tables, in columns: appends rows or merges them by key, each record exactly once.

`delta_sink` contains the connector, `delta_setting` its keys. The task (`delta_sink_task`) turns each put into `rows`
and gives them to a `LakeTable` per table, which commits them together with their offsets. `fitting` casts columns to
those of a table. The plugin uses only `hearth_api`, Arrow and deltalake.
"""

VERSION = "0.1.0"
"""The version of the connector, shown to users as the plugin version."""
