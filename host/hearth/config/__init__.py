"""The keys of workers and connectors, each declared once, with Kafka Connect's names, defaults and order.

`worker_key` holds what the properties file of a host may say, `plugin_key` the part of it that concerns plugins,
`distributed_key` what comes on top for one that works with others, `rest_key` and `tls_key` the parts of it that
concern the REST server and its certificates. `connector_key` holds the keys every connector has, `source_key` and
`sink_key` what comes on top, `topic_key` the keys of one group of topics to create. Parsing, REST validation, the
answer of `/connector-plugins/NAME/config`, the documentation and the typed attributes all read these declarations.
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
