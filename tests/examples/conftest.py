"""The examples, loaded as whoever copies them has them."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="session")
def langgraph_node() -> ModuleType:
    spec = importlib.util.spec_from_file_location("langgraph_node", EXAMPLES / "langgraph_node.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # LangGraph looks a state's types up in its module
    spec.loader.exec_module(module)
    return module
