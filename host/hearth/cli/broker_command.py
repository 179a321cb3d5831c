"""`hearth broker` and `hearth registry`: run a local Kafka broker or schema registry."""

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
@click.option("--data-dir", type=click.Path(file_okay=False, path_type=Path), help="Directory for the data.")
def broker(port: int | None, data_dir: Path | None) -> None:
    """Run a single-node Kafka broker on 127.0.0.1 until Ctrl-C."""
    server = KafkaBroker(data_dir or state_directory("broker"), port, report=_say)
    code = _serve(
        server, "Kafka", lambda: f"set bootstrap.servers={server.bootstrap_servers} in your worker's properties"
    )
    if code is not None:
        raise BrokerUnavailable(f"the Kafka broker exited with code {code}", hint=f"see {server.log}")


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on; default 8081 or the next free one.")
@click.option("--data-dir", type=click.Path(file_okay=False, path_type=Path), help="Directory for the data.")
def registry(port: int | None, data_dir: Path | None) -> None:
    """Run a schema registry on 127.0.0.1 until Ctrl-C."""
    server = ApicurioRegistry(data_dir or state_directory("registry"), port, report=_say)
    key = "value.converter.schema.registry.url"
    code = _serve(server, "the registry", lambda: f"set {key}={server.url} for a converter that needs a registry")
    if code is not None:
        raise RegistryUnavailable(f"the schema registry exited with code {code}", hint=f"see {server.log}")


def _serve(server: KafkaBroker | ApicurioRegistry, name: str, next_step: Callable[[], str]) -> int | None:
    """Run a server until Ctrl-C; return its exit code if it exits before that."""
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
