"""The keys of workers and connectors, each declared once, with Kafka Connect's names, defaults and order.

`worker` and `standalone` hold what the properties file of a host may say, `rest` and `tls` the parts of it
that concern the REST server and its certificates. `connector` holds the keys every connector has, `source`
and `sink` what comes on top, `topic` the keys of one group of topics to create. Parsing, REST validation, the
answer of `/connector-plugins/NAME/config`, the documentation and the typed attributes all read these
declarations.
"""

from hearth.config.connector import ConnectorConfig
from hearth.config.sink import SinkConnectorConfig
from hearth.config.source import SourceConnectorConfig
from hearth.config.standalone import StandaloneConfig
from hearth.config.topic import TopicGroup, topic_groups
from hearth.config.worker import WorkerConfig

__all__ = [
    "ConnectorConfig",
    "SinkConnectorConfig",
    "SourceConnectorConfig",
    "StandaloneConfig",
    "TopicGroup",
    "WorkerConfig",
    "topic_groups",
]
