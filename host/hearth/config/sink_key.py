"""The additional keys of sink connectors, and the checks between them."""

from __future__ import annotations

from collections.abc import Mapping

from hearth.config.connector_key import COMMON, ERRORS, ConnectorConfig
from hearth_api import ConfigType, ConfigValue, Importance, Regex, ValidList, Width, key
from hearth_api.java import PatternError, compile_pattern, parse_type

TOPICS = "topics"
TOPICS_REGEX = "topics.regex"
DEAD_LETTER_TOPIC = "errors.deadletterqueue.topic.name"


class SinkConnectorConfig(ConnectorConfig):
    """The keys of a sink connector."""

    topics: list[str] = key(
        "topics",
        default=[],
        check=ValidList(),
        importance=Importance.HIGH,
        doc="A comma-separated list of the topics to read.",
        group=COMMON,
        order_in_group=4,
        width=Width.LONG,
        display_name="Topics",
    )
    topics_regex: str = key(
        "topics.regex",
        default="",
        check=Regex(),
        importance=Importance.HIGH,
        doc="A regular expression that matches the whole names of the topics to read. Set either this or topics.",
        group=COMMON,
        order_in_group=4,
        width=Width.LONG,
        display_name="Topics regex",
    )
    dead_letter_topic: str = key(
        "errors.deadletterqueue.topic.name",
        default="",
        importance=Importance.MEDIUM,
        doc="The topic for records that could not be processed; none if blank.",
        group=ERRORS,
        order_in_group=6,
        width=Width.MEDIUM,
        display_name="Dead Letter Queue Topic Name",
    )
    dead_letter_replication_factor: int = key(
        "errors.deadletterqueue.topic.replication.factor",
        type=ConfigType.SHORT,
        default=3,
        importance=Importance.MEDIUM,
        doc="Its replication factor when it is created.",
        group=ERRORS,
        order_in_group=7,
        width=Width.MEDIUM,
        display_name="Dead Letter Queue Topic Replication Factor",
    )
    dead_letter_headers: bool = key(
        "errors.deadletterqueue.context.headers.enable",
        default=False,
        importance=Importance.MEDIUM,
        doc="Whether its records get headers that describe the error; their names start with __connect.errors.",
        group=ERRORS,
        order_in_group=8,
        width=Width.MEDIUM,
        display_name="Enable Error Context Headers",
    )


def parse_topics(props: Mapping[str, str | None]) -> list[str]:
    """Return the distinct topics of the list without blank items."""
    listed = parse_type(TOPICS, props.get(TOPICS), ConfigType.LIST) or []
    return list(dict.fromkeys(topic for topic in listed if topic))


def check_topics(props: Mapping[str, str | None], outcome: dict[str, ConfigValue]) -> None:
    """Add the errors between topics, topics.regex and the dead letter topic to the outcome."""
    listed, expression = _given(props, TOPICS), _given(props, TOPICS_REGEX)
    if listed and expression:
        both = f"{TOPICS} and {TOPICS_REGEX}"
        _object_to_both(props, outcome, f"{both} are mutually exclusive options, but both are set.")
    if not listed and not expression:
        _object_to_both(props, outcome, f"Must configure one of {TOPICS} or {TOPICS_REGEX}")
    dead = _given(props, DEAD_LETTER_TOPIC)
    if dead and listed and dead in (topics := parse_topics(props)):
        shown = f"{TOPICS}=[{', '.join(topics)}]"
        _object(
            props,
            outcome,
            TOPICS,
            f"The DLQ topic '{dead}' may not be included in the list of topics ('{shown}') consumed by the connector",
        )
    if dead and expression and _matches(expression, dead):
        _object(
            props,
            outcome,
            TOPICS_REGEX,
            f"The DLQ topic '{dead}' may not be matched by the regex for the topics "
            f"('{TOPICS_REGEX}={props[TOPICS_REGEX]}') consumed by the connector",
        )


def _given(props: Mapping[str, str | None], name: str) -> str:
    return (props.get(name) or "").strip()


def _matches(expression: str, topic: str) -> bool:
    try:
        return compile_pattern(expression).fullmatch(topic) is not None
    except PatternError:
        return False  # the key's own check reports it


def _object_to_both(props: Mapping[str, str | None], outcome: dict[str, ConfigValue], message: str) -> None:
    for name in (TOPICS, TOPICS_REGEX):
        _object(props, outcome, name, message)


def _object(props: Mapping[str, str | None], outcome: dict[str, ConfigValue], name: str, message: str) -> None:
    outcome.setdefault(name, ConfigValue(name, props.get(name))).add_error_message(message)
