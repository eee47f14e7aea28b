"""How large a client may be. Lines that hold code count, imports too: none that is blank, comment or
documentation, none of what is generated from the contract."""

import ast
import io
import re
import tokenize
from collections.abc import Callable
from pathlib import Path

import pytest

CLIENTS = Path(__file__).resolve().parents[3] / "clients"
LINES = 1_200
BESIDE_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER
}  # fmt: skip
TEXTS_AND_COMMENTS = re.compile(
    r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`[^`]*`|//[^\n]*|/\*.*?\*/', re.DOTALL
)
Counted = Callable[[str], int]


def of_python(source: str) -> int:
    """Lines of Python that count."""
    beside: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for each in node.body[:1] if ast.get_docstring(node) is not None else []:
                beside.update(range(each.lineno, (each.end_lineno or each.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in BESIDE_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - beside)


def of_braces(source: str) -> int:
    """Lines of Go, TypeScript and Java that count."""
    bare = TEXTS_AND_COMMENTS.sub(lambda found: "" if found[0].startswith(("//", "/*")) else found[0], source)
    return sum(bool(line.strip()) for line in bare.splitlines())


@pytest.mark.parametrize(
    ("count", "source", "lines"),
    [
        (of_python, '"""Says."""\n\nimport a\nfrom b import (\n    c,\n)\n\nx = """\n# 2\n"""  # y\n', 7),
        (
            of_python,
            'def f() -> None:\n    """Says.\n\n    More."""\n    # why\n    g(\n        1,\n    )\n',
            4,
        ),
        (of_braces, 'package a\n\nimport (\n\t"b"\n)\n\n/* c\n d */\nvar x = "// 2" // y\n', 5),
        (of_braces, "import { a,\n  b } from 'c';\nexport * from './d';\nconst e = `\n  /* 2 */\n`;\n", 6),
        (of_braces, "package a;\n\nimport b.C;\n\n/** D. */\nclass E {\n}\n", 4),
    ],
)
def test_what_counts(count: Counted, source: str, lines: int) -> None:
    assert count(source) == lines


@pytest.mark.parametrize(
    ("folder", "ending", "generated", "count"),
    [
        # Adapters to frameworks stand beside the client, and use it as any program would.
        ("python/kgsvc_client", ".py", ("/v1/", "_pb2", "/langgraph.py", "/llama_index.py"), of_python),
        ("go/kgsvc", ".go", ("/v1/", "_test.go"), of_braces),
        ("typescript/src", ".ts", ("/gen/",), of_braces),
        ("java/src/main/java", ".java", (), of_braces),
    ],
    ids=["python", "go", "typescript", "java"],
)
def test_a_client_is_a_thin_layer(
    folder: str, ending: str, generated: tuple[str, ...], count: Counted
) -> None:
    files = [
        path
        for path in sorted((CLIENTS / folder).rglob(f"*{ending}"))
        if not any(part in path.as_posix() for part in generated)
    ]
    assert files
    assert sum(count(path.read_text()) for path in files) <= LINES
