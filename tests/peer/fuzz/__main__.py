"""The differential fuzz by hand, against a live Java.

python -m tests.peer.fuzz record                     # writes Java's answers for the suite
python -m tests.peer.fuzz show NUMBER                # prints both sides' results for one pipeline
python -m tests.peer.fuzz search --records 100000 --seed 7
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter

from tests.peer.fuzz import dirty, kept_pipeline, ours, theirs
from tests.peer.fuzz.draw import pipeline
from tests.peer.fuzz.search import differences


def record(_: argparse.Namespace) -> None:
    """Send the suite's pipelines to Java and keep its answers."""
    kept_pipeline.keep(theirs.answers(kept_pipeline.drawn()))


def show(arguments: argparse.Namespace) -> None:
    """Print a pipeline, and both sides' result for each record."""
    made = dirty.pipeline if arguments.dirty else pipeline
    drawn = made(arguments.seed, arguments.number)
    print(json.dumps(drawn["config"], ensure_ascii=False, indent=2))
    by_batches, by_records = (ours.answers(drawn, by_batches=each) for each in (True, False))
    for asked, *results in zip(drawn["records"], by_batches, by_records, theirs.answers([drawn])[0]):
        for name, each in zip(("record", "Hearth by batches", "Hearth by records", "Java"), (asked, *results)):
            print(f"{name}: {json.dumps(each, ensure_ascii=False)}")
        print()


def search(arguments: argparse.Namespace) -> None:
    """Print the first difference of each kind, and the number of differences."""
    kinds: Counter[str] = Counter()
    for each in differences(arguments.seed, arguments.records, is_dirty=arguments.dirty):
        kind = each.kind
        kinds[kind] += 1
        if kinds[kind] == 1:
            print(f"{each}\n", flush=True)
    print(f"{sum(kinds.values())} differences")
    for kind, count in kinds.most_common():
        print(f"{count:7} {kind}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for command in (record, show, search):
        own = commands.add_parser(command.__name__, help=command.__doc__)
        own.set_defaults(command=command)
        own.add_argument("--seed", type=int, default=kept_pipeline.SEED)
        if command is not record:
            own.add_argument("--dirty", action="store_true", help="pipelines with real-world data")
        if command is show:
            own.add_argument("number", type=int)
        if command is search:
            own.add_argument("--records", type=int, default=20_000)
    given = parser.parse_args()
    os.environ["TZ"] = "UTC"  # Java gets the same property
    time.tzset()
    given.command(given)
