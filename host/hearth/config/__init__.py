"""The configuration keys of workers and connectors, each declared once with Kafka Connect's names, defaults and order.

`worker_key` declares a worker's keys, `plugin_key` the part about plugins, `distributed_key` the additional keys of
distributed workers, `rest_key` and `tls_key` those of the REST server and its certificates. `connector_key` declares
the keys of every connector, `source_key` and `sink_key` the additional ones of each type, `topic_key` those of a topic
creation group. Parsing, REST validation, the response of `/connector-plugins/NAME/config`, the documentation and the
typed attributes all use these declarations.
"""

from hearth.config.connector_key import ConnectorConfig
from hearth.config.distributed_key import DistributedConfig
from hearth.config.plugin_key import PluginConfig
from hearth.config.sink_key import SinkConnectorConfig
from hearth.config.source_key import SourceConnectorConfig
from hearth.config.topic_key import TopicGroup, topic_groups
from hearth.config.worker_key import StandaloneConfig, WorkerConfig

__all__ = [
    "ConnectorConfig",
    "DistributedConfig",
    "PluginConfig",
    "SinkConnectorConfig",
    "SourceConnectorConfig",
    "StandaloneConfig",
    "TopicGroup",
    "WorkerConfig",
    "topic_groups",
]
