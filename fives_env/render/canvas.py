"""A sheet of characters on which boxes share their borders."""

#: The character for the lines that meet in it, by weight (0 none, 1 light, 2 heavy) upwards plus
#: 3 times that to the right, 9 times downwards, 27 times to the left.
LINES = " ╵╹╶└┖╺┕┗╷│╿┌├┞┍┝┡╻╽┃┎┟┠┏┢┣╴┘┚─┴┸╼┶┺┐┤┦┬┼╀┮┾╄┒┧┨┰╁╂┲╆╊╸┙┛╾┵┹━┷┻┑┥┩┭┽╃┯┿╇┓┪┫┱╅╉┳╈╋"
_UP, _RIGHT, _DOWN, _LEFT = 1, 3, 9, 27

#: Escape sequences for the styles of a character.
STYLES = {
    "bold": "\x1b[1m",
    "dim": "\x1b[2m",
    "gold": "\x1b[1;33m",
}
PLAIN = "\x1b[0m"


def styled(text: str, style: str, colour: bool) -> str:
    """Text in a style, if there is to be colour."""
    return f"{STYLES[style]}{text}{PLAIN}" if colour else text


class Canvas:
    """A sheet of the given numbers of columns and rows."""

    def __init__(self, columns: int, rows: int) -> None:
        self._lines = [[0] * columns for _ in range(rows)]
        self._letters: list[list[str]] = [[""] * columns for _ in range(rows)]
        self._styles: list[list[str]] = [[""] * columns for _ in range(rows)]

    def box(self, left: int, top: int, right: int, bottom: int, weight: int, style: str) -> None:
        """The border of a rectangle."""
        self.line(left, top, right, top, weight, style)
        self.line(left, bottom, right, bottom, weight, style)
        self.line(left, top, left, bottom, weight, style)
        self.line(right, top, right, bottom, weight, style)

    def line(self, x: int, y: int, to_x: int, to_y: int, weight: int, style: str) -> None:
        """A line to the right or down; where it meets others, the heavier one wins."""
        across = y == to_y
        ahead, behind = (_RIGHT, _LEFT) if across else (_DOWN, _UP)
        for i in range((to_x - x) + (to_y - y) + 1):
            column, row = (x + i, y) if across else (x, y + i)
            if i < (to_x - x) + (to_y - y):
                self._add(column, row, ahead, weight)
            if i:
                self._add(column, row, behind, weight)
            if style:
                self._styles[row][column] = style

    def _add(self, column: int, row: int, direction: int, weight: int) -> None:
        before = self._lines[row][column]
        self._lines[row][column] += max(0, weight - before // direction % 3) * direction

    def write(self, x: int, y: int, text: str, style: str) -> None:
        """Text whose middle is at column ``x``."""
        for i, letter in enumerate(text, x - len(text) // 2):
            self._letters[y][i] = letter
            self._styles[y][i] = style

    def rows(self, colour: bool) -> list[str]:
        """The lines of the sheet, with nothing at their ends."""
        return [self._row(y, colour) for y in range(len(self._lines))]

    def _row(self, y: int, colour: bool) -> str:
        cells = [
            letter or LINES[lines]
            for letter, lines in zip(self._letters[y], self._lines[y], strict=True)
        ]
        while cells and cells[-1] == " ":
            cells.pop()
        if not colour:
            return "".join(cells)
        runs: list[tuple[str, str]] = []
        for cell, style in zip(cells, self._styles[y], strict=False):
            if runs and runs[-1][1] == style:
                runs[-1] = runs[-1][0] + cell, style
            else:
                runs.append((cell, style))
        return "".join(styled(run, style, style != "") for run, style in runs)
