"""`hearth broker`: a Kafka broker for this machine."""

from __future__ import annotations

from pathlib import Path

import click

from hearth.broker import KafkaBroker
from hearth.broker.process import BrokerUnavailable
from hearth.cli.signal_end import terminate_as_interrupt
from hearth.foundation.user_file import state_directory


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on; default 9092 or the next free one.")
@click.option("--data-dir", type=click.Path(file_okay=False, path_type=Path), help="Directory of the data.")
def broker(port: int | None, data_dir: Path | None) -> None:
    """Run a Kafka broker of one node on 127.0.0.1 until Ctrl-C."""
    server = KafkaBroker(data_dir or state_directory("broker"), port, report=_say)
    with terminate_as_interrupt():
        try:
            server.start()
            _say(f"next: put bootstrap.servers={server.bootstrap_servers} into your worker's properties")
            _say("Ctrl-C stops Kafka and keeps its data")
            code = server.wait()
        except KeyboardInterrupt:
            _say("stopping Kafka")
            return
        finally:
            server.stop()
    raise BrokerUnavailable(f"the Kafka broker ended by itself with code {code}", hint=f"see {server.log}")


def _say(sentence: str) -> None:
    click.echo(sentence, err=True)
