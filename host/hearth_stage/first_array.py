"""Loads what Arrow loads for its first array: its compute functions, and pandas if it is installed.

A process imports this before it forks others, so that none of them loads it again. The first cast creates Arrow's
table of casts, which takes a millisecond and half a megabyte that the forks then share.
"""

from __future__ import annotations

from importlib import import_module

import_module("pyarrow.compute")
import_module("pyarrow").array(import_module("numpy").zeros(1)).cast("string")
