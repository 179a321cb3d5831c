"""`hearth consume` and `hearth produce`: records of a topic as lines of JSON, through any converter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from hearth.cli.duration import SECONDS
from hearth.cli.option_group import options
from hearth.cli.worker_option import chosen_worker, worker_option
from hearth.foundation.terminal import printable
from hearth_api import ConfigError, ConnectError

if TYPE_CHECKING:
    from hearth.config import WorkerConfig

_FLUSH_SECONDS = 60.0


_options = options(
    click.argument("topic"),
    worker_option,
    click.option("--bootstrap-servers", metavar="HOST:PORT", help="The Kafka cluster, without a worker's file."),
    click.option("--context", "context_name", metavar="NAME", help="Use the worker's file of this context."),
    click.option("--connector", "connector_file", metavar="FILE", type=click.Path(path_type=Path),
                 help="A connector's configuration, whose converters and client overrides are used."),
    click.option("--set", "settings", metavar="KEY=VALUE", multiple=True,
                 help="A setting of a converter, such as value.converter=org…JsonConverter."),
    click.option("--enveloped", is_flag=True, help="JSON with schema and payload, as JsonConverter has it."),
)  # fmt: skip


@click.command()
@_options
@click.option(
    "--from",
    "begin",
    default="beginning",
    show_default=True,
    metavar="WHERE",
    help="beginning, end, or a number: that many records before the end of each partition.",
)
@click.option("--limit", type=click.IntRange(1), help="The most records.")
@click.option("--follow", is_flag=True, help="Wait for new records until Ctrl-C.")
@click.option("--for", "seconds", type=SECONDS, help="Stop after this time.")
def consume(topic: str, enveloped: bool, begin: str, limit: int | None, follow: bool, seconds: float | None,
            **named: Any) -> int:  # fmt: skip
    """Print the records of TOPIC, one line of JSON each: partition, offset, timestamp, key, value, headers.

    Converters are those of the connector's file, else the worker's. A record that they cannot read is reported on
    standard error, and makes the exit code 1. No group is joined and nothing is committed.
    """
    from hearth.cli.transcoding import Transcoder
    from hearth.kafka.client import consumer_config
    from hearth.kafka.topic_range import TopicRange

    worker, config = _named(**named)
    kafka = {**consumer_config(worker.originals, config, topic).config, "group.id": "hearth-consume"}
    failed = count = 0
    with ExitStack() as opened:
        transcoder = Transcoder(worker, config, enveloped, opened)
        records = opened.enter_context(TopicRange(kafka, topic))
        for record in records.read(_begins(records.bounds, begin), seconds, follow):
            try:
                click.echo(json.dumps(transcoder.to_json(record), ensure_ascii=False))
            except ConnectError as error:
                failed += 1
                place = f"{record.partition}:{record.offset}"
                click.echo(printable(f"error: {place}: {error}"), err=True)
            count += 1
            if count == limit:
                break
    return 1 if failed else 0


@click.command()
@_options
@click.option("--values", is_flag=True, help="Each line is a value, without key and headers.")
@click.option("--file", "file", type=click.File("r", encoding="utf-8"), default="-", help="Default: standard input.")
def produce(topic: str, enveloped: bool, values: bool, file: IO[str], **named: Any) -> None:
    """Write a record to TOPIC for each line of JSON: key, value, headers, and optionally partition and timestamp.

    Converters are those of the connector's file, else the worker's. Lines are checked one by one; the first that is
    invalid ends it, and those before it are written.
    """
    from confluent_kafka import KafkaException, Producer

    from hearth.cli.transcoding import Transcoder
    from hearth.kafka.client import producer_config
    from hearth.kafka.token import authorized

    worker, config = _named(**named)
    producer = Producer(authorized({**producer_config(worker.originals, config).config, "log_level": "0"}))
    failures: list[Any] = []
    count = 0
    try:
        with ExitStack() as opened:
            transcoder = Transcoder(worker, config, enveloped, opened)
            for number, members in _lines(file, values):
                try:
                    written = transcoder.from_json(topic, members)
                except ConnectError as error:
                    raise ConfigError(f"line {number}: {error}", code="produce.line", hint=error.hint) from error
                producer.produce(
                    topic,
                    written.value,
                    written.key,
                    headers=written.headers,
                    on_delivery=lambda error, _: failures.append(error) if error else None,
                    **_place(number, members),
                )
                producer.poll(0)
                count += 1
    except KafkaException as error:
        failures.append(error.args[0])
    finally:
        left = producer.flush(_FLUSH_SECONDS)
    if failures or left:
        reason = failures[0].str() if failures else f"no answer within {_FLUSH_SECONDS:g} s"
        raise ConnectError(f"{len(failures) or left} records are not written to {topic!r}: {reason}", code="produce")
    click.echo(f"{count} records are written to {printable(topic)}", err=True)


def _named(
    worker_config: Path | None,
    bootstrap_servers: str | None,
    context_name: str | None,
    connector_file: Path | None,
    settings: Sequence[str],
) -> tuple[WorkerConfig, dict[str, str]]:
    """Return the worker and the configuration whose converters are used."""
    from hearth.client.connector_file import read_connector_file

    worker = chosen_worker(worker_config, context_name, bootstrap_servers)
    config = {} if connector_file is None else read_connector_file(connector_file).config
    for each in settings:
        key, equals, value = each.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set {each!r} is not KEY=VALUE", code="records.setting", hint="--set a.b=c")
        config[key.strip()] = value
    return worker, config


def _begins(bounds: Mapping[int, tuple[int, int]], where: str) -> dict[int, int]:
    if where == "beginning":
        return {number: begin for number, (begin, _) in bounds.items()}
    if where == "end":
        return {number: end for number, (_, end) in bounds.items()}
    if where.isdecimal():
        return {number: max(begin, end - int(where)) for number, (begin, end) in bounds.items()}
    raise ConfigError(f"--from {where!r} is no place", code="records.from", hint="beginning, end, or a number")


def _place(number: int, members: Mapping[str, Any]) -> dict[str, int]:
    """Return partition and timestamp of a line's record, if it has them."""
    found = {name: members[name] for name in ("partition", "timestamp") if members.get(name) is not None}
    for name, value in found.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigError(f"line {number}: {name} is {value!r}, not a whole number", code="produce.line")
    return found


def _lines(file: IO[str], are_values: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            hint = 'a text is written as "text"'
            raise ConfigError(f"line {number} is not JSON: {error}", code="produce.line", hint=hint) from error
        yield number, {"value": found} if are_values else found
