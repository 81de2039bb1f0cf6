"""A trained player on disk: a folder of weights, a card that describes them, and a README.

``model.safetensors`` holds the weights, ``card.json`` what they are for and where they come from.
The card also holds the SHA-256 of the weights, so that neither a file that was cut short nor the
files of two checkpoints pass for one.
"""

import contextlib
import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as unpack
from safetensors.numpy import save as pack

from fives_env.engine import view
from fives_env.errors import choice, is_whole
from fives_env.players import features, values
from fives_env.rules import Rules

WEIGHTS, CARD, README = "model.safetensors", "card.json", "README.md"

#: What every card says, and its type.
KEYS: dict[str, type] = {
    "encoding": int,
    "players": int,
    "actions": int,
    "observations": int,
    "rules": dict,
    "fingerprint": str,
    "hidden": list,
    "sha256": str,
}

#: Kinds of networks: a logit for each action out of an observation, as :mod:`.network` plays them;
#: or a value of each action by itself, as :mod:`.values` does. A card that names none is the first.
LOGITS, VALUES = ARCHITECTURES = ("logits", "values")

_PACKAGE = Path(__file__).resolve().parent.parent
#: Where shipped checkpoints lie: in a checkout, and in an installed wheel.
SHIPPED = (_PACKAGE.parent / "checkpoints", _PACKAGE / "checkpoints")

Weights = dict[str, NDArray[np.float32]]


def save(
    folder: str | Path, weights: Mapping[str, NDArray[Any]], rules: Rules, **about: Any
) -> dict[str, Any]:
    """Write a checkpoint, with :func:`write`.

    Args:
        folder: Made where it is missing; other files in it stay.
        weights: Those of :class:`.values.Net` by name; or ``layers.K.weight`` (outputs, inputs) and
            ``layers.K.bias`` for each layer, the last with an output for each action and one for
            the value; and ``greed``, a number.
        rules: Rules that the player was trained for.
        **about: More to say on the card: settings, seed, commit, versions; and ``results``, a list
            of what :meth:`fives_env.arena.Result.to_dict` gives.

    Returns:
        The card.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    model = pack({name: np.asarray(w, np.float32, order="C") for name, w in weights.items()})
    card = {
        **_architecture(weights),
        "encoding": view.ENCODING,
        **shapes(rules),
        "rules": rules.to_dict(),
        "fingerprint": rules.fingerprint,
        "sha256": hashlib.sha256(model).hexdigest(),
        **about,
    }
    write(
        {
            folder / README: _readme(folder, rules, card).encode(),
            folder / WEIGHTS: model,
            folder / CARD: (json.dumps(card, indent=1) + "\n").encode(),
        }
    )
    return card


def write(files: Mapping[Path, bytes]) -> None:
    """Write files beside their places and, once all are there, rename them: old or new, not half.

    Raises:
        OSError: One cannot be written; what lay in the places is as it was.
    """
    beside = {path: path.with_name(path.name + ".new") for path in files}
    try:
        for path, data in files.items():
            beside[path].write_bytes(data)
        for path, new in beside.items():
            new.replace(path)
    except OSError:
        for new in beside.values():
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
        raise


def load(folder: str | Path) -> tuple[Weights, dict[str, Any]]:
    """Read a checkpoint.

    Args:
        folder: A folder, or the name of a checkpoint that is shipped with the package.

    Returns:
        The weights by name, and the card.

    Raises:
        ValueError: There is no such checkpoint; a file is missing, cut short or not the one that
            the card describes; or it was made for another encoding of observations.
    """
    found = find(folder)
    card = _read_card(found)
    model = _read(found, WEIGHTS)
    if hashlib.sha256(model).hexdigest() != card["sha256"]:
        raise ValueError(
            f"checkpoint {found}: {WEIGHTS} is not the file that {CARD} describes, but cut short, "
            "changed or from another checkpoint."
        )
    try:
        weights: Weights = unpack(model)
    except SafetensorError as error:
        raise ValueError(f"checkpoint {found}: {WEIGHTS} cannot be read ({error}).") from None
    if {name: w.shape for name, w in weights.items()} != _weights_for(card):
        raise ValueError(
            f"checkpoint {found}: the weights in {WEIGHTS} do not have the shapes that {CARD} says."
        )
    return weights, card


def find(name: str | Path) -> Path:
    """Folder of a checkpoint: the path as given, else one that is shipped.

    Raises:
        ValueError: Neither is there; the sentence lists those that are shipped.
    """
    places = [Path(name), *(place / name for place in SHIPPED)]
    for place in places:
        with contextlib.suppress(OSError):  # a name longer than the system allows
            if (place / CARD).is_file() or (place / WEIGHTS).is_file():
                return place
    shipped = sorted({card.parent.name for place in SHIPPED for card in place.glob(f"*/{CARD}")})
    raise ValueError(
        choice(
            "checkpoint",
            str(name),
            f"a folder with a {CARD}, or one that is shipped: {', '.join(shipped) or 'none is'}",
        )
    )


def check_rules(name: str, trained_for: Rules, rules: Rules) -> None:
    """Refuse to play under rules of other shapes; warn of other rules of the same shapes.

    Raises:
        ValueError: Seats, actions or observations are not those that the player was trained for.
    """
    for (what, own), asked in zip(shapes(trained_for).items(), shapes(rules).values(), strict=True):
        if own != asked:
            raise ValueError(
                f"{name} was trained for {own} {what}, but {rules!r} has {asked}: "
                "it cannot play here."
            )
    warn_of_others(name, [trained_for], rules)


def warn_of_others(name: str, trained_for: Sequence[Rules], rules: Rules) -> None:
    """Warn if a player plays under rules that it was not trained for."""
    if rules not in trained_for:
        known = " and ".join(repr(own) for own in trained_for)
        warnings.warn(f"{name} was trained for {known}, but plays {rules!r}.", stacklevel=4)


def shapes(rules: Rules) -> dict[str, int]:
    """The numbers that a network is built for, as the card names them."""
    return {
        "players": rules.players,
        "actions": rules.n_actions,
        "observations": view.size(rules),
    }


def _architecture(weights: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """What a card says about the kind and the size of a network."""
    if "layers.0.bias" in weights:
        layers = sum(name.endswith(".bias") for name in weights)
        hidden = [len(weights[f"layers.{k}.bias"]) for k in range(layers - 1)]
        return {"architecture": LOGITS, "hidden": hidden}
    return {
        "architecture": VALUES,
        "features": features.VERSION,
        "planes": len(weights["planes"]),
        "hidden": list(weights["second"].shape),
    }


def _weights_for(card: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Shape of each array of weights."""
    if card["architecture"] == VALUES:
        return values.shapes(card["planes"], *card["hidden"])
    sizes = [card["observations"], *card["hidden"], card["actions"] + 1]
    expected: dict[str, tuple[int, ...]] = {"greed": ()}
    for k, (inputs, outputs) in enumerate(pairwise(sizes)):
        expected[f"layers.{k}.weight"] = outputs, inputs
        expected[f"layers.{k}.bias"] = (outputs,)
    return expected


def _read_card(folder: Path) -> dict[str, Any]:
    """The card of a checkpoint that this version of the package can play."""
    try:
        card = json.loads(_read(folder, CARD).decode())
    except (json.JSONDecodeError, UnicodeDecodeError):
        card = None
    if not isinstance(card, dict):
        raise ValueError(f"checkpoint {folder}: {CARD} is cut short or damaged.")
    for key, kind in KEYS.items():
        if not isinstance(card.get(key), kind):
            raise ValueError(
                f"checkpoint {folder}: {key} in {CARD} is {card.get(key)!r}, "
                f"but must be of type {kind.__name__}."
            )
    card.setdefault("architecture", LOGITS)
    if card["architecture"] not in ARCHITECTURES:
        said = choice("architecture", card["architecture"], ARCHITECTURES)
        raise ValueError(f"checkpoint {folder}: {said}")
    if card["architecture"] == VALUES:
        _check_features(folder, card)
    elif card["encoding"] != view.ENCODING:
        raise ValueError(
            f"checkpoint {folder} was trained on encoding {card['encoding']} of observations, but "
            f"this version of fives_env shows encoding {view.ENCODING}: train it again."
        )
    rules = Rules(**card["rules"])
    for key, size in shapes(rules).items():
        if card[key] != size and card["architecture"] == LOGITS:
            raise ValueError(
                f"checkpoint {folder}: {key} in {CARD} is {card[key]}, but its rules have {size}."
            )
    return card


def _check_features(folder: Path, card: Mapping[str, Any]) -> None:
    """Refuse a network of values that sees other features than this version shows."""
    if card.get("features") != features.VERSION:
        raise ValueError(
            f"checkpoint {folder} was trained on version {card.get('features')} of the features, "
            f"but this version of fives_env shows version {features.VERSION}: train it again."
        )
    known = is_whole(card.get("planes")) and card["planes"] in features.SEES.values()
    if not known or len(card["hidden"]) != 2:
        raise ValueError(f"checkpoint {folder}: {CARD} does not say how large the network is.")


def _read(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise ValueError(
            f"checkpoint {folder}: {name} cannot be read ({error.strerror})."
        ) from None


def _readme(folder: Path, rules: Rules, card: Mapping[str, Any]) -> str:
    results = "".join(_told(result) for result in card.get("results", ()))
    also = "".join(f" and `{Rules(**others)!r}`" for others in card.get("also", ()))
    made = ""
    if "command" in card:
        made = f"Made by\n\n    {card['command']}\n\n"
    if "minutes" in card:
        made += (
            f"in {card['minutes']} minutes and {card['decisions']:,} decisions "
            f"on {card.get('machine', 'one machine')}.\n\n"
        )
    return (
        f"# {folder.name}\n\n"
        f"A player of the domino game All Fives: a network with hidden layers of {card['hidden']}\n"
        f"units, trained for `{rules!r}`{also}.\n`{CARD}` says more about it.\n\n{made}"
        f"{results or 'It has not been judged yet.' + chr(10)}"
        f"\n    fives evaluate network:{folder.as_posix()} greedy\n"
    )


def _told(result: Mapping[str, Any]) -> str:
    """A result in words, and the call that gives it."""
    a, b, pairs, seed = (result[name] for name in ("a", "b", "pairs", "seed"))
    return (
        f"- against {b}: {result['margin']:+.2f} points a round, 95 % interval "
        f"{result['low']:+.2f} to {result['high']:+.2f}\n"
        f"  (`evaluate({a!r}, {b!r}, rules={result['rules']}, pairs={pairs}, seed={seed})`)\n"
    )
