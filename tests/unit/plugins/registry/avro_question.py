"""The questions to a copy of AvroData for the golden files of Avro: handwritten schemas and random ones.

JAVA_HOME=... python -m tests.unit.plugins.registry.avro_question repeats all of them and writes the files. Add a
handwritten schema to `avro_read.jsonl` as a line without an answer; the random ones are those of JSON. Confluent's own
converter is in no public repository, but Apicurio's has an old copy of its schema mapping; questions that this copy
answers differently from the newer one are left out.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pyspark

from hearth.foundation.java import find_java
from hearth.maven.ivy import Coordinates, Progress, download
from tests.peer.java_connect import connect_jars
from tests.unit.plugins.sample import cases

HERE = Path(__file__).parent
READ, WRITE = HERE / "golden" / "avro_read.jsonl", HERE / "golden" / "avro_write.jsonl.xz"
DRAWN = HERE.parent / "golden" / "drawn_writes.jsonl.xz"
COUNT = 600
APICURIO = [
    Coordinates("io.apicurio", f"apicurio-registry-{name}", "3.0.9")
    for name in ("utils-converter", "avro-serde-kafka", "serde-common", "serde-common-avro", "serde-kafka-common")
]
AVRO = Path(pyspark.__file__).parent / "jars" / "avro-1.12.1.jar"


def writes() -> list[dict[str, Any]]:
    """Return schemas and values that both copies handle equally: no bytes at the root, and no two maps of one name."""
    drawn = [case for case in cases(DRAWN) if case["op"] == "write" and case["schema"] and case["value"]]
    usual = [case for case in drawn if case["schema"]["type"] != "bytes" and _maps(case["schema"]) < 2]
    return [{"config": {}, "schema": case["schema"], "value": case["value"]} for case in usual[:COUNT]]


def _maps(tree: Any) -> int:
    """Return how many maps in a schema have keys that are not text."""
    if isinstance(tree, list):
        return sum(map(_maps, tree))
    if not isinstance(tree, dict):
        return 0
    is_own = tree.get("type") == "map" and (tree["keys"]["type"] != "string" or tree["keys"].get("optional", False))
    return is_own + sum(map(_maps, tree.values()))


def ask(questions: list[dict[str, Any]], jars: str) -> list[dict[str, Any]]:
    """Return the questions with Java's answers, which were given in UTC."""
    with tempfile.TemporaryDirectory() as classes:
        sources = (HERE.parent / "Answers.java", HERE / "AvroAnswers.java")
        java = Path(find_java().executable)
        subprocess.run((java.with_name("javac"), "-nowarn", "-cp", jars, "-d", classes, *sources), check=True)
        command = (java, "-Duser.timezone=UTC", "-cp", f"{classes}:{jars}", "AvroAnswers")
        lines = "".join(json.dumps(case) + "\n" for case in questions)
        ended = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8", check=True)
    return [json.loads(line) for line in ended.stdout.rstrip("\n").split("\n")]


def main() -> None:
    """Write the golden files."""
    with tempfile.TemporaryDirectory() as folder:
        found = download(APICURIO, Path(folder), Progress(title="Apicurio's converter"))
        jars = ":".join(map(str, [*connect_jars(), *found.values(), AVRO]))
        READ.write_text(_lines(ask([{"config": each["config"], "avro": each["avro"]} for each in cases(READ)], jars)))
        WRITE.write_bytes(lzma.compress(_lines(ask(writes(), jars)).encode(), preset=9 | lzma.PRESET_EXTREME))


def _lines(answers: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(case, separators=(",", ":")) + "\n" for case in answers)


if __name__ == "__main__":
    main()
