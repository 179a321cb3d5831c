"""Admission: what a task is told so that its host lets it in, and the id under which it asks."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

ADMISSION_SECONDS = 10.0
"""How long a visitor may take to be admitted."""


@dataclass(frozen=True)
class LinkAddress:
    """Where a task finds its host, the secret that admits it, and the certificate by which it knows the host."""

    host: str
    port: int
    token: str = field(repr=False)
    certificate: str


def task_id(connector: str, task: int) -> str:
    """Return the name under which a task is registered, short however long the connector's name is."""
    return hashlib.sha256(json.dumps([connector, task]).encode()).hexdigest()
