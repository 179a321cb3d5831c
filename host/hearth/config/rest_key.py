"""The keys of the REST server."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any

from hearth_api import ConfigError, ConfigType, Importance, Lambda, Settings, ValidList, ValidString, key

_ACTIONS = ("set", "add", "setDate", "addDate")


def _listeners(name: str, value: Any) -> None:
    """Raise ConfigError unless the value is a list of http or https URLs with a port."""
    if not value:
        raise ConfigError(
            name,
            value,
            "Invalid value for listeners, at least one URL is expected, ex: http://localhost:8080",
        )
    for item in value:
        if not item.strip():
            raise ConfigError(name, value, "Empty URL found when parsing listeners list.")
        if not item.startswith(("http://", "https://")):
            raise ConfigError(name, value, "Listener URL must start with either http:// or https://")


@dataclass(frozen=True)
class HeaderRule:
    """One header for every answer: `set` replaces, `add` adds, `...Date` gives milliseconds as a date."""

    action: str
    name: str
    value: str


def parse_header_rules(text: str) -> list[HeaderRule]:
    """Return the rules of `response.http.headers.config`; raises ConfigError for the first that is none."""
    rules = []
    for rule in next(csv.reader([text], skipinitialspace=True), []):
        action, _, header = rule.strip().partition(" ")
        name, colon, value = header.partition(":")
        if action not in _ACTIONS:
            raise ConfigError(f"Invalid header config '{rule}'. Action must be one of [{', '.join(_ACTIONS)}]")
        if not colon or not name.strip():
            expected = "Expected format is '[action] [header name]:[header value]'"
            raise ConfigError(f"Invalid header config '{rule}'. {expected}")
        rules.append(HeaderRule(action, name.strip(), value.strip()))
    return rules


def _rules(name: str, value: Any) -> None:
    parse_header_rules(value or "")


class RestConfig(Settings):
    """What a worker's properties file may say about the REST server."""

    topic_tracking_enable: bool = key(
        "topic.tracking.enable",
        default=True,
        importance=Importance.LOW,
        doc="Whether the topics each connector touches are remembered.",
    )
    topic_tracking_allow_reset: bool = key(
        "topic.tracking.allow.reset",
        default=True,
        importance=Importance.LOW,
        doc="Whether users may have the remembered topics forgotten.",
    )
    listeners: list[str] = key(
        "listeners",
        default=["http://:8083"],
        importance=Importance.LOW,
        check=Lambda(_listeners, "list of URLs, such as http://localhost:8080,https://localhost:8443"),
        doc="Where the REST server listens: URLs with a scheme (http or https), a host or none for all, and a port.",
    )
    rest_advertised_host_name: str | None = key(
        "rest.advertised.host.name",
        default=None,
        importance=Importance.LOW,
        doc="The host name others use to reach this server.",
    )
    rest_advertised_port: int | None = key(
        "rest.advertised.port",
        default=None,
        importance=Importance.LOW,
        doc="The port others use to reach this server.",
    )
    rest_advertised_listener: str | None = key(
        "rest.advertised.listener",
        default=None,
        importance=Importance.LOW,
        doc="Which of the listeners others use: http or https.",
    )
    access_control_allow_origin: str = key(
        "access.control.allow.origin",
        default="",
        importance=Importance.LOW,
        doc="The value of the header Access-Control-Allow-Origin: whose pages may call this server from a "
        "browser. "
        "* is everybody, empty is nobody else.",
    )
    access_control_allow_methods: str = key(
        "access.control.allow.methods",
        default="",
        importance=Importance.LOW,
        doc="The methods such pages may use, with commas in between; GET, POST and HEAD unless given.",
    )
    response_http_headers_config: str = key(
        "response.http.headers.config",
        default="",
        importance=Importance.LOW,
        check=Lambda(_rules, "rules '[action] [header name]:[header value]' with commas in between"),
        doc="Headers to put into every answer.",
    )
    ssl_client_auth: str = key(
        "ssl.client.auth",
        default="none",
        check=ValidString("required", "requested", "none"),
        importance=Importance.LOW,
        doc="Whether a client of an https listener has to show a certificate.",
    )
    rest_extension_classes: list[str] = key(
        "rest.extension.classes",
        default=[],
        check=ValidList(),
        importance=Importance.LOW,
        doc="REST extensions to load, in this order.",
    )
    admin_listeners: list[str] | None = key(
        "admin.listeners",
        type=ConfigType.LIST,
        default=None,
        check=ValidList(null_allowed=True),
        importance=Importance.LOW,
        doc="Where /admin is served: like listeners unless given, nowhere when empty.",
    )
