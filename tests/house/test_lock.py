"""The locks: exact, hashed, without an index, and enough for what the product uses of Chroma."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest

from tests.house.source import ROOT

LOCKS = ("requirements.lock", "requirements-dev.lock")
LEFT_OUT = re.findall(r"^[a-z][a-z0-9-]*", (ROOT / "requirements/excludes.txt").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_is_exact_hashed_and_names_no_index(lock: str) -> None:
    text = (ROOT / lock).read_text("utf-8")
    _, *entries = re.split(r"\n(?=[a-z])", text)
    assert entries
    assert [entry for entry in entries if not re.match(r"[a-z0-9._-]+==[^\n]+\\\n +--hash=sha256:", entry)] == []
    assert not re.search(r"://|--index|--extra-index|--find-links", text)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_leaves_out_what_chroma_declares_and_nothing_here_uses(lock: str) -> None:
    names = re.findall(r"^([a-z][a-z0-9._-]*)==", (ROOT / lock).read_text("utf-8"), re.MULTILINE)
    assert set(names) & set(LEFT_OUT) == set()
    assert "opentelemetry-exporter-otlp-proto-grpc" in names


def test_the_development_lock_holds_the_other_one() -> None:
    run, dev = (re.findall(r"^[a-z].*==\S+", (ROOT / lock).read_text("utf-8"), re.MULTILINE) for lock in LOCKS)
    assert set(run) - set(dev) == set()


def test_chroma_works_without_what_is_left_out() -> None:
    """Tried where those packages can't be imported, even if this environment has them."""
    modules = {name for name, owners in packages_distributions().items() if {*owners} & {*LEFT_OUT}} | {*LEFT_OUT}
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({sorted(modules)}))\n"
        "import chromadb, chromadb_rust_bindings, chromadb.cli.cli\n"
        "assert chromadb.HttpClient and chromadb_rust_bindings.cli"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)  # noqa: S603 - the text is above
