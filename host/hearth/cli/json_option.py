"""The --json option of every command that prints a table."""

from __future__ import annotations

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
