"""A class name means one thing in the whole service."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.support.spawning import REPOSITORY

# Its classes are called as the tools are that agents see.
TOOLS = Path("kgsvc/cli/agents/arguments.py")


def test_no_class_name_stands_twice() -> None:
    found = defaultdict(list)
    for path in sorted((REPOSITORY / "kgsvc").rglob("*.py")):
        relative = path.relative_to(REPOSITORY)
        if relative == TOOLS or relative.parts[1] == "v1":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(relative))
    assert len(found) > 500
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}
