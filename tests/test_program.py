"""Outside programs as players: a good one plays, a hostile one forfeits, and nothing is left."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fives_env import evaluate
from fives_env.players.program import MARK, PATIENCE, ProgramPlayer, _marked

BOT = Path(__file__).parent / "bots" / "plain.py"
READY = "import sys, json, time, os\nprint('{}', flush=True)\nsys.stdin.readline()\n"

#: What a bot does once it is ready, and the kind of its forfeits.
HOSTILE = {
    "silent": ("for line in sys.stdin: pass", "late"),
    "endless": ("while True: print('x' * 1000, end='', flush=True)", "unreadable"),
    "chatter": ("while True: print('{\"id\": -1}', flush=True)", "late"),
    "leaves": ("sys.exit(0)", "crash"),
    "rubbish": ("for line in sys.stdin: print('gibberish', flush=True)", "unreadable"),
    "list": ("for line in sys.stdin: print('[1]', flush=True)", "unreadable"),
    "no id": ('for line in sys.stdin: print(\'{"action": "pass"}\', flush=True)', "unreadable"),
    "deep": ("for line in sys.stdin: print('[' * 50000, flush=True)", "unreadable"),
    "illegal": (
        (
            "for line in sys.stdin:\n"
            "    print(json.dumps({'id': json.loads(line)['id'], 'action': 'call'}), flush=True)"
        ),
        "illegal",
    ),
    "odd": (
        (
            "for line in sys.stdin:\n"
            "    print(json.dumps({'id': json.loads(line)['id'], 'action': ['6-4@0']}), flush=True)"
        ),
        "illegal",
    ),
    "deaf": ("time.sleep(1000)", "late"),
    "forks": (
        (
            "if os.fork():\n    os._exit(0)\nos.setsid()\nif os.fork():\n    os._exit(0)\n"
            "time.sleep(1000)"
        ),
        "late",
    ),
}


def program(tmp_path, code, **limits):
    path = tmp_path / "bot.py"
    path.write_text(code)
    return ProgramPlayer(f"{sys.executable} {path}", **limits)


def left_over():
    """Processes that still carry the mark of any program."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}=".encode() in (folder / "environ").read_bytes():
                found.append(folder.name)
        except OSError:
            pass
    return found


def test_the_example_bot_plays_without_a_fault():
    player = ProgramPlayer(f"{sys.executable} {BOT}")
    result = evaluate(player, "random", pairs=8, players=3)
    assert not player.forfeits and not player.faults
    player.close()

    def heaviest(views):
        pips = np.array([lo + hi for lo in range(7) for hi in range(lo, 7)])
        worth = np.full(views.rules.n_actions, -1)
        worth[: 28 * 4] = np.repeat(pips, 4)
        return np.where(views.mask, worth, -2).argmax(1)

    assert evaluate(heaviest, "random", pairs=8, players=3).margin == result.margin
    assert not left_over()


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_program_forfeits_and_is_gone(kind, tmp_path):
    code, fault = HOSTILE[kind]
    player = program(tmp_path, READY + code, start_limit=20, move_limit=0.3)
    began = time.monotonic()
    evaluate(player, "random", pairs=2)
    assert set(player.forfeits) == {fault, "given up"}
    assert player.forfeits[fault] == PATIENCE == len(player.faults)
    assert all(text.startswith(fault) for text in player.faults)
    player.close()
    assert time.monotonic() - began < 60
    assert not left_over()


@pytest.mark.parametrize("code", ["import time; time.sleep(1000)", "print('no')", "", "exit(3)"])
def test_a_program_that_never_gets_ready(code, tmp_path):
    player = program(tmp_path, code, start_limit=0.5, move_limit=0.3)
    evaluate(player, "random", pairs=2)
    assert sum(player.forfeits.values()) > PATIENCE
    player.close()
    assert not left_over()


def test_a_late_answer_is_not_taken_for_the_next_question(tmp_path):
    code = (
        "slow = True\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    time.sleep(2 if slow else 0)\n"
        "    slow = False\n"
        "    print(json.dumps({'id': m['id'], 'action': m['legal'][0]}), flush=True)\n"
    )
    player = program(tmp_path, READY + code, start_limit=20, move_limit=1.2)
    evaluate(player, "random", pairs=2)
    player.close()
    assert set(player.forfeits) == {"late"} and player.forfeits["late"] <= 2


def test_no_such_program():
    with pytest.raises(ValueError, match=r"player is 'exec:\./nowhere', but must be a program"):
        evaluate(ProgramPlayer("./nowhere"), "random", pairs=2)


def test_the_mark_finds_a_process_that_left_its_group():
    with subprocess.Popen(
        ["sleep", "100"], env={MARK: "abc", "PATH": "/usr/bin:/bin"}, start_new_session=True
    ) as child:
        time.sleep(0.2)
        assert _marked("abc") == [child.pid]
        child.kill()
