"""Processes that run plugins have a stack for values as deep as Java's."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from hearth_execution.stack import MOST_CALLS

DEEP = """
import copy, pickle, sys, threading

from hearth_api import INT32_SCHEMA, DataError, SchemaBuilder, Struct
from hearth_api.batch import column_to_values, values_to_column
from hearth_api.java import parse_string
from hearth_api.java.schema_json import schema_from_text, schema_to_text
from hearth_execution.stack import make_room


def deep(levels):
    schema, value = INT32_SCHEMA, 1
    for _ in range(levels):
        schema = SchemaBuilder.struct().field("a", schema).build()
        value = Struct.unchecked(schema, [value])
    return schema, value


def use(levels):
    schema, value = deep(levels)
    _, other = deep(levels)
    return {
        "validate": value.validate,
        "put": lambda: Struct(SchemaBuilder.struct().field("b", schema).build(), b=value),
        "to_dict": value.to_dict,
        "repr": lambda: repr(value),
        "str": lambda: str(value),
        "hash": lambda: hash(value),
        "equality": lambda: value == other,
        "schema": lambda: schema_from_text(schema_to_text(schema)) == schema,
        "column": lambda: column_to_values(schema, values_to_column(schema, [value])) == [value],
        "deepcopy": lambda: copy.deepcopy(value.to_dict()),
        "header": lambda: parse_string("[" * levels + "]" * levels).value,
        "map in a header": lambda: parse_string('{"a":' * levels + "1" + "}" * levels).value,
    }


def work():
    for levels in map(int, sys.argv[1:]):
        for name, act in use(levels).items():
            try:
                outcome = "ok" if act() is not False else "differs"
            except RecursionError:
                outcome = "too deep"
            print(levels, name, outcome)


make_room()
thread = threading.Thread(target=work)
thread.start()
thread.join()
work()
"""
LIMITED = "import sys; from hearth_execution.stack import make_room; make_room(); print(sys.getrecursionlimit())"


def python(code: str, *arguments: str, stack: int | None = None) -> list[str]:
    """Return the output lines of a Python with this C stack in its main thread."""

    def limit() -> None:
        if stack is not None:
            resource.setrlimit(resource.RLIMIT_STACK, (stack, resource.getrlimit(resource.RLIMIT_STACK)[1]))

    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        check=True,
        text=True,
        preexec_fn=limit,
        cwd=Path(__file__).parents[3],
    )
    return done.stdout.splitlines()


def test_values_may_have_a_thousand_levels() -> None:
    """In every operation, on other threads and on the main one."""
    lines = python(DEEP, "1000")
    assert len(lines) == 24
    assert {line.rpartition(" ")[2] for line in lines} == {"ok"}, lines


def test_much_deeper_values_raise_a_recursion_error() -> None:
    """No thread exhausts the C stack."""
    lines = python(DEEP, "20000")
    assert len(lines) == 24
    assert all(line.endswith((" ok", " too deep")) for line in lines), lines
    assert sum(line.endswith(" too deep") for line in lines) > 12


@pytest.mark.parametrize(("stack", "wanted"), [(8 << 20, MOST_CALLS), (1 << 20, 1000)])
def test_small_stack_keeps_the_recursion_limit(stack: int, wanted: int) -> None:
    """Exhausting it would end the process, while a RecursionError fails one record."""
    assert python(LIMITED, stack=stack) == [str(wanted)]
