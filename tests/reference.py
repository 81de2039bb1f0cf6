"""A slow reference for All Fives, written from the statement of the rules and nothing else.

The layout is a tree of tiles: each has edges, and an edge knows the tile joined to it. Totals,
open ends and counts are worked out afresh from that tree whenever they are asked for.
"""


def halves(name):
    """The two halves of a tile, `(high, low)`."""
    high, low = name.split("-")
    return int(high), int(low)


def nearest(pips):
    """The multiple of five nearest to a number of pips."""
    return 5 * ((pips + 2) // 5)


def rounded(hands, rounding):
    """What hands with these pips are worth together."""
    if rounding == "each":
        return sum(nearest(pips) for pips in hands)
    if rounding == "total":
        return nearest(sum(hands))
    if rounding == "down":
        return 5 * (sum(hands) // 5)
    return sum(hands)


def setting_weight(name):
    """Order of the tiles under `highest_double`: doubles, then pips, then the higher half."""
    high, low = halves(name)
    return high == low, high + low, high


class Edge:
    """A place on a tile where another may be joined: what it shows, its end, what is joined."""

    def __init__(self, value):
        self.value = value
        self.end = None
        self.joined = None


class Tile:
    """A tile on the layout. `long` are the edges of its two halves, `cross` those of a spinner."""

    def __init__(self, name, seat, end, host, spins):
        high, low = halves(name)
        self.name = name
        self.seat = seat
        self.end = end
        self.host = host
        self.is_double = high == low
        self.long = [Edge(low), Edge(high)]
        self.cross = [Edge(high), Edge(high)] if spins else []

    def pips(self):
        """What the tile adds to the total."""
        if self.is_double:
            joined = sum(edge.joined is not None for edge in self.long + self.cross)
            return sum(halves(self.name)) if joined <= 1 else 0
        return sum(edge.value for edge in self.long if edge.joined is None)

    def share(self, edge):
        """What one bare edge adds to it: a double's pips lie on its free long sides."""
        if edge in self.cross:
            return 0
        if self.is_double:
            return self.pips() // sum(each.joined is None for each in self.long)
        return edge.value


class Layout:
    """The tiles played, in playing order, each joined to the one it was laid on."""

    def __init__(self, spinner, arms_open):
        self.spinner = spinner
        self.arms_open = arms_open
        self.tiles = []

    def open_edges(self):
        """The open ends by number: the tile that shows the end, and the edge."""
        found = {}
        for tile in self.tiles:
            edges = tile.long + (tile.cross if self._cross_open(tile) else [])
            found.update({edge.end: (tile, edge) for edge in edges if edge.joined is None})
        return found

    def total(self):
        """The pips that the layout counts."""
        return sum(tile.pips() for tile in self.tiles)

    def place(self, name, seat, end):
        """Lay a tile on an open end, or set it."""
        if not self.tiles:
            tile = Tile(name, seat, end, None, self._spins(name))
            tile.long[0].end, tile.long[1].end = 0, 1
        else:
            host, edge = self.open_edges()[end]
            tile = Tile(name, seat, end, host, self._spins(name))
            near, far = tile.long
            if near.value != edge.value:
                near, far = far, near
            near.joined, edge.joined, far.end = host, tile, end
        self.tiles.append(tile)
        self._number_cross_ends()

    def _spins(self, name):
        high, low = halves(name)
        if high != low or self.spinner == "none":
            return False
        if self.spinner == "set":
            return not self.tiles
        return self.spinner == "all" or not any(tile.is_double for tile in self.tiles)

    def _cross_open(self, tile):
        covered = all(edge.joined is not None for edge in tile.long)
        return covered or self.arms_open == "at_once"

    def _number_cross_ends(self):
        """Give cross ends that have just opened the next free numbers."""
        cross = [edge for tile in self.tiles for edge in tile.cross]
        free = 2 + sum(edge.end is not None for edge in cross)
        for tile in filter(self._cross_open, self.tiles):
            for edge in tile.cross:
                if edge.end is None:
                    edge.end = free
                    free += 1


class Reference:
    """One game, played by the names of actions."""

    def __init__(
        self, options, deal, lot, *, leader=None, scores=None, forced="auto", episode="game"
    ):
        self.options = options
        self.winners = []
        self._seats = range(options["players"])
        self._sides = 2 if options["teams"] else options["players"]
        self._scores = [scores[side] if scores else 0 for side in range(self._sides)]
        self._deal = deal
        self._lot = lot
        self._forced = forced
        self._episode = episode
        self._events = []
        if options["lead"] == "any" and leader is None:
            leader = lot(0)
        self._start_round(0, options["lead"], leader)

    @property
    def scores(self):
        """The score of each seat's side."""
        return [self._scores[self._side(seat)] for seat in self._seats]

    @property
    def total(self):
        """The total of the layout, 0 before the set."""
        return self._layout.total()

    @property
    def ends(self):
        """The open ends, by number."""
        return [
            {"end": end, "tile": tile.name, "value": edge.value, "counts": tile.share(edge)}
            for end, (tile, edge) in sorted(self._layout.open_edges().items())
        ]

    @property
    def hands(self):
        """The tiles that each seat holds."""
        return [sorted(hand) for hand in self._hands]

    @property
    def boneyard(self):
        """The tiles not dealt, in drawing order."""
        return list(self._boneyard)

    @property
    def layout(self):
        """The tiles played, in playing order."""
        index = {None: None} | {tile: i for i, tile in enumerate(self._layout.tiles)}
        return [
            {"tile": tile.name, "seat": tile.seat, "end": tile.end, "on": index[tile.host]}
            for tile in self._layout.tiles
        ]

    def legal(self):
        """The actions open to the seat whose turn it is."""
        if self.phase == "over":
            return set()
        if self.phase == "announce":
            return {"announce", "silent"}
        if self.phase == "call":
            return {"call", "let_go"}
        if not self._layout.tiles:
            hand = self._hands[self.turn] if self._must_set is None else [self._must_set]
            return {f"{name}@0" for name in hand}
        actions = {
            f"{name}@{end}"
            for name in self._hands[self.turn]
            for end, (_, edge) in self._layout.open_edges().items()
            if edge.value in halves(name)
        }
        if self._can_draw() and (not actions or self.options["may_draw"]):
            actions.add("draw")
        return actions or {"pass"}

    def play(self, action):
        """Play an action; the events that happened, with the forced ones that follow."""
        if action not in self.legal():
            raise ValueError(f"{action} is not legal; {sorted(self.legal())} are")
        self._events = []
        self._act(action)
        while self._forced == "auto" and self.legal() in ({"draw"}, {"pass"}):
            self._act(*self.legal())
        return self._events

    def _start_round(self, number, lead, leader):
        """Deal; under `highest_double` the tiles name the leader, whoever was given."""
        size = self.options["tiles"]
        names = list(self._deal(number))
        self._hands = [names[seat * size : (seat + 1) * size] for seat in self._seats]
        self._boneyard = names[len(self._seats) * size :]
        self._layout = Layout(self.options["spinner"], self.options["arms_open"])
        self._must_set = None
        if lead == "highest_double":
            holders = {name: seat for seat in self._seats for name in self._hands[seat]}
            self._must_set = max(holders, key=setting_weight)
            leader = holders[self._must_set]
        self.round = number
        self.leader = leader
        self.passes = 0
        self._start_turn(leader)

    def _start_turn(self, seat):
        self.turn = seat
        self.phase = "play"
        self._has_drawn = False

    def _act(self, action):
        if "@" in action:
            self._place(*action.split("@"))
        elif action == "draw":
            self._draw()
        elif action == "pass":
            self._pass()
        elif action in ("announce", "silent"):
            self._announce(action)
        else:
            self._call(action)

    def _place(self, name, end):
        do = "place" if self._layout.tiles else "set"
        self._mover = self.turn
        self._hands[self._mover].remove(name)
        self._layout.place(name, self._mover, int(end))
        self.passes = 0
        event = self._record(self._mover, do, tile=name, end=int(end))
        if self.options["muggins"] == "off":
            self._pay_mover(event)
        else:
            self.phase = "announce"

    def _draw(self):
        tile = self._boneyard.pop(0)
        self._hands[self.turn].append(tile)
        self._has_drawn = True
        self.passes = 0
        self._record(self.turn, "draw", tile=tile)

    def _pass(self):
        self._record(self.turn, "pass")
        self.passes += 1
        if self.passes == len(self._seats):
            self._settle_block()
        else:
            self._start_turn(self._after(self.turn))

    def _announce(self, action):
        event = self._record(self._mover, action)
        if action == "silent":
            others = sorted(self._losers(self._mover), key=lambda seat: (seat < self._mover, seat))
            self._askable = others[:1] if self.options["muggins"] == "next" else others
            self.phase = "call"
            self.turn = self._askable.pop(0)
        elif self._worth():
            self._pay_mover(event)
        else:
            event["points"] = self._lose_for_false_call(self._mover)
            self._close_placement()

    def _call(self, action):
        event = self._record(self.turn, action)
        if action == "let_go" and self._askable:
            self.turn = self._askable.pop(0)
            return
        if action == "call" and not self._worth():
            event["points"] = self._lose_for_false_call(self.turn)
        elif action == "call" and self.options["muggins_award"] == "take":
            event["points"] = self._award(self.turn, self._worth())
        self._close_placement()

    def _pay_mover(self, event):
        """Award the mover the placement's points, and with them the one for going out."""
        worth = self._worth()
        takes_one = self.options["out"] == "one" and not self._hands[self._mover]
        awarded = self._award(self._mover, worth + takes_one)
        event["points"] = worth if awarded else 0
        if takes_one:
            self._record(self._mover, "out", points=1 if awarded else 0)
        self._close_placement(settled=takes_one)

    def _close_placement(self, settled=False):
        """After the placement's points: test the target, settle, or pass the turn on."""
        if self._is_won():
            return
        if self._hands[self._mover]:
            self._start_turn(self._after(self._mover))
            return
        if not settled:
            self._settle_out(self._mover)
        if not self._is_won():
            self._end_round(self._mover)

    def _settle_out(self, seat):
        losers = self._losers(seat)
        if self.options["out"] == "own":
            for loser in losers:
                self._record(loser, "out", points=self._lose(loser, nearest(self._pips(loser))))
        elif self.options["out"] == "one":
            self._record(seat, "out", points=self._award(seat, 1))
        else:
            points = rounded([self._pips(loser) for loser in losers], self.options["rounding"])
            self._record(seat, "out", points=self._award(seat, self._in_pegs(points)))

    def _settle_block(self):
        block = self.options["block"]
        together = [
            sum(self._pips(seat) for seat in self._seats if self._side(seat) == side)
            for side in range(self._sides)
        ]
        lowest = [seat for seat in self._seats if together[self._side(seat)] == min(together)]
        tied = len({self._side(seat) for seat in lowest}) > 1
        winner = None if tied else min(lowest, key=self._pips)
        if block == "own":
            for seat in self._seats:
                self._record(seat, "blocked", points=self._lose(seat, nearest(self._pips(seat))))
        elif not tied:
            award = self._in_pegs(self._block_points(winner, min(together)))
            self._record(winner, "blocked", points=self._award(winner, award))
        elif block != "none" and self._sides == 3 and len(lowest) == 2:
            award = self._in_pegs(5 * ((max(together) + 5) // 10))
            for seat in lowest:
                self._record(seat, "blocked", points=self._award(seat, award))
        else:
            self._record(None, "blocked")
        if not self._is_won():
            self._end_round(winner)

    def _block_points(self, winner, own):
        """What a block is worth to the one side with the fewest pips, `own` of them."""
        if self.options["block"] == "none":
            return 0
        pips = [self._pips(loser) for loser in self._losers(winner)]
        if self.options["block"] == "difference":
            pips = [sum(pips) - own]
        return rounded(pips, self.options["block_rounding"])

    def _end_round(self, winner):
        """Deal the next round; `winner` is None after a tie for the fewest pips."""
        if self._episode == "round":
            self._stop()
            return
        lead = self.options["next_lead"]
        leader = self._after(self.leader) if lead == "left" else winner
        if lead == "winner" and winner is None:
            leader = self._lot(self.round + 1)
        self._start_round(self.round + 1, lead, leader)

    def _is_won(self):
        """Whether a side has reached the target; if so the game is over."""
        best = max(self._scores)
        if best < self.options["target"]:
            return False
        self.winners = [seat for seat in self._seats if self._scores[self._side(seat)] == best]
        for seat in self.winners:
            self._record(seat, "win")
        self._stop()
        return True

    def _stop(self):
        self.phase = "over"
        self.turn = None

    def _record(self, seat, do, tile=None, end=None, points=0):
        event = {"seat": seat, "do": do, "tile": tile, "end": end, "points": points}
        self._events.append(event)
        return event

    def _worth(self):
        """What the layout's total scores, in pegs."""
        total = self.total
        if self.options["scoring"] == "fives":
            return self._in_pegs(total) if total % 5 == 0 else 0
        return (total // 5 if total % 5 == 0 else 0) + (total // 3 if total % 3 == 0 else 0)

    def _in_pegs(self, points):
        return points // self.options["peg"]

    def _award(self, seat, pegs):
        """Pay a seat's side unless that is void; what it gained."""
        side = self._side(seat)
        if self.options["exact"] and self._scores[side] + pegs > self.options["target"]:
            return 0
        self._scores[side] += pegs
        return pegs

    def _lose(self, seat, points):
        """Charge a seat's side; what it gained, which is never above 0."""
        change = -self._in_pegs(points)
        self._scores[self._side(seat)] += change
        return change

    def _lose_for_false_call(self, seat):
        return self._lose(seat, 5) if self.options["false_call"] == "lose_five" else 0

    def _can_draw(self):
        draw = self.options["draw"]
        if draw == "none" or (draw == "one" and self._has_drawn):
            return False
        return len(self._boneyard) > self.options["reserve"]

    def _pips(self, seat):
        return sum(sum(halves(name)) for name in self._hands[seat])

    def _side(self, seat):
        return seat % self._sides

    def _losers(self, winner):
        """The seats not on the winner's side."""
        return [seat for seat in self._seats if self._side(seat) != self._side(winner)]

    def _after(self, seat):
        return (seat + 1) % len(self._seats)
