"""Bad input from every side: one clear sentence, no trace, and nothing changed."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import fives_env
from fives_env import PRESETS, Rules, Table, evaluate, fives_v0
from fives_env.envs.sb3 import SB3VecEnv
from fives_env.envs.self_play import SelfPlay
from fives_env.envs.single import FivesEnv
from fives_env.envs.vector import FivesVectorEnv
from fives_env.players import make_player
from fives_env.players.endgame import EndgamePlayer, solve
from fives_env.players.program import ProgramPlayer
from fives_env.players.search import SearchPlayer, analyse
from fives_env.records import play_record

GRID = np.zeros((2, 40), np.int64)


class Odd:
    """A player whose count of forfeits is none."""

    name, forfeits = "odd", 3

    def act(self, views):
        return np.full(len(views.keys), -1)


def vector():
    made = FivesVectorEnv(2)
    made.reset(seed=1)
    return made


def env(**options):
    made = fives_v0.raw_env()
    made.reset(options=options)
    return made


@pytest.mark.parametrize(
    ("do", "says"),
    [
        # Rules
        (lambda: Rules(players=2.0), "players is 2.0"),
        (lambda: Rules(players=np.array(2.0)), "players is array(2.)"),
        (lambda: Rules(players=GRID), "players is array"),
        (lambda: Rules(tiles=np.array([5])), "tiles is array([5])"),
        (lambda: Rules(self=2), "option is 'self'"),
        (lambda: Rules.of({1: 2}), "option is 1"),
        (lambda: Rules.of({"cls": 2}), "option is 'cls'"),
        (lambda: Rules.of(np.array("pagat")), "rules is array('pagat'"),
        (lambda: Rules("pagat").action("6-6@٣"), "action is '6-6@٣'"),
        (lambda: Rules().action("6-6@00"), "action is '6-6@00'"),
        (lambda: Rules().action("6-6@"), "action is '6-6@'"),
        (lambda: Rules().record(forced=GRID), "forced is array"),
        # Tables
        (lambda: Table(""), "preset is ''"),
        (lambda: Table("pagat", preset="hoyle"), "preset is 'hoyle', but must be left out"),
        (lambda: Table(cls=2), "option is 'cls'"),
        (lambda: Table(deal=np.array(3)), "deal is array(3)"),
        (lambda: Table(deal=np.zeros((28, 2), int)), "tile is [0, 0]"),
        (lambda: Table(scores=np.array(3)), "scores is array(3)"),
        (lambda: Table(scores=GRID), "scores is array([[0, 0, 0"),
        (lambda: Table(leader=np.array(2)), "leader is array(2)"),
        (lambda: Table().observe(np.array([0])), "seat is array([0])"),
        (lambda: Table.from_dict(Table().to_dict() | {"round": 2**32 - 1}), "round is 4294967295"),
        (lambda: Table.from_dict(Table().to_dict(0)), "viewer is 0"),
        (lambda: Table.from_dict(Table().to_dict() | {"ended": "bored"}), "ended is 'bored'"),
        (lambda: Table.from_dict(Table().to_dict() | {"ended": GRID}), "ended is array"),
        # Environments
        (lambda: fives_v0.raw_env(render_mode=GRID), "render_mode is array"),
        (lambda: fives_v0.raw_env(reward=GRID), "reward is array"),
        (lambda: fives_v0.raw_env(mask_in_info=1), "mask_in_info is 1"),
        (lambda: fives_v0.raw_env().last(), "last() needs a game"),
        (lambda: fives_v0.raw_env().observe("player_0"), "observe() needs a game"),
        (lambda: env().observe("x"), "agent is 'x'"),
        (lambda: env().observe(0), "agent is 0"),
        (lambda: fives_v0.raw_env().state(), "state() needs a game"),
        (lambda: env().observation_space("x"), "agent is 'x'"),
        (lambda: env().action_space(None), "agent is None"),
        (lambda: env(deals=[]), "reset option is 'deals'"),
        (lambda: env(leader=GRID), "leader is array"),
        (lambda: fives_v0.raw_env().reset(options=[1]), "options is [1]"),
        (lambda: FivesEnv(render_mode=GRID), "render_mode is array"),
        (lambda: FivesEnv(illegal=GRID), "illegal is array"),
        (lambda: FivesEnv().reset(options=[1]), "options is [1]"),
        (lambda: FivesVectorEnv(2, illegal=GRID), "illegal is array"),
        (lambda: FivesVectorEnv(2, autoreset_mode=GRID), "autoreset_mode is array"),
        (lambda: FivesVectorEnv(2, copy=0), "copy is 0"),
        (lambda: FivesVectorEnv(2, scaled=GRID), "scaled is array"),
        (lambda: FivesVectorEnv(2, statistics=GRID), "statistics is array"),
        (lambda: vector().step([[1], [2, 3]]), "actions is [[1], [2, 3]]"),
        (lambda: vector().step(np.full(2, 2**64 - 1)), "action 9223372036854775807 at table 0"),
        (lambda: vector().reset(options={"reset_mask": [[1], [2, 3]]}), "reset_mask is [[1], [2"),
        (lambda: SB3VecEnv(2, scaled=1), "scaled is 1"),
        (lambda: SelfPlay(0), "number of tables is 0"),
        (lambda: SelfPlay(True), "number of tables is True"),
        (lambda: SelfPlay(2, threads=0), "threads is 0"),
        (lambda: SelfPlay(2, seed="a"), "seed is 'a'"),
        (lambda: SelfPlay(2).step([1, 2, 3]), "actions is [1, 2, 3]"),
        (lambda: SelfPlay(2).step([0.5, 1]), "actions is [0.5, 1]"),
        (lambda: SelfPlay(2).step([True, True]), "actions is [True, True]"),
        (lambda: SelfPlay(2).step(None), "actions is None"),
        (lambda: SelfPlay(2).step([-(10**9)] * 2), "action -1000000000 at table 0 is illegal"),
        (lambda: SelfPlay(2).step([117, 117]), "action 117 at table 0 is illegal; legal: "),
        (lambda: FivesVectorEnv(2).reset(options=[1]), "options is [1]"),
        (lambda: FivesVectorEnv(2).reset(options={"mask": 1}), "reset option is 'mask'"),
        # Players
        (lambda: SearchPlayer(playouts=GRID), "playouts is array"),
        (lambda: SearchPlayer(voids=GRID), "voids is array"),
        (lambda: EndgamePlayer(threads=-3), "threads is -3"),
        (lambda: EndgamePlayer(threads="a"), "threads is 'a'"),
        (lambda: analyse(Table(), key=-1), "key is -1"),
        (lambda: analyse(Table(), key="a"), "key is 'a'"),
        (lambda: analyse("x"), "table is 'x', but must be a Table"),
        (lambda: solve("x"), "table is 'x', but must be a Table"),
        (lambda: solve(Table(), most=2**70), "most is 1180591620717411303424"),
        (lambda: solve(Table(), most="a"), "most is 'a'"),
        (lambda: evaluate(lambda views: 1 / 0, "random", pairs=2), "(ZeroDivisionError: division"),
        (lambda: make_player("python:.x:y"), "player is 'python:.x:y'"),
        (lambda: make_player("python::x"), "player is 'python::x'"),
        (lambda: make_player("python:argparse:Action"), "can be made without arguments (TypeError"),
        (lambda: make_player("python:os:getcwd"), "whose objects have a name and act()"),
        (lambda: make_player("exec:'unbalanced"), "a command line (No closing quotation)"),
        (lambda: make_player("exec: "), "player is 'exec: '"),
        (lambda: make_player("network:" + 5000 * "x"), "checkpoint is 'xxx"),
        (lambda: make_player("network:a\0b"), "checkpoint is 'a"),
        (lambda: evaluate("exec:a\0b", "random", pairs=2), "a program (embedded null byte)"),
        (lambda: ProgramPlayer("true", move_limit=-1), "move limit is -1"),
        (lambda: ProgramPlayer("true", float("nan")), "start limit is nan"),
        (lambda: play_record([Odd(), "random"], seed=1), "player odd chose action -1"),
        (lambda: evaluate(Odd(), "random", pairs=2), "player odd chose action -1"),
        (lambda: evaluate("random", "random", progress=3), "progress is 3"),
        (lambda: evaluate("random", "random", unit=GRID), "unit is array"),
        (lambda: evaluate("random", "random", threads=0), "threads is 0"),
        (lambda: evaluate("random", "random", threads=1.5), "threads is 1.5"),
        (lambda: evaluate("random", "random", threads="2"), "threads is '2'"),
        (lambda: evaluate("random", lambda views: [[1], [2, 3]], pairs=2), "answer of player"),
        (
            lambda: evaluate("random", lambda views: None, pairs=2),
            "is None, but must be 2 whole numbers",
        ),
        (lambda: evaluate("random", lambda views: "no", pairs=2), "is 'no', but must be"),
    ],
)
def test_one_sentence(do, says):
    with pytest.raises(ValueError) as caught:
        do()
    sentence = str(caught.value)
    assert says in sentence and sentence.endswith(".") and "\n" not in sentence


@pytest.mark.parametrize(
    "words",
    [
        ["check-bot", "true", "--move-limit", "-1"],
        ["check-bot", "true", "--move-limit", "nan"],
        ["check-bot", "'"],
        ["evaluate", "python:argparse:Action", "random"],
        ["evaluate", "exec:'", "random"],
        ["evaluate", "random", "greedy", "--rules", ""],
    ],
)
def test_the_command_shows_no_trace(words):
    command = [sys.executable, "-m", "fives_env.cli", *words]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2 and ended.stdout == ""
    assert ended.stderr.startswith("fives: ") and ended.stderr.count("\n") == 1


def test_a_dict_keeps_what_it_says():
    """Tiles and target go with another number of players only where the dict names one."""
    few = {"tiles": 5, "target": 100}
    for players in (2, 3):
        rules = Rules.of(few, players=players)
        assert (rules.players, rules.tiles, rules.target) == (players, 5, 100)
    assert Rules.of({"players": 2, **few}, players=3) == Rules(players=3)
    assert Rules.of(Rules(**few), players=3) == Rules(players=3)
    assert Rules.of(Rules(**few), players=2) == Rules(**few)


def test_a_preset_may_be_named_as_an_option():
    for preset in PRESETS:
        rules = Rules(preset, players=3)
        assert (
            Rules.of(preset=preset, players=3) == Rules.of({"preset": preset}, players=3) == rules
        )
        assert Table(preset=preset, players=3).rules == rules


def test_arrays_are_as_good_as_lists():
    table = Table(seed=1)
    deal = [fives_env.tiles.INDEX[tile] for hand in table.hands for tile in hand]
    deal += [fives_env.tiles.INDEX[tile] for tile in table.boneyard]
    both = [kind(deal) for kind in (list, np.array)]
    assert (
        len(
            {
                str(Table(deal=one, scores=s, leader=0))
                for one in both
                for s in ([5, 9], np.array([5, 9]))
            }
        )
        == 1
    )


def test_a_player_cannot_change_what_is_legal():
    """It is handed copies of its own: what it writes there is refused all the same."""

    def forger(views):
        views.mask[:] = True
        views.records["hands"][:] = (1 << 28) - 1
        views.obs[:] = 255
        views.keys[:] = 0
        return np.full(len(views.keys), views.rules.n_actions - 1)

    for play in (
        lambda: evaluate(forger, "random", pairs=4),
        lambda: FivesEnv(opponents=forger, seat=1).reset(seed=1),
        lambda: FivesVectorEnv(8, opponents=forger).reset(seed=1),
    ):
        with pytest.raises(ValueError, match=r"forger chose action 117, but must choose one of"):
            play()


def test_a_refused_reset_leaves_the_next_game_as_it_was():
    one, other = FivesEnv(), FivesEnv()
    one.reset(seed=3), other.reset(seed=3)
    with pytest.raises(ValueError, match="leader"):
        one.reset(seed=9, options={"leader": 7})
    one.reset(), other.reset()
    assert one.table == other.table


def test_a_scalar_may_come_as_an_array():
    """What ``predict`` of Stable-Baselines3 returns for one observation, for example."""
    one, other = FivesEnv(), fives_v0.env()
    one.reset(seed=1), other.reset(seed=1)
    assert one.action_space.contains(np.array(one.table.legal[0]))
    one.step(np.array(one.table.legal[0]))
    other.step(np.array(other.table.legal[0]))
    assert Table(players=np.array(3), leader=np.array(1), seed=np.array(4)).leader == 1


def test_nobody_can_rewrite_the_rules_of_others():
    record = Rules().record()
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        record.flags.writeable = True


def test_buffers_that_are_handed_out_stay_locked():
    tables = FivesVectorEnv(2, copy=False)
    obs, info = tables.reset(seed=1)
    for array in (obs, info["action_mask"], tables.versus.episodes):
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            array.flags.writeable = True


def test_a_fork_has_threads_of_its_own():
    code = """
import os
from fives_env import evaluate
first = evaluate("greedy", "random", pairs=50, threads=2).margin
child = os.fork()
again = evaluate("greedy", "random", pairs=50, threads=2).margin
if child == 0:
    os._exit(0 if again == first else 3)
print(os.waitpid(child, 0)[1])
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert ended.stdout == "0\n", ended.stderr


def test_a_refused_reset_of_sb3_is_forgotten():
    tables = SB3VecEnv(2)
    tables.seed(-1)
    with pytest.raises(ValueError, match="seed is -1"):
        tables.reset()
    tables.set_options({"deal": 1})
    with pytest.raises(ValueError, match="options is"):
        tables.reset()
    assert tables.reset().shape == (2, *tables.observation_space.shape)


def test_after_a_failure_all_tables_begin_anew():
    answers = iter([None])

    def failing(views):
        return views.mask.argmax(1) if next(answers, 1) else None

    tables = FivesVectorEnv(4, opponents=failing, autoreset_mode="Disabled")
    answers = iter([1])
    tables.reset(seed=1)
    before = tables.versus.episodes["key"].copy()
    answers = iter([None])
    with pytest.raises(ValueError, match="answer of player failing is None"):
        tables.step(tables.versus.mask.argmax(1))
    tables.reset(options={"reset_mask": np.array([True, False, False, False])})
    assert (tables.versus.episodes["key"] != before).all()


@pytest.mark.parametrize("spec", ["search:worlds=4", "endgame"])
def test_environments_with_thinking_opponents_can_be_copied(spec):
    env = FivesEnv(opponents=spec)
    env.reset(seed=3)
    action = env.table.legal[0]
    others = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
    seen = [one.step(action)[0].tobytes() for one in (env, *others)]
    assert len(set(seen)) == 1
    assert others[1]._others[0]._rooms is not env._others[0]._rooms
