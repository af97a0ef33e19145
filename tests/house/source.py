"""The program as text: its modules, parsed, and a rule's findings in them."""

import ast
import io
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("app", "alembic", "tests")


@dataclass(frozen=True)
class Module:
    """One Python file; `path` is relative to the project's root, with forward slashes."""

    path: str
    text: str
    tree: ast.Module

    def found(self, node: ast.AST, what: str) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 1)}: {what}"

    def calls(self) -> Iterator[tuple[ast.Call, str]]:
        """Yield every call with the name it is called by: `a.b.commit()` as `a.b.commit`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield node, ast.unparse(node.func)

    def comments(self) -> Iterator[tuple[int, str]]:
        """Yield every comment with its line."""
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string

    def imports(self) -> Iterator[tuple[ast.AST, str]]:
        """Yield every imported name in full: `from os import environ` as `os.environ`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)


Rule = Callable[[Module], Iterator[str]]


def parse(path: str, text: str) -> Module:
    return Module(path, text, ast.parse(text, path))


@cache
def modules(folder: str) -> list[Module]:
    """Return the modules under a folder of the project."""
    files = sorted((ROOT / folder).rglob("*.py"))
    return [parse(file.relative_to(ROOT).as_posix(), file.read_text("utf-8")) for file in files]


def findings(rule: Rule, *folders: str) -> list[str]:
    return [finding for folder in folders for module in modules(folder) for finding in rule(module)]
