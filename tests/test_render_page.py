"""Score sheets, and a game as a page: all that they hold, and that they need nothing else."""

import json
import re
from html.parser import HTMLParser

from fives_env import Rules
from fives_env.records import play_record
from fives_env.render import sheet
from fives_env.render.page import page
from fives_env.render.svg import svg
from fives_env.replay import moments


def end(hands, events, scores, **options):
    """Plain data of a round's end, as far as a score sheet looks at it."""
    rules = Rules(players=len(hands), **options).to_dict()
    shown = [{"seat": seat, "do": do, "points": points} for seat, do, points in events]
    return {"rules": rules, "hands": hands, "events": shown, "scores": scores}


def test_the_sheet_is_that_of_the_rule_sheet():
    plays = [(0, 10), (1, 5), (2, 10), (0, 0), (1, 20), (2, 15)]
    events = [(seat, "place", points) for seat, points in plays] + [(2, "out", 25)]
    data = end([["6-2"], ["6-6", "1-0"], []], events, [80, 135, 145])
    (row,) = sheet.sheet([data], ["You", "Mara", "Dev"]).rows
    assert [sheet.written(sums) for sums in row.sums] == ["10", "5 + 20", "10 + 15 + 10 + 15"]
    filled = sheet.sheet([data], ["You", "Mara", "Dev"])
    assert filled.start == [70, 110, 95]
    assert sheet.text(filled) == SHEET


SHEET = """\
      Seat 0                  Seat 1                  Seat 2
Round You                     Mara                    Dev
------------------------------------------------------------------------------
                          70                     110                      95
1     10                      5 + 20                  10 + 15 + 10
                          80                     135  + 15               145
"""


def test_awards_in_one_are_written_in_one():
    hands = [["6-2"], ["6-6", "1-0"], []]
    for options, points in (({"rounding": "total"}, 20), ({"out": "one"}, 1), ({"exact": True}, 0)):
        data = end(hands, [(2, "place", 5), (2, "out", points)], [0, 0, 5 + points], **options)
        (row,) = sheet.sheet([data], "abc").rows
        assert row.sums[2] == [5, points][: 2 if points else 1]
    lost = [(0, "out", -10), (1, "out", -15)]
    (row,) = sheet.sheet([end(hands, lost, [-10, -15, 0], out="own")], "abc").rows
    assert [sheet.written(sums) for sums in row.sums] == ["-10", "-15", ""]
    assert sheet.written([5, -5, 10]) == "5 - 5 + 10"


def test_partners_share_a_column():
    data = end(
        [[], ["6-6"], ["1-1"], ["3-2"]], [(2, "place", 5), (0, "out", 15)], [20, 0] * 2, teams=True
    )
    filled = sheet.sheet([data], ["a", "b", "c", "d"])
    assert filled.heads == [("Seats 0 and 2", "a and c"), ("Seats 1 and 3", "b and d")]
    assert filled.rows == [sheet.Row([[5, 10, 5], []], [20, 0])]


# --- pages ----------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Checks that tags nest, and collects links, cells and scripts."""

    VOID = ("meta", "input", "path", "rect")

    def __init__(self):
        super().__init__()
        self.open, self.links, self.script, self.tables = [], 0, "", []

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        self.links += tag == "a"
        for name, value in attributes:
            assert name not in ("src", "srcset", "action", "data")
            assert name != "href" or value.startswith("#")
        if tag == "tr":
            self.tables.append([])
        if tag in ("th", "td"):
            self.tables[-1].append("")

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.script += data
        elif "table" in self.open and data.strip():
            self.tables[-1][-1] += data + " "


def test_a_page_needs_nothing_else():
    record = play_record(["greedy", "random", "greedy"], seed=6, target=100)
    seen = list(moments(record))
    ends = [moment.data for moment in seen if moment.data["turn"] is None]
    html = page("a", "b", "c", seen, sheet.sheet(ends, record["players"]))
    assert set(re.findall(r"\w+:/+[\w.]+", html)) == {"http://www.w3.org"}  # SVG's name
    assert "url(" not in html and "@import" not in html and "import(" not in html
    tags = Tags()
    tags.feed(html)
    assert not tags.open
    assert tags.links == len(seen)
    data = {
        name: json.loads(re.search(rf"const {name} = (.*);\n", tags.script)[1])
        for name in ("lines", "pictures", "starts")
    }
    assert len(data["pictures"]) == len(seen) and len(data["starts"]) == len(record["rounds"])
    for shown, moment in zip(data["pictures"], seen, strict=True):
        assert "\n".join(data["lines"][line] for line in shown) + "\n" == svg(moment.data)
    rows = [[cell.replace("\xa0", " ").strip() for cell in row] for row in tags.tables]
    assert rows[0] == ["", "Seat 0 greedy", "Seat 1 random", "Seat 2 greedy"]
    for number, (row, round_) in enumerate(zip(rows[1:], record["rounds"], strict=True), 1):
        assert row[0] == str(number)
        assert [int(cell.split()[-1]) for cell in row[1:]] == round_["scores"]


def test_a_page_holds_names_as_text():
    record = play_record(["random", "random"], seed=1, episode="round")
    evil = "</script><script>alert('$title')</script>&amp;"
    seen = list(moments(record))
    ends = [moment.data for moment in seen if moment.data["turn"] is None]
    html = page(evil, evil, evil, seen, sheet.sheet(ends, [evil, evil]))
    assert html.count("<script>") == 1 and html.count("</script>") == 1
    assert "alert(&#x27;$title&#x27;)" in html and "&amp;amp;" in html
