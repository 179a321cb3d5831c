"""Plugins of a worker rather than of a connector: for secrets, Kafka clients and the REST API.

`config_provider` resolves variables in configurations, `token_provider` supplies tokens for client logins, `policy`
decides which Kafka client settings a connector may override, `rest_extension` extends the REST API and reads the state
of the cluster (`cluster`).
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
