"""Every module keeps the house's rules, and every rule finds what breaks it."""

import pytest

from tests.house import rules
from tests.house.source import FOLDERS, ROOT, Rule, findings, parse

EVERYWHERE = [
    rules.short_functions,
    rules.short_modules,
    rules.says_what_it_is_for,
    rules.has_a_name,
    rules.catches_what_it_knows,
    rules.silences_with_a_reason,
]
IN_THE_PROGRAM = [rules.leaves_settings_to_wiring]
IN_THE_APP = [rules.leaves_transactions_to_the_doors]  # migrations run as the owner, past the doors

LONG_FUNCTION = "def f():\n" + "    x = 1\n" * rules.MAX_FUNCTION_LINES

BROKEN = [
    (rules.short_functions, "app/x.py", LONG_FUNCTION),
    (rules.short_functions, "app/x.py", "class A:\n    async " + LONG_FUNCTION.replace("\n ", "\n     ")),
    (rules.short_modules, "app/x.py", "x = 1\n" * (rules.MAX_MODULE_LINES + 1)),
    (rules.says_what_it_is_for, "app/x.py", "x = 1\n"),
    (rules.says_what_it_is_for, "app/x.py", '"""\nToo late.\n"""\n'),
    (rules.has_a_name, "app/core/utils.py", ""),
    (rules.has_a_name, "app/common/ids.py", ""),
    (rules.has_a_name, "app/sessions/window_manager.py", ""),
    (rules.catches_what_it_knows, "app/x.py", "try:\n    f()\nexcept Exception:\n    pass\n"),
    (rules.catches_what_it_knows, "app/x.py", "try:\n    f()\nexcept:\n    raise\n"),
    (rules.catches_what_it_knows, "app/x.py", "try:\n    f()\nexcept (OSError, BaseException) as e:\n    pass\n"),
    (rules.catches_what_it_knows, "app/x.py", "with contextlib.suppress(Exception):\n    f()\n"),
    (
        rules.catches_what_it_knows,
        "app/infra/queue/runner.py",
        "try:\n    f()\nexcept Exception:\n    pass\n" * 2,
    ),
    (rules.leaves_settings_to_wiring, "app/web/x.py", "import os\nx = os.environ['CAIRN_PORT']\n"),
    (rules.leaves_settings_to_wiring, "app/web/x.py", "import os\nx = os.getenv('CAIRN_PORT')\n"),
    (rules.leaves_settings_to_wiring, "app/web/x.py", "from os import environ\n"),
    (rules.leaves_settings_to_wiring, "app/web/x.py", "from app.settings import Settings\n"),
    (rules.leaves_settings_to_wiring, "app/web/x.py", "from app import settings\n"),
    (rules.leaves_transactions_to_the_doors, "app/sessions/store.py", "async def f(c):\n    await c.commit()\n"),
    (rules.leaves_transactions_to_the_doors, "app/sessions/store.py", "with self._engine.begin() as c:\n    pass\n"),
    (rules.leaves_transactions_to_the_doors, "app/sessions/store.py", "with pool.acquire() as c:\n    pass\n"),
    (rules.leaves_transactions_to_the_doors, "app/sessions/store.py", "c = asyncpg.connect(url)\n"),
    (rules.silences_with_a_reason, "app/x.py", "x = 1  # noqa\n"),
    (rules.silences_with_a_reason, "app/x.py", "x = 1  # noqa: E501\n"),
    (rules.silences_with_a_reason, "app/x.py", "x = 1  # type: ignore[arg-type]\n"),
    (rules.silences_with_a_reason, "app/x.py", "x = 1  # type: ignore  # the library is untyped\n"),
]


CASES = [
    *(pytest.param(rule, FOLDERS, id=rule.__name__) for rule in EVERYWHERE),
    *(pytest.param(rule, ("app", "alembic"), id=rule.__name__) for rule in IN_THE_PROGRAM),
    *(pytest.param(rule, ("app",), id=rule.__name__) for rule in IN_THE_APP),
]


@pytest.mark.parametrize(("rule", "folders"), CASES)
def test_every_module_keeps_the_rule(rule: Rule, folders: tuple[str, ...]) -> None:
    assert findings(rule, *folders) == []


@pytest.mark.parametrize(("rule", "path", "text"), BROKEN)
def test_a_rule_finds_what_breaks_it(rule: Rule, path: str, text: str) -> None:
    assert list(rule(parse(path, text)))


def test_every_rule_is_tried_and_every_exemption_is_in_use() -> None:
    assert {rule for rule, _, _ in BROKEN} == {*EVERYWHERE, *IN_THE_PROGRAM, *IN_THE_APP}
    exempt = {*rules.CATCHES_EVERYTHING, *rules.READS_SETTINGS, *rules.OPENS_TRANSACTIONS}
    assert [path for path in sorted(exempt) if not (ROOT / path).exists()] == []


def test_a_reason_or_a_short_function_passes() -> None:
    text = '"""What it is for."""\n\nx = 1  # noqa: E501 - an address can\'t be broken\n'
    assert [finding for rule in EVERYWHERE for finding in rule(parse("app/x.py", text))] == []
