"""Rows of stores are read and written by names: a number says nothing, and is wrong after the next change."""

import ast
import re
from pathlib import Path

import pytest

STORES = Path("kgsvc/stores")
_IN_A_STATEMENT = re.compile(r"\b(?:row|each|item|member|part|counter|place)\[-?\d")


def _numbered(tree: ast.Module) -> list[str]:
    """Columns of what is called a row, or of a row of what is called rows, by a number."""
    return [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and re.fullmatch(r"row|(?:rows|found)\[.*\]", ast.unparse(node.value))
        and re.fullmatch(r"[-:\d]+", ast.unparse(node.slice))
    ]


@pytest.mark.parametrize("path", sorted(STORES.rglob("*.py")), ids=lambda path: str(path.relative_to(STORES)))
def test_no_row_is_read_by_number(path: Path) -> None:
    text = path.read_text()
    assert _numbered(ast.parse(text)) == []
    assert _IN_A_STATEMENT.findall(text) == []
