"""The README is true: its blocks run, its presets table is the code's, its files exist."""

import dataclasses
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fives_env import PRESETS, Rules, Table

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)


def run(command, cwd):
    """Run a command as a reader would, from a folder with the checkout's files."""
    folder = str(Path(sys.executable).parent)
    env = {**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder where the blocks run one after the other, as in the README."""
    path = tmp_path_factory.mktemp("readme")
    for name in ("configs", "training"):
        (path / name).symlink_to(ROOT / name)
    return path


def test_every_block_runs_in_order(folder):
    kinds = set()
    for kind, block in BLOCKS:
        kinds.add(kind)
        if kind == "python":
            run([sys.executable, "-c", block], folder)
        elif kind == "sh":
            for line in block.strip().splitlines():
                words = shlex.split(line, comments=True)
                if words[0] == "make":
                    run([*words, "-n"], ROOT)
                elif words[0] == "for":  # several runs of a minute or two, cut short here
                    short = "demo.yaml --total-decisions 50000 --matches 1 --pairs 50"
                    run(["sh", "-ec", line.replace("demo.yaml", short)], folder)
                else:
                    run(words, folder)
    assert kinds == {"python", "sh", "bibtex"}


def test_the_margin_quoted_is_the_one_measured(folder):
    out = run(shlex.split("fives evaluate greedy random --rounds 20000 --json"), folder)
    quoted = re.search(r"from the pairs: (\+\d+\.\d), from (\+\d+\.\d) to (\+\d+\.\d)", TEXT)
    for name, value in zip(("margin", "low", "high"), quoted.groups(), strict=True):
        measured = float(re.search(rf'"{name}": (-?[\d.]+)', out).group(1))
        assert f"{measured:+.1f}" == value


def test_the_presets_table_is_the_codes():
    rows = {}
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 9:
            rows[cells[0].split(" ")[0]] = cells[2:]
    assert [name.strip("`") for name in rows.pop("option")] == list(PRESETS)
    rows.pop("---", None)
    names = {field.name for field in dataclasses.fields(Rules)} - {"players", "teams"}
    assert names == set(rows) - {"|---|---|"}
    for name in names:
        first = rows[name][0]
        for preset, cell in zip(PRESETS, rows[name], strict=True):
            assert (first if cell == "=" else cell) == shown(preset, name), (preset, name)


def shown(preset, name):
    if name == "tiles":
        return "/".join(str(Rules(preset, players=n).tiles) for n in (2, 3, 4))
    if name == "target":
        four = Rules(preset, players=4, teams=True).target
        return f"{Rules(preset).target}/{Rules(preset, players=3).target}/{four}"
    value = getattr(Rules(preset), name)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def played(seed, plays, **options):
    """The first round of a seed, each seat taking the play that scores most, after some plays."""
    table = Table(seed=seed, **options)
    while sum(event.do in ("set", "place") for event in table.events) < plays:
        table.play(max(table.legal, key=lambda action: table.clone().play(action)[0].points))
    return table


@pytest.mark.parametrize(
    ("name", "table", "seat"),
    [
        ("table", lambda: played(44, 13), 0),
        ("five_up", lambda: played(117, 14, rules="five_up", players=4), 3),
    ],
)
def test_the_pictures_are_what_is_drawn(name, table, seat):
    """``FIVES_DRAW=1`` draws them anew."""
    path = ROOT / ".pictures" / f"{name}.svg"
    drawn = table().svg(seat)
    if os.environ.get("FIVES_DRAW"):
        path.write_text(drawn)
    assert path.read_text() == drawn
    assert f".pictures/{name}.svg" in TEXT


def test_every_file_that_is_named_exists():
    for name in re.findall(r"`([\w/]+\.(?:py|yaml))`|\]\(([\w/.]+)\)", TEXT):
        path = name[0] or name[1]
        assert (ROOT / path).exists() or (ROOT / "fives_env" / path).exists(), path
