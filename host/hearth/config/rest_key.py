"""The keys of the REST server."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import Any

from hearth_api import ConfigError, ConfigType, Importance, Lambda, Settings, ValidList, key

_MILLISECONDS = re.compile(r"[+-]?[0-9]{1,15}")
_ACTIONS = ("set", "add", "setDate", "addDate")


def _listeners(name: str, value: Any) -> None:
    """Raise ConfigError for an empty list or item; the URLs are checked when they are opened."""
    if not value:
        raise ConfigError(
            name,
            value,
            "Invalid value for listeners, at least one URL is expected, ex: http://localhost:8080,https://localhost:8443.",
        )
    if not all(item.strip() for item in value):
        raise ConfigError(name, value, "Empty URL found when parsing listeners list.")


@dataclass(frozen=True)
class HeaderRule:
    """A header of every response: `set` replaces, `add` adds; the `...Date` actions send now plus milliseconds."""

    action: str
    name: str
    value: str

    @property
    def is_date(self) -> bool:
        """Return whether the value is a number of milliseconds from now."""
        return self.action.endswith("Date")


def parse_header_rules(text: str) -> list[HeaderRule]:
    """Return the rules of `response.http.headers.config`; raise ConfigError for the first invalid one."""
    return [_rule(rule) for rule in next(csv.reader([text.strip()], skipinitialspace=True), [])]


def _rule(text: str) -> HeaderRule:
    """Return one rule, parsed as `RestServerConfig.validateHttpResponseHeaderConfig` and Jetty's `HeaderFilter` do."""
    action, *rest = text.strip().split(maxsplit=1)
    if not rest:
        expected = "Expected: '[action] [header name]:[header value]'"
        raise ConfigError(f"Invalid format of header config '{text}'. {expected}")
    known = next((each for each in _ACTIONS if each.lower() == action.lower()), None)
    if known is None:
        raise ConfigError(f"Invalid header config action: '{action}'. Expected one of [{', '.join(_ACTIONS)}]")
    name, *values = rest[0].rstrip(":").split(":")
    if len(values) != 1:
        expected = "Expected: '[header name]:[header value]'"
        raise ConfigError(f"Invalid format of header name and header value pair '{rest[0]}'. {expected}")
    name = name.strip()
    if len(name.split()) != 1:
        raise ConfigError(f"Invalid header name '{name}'. The '[header name]' cannot contain whitespace")
    rule = HeaderRule(known, name, values[0].strip())
    if rule.is_date and not _MILLISECONDS.fullmatch(rule.value):
        raise ConfigError(f"Invalid header config '{text}'. The value of {known} is a number of milliseconds")
    return rule


def _listed(text: str) -> list[str]:
    return list(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))


def parse_origins(text: str) -> list[re.Pattern[str]]:
    """Return the patterns of `access.control.allow.origin`; raise ConfigError for an invalid one."""
    found = []
    for item in _listed(text):
        try:
            found.append(re.compile(".*" if item == "*" else item, re.IGNORECASE))
        except re.error as error:
            raise ConfigError(f"{item!r} is not a regular expression: {error}") from error
    return found


def _origins(name: str, value: Any) -> None:
    parse_origins(value or "")


def _rules(name: str, value: Any) -> None:
    parse_header_rules(value or "")


class RestConfig(Settings):
    """The worker keys of the REST server."""

    rest_mask_passwords: bool = key(
        "rest.mask.passwords",
        default=False,
        importance=Importance.LOW,
        doc="Whether literal passwords in the configuration of a connector are shown as [hidden]. Submitting "
        "[hidden] keeps the stored password.",
    )
    ui_enabled: bool = key(
        "ui.enabled",
        default=True,
        importance=Importance.LOW,
        doc="Whether the web page at /ui is served.",
    )
    ui_readonly: bool = key(
        "ui.readonly",
        default=False,
        importance=Importance.LOW,
        doc="Whether the web page only shows, and changes nothing. The REST API does not change.",
    )
    topic_tracking_enable: bool = key(
        "topic.tracking.enable",
        default=True,
        importance=Importance.LOW,
        doc="Whether the topics that each connector uses are recorded.",
    )
    topic_tracking_allow_reset: bool = key(
        "topic.tracking.allow.reset",
        default=True,
        importance=Importance.LOW,
        doc="Whether users may reset the recorded topics.",
    )
    listeners: list[str] = key(
        "listeners",
        default=["http://:8083"],
        importance=Importance.LOW,
        check=Lambda(_listeners, "list of URLs, such as http://localhost:8080,https://localhost:8443"),
        doc="The addresses on which the REST server listens: URLs with a scheme (http or https), a host (none for "
        "all interfaces) and a port.",
    )
    rest_advertised_host_name: str | None = key(
        "rest.advertised.host.name",
        default=None,
        importance=Importance.LOW,
        doc="The host name under which others reach this server.",
    )
    rest_advertised_port: int | None = key(
        "rest.advertised.port",
        default=None,
        importance=Importance.LOW,
        doc="The port on which others reach this server.",
    )
    rest_advertised_listener: str | None = key(
        "rest.advertised.listener",
        default=None,
        importance=Importance.LOW,
        doc="The listener through which others reach this server: http or https.",
    )
    access_control_allow_origin: str = key(
        "access.control.allow.origin",
        default="",
        check=Lambda(_origins, "patterns of origins with commas in between, or *"),
        importance=Importance.LOW,
        doc="Origins whose pages may call this server from a browser: a comma-separated list of regular "
        "expressions. * allows all, empty allows none other.",
    )
    access_control_allow_methods: str = key(
        "access.control.allow.methods",
        default="",
        importance=Importance.LOW,
        doc="The methods that such pages may use, comma-separated; GET, POST and HEAD by default.",
    )
    response_http_headers_config: str = key(
        "response.http.headers.config",
        default="",
        importance=Importance.LOW,
        check=Lambda(_rules, "rules '[action] [header name]:[header value]' with commas in between"),
        doc="Headers to add to every response.",
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
        doc="The addresses on which /admin is served: the same as listeners by default, disabled if empty.",
    )

    @property
    def allowed_origins(self) -> list[re.Pattern[str]]:
        """Return the patterns of the origins that may call this server."""
        return parse_origins(self.access_control_allow_origin)

    @property
    def allowed_methods(self) -> list[str]:
        """Return the methods that other origins may use; empty without a setting."""
        return _listed(self.access_control_allow_methods)
