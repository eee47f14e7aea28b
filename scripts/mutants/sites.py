"""Drawing mutants: every place in kgsvc where an operator, constant or call could be another, seeded.

Not drawn from: what is generated, logging, `strict=` of zip, annotations
and defaults. A room's order depends on its sites and the seed alone.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Collection, Iterable, Iterator, Sequence

from scripts.mutants.anchors import Place, lines_of, occurrences
from scripts.mutants.table import Mutant

_FLIPPED = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_MOVED = {ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="), ast.GtE: (">", "<")}
_SWAPPED = {"min": "max", "max": "min"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPOUND = (ast.BoolOp, ast.BinOp, ast.IfExp, ast.Compare)
_Node = ast.expr | ast.stmt


def draw(
    known: Sequence[Place], rooms: Iterable[str], seed: int, each: int, without: Collection[str]
) -> list[Mutant]:
    """`each` mutants of every room (a folder of kgsvc). Sites in `without` are passed over: the next of the
    same room's order takes their place."""
    found: list[Mutant] = []
    for room in rooms:
        inside = f"kgsvc.{room.replace('/', '.')}."
        within = [place for place in known if f"{place.module}.".startswith(inside)]
        sites = [site for place in within for site in _sites(place, room)]
        order = random.Random(f"{seed}/{room}").sample(sites, len(sites))
        found += [site for site in order if site.id not in without][:each]
    return found


def _sites(place: Place, room: str) -> Iterator[Mutant]:
    """Mutants of a function, if each one's text can be told from all else in it."""
    if not isinstance(place.node, _FUNCTIONS):
        return
    function = place.text[slice(*place.span)]
    for number, (node, after) in enumerate(_edits(place.node, place.text), 1):
        before = _text_of(node, place.text)
        edit = before, after
        if len(occurrences(before, function)) != 1:  # with all of its lines then
            lines = place.text[slice(*lines_of(node, place.text))]
            if lines.count(before) != 1 or len(occurrences(lines, function)) != 1:
                continue
            edit = lines, lines.replace(before, after).strip()
        name = f"{place.module.removeprefix('kgsvc.')}.{place.name}#{number}"
        yield Mutant(name, room, place.name, " ".join(edit[0].split()), edit[1], [], drawn=True)


def _edits(node: ast.AST, text: str) -> Iterator[tuple[_Node, str]]:
    """What can be changed in a node and all below it, each with the text that takes its place."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "_log")))):
            return
        case ast.JoinedStr() | ast.keyword(arg="strict"):
            return
        case ast.expr() | ast.stmt():
            yield from ((node, after) for after in _instead(node, text))
    for child in node.body if isinstance(node, _FUNCTIONS) else ast.iter_child_nodes(node):
        yield from _edits(child, text)


def _instead(node: _Node, text: str) -> Iterator[str]:
    """What may stand in the place of this very node."""
    match node:
        case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())):
            yield "pass"
        case ast.Compare(ops=[operator], comparators=[other]):
            for sign in _MOVED.get(type(operator)) or [_FLIPPED[type(operator)]]:
                yield f"{_text_of(node.left, text)} {sign} {_text_of(other, text)}"
        case ast.BoolOp(op=operator, values=values):
            word = " or " if isinstance(operator, ast.And) else " and "
            yield f"({word.join(_operand(value, text) for value in values)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _text_of(operand, text)
        case ast.Name(id=name) if name in _SWAPPED:
            yield _SWAPPED[name]
        case ast.BinOp(op=ast.Add() | ast.Sub() as operator, left=one, right=other):
            sign = "-" if isinstance(operator, ast.Add) else "+"
            if not (_is_text(one) or _is_text(other)):  # no more than a TypeError
                yield f"{_operand(one, text)} {sign} {_operand(other, text)}"
        case ast.Constant(value=bool(value)):
            yield str(not value)


def _text_of(node: ast.AST, text: str) -> str:
    return ast.get_source_segment(text, node) or ""


def _operand(node: ast.expr, text: str) -> str:
    return f"({_text_of(node, text)})" if isinstance(node, _COMPOUND) else _text_of(node, text)


def _is_text(node: ast.expr) -> bool:
    """Whether it is a text or a list as it stands."""
    text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return text or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple)
