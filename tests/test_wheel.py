"""A built wheel plays where nothing beside it can be written."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLAY = """
import fives_env
from fives_env import Table
table = Table(seed=4)
for _ in range(5):
    table.play(table.legal[0])
print(fives_env.__file__)
print(fives_env.engine.jit.CACHE)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The wheel's contents in a folder where no cache folder can be made."""
    build = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(build), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = build.glob("*.whl")
    site = build / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    assert (site / "fives_env" / "py.typed").exists()
    assert (site / "fives_env" / "checkpoints").is_dir()
    # A file in the folder's place stops even root, whom read-only modes do not.
    (site / "fives_env" / "__pycache__").write_text("")
    return site


def play(site, **env):
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}
    clean |= {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", **env}
    done = subprocess.run(
        [sys.executable, "-c", PLAY], cwd=site.parent, env=clean, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    where, cache = done.stdout.split()
    assert Path(where).is_relative_to(site)
    return Path(cache)


def test_it_plays_and_caches_for_the_user(installed, tmp_path):
    cache = play(installed, XDG_CACHE_HOME=str(tmp_path))
    assert cache.is_relative_to(tmp_path) and list(cache.rglob("*.nbc"))


def test_it_plays_where_nothing_at_all_can_be_kept(installed, tmp_path):
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    assert not play(installed, XDG_CACHE_HOME=str(nowhere)).exists()  # gone with its process
