"""What one sees of a training run: a progress bar, curves, a line of metrics now and then."""

import json
import time
from pathlib import Path
from typing import Any, Self

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from torch.utils.tensorboard import SummaryWriter

from fives_env.players import checkpoint


class Log:
    """A progress bar, TensorBoard's curves and metrics.jsonl, one line a window.

    Args:
        folder: The run's folder.
        total: Decisions after which it ends.
        done: Decisions of a run that goes on; lines about later ones are dropped.
    """

    def __init__(self, folder: Path, total: int, done: int = 0) -> None:
        path = folder / "metrics.jsonl"
        rows = _rows(path, done) if done else []
        checkpoint.write({path: "".join(json.dumps(row) + "\n" for row in rows).encode()})
        self.file = path.open("a")
        self.before = rows[-1]["seconds"] if rows else 0.0
        self.board = SummaryWriter(str(folder), purge_step=done or None)
        text = TextColumn("{task.description}")
        self.bar = Progress(text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self.task = self.bar.add_task("compiling", total=total, completed=done)
        self.began = time.perf_counter()

    def __enter__(self) -> Self:  # noqa: D105
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:  # noqa: D105
        self.bar.stop()
        self.board.close()
        self.file.close()

    @property
    def seconds(self) -> float:
        """Time that the run has taken, all of its parts together."""
        return self.before + time.perf_counter() - self.began

    def write(self, decisions: int, figures: dict[str, float], shown: str) -> None:
        """Log a window's figures after so many decisions in all; ``shown`` goes on the bar."""
        figures = {"decisions_per_s": decisions / self.seconds, **figures}
        for name, value in figures.items():
            self.board.add_scalar(name, value, decisions)
        row = {"decisions": decisions, "seconds": round(self.seconds, 3), **figures}
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()
        speed = f"{figures['decisions_per_s']:,.0f} decisions/s"
        self.bar.update(self.task, completed=decisions, description=f"{speed}{shown}")


def _rows(path: Path, done: int) -> list[dict[str, Any]]:
    """Lines of a log about the first ``done`` decisions; one that was cut short is none."""
    rows = []
    for line in path.read_text().splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            break
        if row["decisions"] <= done:
            rows.append(row)
    return rows
