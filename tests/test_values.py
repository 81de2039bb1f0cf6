"""Networks of values: features, the forward pass, players, checkpoints, and search with them."""

import copy
import json
import pickle
import warnings

import numpy as np
import pytest

from fives_env import Rules, Table
from fives_env.arena import evaluate
from fives_env.engine.jit import jit
from fives_env.players import checkpoint, features, make_player, values
from fives_env.players.base import Views
from fives_env.players.network import NetworkPlayer
from fives_env.players.tactician import holdable
from fives_env.players.valuing import ValuePlayer
from fives_env.players.weights import DRAW, NEXT, REPLY, STUCK
from fives_env.tiles import NAMES

SEATS = [{}, {"players": 3}, {"players": 4}, {"players": 4, "teams": True}]


def random_weights(sees="plays", hidden=(24, 12), seed=0):
    rng = np.random.default_rng(seed)
    shapes = values.shapes(features.SEES[sees], *hidden)
    return {k: rng.standard_normal(shape).astype(np.float32) / 4 for k, shape in shapes.items()}


def records_of(rules, n=200, seed=0):
    """Redacted records from all parts of rounds, of seats that have a choice."""
    rng, found = np.random.default_rng(seed), []
    table = Table(rules, seed=seed)
    while len(found) < n:
        if table.over:
            table = Table(rules, seed=int(rng.integers(2**40)))
        if len(table.legal) > 1:
            found.append(table.redact(table.turn))
        table.play(int(rng.choice(table.legal)))
    return np.concatenate(found)


def views_of(rules, records):
    mask = np.zeros((len(records), rules.n_actions), np.bool_)
    for k, record in enumerate(records):
        legal = np.zeros(rules.n_actions, np.int32)
        mask[k, legal[: legal_actions(record, rules.record()[0], legal)]] = True
    obs = np.zeros((len(records), 1), np.uint8)
    return Views(rules, obs, mask, records.copy(), np.zeros(len(records), np.uint64))


def legal_actions(record, r, out):
    from fives_env.engine.turn import legal

    return legal(record, r, out)


@jit
def look(records, rules, k, action, columns, sight):  # type: ignore[no-untyped-def]
    """Lists of the columns of a decision and of one of its actions."""
    near, far = holdable(records[k], rules[0])
    m = features.describe_decision(records[k], rules[0], near, far, columns, sight)
    return m, features.describe(records[k], rules[0], action, near, far, columns, m, sight)


def columns_of(records, rules, k, action, columns=features.PLANES):
    sight = features.new_sight()
    _, m = look(records, rules.record(), k, action, columns, sight)
    row = np.zeros(columns)
    assert len(set(sight.columns[:m].tolist())) == m
    row[sight.columns[:m]] = sight.amounts[:m]
    return row, dict(zip(features.NAMES, sight.scalars.tolist(), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("players") / "duel"
    checkpoint.save(path, random_weights(), Rules(), seed=7)
    return path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("players") / "tiny"
    checkpoint.save(path, random_weights("scalars", (8, 8), 1), Rules())
    return path


class TestFeatures:
    @pytest.mark.parametrize("options", SEATS)
    def test_tell_the_position_after_the_action(self, options):
        """What they say of the layout is what the table says once the action is done."""
        table, rng = Table(seed=4, target=10_000, **options), np.random.default_rng(1)
        for _ in range(60):
            action = int(rng.choice(table.legal))
            seat, record, number = table.turn, table.redact(table.turn), table.round
            before = record.copy()
            row, scalars = columns_of(record, table.rules, 0, action)
            assert record.tobytes() == before.tobytes()
            hand = set(table.hands[seat])
            events = table.play(action)
            points = next(e for e in events if e.do in ("set", "place")).points
            assert scalars["points"] * 5 == pytest.approx(points)
            assert row[features.TILE + action // table.rules.n_ends] == 1
            assert row[features.OWN + len(hand)] == 1
            if table.round == number and not table.over:
                ends = table.to_dict()["ends"]
                shown = [sum(e["value"] == v for e in ends) for v in range(7)]
                assert row[features.ENDS : features.ENDS + 7].tolist() == shown
                assert row[features.REMAINDER + table.total % 5] == 1

    def test_see_nothing_that_is_hidden(self):
        """Columns are the same on the full record and on the redacted one."""
        table = Table(seed=8)
        for _ in range(6):
            for action in table.legal:
                full, shown = table.state.copy(), table.redact(table.turn)
                one, two = (columns_of(r, table.rules, 0, action) for r in (full, shown))
                assert (one[0] == two[0]).all() and one[1] == two[1]
            table.play(table.legal[0])

    def test_are_the_terms_that_the_tactician_weighs(self):
        """Its worth is a sum of them."""
        from fives_env.players import tactician

        @jit
        def worth(records, rules, weights, action, scratch):  # type: ignore[no-untyped-def]
            near, far = holdable(records[0], rules[0])
            return tactician.worth(records[0], rules[0], weights, action, near, far, scratch)

        scratch = np.zeros(200, np.int32)
        table = Table(seed=2)
        for _ in range(8):
            for action in table.legal:
                record = table.redact(table.turn)
                _, x = columns_of(record, table.rules, 0, action)
                for k, expected in (
                    (REPLY, -5 * x["reply"]),
                    (NEXT, 5 * x["next"]),
                    (STUCK, x["stuck"]),
                    (DRAW, 0),
                ):
                    weights = np.zeros(9)
                    weights[k] = 1
                    got = worth(record, table.rules.record(), weights, action, scratch)
                    assert got - 5 * x["points"] == pytest.approx(expected, abs=1e-5)
            table.play(table.legal[-1])


class TestDeclined:
    @pytest.mark.parametrize("options", [*SEATS, {"preset": "fives_and_threes", "draw": "none"}])
    def test_are_the_tiles_that_would_have_scored_more(self, options):
        """Of those in a hand, where nothing is drawn and so each was there all the time."""
        table, rng = Table(**{"draw": "none"} | options, seed=3), np.random.default_rng(3)
        declined: dict[int, set[int]] = {}
        seen, number, found = features.new_sight(), 0, 0
        for _ in range(150):
            if table.over or table.round != number:
                table = Table(table.rules, seed=int(rng.integers(2**40))) if table.over else table
                declined, number = {}, table.round
            look(
                table.redact(table.turn),
                table.rules.record(),
                0,
                table.legal[0],
                features.PLANES,
                seen,
            )
            for seat, hand in enumerate(table.hands):
                held = {tile for tile in range(28) if seat != table.turn and NAMES[tile] in hand}
                got = {tile for tile in held if int(seen.declined[seat]) >> tile & 1}
                assert got == declined.get(seat, set()) & held
                found += len(got)
            points = {a: table.clone().play(a)[0].points for a in table.legal}
            action, seat = int(rng.choice(table.legal)), table.turn
            better = {a // table.rules.n_ends for a in points if points[a] > points[action]}
            declined[seat] = declined.get(seat, set()) | better
            table.play(action)
        assert found > 20


def by_hand(net, row, scalars):
    """The network as it would be written on paper."""
    x = np.array(list(scalars.values()))
    one = x @ net.scalars + net.bias + (row @ net.planes if len(net.planes) else 0)
    two = np.maximum(one, 0) @ net.second + net.second_bias
    return values.UNIT * (np.maximum(two, 0) @ net.last + x @ net.straight + net.offset[0])


class TestPlayer:
    @pytest.mark.parametrize("options", SEATS)
    @pytest.mark.parametrize("sees", features.SEES)
    def test_values_are_the_networks(self, tmp_path, sees, options):
        rules, columns = Rules(**options), features.SEES[sees]
        checkpoint.save(tmp_path / sees, random_weights(sees), Rules())
        player = ValuePlayer(tmp_path / sees)
        records = records_of(rules, 20)
        views = views_of(rules, records)
        for k in range(20):
            actions = np.flatnonzero(views.mask[k])
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(checkpoint, "warn_of_others", lambda *_: None)
                got = player.values(rules, records[k : k + 1], actions)
            for value, action in zip(got, actions, strict=True):
                expected = by_hand(player.net, *columns_of(records, rules, k, int(action), columns))
                assert value == pytest.approx(expected, abs=1e-4)

    def test_layers_as_wide_as_they_come(self, tmp_path):
        """Far more units above 0 than columns."""
        weights, record = random_weights(hidden=(3000, 4)), records_of(Rules(), 1)
        weights["bias"][:] = 50
        checkpoint.save(tmp_path / "wide", weights, Rules())
        player, room = ValuePlayer(tmp_path / "wide", threads=1), 0
        legal = np.flatnonzero(views_of(Rules(), record).mask[0])
        found, net = player.values(Rules(), record, legal), player.net
        for value, action in zip(found.tolist(), legal.tolist(), strict=True):
            row, scalars = columns_of(record, Rules(), 0, action)
            x = np.array([scalars[name] for name in features.NAMES])
            one = row @ net.planes + x @ net.scalars + net.bias
            room = max(room, (one > 0).sum())
            two = np.maximum(np.maximum(one, 0) @ net.second + net.second_bias, 0)
            expected = values.UNIT * (two @ net.last + x @ net.straight + net.offset[0])
            assert value == pytest.approx(expected, rel=1e-3, abs=0.1)
        assert room > features.ROOM

    def test_equals_torch(self, folder):
        torch = pytest.importorskip("torch")
        from training.distill import Network

        network = Network(features.PLANES, (24, 12))
        weights = {k: torch.from_numpy(w) for k, w in random_weights().items()}
        network.load_state_dict(weights)
        player, rules = ValuePlayer(folder), Rules()
        records = records_of(rules, 50)
        for k, mask in enumerate(views_of(rules, records).mask):
            actions = np.flatnonzero(mask)
            rows = [columns_of(records, rules, k, int(action)) for action in actions]
            planes = torch.tensor(np.array([row for row, _ in rows]), dtype=torch.float32)
            scalars = torch.tensor([list(s.values()) for _, s in rows])
            shared, own = planes[:1, : features.TILE], planes[:, features.TILE :]
            owner = torch.zeros(len(actions), dtype=torch.int64)
            with torch.no_grad():
                expected = network(shared, own, scalars, owner).numpy()
            got = player.values(rules, records[k : k + 1], actions) / values.UNIT
            np.testing.assert_allclose(got, expected, atol=1e-5)

    def test_row_depends_on_itself_alone(self, folder):
        """Not on the batch, its order, threads or a copy of the player."""
        rules = Rules()
        records = records_of(rules, 600)
        one, three = ValuePlayer(folder, threads=1), ValuePlayer(folder, threads=3)
        answers = one.act(views_of(rules, records))
        views = views_of(rules, records[::-1])
        assert views.mask[np.arange(600), answers[::-1]].all()
        assert (three.act(views)[::-1] == answers).all()
        assert len(set(answers.tolist())) > 10
        for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            assert (other.act(views_of(rules, records[:9])) == answers[:9]).all()
        alone = [one.act(views_of(rules, records[k : k + 1]))[0] for k in range(9)]
        assert alone == answers[:9].tolist()

    @pytest.mark.parametrize("preset", ["all_fives", "hoyle", "five_up", "fives_and_threes"])
    def test_every_answer_is_legal(self, folder, preset):
        for options in [*SEATS, {"muggins": "any"}, {"draw": "one", "may_draw": True}]:
            rules = Rules(preset, **options)
            views = views_of(rules, records_of(rules, 40))
            with warnings.catch_warnings(record=True) as warned:
                answers = ValuePlayer(folder).act(views)
            assert ["was trained for" in str(w.message) for w in warned] == [True] * (
                rules != Rules()
            )
            assert views.mask[np.arange(40), answers].all()

    def test_specs(self, folder, tiny):
        assert isinstance(make_player(f"network:{folder}"), ValuePlayer)
        assert make_player(f"network:{folder}").name == f"network:{folder}"
        assert make_player(f"tiny:{tiny}").name == f"tiny:{tiny}"
        margins = [evaluate(f"{k}:{tiny}", "greedy", pairs=20).margin for k in ("tiny", "network")]
        assert margins[0] == margins[1] != 0


class TestCheckpoint:
    def test_comes_back_as_it_was(self, folder):
        weights, card = checkpoint.load(folder)
        assert all((w == random_weights()[name]).all() for name, w in weights.items())
        assert (card["architecture"], card["hidden"], card["planes"]) == (
            "values",
            [24, 12],
            features.PLANES,
        )

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"features": 0}, "was trained on version 0 of the features"),
            ({"architecture": "other"}, "architecture is 'other', but must be one of 'logits', "),
            ({"planes": 0}, "do not have the shapes"),
            ({"planes": True}, "does not say how large"),
            ({"hidden": [24]}, "does not say how large"),
            ({"hidden": [24, 13]}, "do not have the shapes"),
        ],
    )
    def test_refusals(self, folder, tmp_path, changes, said):
        weights, _ = checkpoint.load(folder)
        checkpoint.save(tmp_path / "duel", weights, Rules())
        path = tmp_path / "duel" / "card.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
        for make in (ValuePlayer, lambda p: make_player(f"network:{p}")):
            with pytest.raises(ValueError) as error:
                make(tmp_path / "duel")
            assert said in str(error.value) and str(error.value).endswith(".")

    def test_each_player_refuses_the_other_kind(self, folder):
        with pytest.raises(ValueError) as error:
            NetworkPlayer(folder)
        assert "architecture is 'values', but must be 'logits'." in str(error.value)


class TestSearch:
    @pytest.mark.parametrize("options", ["playouts=tiny:TINY", "guide=DUEL,weight=9,depth=2"])
    @pytest.mark.parametrize("seats", [{}, {"players": 3}])
    def test_answers_depend_on_the_view_alone(self, folder, tiny, options, seats):
        rules = Rules(**seats)
        spec = options.replace("TINY", str(tiny)).replace("DUEL", str(folder))
        player = make_player(f"search:worlds=12,{spec}")
        assert player.name == f"search:worlds=12,playouts={spec.removeprefix('playouts=')}" or (
            player.name == f"search:worlds=12,playouts=tactician,{spec}"
        )
        records = records_of(rules, 12)
        views = views_of(rules, records)
        answers = player.act(views_of(rules, records))
        assert views.mask[np.arange(12), answers].all()
        assert player.act(views_of(rules, records[-1:]))[0] == answers[-1]

    def test_a_guide_that_is_trusted_decides(self, folder):
        rules = Rules()
        records = records_of(rules, 30)
        records = records[records["top"] < 24]
        guided = make_player(f"search:worlds=1,guide={folder},weight=1000000")
        answers, expected = (p.act(views_of(rules, records)) for p in (guided, ValuePlayer(folder)))
        assert (answers == expected).mean() > 0.9

    @pytest.mark.parametrize(
        ("spec", "said"),
        [
            ("search:playouts=tiny:", "playouts is 'tiny:', but must be one of 'random', "),
            ("search:playouts=tiny:none", "checkpoint is 'none', but must be a folder"),
            ("search:guide=none", "checkpoint is 'none', but must be a folder"),
            ("search:guide=duel,weight=-1", "weight is '-1', but must be a whole number"),
        ],
    )
    def test_refusals(self, spec, said):
        with pytest.raises(ValueError) as error:
            make_player(spec)
        assert said in str(error.value) and str(error.value).endswith(".")


class TestShipped:
    @pytest.mark.parametrize(
        ("name", "opponent", "least"), [("duel", "tactician", 4), ("tiny", "greedy", 14)]
    )
    def test_is_as_strong_as_its_card_says(self, name, opponent, least):
        assert evaluate(f"network:{name}", opponent, pairs=3000, seed=5).low > least
        said = {result["b"]: result["margin"] for result in checkpoint.load(name)[1]["results"]}
        assert said[opponent] > least

    def test_lies_in_the_repository_and_is_small(self):
        for name, most in (("duel", 2**20), ("table", 2**20), ("tiny", 2**17)):
            assert sum(file.stat().st_size for file in checkpoint.find(name).iterdir()) < most

    @pytest.mark.parametrize("options", SEATS[1:])
    def test_table_is_for_three_four_and_partners(self, options):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = evaluate("network:table", "tactician", pairs=1500, seed=3, **options)
        assert result.low > 0

    def test_guides_a_search(self):
        spec = "search:worlds=24,playouts=network:duel,depth=2,guide=duel"
        assert evaluate(spec, "tactician", pairs=60, seed=2).margin > 3
