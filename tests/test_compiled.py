"""The kernels as compiled code: the same bytes without it, and a cache that notices changes."""

import hashlib
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import fives_env
from fives_env.engine.jit import JIT, get8, jit, jit_allocating, put8

PACKAGE = Path(fives_env.__file__).parent

#: Plays a little of every preset and prints a hash of all that there is to see.
DIGEST = """
import hashlib, random
import numpy as np
from fives_env import PRESETS, Table
from fives_env.engine import single
digest = hashlib.sha256()
for k, preset in enumerate(PRESETS):
    for players in (2, 4):
        forced = ("auto", "act")[k % 2]
        table = Table(preset, players=players, teams=players == 4, seed=k, forced=forced)
        chance = random.Random(k)
        for _ in range(STEPS):
            if table.over:
                break
            for seat in range(players):
                record = table.redact(seat)
                digest.update(table.observe(seat).tobytes() + record.tobytes())
            single.redeal(record, 0, table.rules.record(), np.uint64(chance.getrandbits(63)))
            digest.update(record.tobytes() + table.mask().tobytes() + table.state.tobytes())
            for event in table.play(chance.choice(table.legal)):
                digest.update(repr(event).encode())
print(digest.hexdigest())
"""


def run(code, folder, **env):
    """Output of a fresh Python that imports the package from ``folder``."""
    env = {**os.environ, "PYTHONPATH": str(folder), "PYTHONWARNINGS": "error", **env}
    result = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=folder, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_the_same_bytes_without_the_compiler():
    code = DIGEST.replace("STEPS", "60")
    compiled = run(code, PACKAGE.parent)
    assert run(code, PACKAGE.parent, NUMBA_DISABLE_JIT="1") == compiled


@pytest.fixture
def copy_of_package(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "fives_env", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


TOTAL = """
from fives_env import Table
table = Table(seed=1)
table.play(table.rules.action(table.hands[table.turn][0] + "@0"))
print(table.total, table.state["total"][0])
"""


def test_a_changed_callee_in_another_file_changes_the_game(copy_of_package):
    """Numba alone would go on with the old callee that it cached inside its caller."""
    before = run(TOTAL, copy_of_package)
    assert run(TOTAL, copy_of_package) == before
    layout = copy_of_package / "fives_env" / "engine" / "layout.py"
    text = layout.read_text()
    assert text.count("        return PIPS[tile]\n") == 1
    layout.write_text(
        text.replace("        return PIPS[tile]\n", "        return PIPS[tile] + 50\n")
    )
    after = run(TOTAL, copy_of_package)
    assert [int(n) for n in after.split()] == [int(n) + 50 for n in before.split()]


def test_two_processes_that_compile_at_once_both_play(copy_of_package):
    code = "from fives_env import Table; t = Table(seed=3); print(t.play(t.legal[0]))"
    env = {**os.environ, "PYTHONPATH": str(copy_of_package)}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env=env,
            cwd=copy_of_package,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0] != b""


HALF = """
import sys, time
from numba.core.caching import IndexDataCacheFile as Index
from fives_env.engine.jit import jit

def slowly(save):
    def saving(*args):
        time.sleep(1)
        save(*args)
    return saving

Index._save_index = slowly(Index._save_index)

@jit
def half(x):
    return x / 2

print([half({"i": 3, "f": 3.0}[kind]) for kind in sys.argv[1]], sum(half.stats.cache_hits.values()))
"""


def test_two_processes_that_add_to_one_cache_at_once(tmp_path):
    """Numba alone gives both signatures one file, and later runs one's code for the other."""
    script = tmp_path / "half.py"
    script.write_text(HALF)
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "NUMBA_CACHE_DIR": str(tmp_path)}

    def begin(kinds):
        command = [sys.executable, str(script), kinds]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)

    both = [begin("i"), begin("f")]
    assert [process.communicate(timeout=300)[0] for process in both] == ["[1.5] 0\n"] * 2
    assert begin("if").communicate(timeout=300)[0] == "[1.5, 1.5] 2\n"


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_a_kernel_that_would_allocate_is_refused():
    @jit
    def refused(n):
        return np.zeros(n).sum()

    @jit_allocating  # a function of its own: the cache would hand out its code for the other
    def allowed(n):
        return np.zeros(n).sum()

    with pytest.raises(numba.core.errors.NumbaError):
        refused(3)
    assert allowed(3) == 0


def test_eight_bytes_at_a_time_are_written_and_read_back_anywhere():
    @jit
    def copy(source, target, at):
        put8(target, at, get8(source, at))

    source = np.arange(250, 266).astype(np.uint8)
    target = np.zeros(16, np.uint8)
    copy(source, target, 3)
    assert target.tolist() == [0] * 3 + source[3:11].tolist() + [0] * 5


def test_importing_leaves_the_callers_numba_settings_alone():
    code = (
        "from numba import config; before = config.CACHE_DIR; import fives_env; "
        "print(config.CACHE_DIR == before)"
    )
    assert run(code, PACKAGE.parent) == "True"


def test_importing_brings_no_heavy_library():
    code = (
        "import sys, fives_env; print([m for m in "
        "('torch', 'pygame', 'rich', 'safetensors') if m in sys.modules])"
    )
    assert run(code, PACKAGE.parent) == "[]"


def test_the_command_starts_without_scipy():
    code = "import sys, fives_env.cli; print('scipy.stats' in sys.modules)"
    assert run(code, PACKAGE.parent) == "False"


def test_two_seeded_runs_are_equal_to_the_byte():
    def digest():
        sums = hashlib.sha256()
        for seed in range(5):
            table, chance = fives_env.Table(seed=seed), random.Random(seed)
            while not table.over:
                table.play(chance.choice(table.legal))
                sums.update(table.state.tobytes())
        return sums.hexdigest()

    assert digest() == digest()
