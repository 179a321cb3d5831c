"""Plugins of a worker rather than of a connector: for its secrets, its Kafka clients and its REST API.

`config_provider` resolves variables in configurations, `token_provider` makes tokens by which clients log in, `policy`
decides which settings of Kafka clients a connector may override, `rest_extension` adds to the REST API and reads the
state of the cluster (`cluster`).
"""

from hearth_api.worker.cluster import ClusterState, ConnectorHealth, StateInfo
from hearth_api.worker.config_provider import ConfigData, ConfigProvider
from hearth_api.worker.policy import (
    ClientType,
    ConnectorClientConfigOverridePolicy,
    ConnectorClientConfigRequest,
    ConnectorType,
)
from hearth_api.worker.rest_extension import (
    RestExtension,
    RestExtensionContext,
    RestFilter,
    RestHandler,
    RestRequest,
    RestResponse,
)
from hearth_api.worker.token_provider import OAuthBearerToken, TokenProvider

__all__ = [
    "ClientType",
    "ClusterState",
    "ConfigData",
    "ConfigProvider",
    "ConnectorClientConfigOverridePolicy",
    "ConnectorClientConfigRequest",
    "ConnectorHealth",
    "ConnectorType",
    "RestExtension",
    "RestExtensionContext",
    "RestFilter",
    "RestHandler",
    "RestRequest",
    "RestResponse",
    "StateInfo",
    "OAuthBearerToken",
    "TokenProvider",
]
