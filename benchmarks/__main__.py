"""Runs the named benchmarks, or all but the long ones, each in a process of its own.

`profile` shows hot spots.
"""

import sys
import time
from importlib import import_module

from benchmarks import isolation, report
from benchmarks.report import Table

BENCHMARKS = (
    "warm_capture",
    "recall_growth",
    "recall_beside_others",
    "memory_weight",
    "memory_under_load",
    "writer_throughput",
    "cleaning_time",
    "cold_start",
)
# They take minutes and gigabytes: only by name.
LONG = ("rows_at_scale",)


def main(names: list[str]) -> int:
    if names == ["profile"]:
        import_module("benchmarks.hotspots").show()
        return 0
    if unknown := set(names) - {*BENCHMARKS, *LONG}:
        print(
            f"No such benchmark: {', '.join(sorted(unknown))}; there is {', '.join(BENCHMARKS)}, "
            f"and only by name {', '.join(LONG)}"
        )
        return 2
    measured: dict[str, list[Table]] = {}
    for name in names or BENCHMARKS:
        start = time.monotonic()
        measured[name] = isolation.alone(isolation.measure, name)
        for table in measured[name]:
            report.show(table)
        print(f"  ({name}: {time.monotonic() - start:.0f} s)", flush=True)
    report.keep(measured)
    missed = report.missed(table for tables in measured.values() for table in tables)
    print("\n" + ("Missed:\n  " + "\n  ".join(missed) if missed else "All aims met."))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
