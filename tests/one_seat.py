"""What the tests of the one-seat environments share: a slow reference on Table, and cases."""

from fractions import Fraction

import numpy as np

from fives_env import Rules, Table
from fives_env.engine import batch
from fives_env.engine.deal import players_key
from fives_env.envs.episode import seat_of
from fives_env.envs.versus import SEATS
from fives_env.players import Views, make_player


def first_legal(views):
    return views.mask.argmax(1)


#: Seats, players of both kinds, episodes in which the learner decides nothing, whole games.
CASES = {
    "default": {},
    "partners": {"rules": "muggins", "players": 4, "teams": True, "seat": "rotate"},
    "asked": {"players": 3, "opponents": ["greedy", first_legal], "seat": "random", "tiles": 4},
    "short": {"players": 4, "opponents": "random", "tiles": 1, "seat": 2},
    "games": {"rules": "five_up", "players": 4, "target": 15, "episode": "game"},
}


class Reference:
    """One table, as the documentation describes it."""

    def __init__(self, seed, *, opponents="greedy", seat=0, episode="round", rules=None, **options):
        self.rules = Rules.of(rules, **options)
        self.seed, self.game, self.rule, self.episode = seed, -1, seat, episode
        others = opponents if isinstance(opponents, list) else [opponents] * 3
        self.others = [make_player(player) for player in others]

    def begin(self):
        """Deal games until the learner has a decision."""
        while True:
            self.game += 1
            self.table = Table(self.rules, seed=self.seed, game=self.game, episode=self.episode)
            numbers = np.uint64(self.seed), np.uint64(self.game)
            self.key = np.uint64(players_key(*numbers, 0))
            self.seat = self.rule
            if self.rule == "rotate":
                self.seat = (self.seed + self.game) % self.rules.players
            if self.rule == "random":
                self.seat = seat_of(SEATS["random"], *numbers, self.rules.players)
            self.length, self.paid = 0, Fraction(0)
            self.play_others()
            if not self.table.over:
                return

    def play_others(self):
        table = self.table
        while table.turn not in (None, self.seat):
            key = np.uint64(batch.decision_key(table.state[0], self.key))
            mask, record = table.mask()[None].view(np.bool_), table.redact(table.turn)
            obs = table.observe(table.turn)[None]
            player = self.others[(table.turn - self.seat) % self.rules.players - 1]
            table.play(int(player.act(Views(self.rules, obs, mask, record, np.array([key])))[0]))

    def margin(self):
        scores = self.table.scores[: self.rules.sides]
        own = scores[self.seat % self.rules.sides]
        return own - Fraction(sum(scores) - own, self.rules.sides - 1)

    def step(self, action):
        """Reward and whether the episode has ended."""
        self.table.play(int(action))
        self.length += 1
        self.play_others()
        reward, self.paid = self.margin() - self.paid, self.margin()
        return float(reward), self.table.over

    @property
    def obs(self):
        return self.table.observe(self.seat)

    @property
    def scores(self):
        return self.table.scores[self.seat :] + self.table.scores[: self.seat]


def choose(rng, mask):
    """A random legal action for each row."""
    return (mask * rng.random(mask.shape)).argmax(1)


def close(a, b):
    return np.allclose(a, b, rtol=0, atol=1e-9)


def same(a, b):
    """Equal arrays, numbers and dicts of them."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) and a.dtype == object:
        return all(same(x, y) for x, y in zip(a, b, strict=True))
    kinds = {np.asarray(each).dtype.kind for each in (a, b)}
    return a is b is None or (len(kinds) == 1 and np.array_equal(a, b))
