"""The shape of the code: sizes and names that keep it readable."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
FORBIDDEN = {"utils", "helpers", "common", "services", "base", "manager", "misc"}
FILES = sorted(
    path
    for folder in ("mailsearch", "agentic", "tests", "bench")
    for path in (PROJECT / folder).rglob("*.py")
    if "migrations" not in path.parts
)
NESTING = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _depth(node: ast.AST, depth: int = 0) -> int:
    deepest = depth
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        # `elif` is an If in its parent's orelse: the same depth as the `if`.
        chained = isinstance(node, ast.If) and isinstance(child, ast.If) and child in node.orelse
        deeper = depth + (isinstance(child, NESTING) and not chained)
        deepest = max(deepest, _depth(child, deeper))
    return deepest


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_a_file_is_small_and_has_a_telling_name(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400
    assert path.stem not in FORBIDDEN
    long = [node.name for node in _functions(path) if (node.end_lineno or 0) - node.lineno + 1 > 50]
    assert long == []
    deep = [node.name for node in _functions(path) if _depth(node) > 3]
    assert deep == []
