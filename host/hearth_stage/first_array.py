"""Loads what Arrow loads when its first array is made, its functions, and pandas where that is installed.

A process from which others are forked imports this: then none of them loads it again. The first cast makes Arrow's
table of casts, a millisecond and half a megabyte of what is the same in each of them.
"""

from __future__ import annotations

from importlib import import_module

import_module("pyarrow.compute")
import_module("pyarrow").array(import_module("numpy").zeros(1)).cast("string")
