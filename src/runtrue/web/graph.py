"""A workflow as a drawing: its nodes in layers from left to right, and how actions join them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from runtrue.foreign_text import cut

_WIDTH, _HEIGHT = 164, 52
_GAP_X, _GAP_Y, _MARGIN = 44, 22, 14
_MOST_NODES = 200
_LONGEST = 18


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node, where it is drawn."""

    id: str
    type: str
    status: str
    x: float
    y: float

    @property
    def label(self) -> str:
        """Its id, as far as there is room."""
        return cut(self.id, _LONGEST)

    @property
    def caption(self) -> str:
        """Its type, as far as there is room."""
        return cut(self.type, _LONGEST)


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """An edge as the path of a curve, with the action that takes it."""

    path: str
    action: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Graph:
    """A drawing with its size."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    width: float
    height: float
    left_out: int = 0

    node_width: int = _WIDTH
    node_height: int = _HEIGHT


def draw_graph(ir: Mapping[str, Any], statuses: Mapping[str, str] | None = None) -> Graph | None:
    """Return the drawing of a workflow; None for what has no nodes."""
    found = ir.get("nodes")
    every = (
        [n for n in found if isinstance(n, dict) and n.get("id")] if isinstance(found, list) else []
    )
    if not every:
        return None
    nodes = every[:_MOST_NODES]
    ids = [str(node["id"]) for node in nodes]
    edges = [edge for edge in _edges(ir, ids) if edge[0] in ids and edge[1] in ids]
    layers = _layers(ids, edges)
    tallest = max(len(layer) for layer in layers)
    places: dict[str, tuple[float, float]] = {}
    for column, layer in enumerate(layers):
        above = (tallest - len(layer)) * (_HEIGHT + _GAP_Y) / 2
        for row, name in enumerate(layer):
            x = _MARGIN + column * (_WIDTH + _GAP_X)
            places[name] = (x, _MARGIN + above + row * (_HEIGHT + _GAP_Y))
    types = {str(node["id"]): str(node.get("type", "")) for node in nodes}
    known = statuses or {}
    drawn = tuple(
        GraphNode(name, types[name], known.get(name, "planned"), *places[name]) for name in ids
    )
    lines = tuple(_edge(places[a], places[b], action) for a, b, action in edges)
    width = 2 * _MARGIN + len(layers) * _WIDTH + (len(layers) - 1) * _GAP_X
    height = 2 * _MARGIN + tallest * _HEIGHT + (tallest - 1) * _GAP_Y
    back = any(places[a][0] >= places[b][0] for a, b, _ in edges)
    return Graph(drawn, lines, width, height + (30 if back else 0), len(every) - len(nodes))


def _edges(ir: Mapping[str, Any], ids: list[str]) -> list[tuple[str, str, str]]:
    given = ir.get("edges")
    if not isinstance(given, list):
        return [(a, b, "") for a, b in pairwise(ids)]
    found = []
    for edge in given:
        if isinstance(edge, dict):
            action = str(edge.get("action") or "default")
            shown = "" if action == "default" else action
            found.append((str(edge.get("from")), str(edge.get("to")), shown))
    return found


def _layers(ids: list[str], edges: list[tuple[str, str, str]]) -> list[list[str]]:
    """Return the nodes by how far from the start they are; what leads back does not count."""
    order = {name: n for n, name in enumerate(ids)}
    depth = dict.fromkeys(ids, 0)
    forward = [(a, b) for a, b, _ in edges if order[a] < order[b]]
    for a, b in sorted(forward, key=lambda edge: order[edge[0]]):
        depth[b] = max(depth[b], depth[a] + 1)
    layers: dict[int, list[str]] = defaultdict(list)
    for name in ids:
        layers[depth[name]].append(name)
    return [layers[n] for n in sorted(layers)]


def _edge(start: tuple[float, float], end: tuple[float, float], action: str) -> GraphEdge:
    x1, y1 = start[0] + _WIDTH, start[1] + _HEIGHT / 2
    x2, y2 = end[0], end[1] + _HEIGHT / 2
    if x2 > x1:
        bend = (x2 - x1) / 2
        path = f"M{x1:g},{y1:g} C{x1 + bend:g},{y1:g} {x2 - bend:g},{y2:g} {x2 - 5:g},{y2:g}"
        return GraphEdge(path, action, (x1 + x2) / 2, (y1 + y2) / 2 - 6)
    low = max(start[1], end[1]) + _HEIGHT + 18
    x1, y1 = start[0] + _WIDTH / 2, start[1] + _HEIGHT
    x2 = end[0] + _WIDTH / 2
    path = f"M{x1:g},{y1:g} C{x1:g},{low:g} {x2:g},{low:g} {x2:g},{end[1] + _HEIGHT + 5:g}"
    return GraphEdge(path, action, (x1 + x2) / 2, low)
