"""`hearth dlq`: list, show and replay the dead letters of sink connectors."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from hearth.cli.client_option import confirm, connector_names, echo_items, echo_table, open_cluster
from hearth.cli.json_option import json_option
from hearth.cli.option_group import options
from hearth.cli.worker_option import chosen_worker, worker_option
from hearth.config.sink_key import DEAD_LETTER_TOPIC
from hearth.foundation.terminal import printable
from hearth.kafka.letter_context import StoredLetter
from hearth.kafka.letter_queue import LetterGroups, LetterQueue
from hearth_api import ConfigError

_LONGEST = 300
_COLUMNS = ("topic", "stage", "exception", "count", "last", "message")


_queue_options = options(
    click.argument("name", required=False, shell_complete=connector_names),
    click.option("--topic", metavar="TOPIC", help="The queue itself, instead of a connector that has one."),
    worker_option,
    click.option("--bootstrap-servers", metavar="HOST:PORT", help="The Kafka cluster, without a worker's file."),
    click.option("--context", "context_name", metavar="NAME", help="Ask this context's cluster about NAME."),
    click.option("--url", metavar="URL,…", help="Ask the worker at this address about NAME."),
)


@click.group()
def dlq() -> None:
    """Look at dead letters, and send their records back.

    The queue is that of connector NAME, or a --topic. Kafka's address and login come from a worker's file.
    """


@dlq.command(name="list")
@_queue_options
@json_option
def list_(as_json: bool, **named: Any) -> None:
    """Print the letters by what failed: topic, stage, exception, how many, and the last one's place."""
    queue, groups = _queue(**named), LetterGroups()
    deque(groups.counted(queue.letters()), maxlen=0)
    items = groups.to_json()
    if as_json:
        echo_items(items, queue=queue.topic)
        return
    rows = [[_first(str(each[member])) for member in _COLUMNS] for each in items]
    echo_table([member.upper() for member in _COLUMNS], rows, printable(f"no dead letters in {queue.topic}"))


@dlq.command()
@_queue_options
@json_option
def count(as_json: bool, **named: Any) -> None:
    """Print how many letters the queue has, by the offsets of its partitions; reads none."""
    queue = _queue(**named)
    total = queue.count()
    if as_json:
        echo_items([{"topic": queue.topic, "letters": total}])
    else:
        click.echo(total)


@dlq.command()
@_queue_options
@click.option("--match", "pattern", metavar="REGEX", help="Letters whose stage, exception or message has this.")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="The most letters, newest last.")
@json_option
def show(pattern: str | None, limit: int, as_json: bool, **named: Any) -> None:
    """Print the newest letters: place of the record, what failed, key and value as text."""
    queue, matches = _queue(**named), _matcher(pattern)
    found = list(deque(filter(matches, queue.letters()), maxlen=limit))
    shown = [{**each.to_json(), **_content(each)} for each in found]
    if as_json:
        echo_items(shown, queue=queue.topic)
        return
    for letter, content in zip(found, shown):
        click.echo(printable("\n".join(_lines(letter, content))) + "\n")
    if not found:
        click.echo(printable(f"no dead letters in {queue.topic}"))


@dlq.command()
@_queue_options
@click.option("--match", "pattern", metavar="REGEX", help="Letters whose stage, exception or message has this.")
@click.option("--to", metavar="TOPIC", help="Send them to this topic, not to those they came from.")
@click.option("--max", "most", type=click.IntRange(1), help="The most letters to send.")
@click.option("--dry-run", is_flag=True, help="Only say what would be sent.")
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
def replay(pattern: str | None, to: str | None, most: int | None, dry_run: bool, yes: bool, **named: Any) -> None:
    """Send records back to the topics they came from, each once, with their bytes, timestamps and headers.

    Whoever reads those topics gets the records again. The header hearth.replay.count counts, and a record that was
    replayed three times is left. What was replayed is remembered by a consumer group, hearth-replay-TOPIC.
    """
    queue, matches = _queue(**named), _matcher(pattern)
    with queue.replay(to) as run:
        chosen = list(run.replay(matches, most))
        for letter in chosen if dry_run else ():
            assert letter.context is not None, "only letters with a context are replayed"
            place = f"{to or letter.context.topic}:{letter.context.partition}"
            click.echo(printable(f"{place} {letter.context.summary}"))
        if chosen and not dry_run:
            if not yes:
                confirm(f"Send {len(chosen)} records back?", "it")
            run.send(chosen)
    count = run.count
    left = {"do not match": count.unmatched, "have no context": count.without_context}
    left["were replayed three times"] = count.too_often
    words = "".join(f", {number} {what}" for what, number in left.items() if number)
    click.echo(f"{len(chosen)} {'would be' if dry_run else 'are'} replayed{words}")


def _queue(
    name: str | None,
    topic: str | None,
    worker_config: Path | None,
    bootstrap_servers: str | None,
    context_name: str | None,
    url: str | None,
) -> LetterQueue:
    if (name is None) == (topic is None):
        raise ConfigError("name a connector or a --topic", code="dead_letter.queue", hint="hearth dlq list NAME")
    worker = chosen_worker(worker_config, context_name, bootstrap_servers)
    if topic is not None:
        return LetterQueue(topic, worker.originals, {})
    from hearth.client.selection import Selection

    cluster = open_cluster(context_name, url)
    with closing(cluster.client):
        (found,) = Selection((str(name),)).of(cluster.connectors())
    if not found.config.get(DEAD_LETTER_TOPIC):
        raise ConfigError(
            f"{name} has no dead letter queue", code="dead_letter.none", hint=f"it is the key {DEAD_LETTER_TOPIC}"
        )
    overrides = {key: value for key, value in found.config.items() if ".override." in key}
    return LetterQueue(found.config[DEAD_LETTER_TOPIC], worker.originals, overrides)


def _matcher(pattern: str | None) -> Callable[[StoredLetter], bool]:
    if pattern is None:
        return lambda _: True
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigError(
            f"--match {pattern!r} is not a regular expression: {error}", code="client.pattern", hint="quote it"
        ) from error
    return lambda letter: letter.context is not None and compiled.search(letter.context.summary) is not None


def _content(letter: StoredLetter) -> dict[str, Any]:
    record = letter.record
    headers = [[name, _text(data)] for name, data in letter.own_headers]
    return {"key": _text(record.key), "value": _text(record.value), "headers": headers}


def _lines(letter: StoredLetter, content: Mapping[str, Any]) -> list[str]:
    own, of = letter.record, letter.context
    lines = [f"letter {own.partition}:{own.offset}" + (f", replayed {letter.replays} times" if letter.replays else "")]
    if of is not None:
        lines += [
            f"  record  {of.topic}-{of.partition} at {of.offset}, task {of.connector}-{of.task}",
            f"  failed  {of.stage} in {of.class_name}",
            f"  error   {of.exception}: {_first(of.message)}",
        ]
    lines += [f"  {name:<7} {json.dumps(content[name], ensure_ascii=False)}" for name in ("key", "value")]
    return lines


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "backslashreplace")


def _first(text: str) -> str:
    first = next(iter(text.splitlines()), "")
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…"
