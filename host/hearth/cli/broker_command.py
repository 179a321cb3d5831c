"""`hearth broker` and `hearth registry`: a Kafka broker and a schema registry for this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from hearth.broker import KafkaBroker
from hearth.broker.apicurio import ApicurioRegistry, RegistryUnavailable
from hearth.broker.process import BrokerUnavailable
from hearth.cli.signal_end import terminate_as_interrupt
from hearth.foundation.user_file import state_directory


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on; default 9092 or the next free one.")
@click.option("--data-dir", type=click.Path(file_okay=False, path_type=Path), help="Directory of the data.")
def broker(port: int | None, data_dir: Path | None) -> None:
    """Run a Kafka broker of one node on 127.0.0.1 until Ctrl-C."""
    server = KafkaBroker(data_dir or state_directory("broker"), port, report=_say)
    code = _serve(
        server, "Kafka", lambda: f"put bootstrap.servers={server.bootstrap_servers} into your worker's properties"
    )
    if code is not None:
        raise BrokerUnavailable(f"the Kafka broker ended by itself with code {code}", hint=f"see {server.log}")


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on; default 8081 or the next free one.")
@click.option("--data-dir", type=click.Path(file_okay=False, path_type=Path), help="Directory of the data.")
def registry(port: int | None, data_dir: Path | None) -> None:
    """Run a schema registry on 127.0.0.1 until Ctrl-C."""
    server = ApicurioRegistry(data_dir or state_directory("registry"), port, report=_say)
    key = "value.converter.schema.registry.url"
    code = _serve(server, "the registry", lambda: f"put {key}={server.url} beside a converter that needs one")
    if code is not None:
        raise RegistryUnavailable(f"the schema registry ended by itself with code {code}", hint=f"see {server.log}")


def _serve(server: KafkaBroker | ApicurioRegistry, name: str, next_step: Callable[[], str]) -> int | None:
    """Run a server until Ctrl-C, and return its exit code where it ended by itself."""
    with terminate_as_interrupt():
        try:
            server.start()
            _say(f"next: {next_step()}")
            _say(f"Ctrl-C stops {name} and keeps its data")
            return server.wait()
        except KeyboardInterrupt:
            _say(f"stopping {name}")
            return None
        finally:
            server.stop()


def _say(sentence: str) -> None:
    click.echo(sentence, err=True)
