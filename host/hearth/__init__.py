"""Hearth runs Kafka Connect configurations: it finds plugins on plugin.path and runs their tasks on Spark.

The command line (`cli`) wires the parts together. The REST API (`rest`) speaks to the `herder`, which
decides what runs and remembers it in a store (`storage`). A launcher (`spark`) puts each Connect task on
Spark as one long-running job; inside it the task runtime (`runtime`) drives the record's path: poll,
transform, convert, produce, or consume, convert, transform, put. Plugins found on plugin.path
(`discovery`) are never imported here: they run in stage processes of their own environments
(`isolation`); `staging` gives a task its plugins there. `datasource` runs connectors as Spark data sources,
without Kafka. `packaging` makes and checks bundles, `broker` runs a real Kafka broker for the quickstart
and the tests, `link` is how a task and its host speak. Below all of them, `kafka` holds the clients of
Kafka, `maven` fetches jars, `config` the keys of workers and connectors, and `foundation` what knows no
word of the domain. Imports point one way, from the command line down; pyproject.toml lists the layers
and import-linter holds them.
"""

__version__ = "0.1.0"
