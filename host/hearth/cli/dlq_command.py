"""`hearth dlq`: list, show and replay the dead letters of sink connectors."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hearth.cli.client_option import confirm, connector_names, echo_items, echo_table, open_cluster
from hearth.cli.json_option import json_option
from hearth.cli.option_group import options
from hearth.cli.worker_option import chosen_worker, worker_option
from hearth.foundation.terminal import printable
from hearth.kafka.client import consumer_config, producer_config
from hearth.kafka.letter_context import StoredLetter
from hearth.kafka.topic_range import TopicRange
from hearth_api import ConfigError

if TYPE_CHECKING:
    from hearth.config import WorkerConfig

KEY = "errors.deadletterqueue.topic.name"
_GROUP = "hearth-replay-{}"
_LONGEST = 300
_COLUMNS = ("topic", "stage", "exception", "count", "last", "message")


@dataclass(frozen=True)
class DeadLetterQueue:
    """A dead letter queue, the worker whose Kafka cluster has it, and the configuration of its connector."""

    topic: str
    worker: WorkerConfig
    config: Mapping[str, str]

    def letters(self, group: str = "hearth-dlq") -> TopicRange:
        """Open the topic."""
        settings = consumer_config(self.worker.originals, self.config, self.topic).config
        return TopicRange({**settings, "group.id": group}, self.topic)


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
    queue = _queue(**named)
    groups: dict[tuple[str, str, str], list[StoredLetter]] = defaultdict(list)
    with queue.letters() as letters:
        for record in letters.read({number: begin for number, (begin, _) in letters.bounds.items()}):
            letter = StoredLetter.of(record)
            of = letter.context
            groups[("?", "?", "no context") if of is None else (of.topic, of.stage, of.exception)].append(letter)
    items = [_group_json(*group, found) for group, found in sorted(groups.items(), key=lambda each: -len(each[1]))]
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
    with queue.letters() as letters:
        total = sum(end - begin for begin, end in letters.bounds.values())
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
    with queue.letters() as letters:
        begins = {number: begin for number, (begin, _) in letters.bounds.items()}
        found = [each for each in map(StoredLetter.of, letters.read(begins)) if matches(each)][-limit:]
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
@click.option("--max", "most", type=click.IntRange(1), help="The most letters to send.")
@click.option("--dry-run", is_flag=True, help="Only say what would be sent.")
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
def replay(pattern: str | None, most: int | None, dry_run: bool, yes: bool, **named: Any) -> None:
    """Send records back to the topics they came from, each once, with their bytes, timestamps and headers.

    Whoever reads those topics gets the records again. The header hearth.replay.count counts, and a record that was
    replayed three times is left. What was replayed is remembered by a consumer group, hearth-replay-TOPIC.
    """
    from hearth.kafka.letter_replay import LetterReplay

    queue, matches = _queue(**named), _matcher(pattern)
    group = _GROUP.format(queue.topic)
    with queue.letters(group) as letters:
        producer = producer_config(queue.worker.originals, queue.config, group).config
        run = LetterReplay(letters, queue.topic, producer, group)
        chosen = list(run.replay(matches, most))
        for letter in chosen if dry_run else ():
            assert letter.context is not None, "only letters with a context are replayed"
            click.echo(printable(f"{letter.context.topic}:{letter.context.partition} {letter.context.summary}"))
        if chosen and not dry_run:
            if not yes:
                confirm(f"Send {len(chosen)} records back?", "it")
            run.send(chosen)
    count = run.count
    left = {"do not match": count.unmatched, "have no context": count.without_context}
    left["were replayed three times"] = count.too_often
    words = "".join(f", {number} {what}" for what, number in left.items() if number)
    click.echo(f"{len(chosen)} {'would be' if dry_run else 'are'} replayed{words}")


def _group_json(topic: str, stage: str, exception: str, found: Sequence[StoredLetter]) -> dict[str, Any]:
    """Return the letters of one cause; their message and place are the last one's."""
    last = found[-1]
    message = "" if last.context is None else last.context.message
    place = f"{last.record.partition}:{last.record.offset}"
    facts = (topic, stage, exception, len(found), place, message)
    return dict(zip(_COLUMNS, facts))


def _queue(
    name: str | None,
    topic: str | None,
    worker_config: Path | None,
    bootstrap_servers: str | None,
    context_name: str | None,
    url: str | None,
) -> DeadLetterQueue:
    if (name is None) == (topic is None):
        raise ConfigError("name a connector or a --topic", code="dead_letter.queue", hint="hearth dlq list NAME")
    worker = chosen_worker(worker_config, context_name, bootstrap_servers)
    if topic is not None:
        return DeadLetterQueue(topic, worker, {})
    from hearth.client.selection import Selection

    cluster = open_cluster(context_name, url)
    with closing(cluster.client):
        (found,) = Selection((str(name),)).of(cluster.connectors())
    if not found.config.get(KEY):
        raise ConfigError(f"{name} has no dead letter queue", code="dead_letter.none", hint=f"it is the key {KEY}")
    overrides = {key: value for key, value in found.config.items() if ".override." in key}
    return DeadLetterQueue(found.config[KEY], worker, overrides)


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
