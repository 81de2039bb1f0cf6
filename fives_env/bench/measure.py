"""Timing of contenders in turn, and what the medians say about each other."""

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

#: Numbers of tables and of threads of the batch, and tables of the environments.
SIZES, THREADS, MANY = (1, 64, 4096, 65_536), (1, 2), 1024
#: Libraries whose version matters.
LIBRARIES = ("numpy", "numba", "gymnasium", "pettingzoo", "stable-baselines3", "open_spiel")


@dataclass
class Contender:
    """Something that plays.

    Attributes:
        name: What it is.
        make: Makes it ready; what it returns plays a while and says how many decisions that were.
        tables: Number of tables, None for one that knows a single table only.
        threads: Number of threads.
        unit: What is counted.
        times: Wall-clock and processor seconds per unit, of each timing.
        missing: Why it could not be made.
    """

    name: str
    make: Callable[[], Callable[[], int]]
    tables: int | None = None
    threads: int = 1
    unit: str = "decisions"
    times: list[tuple[float, float]] = field(default_factory=list)
    missing: str | None = None

    def seconds(self, clock: int) -> float | None:
        """Median of the seconds per unit by a clock: 0 the wall's, 1 the processor's."""
        return median(timing[clock] for timing in self.times) if self.times else None

    def to_dict(self) -> dict[str, Any]:
        """Rates by the wall clock and by processor time, None where it is missing."""
        names = ("per_second", "per_cpu_second")
        rates: dict[str, Any] = dict.fromkeys(names)
        for clock, name in enumerate(names):
            if seconds := self.seconds(clock):
                rates[name] = 1 / seconds
        about = {name: getattr(self, name) for name in ("name", "tables", "threads", "unit")}
        return about | rates | {"missing": self.missing}


def bench(seconds: float, repeats: int, *, quick: bool = False) -> dict[str, Any]:
    """Time everything.

    Args:
        seconds: Length of each timing, at least.
        repeats: Number of timings of each contender.
        quick: Fewer tables.

    Returns:
        ``rows`` (of :meth:`Contender.to_dict`), ``ratios`` (name, value, what was aimed at),
        ``machine`` and ``settings``.
    """
    from fives_env.bench import own, peers

    sizes = (1, 16, 64) if quick else SIZES
    contenders = own.contenders(sizes, THREADS, 64 if quick else MANY) + peers.contenders()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    ready = []
    for contender in contenders:
        try:
            play = contender.make()
            play()  # compiles
        except ImportError as error:
            contender.missing = str(error)
        else:
            ready.append((contender, play))
    for _ in range(repeats):
        for contender, play in ready:
            contender.times.append(_timed(play, seconds))
    return {
        "rows": [contender.to_dict() for contender in contenders],
        "ratios": ratios(contenders, sizes),
        "machine": machine() | {"load": load},
        "settings": {"seconds": seconds, "repeats": repeats},
    }


def _timed(play: Callable[[], int], seconds: float) -> tuple[float, float]:
    """Wall-clock and processor seconds per unit."""
    count = 0
    wall, cpu = time.perf_counter(), time.process_time()
    while True:
        count += play()
        if time.perf_counter() - wall >= seconds:
            return (time.perf_counter() - wall) / count, (time.process_time() - cpu) / count


def ratios(contenders: list[Contender], sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """How many times faster one is than another; None where one is missing.

    By processor time, which other work on the machine disturbs least; where the numbers of threads
    differ, by the wall clock.
    """
    named = {(c.name, c.tables, c.threads): c for c in contenders}
    few, many, most = sizes[1], sizes[-2], sizes[-1]
    dominoes = "OpenSpiel block_dominoes"
    rows: list[dict[str, Any]] = []

    def over(
        name: str, slow: tuple[str, int | None, int], fast: tuple[str, int | None, int], aim: str
    ) -> None:
        clock = int(slow[-1] == fast[-1])
        a, b = (named[key].seconds(clock) if key in named else None for key in (slow, fast))
        rows.append({"name": name, "ratio": a / b if a and b else None, "aim": aim})

    for what, peer, aim in (
        ("batch", dominoes, ">= 400"),
        ("batch, observed", f"{dominoes}, tensor", ">= 500"),
    ):
        one = what, many, 1
        over(f"{what} ({many} tables) over {peer}", (peer, None, 1), one, aim)
        over(f"{what}: two threads over one", one, (what, many, 2), ">= 1.8")
        growth = f"{what}: time per decision, {most} tables over {few}"
        over(growth, (what, most, 1), (what, few, 1), "<= 1.5")
    watched, copied = ("batch, observed", many, 1), ("NumPy copy", many, 1)
    over(f"NumPy copy over batch, observed ({many} tables)", watched, copied, "<= 10")
    for own, peer, aim in (
        ("Table.play, legal", dominoes, ">= 10"),
        ("raw_env", "PettingZoo connect_four raw_env", ">= 3"),
        ("env", "PettingZoo connect_four env", ">= 1.5"),
    ):
        over(f"{own} over {peer}", (peer, None, 1), (own, None, 1), aim)
    return rows


def machine() -> dict[str, Any]:
    """Processor, cores, system, Python and libraries."""
    versions: dict[str, str | None] = {}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            versions[library] = None
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "libraries": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
