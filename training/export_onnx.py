"""A trained player as an ONNX file, for programs without this package or torch.

A network of values becomes a graph from what an action looks like to what it will bring, a network
of logits one from an observation to all of its actions. The file also says what every column is
called, in what units the outputs are, and for which rules it was trained: see its metadata. It is
kept only if ONNX Runtime gives on decisions from play what torch and the package's own kernels
give::

    python -m training.export_onnx network:duel --file duel.onnx
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from numpy.typing import NDArray

import fives_env
from fives_env.engine import view
from fives_env.envs.self_play import SelfPlay
from fives_env.errors import choice
from fives_env.players import checkpoint, features
from fives_env.players.network import NetworkPlayer
from fives_env.players.values import UNIT, Net, net_of
from fives_env.rules import Rules
from training import distill, labels, policy, ppo
from training.settings import HouseRules

try:
    import onnxruntime
    from onnx import TensorProto, checker, helper, numpy_helper
except ImportError:  # export() says so
    onnxruntime = None

#: Versions that ONNX Runtime has read since 1.12, of 2022: newer ones would bring nothing here.
OPSET, IR = 17, 8
#: Difference from torch and from the kernels that is let pass, as a share of the largest output.
TOLERANCE = 1e-5
#: Tables, and decisions of each, on which a file is checked.
TABLES, TURNS = 64, 32
#: Points by which the actions of a network of values may differ there and yet both be played.
HEAT = 2.0

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Settings:
    """What to export.

    Attributes:
        player: network:PATH, tiny:PATH, or only the PATH: a checkpoint's folder or shipped name.
        file: Where it goes; NAME.onnx in the current folder unless given.
    """

    player: tyro.conf.Positional[str]
    file: str = ""


# --------------------------------------------------------------------------------------- the graphs


class Graph:
    """Nodes and constants, in the order in which they are added."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        """Add an array; its name."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node; its output's name."""
        output = output or f"{operator.lower()}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def points_of(self, column: str, unit: int) -> None:
        """Add the output ``values``, in points, out of a column in other units."""
        flat = self.add("Squeeze", column, self.constant("column", np.array([1])))
        self.add("Mul", flat, self.constant("unit", np.float32(unit)), output="values")

    def model(self, inputs: Arrays, outputs: Arrays, about: Mapping[str, Any]) -> bytes:
        """The graph as a file with metadata; arrays give types and, but for rows, shapes."""

        def described(arrays: Arrays) -> list[Any]:
            return [
                helper.make_tensor_value_info(
                    name, helper.np_dtype_to_tensor_dtype(array.dtype), ["rows", *array.shape[1:]]
                )
                for name, array in arrays.items()
            ]

        name = f"fives_env.{about['architecture']}"
        shapes = described(inputs), described(outputs)
        graph = helper.make_graph(self.nodes, name, *shapes, self.constants)
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR)
        model.producer_name, model.producer_version = "fives_env", fives_env.__version__
        said = {k: v if isinstance(v, str) else json.dumps(v) for k, v in about.items()}
        helper.set_model_props(model, said)
        checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))


def logits_graph(weights: checkpoint.Weights, rules: Rules) -> Graph:
    """:class:`training.policy.Network`, from ``counts`` to ``logits`` and ``values``."""
    graph = Graph()
    counts = graph.add("Cast", "counts", to=TensorProto.FLOAT)
    x = graph.add("Mul", counts, graph.constant("scale", view.scale(rules)))
    last = sum(name.endswith(".bias") for name in weights) - 1
    for k in range(last):
        names = f"layers.{k}.weight", f"layers.{k}.bias"
        layer = [graph.constant(name, weights[name]) for name in names]
        x = graph.add("Relu", graph.add("Gemm", x, *layer, transB=1))
    heads = []
    for head, rows in (("logits", slice(-1)), ("value", slice(-1, None))):
        weight = graph.constant(f"{head}.weight", weights[f"layers.{last}.weight"][rows])
        bias = graph.constant(f"{head}.bias", weights[f"layers.{last}.bias"][rows])
        heads.append(graph.add("Gemm", x, weight, bias, transB=1))
    points = view.fields(rules)["points"]
    ends = {"first": [points.start], "behind": [points.stop], "axis": [1]}
    names = [graph.constant(f"points.{name}", np.array(at)) for name, at in ends.items()]
    greed = graph.constant("greed", weights["greed"])
    bonus = graph.add("Mul", graph.add("Slice", counts, *names), greed)
    beyond = rules.n_actions - (points.stop - points.start)
    bonus = graph.add("Pad", bonus, graph.constant("beyond", np.array([0, 0, 0, beyond])))
    graph.add("Add", heads[0], bonus, output="logits")
    graph.points_of(heads[1], ppo.POINTS)
    return graph


def values_graph(weights: checkpoint.Weights) -> Graph:
    """:class:`training.distill.Network`, from ``planes`` and ``scalars`` to ``values``."""
    graph = Graph()
    columns = {name: weights[name][:, None] for name in ("last", "straight")}
    # In order, since a checkpoint's weights come in any; without planes where it sees none.
    names = {
        name: graph.constant(f"weight.{name}", array)
        for name, array in sorted((weights | columns).items())
        if len(array)
    }
    x = graph.add("Gemm", "scalars", names["scalars"], names["bias"])
    if "planes" in names:
        x = graph.add("Add", x, graph.add("MatMul", "planes", names["planes"]))
    x = graph.add("Gemm", graph.add("Relu", x), names["second"], names["second_bias"])
    x = graph.add("Gemm", graph.add("Relu", x), names["last"], names["offset"])
    x = graph.add("Add", x, graph.add("MatMul", "scalars", names["straight"]))
    graph.points_of(x, UNIT)
    return graph


# ---------------------------------------------------------------------------- decisions to check on


def logits_case(
    folder: Path, weights: checkpoint.Weights, card: Mapping[str, Any]
) -> tuple[Arrays, dict[str, Arrays]]:
    """Inputs from play, and what a network of logits makes of them by torch and by the kernels."""
    player, rules = NetworkPlayer(folder), Rules(**card["rules"])
    game, rows = SelfPlay(TABLES, rules), []
    for _ in range(TURNS):
        rows.append(game.obs.copy())
        game.step(np.where(game.mask, player.forward(game.obs)[0], -np.inf).argmax(1))
    counts = np.concatenate(rows)
    network = policy.Network(rules, card["hidden"])
    network.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    with torch.inference_mode():
        found = {
            "torch": [out.numpy() for out in network(torch.from_numpy(counts))],
            "the kernels": player.forward(counts),
        }
    expected = {
        whom: {"logits": logits, "values": ppo.POINTS * values}
        for whom, (logits, values) in found.items()
    }
    return {"counts": counts}, expected


def _gather(
    worker: distill.Worker, net: Net, turn: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Planes and scalars of the actions of a decision of each table; their values by the kernel."""
    # A teacher's targets are what its kernel makes of each action.
    m = worker.gather(net, net, labels.TEACHER, False, -1, HEAT, turn)
    planes = np.concatenate((worker.shared[worker.owner[:m]], worker.planes[:m]), axis=1)
    return planes, worker.scalars[:m].copy(), worker.targets[:m].copy()


def values_case(
    weights: checkpoint.Weights, card: Mapping[str, Any]
) -> tuple[Arrays, dict[str, Arrays]]:
    """Actions from play, and what a network of values makes of them by torch and by the kernels."""
    net, hidden, rows = net_of(weights), tuple(card["hidden"]), []
    for options in (card["rules"], *card.get("also", ())):
        settings = distill.Settings(
            rules=HouseRules(**options),
            tables=TABLES,
            threads=1,
            hidden=hidden,
            sees=features.SEEN[card["planes"]],
        )
        worker = distill.Worker(settings, 0, net, net)
        rows += [_gather(worker, net, turn) for turn in range(TURNS)]
    planes, scalars, by_kernels = (np.concatenate(part) for part in zip(*rows, strict=True))
    network = distill.Network(card["planes"], hidden)
    network.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    shared, own = planes[:, : features.TILE], planes[:, features.TILE :]
    parts = map(torch.from_numpy, (shared, own, scalars, np.arange(len(planes))))
    with torch.inference_mode():
        by_torch = UNIT * network(*parts).numpy()
    inputs = {"planes": planes, "scalars": scalars} if card["planes"] else {"scalars": scalars}
    return inputs, {"torch": {"values": by_torch}, "the kernels": {"values": by_kernels}}


# ---------------------------------------------------------------------------------------- an export


def describe(card: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says about itself; its columns are [first, behind the last] of each name."""
    also = card.get("also", [])
    about = {
        "architecture": card["architecture"],
        "rules": [card["rules"], *also],
        "checkpoint_sha256": card["sha256"],
    }
    values = "points by which the own side's lead grows until the round ends"
    if card["architecture"] == checkpoint.LOGITS:
        rules = Rules(**card["rules"])
        fields = {name: [part.start, part.stop] for name, part in view.fields(rules).items()}
        return about | {
            "encoding": card["encoding"],
            "columns": {"counts": fields},
            "actions": [rules.action_name(action) for action in range(rules.n_actions)],
            "units": {
                "logits": "log odds; those of illegal actions mean nothing",
                "values": values,
            },
        }
    columns = {"scalars": {name: [k, k + 1] for k, name in enumerate(features.NAMES)}}
    if card["planes"]:
        columns["planes"] = plane_columns(card["planes"])
    units = {"values": f"{values}, if this action is taken"}
    return about | {"features": card["features"], "columns": columns, "units": units}


def plane_columns(count: int) -> dict[str, list[int]]:
    """Columns of the first planes: what :mod:`.features` defines from ``HAND`` to ``PLANES``."""
    names = list(vars(features))
    names = names[names.index("HAND") : names.index("PLANES")]
    firsts = sorted((getattr(features, name), name) for name in names)
    firsts = [(first, name) for first, name in firsts if first < count]
    ends = pairwise([*(first for first, _ in firsts), count])
    return {name.lower(): list(end) for (_, name), end in zip(firsts, ends, strict=True)}


def compare(model: bytes, inputs: Arrays, expected: Mapping[str, Arrays]) -> dict[str, float]:
    """The largest difference from what each expects, as a share of the largest output.

    Raises:
        ValueError: One is above :data:`TOLERANCE`.
    """
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    worst = {}
    for whom, outputs in expected.items():
        found = session.run(list(outputs), inputs)
        worst[whom] = max(
            float(np.abs(one - two).max() / np.abs(two).max())
            for one, two in zip(found, outputs.values(), strict=True)
        )
        if not worst[whom] <= TOLERANCE:
            raise ValueError(
                f"ONNX Runtime's outputs differ from those of {whom} by {worst[whom]:.1e} of the "
                "largest: the file is not kept."
            )
    return worst


def export(settings: Settings) -> str:
    """Write the file, if it holds what it should; a sentence about it.

    Raises:
        ValueError: A package is missing, there is no such checkpoint, the file cannot be written,
            or ONNX Runtime gives something else than torch.
    """
    if onnxruntime is None:
        raise ValueError(
            "the export needs onnx and onnxruntime: install them with "
            "`pip install 'fives-env[onnx]'`."
        )
    kind, _, path = settings.player.partition(":")
    folder = checkpoint.find(path if path and kind in ("network", "tiny") else settings.player)
    file = Path(settings.file or f"{folder.resolve().name}.onnx")
    if file.suffix != ".onnx":
        raise ValueError(choice("file", str(file), "a name that ends in .onnx"))
    weights, card = checkpoint.load(folder)
    if card["architecture"] == checkpoint.LOGITS:
        graph = logits_graph(weights, Rules(**card["rules"]))
        inputs, expected = logits_case(folder, weights, card)
    else:
        graph = values_graph(weights)
        inputs, expected = values_case(weights, card)
    model = graph.model(inputs, expected["torch"], describe(card))
    worst = compare(model, inputs, expected)
    try:
        checkpoint.write({file: model})
    except OSError as error:
        raise ValueError(f"file {str(file)!r} cannot be written: {error.strerror}.") from None
    said = " and ".join(f"{share:.0e} from {whom}" for whom, share in worst.items())
    rows = len(next(iter(inputs.values())))
    return f"Wrote {file}: on {rows:,} rows from play it is {said}, of the largest output."


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the settings and export; 2 if that is refused."""
    settings = tyro.cli(Settings, args=arguments, prog="python -m training.export_onnx")
    try:
        print(export(settings))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
