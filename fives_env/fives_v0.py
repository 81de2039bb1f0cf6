"""All Fives (Muggins), the domino game, for PettingZoo.

| Import             | `from fives_env import fives_v0`                              |
|--------------------|---------------------------------------------------------------|
| Actions            | Discrete                                                      |
| Parallel API       | No                                                            |
| Manual Control     | No                                                            |
| Agents             | `agents = ['player_0', 'player_1']`, up to `player_3`         |
| Number of agents   | 2, 3 or 4                                                     |
| Action Shape       | `()`                                                          |
| Action Values      | `Discrete(118)`; 62 without a spinner, 454 with all doubles   |
| Observation Shape  | `(353,)`; see below                                           |
| Observation Values | `[0, 1]`                                                      |

Players lay dominoes on the open ends of a layout. Whenever the ends add up to a multiple of five,
who laid the last tile scores that total; who goes out first scores what the others still hold.
Rounds follow each other until a side reaches the target (250 points for two players). A player who
cannot place draws from the boneyard until a tile fits, and passes when it is empty. Hands are
hidden, deals are chance, almost any placement can score, and a game for two takes some hundred
decisions.

```python
from fives_env import fives_v0

env = fives_v0.env(render_mode="ansi")
env.reset(seed=42)

for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    if termination or truncation:
        action = None
    else:
        # this is where you would insert your policy
        action = env.action_space(agent).sample(observation["action_mask"])
    env.step(action)

print(env.render())
env.close()
```

`raw_env` is the environment itself; `env` puts PettingZoo's `AssertOutOfBoundsWrapper` and
`OrderEnforcingWrapper` around it. Where PettingZoo has a registry (1.27), importing `fives_env` or
this module also makes `pettingzoo.make("aec", "fives_env/fives-v0")` work, with the same arguments.

## Arguments

```python
from fives_env import fives_v0

fives_v0.env("all_fives", players=3, target=100, reward="margin")
```

| argument       | values, default first           | meaning                                   |
|----------------|---------------------------------|-------------------------------------------|
| `rules`        | `"all_fives"`, any preset       | house rules; a `Rules` or a dict as well  |
| rules' options | `players=2`, `target=250` ...   | instead of the preset's                   |
| `episode`      | `"game"`, `"round"`             | rounds up to the target, or one           |
| `reward`       | `"points"`, `"margin"`, `"win"` | see Rewards                               |
| `forced`       | `"auto"`, `"act"`               | forced draws and passes: played, or actions |
| `mask_in_info` | `False`, `True`                 | put the action mask into `infos` too      |
| `render_mode`  | `None`, `"human"`, `"rgb_array"`, `"ansi"` | a window, pixels, or text      |

The presets are `all_fives`, `pagat`, `muggins`, `hoyle`, `five_up`, `fives_and_threes` and
`cribbage`; `fives_env.Rules` describes every option. A value that is not allowed is refused by a
`ValueError` that says what is.

`reset(seed, options)`: with a seed, a whole number in [0, 2**63), game 0 of that seed is dealt;
without, the next game of the same seed (of one from the system, if none was ever given). All deals
follow from the seed, whatever is played. `options` may hold `deal` (tiles by name or number: seat
0's hand, seat 1's, ..., then the boneyard in drawing order) and `leader`, both for the first round,
and `scores` (by seat, below the target, equal for partners).

## Observation Space

A dict of `observation`, float32 in [0, 1], and `action_mask`, int8: 1 for each legal action of the
agent on turn, and all zeros for every other agent and after the end. `observe` answers at any time
and for any agent.

The observation is a vector of counts, each divided by the largest that it can be. With P players
and E ends that an action can name (2 for `spinner="none"`, 4 for `"set"` and `"first"`, 16 for
`"all"`) it has 123 + 43 P + 36 E numbers: 353 for two players and four ends, for which the table
gives index and size. Seats are relative: 0 is the observer, 1 the next to play. Tiles are in the
order 0-0 0-1 ... 0-6 1-1 ... 6-6. `fives_env.engine.view.fields(rules)` gives the slices for any
rules.

| field        | index   | size       | counts | meaning                                        |
|--------------|---------|------------|--------|------------------------------------------------|
| `hand`       | 0:28    | 28         | 0-1    | tiles held by the observer                     |
| `unseen`     | 28:56   | 28         | 0-1    | tiles in other hands or the boneyard           |
| `laid`       | 56:112  | 56 = 28 P  | 0-1    | tiles played, by seat                          |
| `points`     | 112:224 | 112 = 28 E | 0-40   | points that each placement would score now [1] |
| `end_value`  | 224:252 | 28 = 7 E   | 0-1    | pips that each end shows, one-hot [2]          |
| `end_counts` | 252:256 | 4 = E      | 0-12   | pips that each end counts [3]                  |
| `total`      | 256:257 | 1          | 0-40   | pips that the ends count together [1]          |
| `spinner`    | 257:264 | 7          | 0-5    | the spinner and the tiles joined to it [4]     |
| `boneyard`   | 264:265 | 1          | 0-28   | tiles in the boneyard                          |
| `held`       | 265:267 | 2 = P      | 0-28   | tiles in each seat's hand                      |
| `cap`        | 267:283 | 16 = 8 P   | 0-7    | most tiles of a suit that a seat can hold [5]  |
| `barred`     | 283:311 | 28         | 0-1    | tiles that a forced lead showed to be in no hand |
| `to_go`      | 311:313 | 2 = P      | 0-255  | what each seat's side lacks to the target [6]  |
| `far`        | 313:315 | 2 = P      | 0-255  | the same beyond 255, in steps of 64 [6]        |
| `partner`    | 315:317 | 2 = P      | 0-1    | whether each seat is the observer's partner    |
| `leader`     | 317:319 | 2 = P      | 0-1    | who leads this round, one-hot                  |
| `turn`       | 319:321 | 2 = P      | 0-1    | whose turn it is, one-hot; zeros after the end |
| `mover`      | 321:323 | 2 = P      | 0-1    | who placed last, one-hot; zeros before the set |
| `phase`      | 323:327 | 4          | 0-1    | play, announce, call or over, one-hot          |
| `drew`       | 327:328 | 1          | 0-1    | whether the seat on turn drew this turn        |
| `passes`     | 328:329 | 1          | 0-4    | passes running                                 |
| `rules`      | 329:353 | 24         | 0-255  | the house rules [7]                            |

1. `points` is by action number, and all zeros unless the observer is to play. With 16 ends `points`
   and `total` go up to 100. Under muggins both are zeros: the sum is the player's to do.
2. All zeros for an end that is not open.
3. As shared out by the rules; zeros under muggins. A bare cross side of a spinner counts nothing.
4. At the spinner's value, one more than the tiles joined to it; with 16 ends, of every double
   played.
5. For each seat, what everybody can know: at most so many tiles of the suits 0 to 6 (0 for a suit
   that it has shown to lack), and of the tiles in `barred`.
6. In points, or pegs with `peg=5`. `to_go` is exact up to 255 and stays there; `far` is rounded up.
7. Each over the largest it can be: tiles dealt to a hand, highest, spinner, arms_open, lead,
   next_lead, draw, reserve, may_draw, peg, scoring, teams, out, rounding, block, target up to 255,
   the target beyond 255 in steps of 64, exact, muggins, muggins_award, false_call, forced, episode,
   block_rounding.

`state()` is the observations of all seats in one vector, seat 0's first (`state_space`), for
critics that may see all hands. It leaves out the order of the boneyard, and under muggins the sums.

## Action Space

With E ends as above, action `tile * E + end` lays a tile on an end; the set goes to end 0. Ends 0
and 1 are left and right of the set, 2 and 3 the cross sides of the spinner; with every double
spinning, new ends take the next free number. Six more actions follow:

| action       | E = 4 | when it is legal                                                         |
|--------------|-------|--------------------------------------------------------------------------|
| placements   | 0-111 | a tile in hand fits the end                                              |
| `draw`       | 112   | `forced="act"` and nothing fits, or the rules let a player draw at will  |
| `pass`       | 113   | `forced="act"`, and nothing fits and there is nothing to draw            |
| `announce`   | 114   | muggins: right after one's own placement, to claim its points            |
| `silent`     | 115   | muggins: not to                                                          |
| `call`       | 116   | muggins: after another's silence, to claim what was left                 |
| `let_go`     | 117   | muggins: not to                                                          |

`env.table.rules.action_name(33)` is `"2-1@1"`, and `.action("2-1@1")` is 33. `env.table` is the
`fives_env.Table` in play: its rules, scores, events and layout are there to be looked at.

An illegal action raises `fives_env.IllegalAction` and changes nothing: another can be given. (An
action outside of the space fails the assertion of PettingZoo's wrapper in `env`.)

## Rewards

Every step gives every agent a reward, a Python float: what the step changed. Partners get the same.

| `reward`   | paid                                                                               |
|------------|------------------------------------------------------------------------------------|
| `"points"` | points (pegs with `peg=5`) that the agent's side was awarded, less what it lost    |
| `"margin"` | that, less the mean of the other sides': sums to zero                              |
| `"win"`    | at the end, +1 to the winner's side and -1 / (sides - 1) to the others; else 0     |

A settlement pays agents that were not on turn, so use `last()` (the sum since the agent's last
step) or add up `rewards`. Margins of four sides hold thirds, which are paid in multiples of 2**-36;
so margins add up without an error, over agents to 0 and over steps to the final margin. Where sides
share a win, each has its share of the one win, and everybody is paid that less the mean of the
others' shares: two sides sharing get 0 each, two of three 1/4 each and the third -1/2. With
`episode="round"` the highest score wins if nobody has reached the target.

All agents terminate at the same step, the last of the game (or round). Nothing truncates:
where scores can fall (`out="own"`, `false_call="lose_five"`), careless players may go on for ever.

## Info

`infos` holds an empty dict for each agent; with `mask_in_info=True`, always and only `action_mask`,
equal to the one in the agent's observation.

## Copies

`copy`, `deepcopy` and `pickle` of either environment keep the game in progress, and the copy goes
on as the original would, resets without a seed included. For a search, `env.table.clone()` is
cheaper.

## Version History

* v0: first release (`fives_env` 0.1.0)
"""

from typing import Any

from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper

from fives_env.envs import register_aec
from fives_env.envs.aec import Ordered, RawEnv

__all__ = ["env", "raw_env"]


def raw_env(*args: Any, **kwargs: Any) -> RawEnv:
    """The environment without wrappers; its arguments are described above."""
    return RawEnv(*args, **kwargs)


def env(*args: Any, **kwargs: Any) -> Ordered:
    """The environment under PettingZoo's wrappers; its arguments are described above."""
    return Ordered(AssertOutOfBoundsWrapper(RawEnv(*args, **kwargs)))


register_aec()
