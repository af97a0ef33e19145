"""`cairn bench`: how fast the service is on this machine, beside a hello in the same run."""

from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from app.commands.token import make_token

SHORT_S: Final = 0.5
TOKEN_LIFE_S: Final = 12 * 3600
TABLES: Final = click.Path(file_okay=False, path_type=Path)


@click.command("bench")
@click.option("--out", type=TABLES, default=Path("bench"), help="Where it is written.")
@click.option("--seconds", type=float, default=3.0, help="How long each figure is measured.")
@click.option("--workers", type=int, default=1, help="API processes, and the hello's.")
@click.option("--only", multiple=True, help="This operation alone; may come more than once. Then nothing grows.")
@click.option("--short", is_flag=True, help="A few seconds: whether it works, not how fast.")
@click.option("--long", "is_long", is_flag=True, help="Growth up to 10,000 users and messages, and 20,000 chunks.")
def bench(out: Path, seconds: float, workers: int, only: tuple[str, ...], short: bool, is_long: bool) -> None:  # noqa: FBT001 - flags of the command line
    """Measure every operation on servers of its own, and write a table, its JSON, and the curves."""
    # Imported here: no other command needs what makes load.
    from app.bench.report import draw, markdown  # noqa: PLC0415 - as said above
    from app.bench.running import Wishes, run  # noqa: PLC0415 - as said above

    wishes = Wishes(seconds=seconds, workers=workers, only=only)
    if is_long:
        sizes = (100, 1_000, 10_000)
        wishes = replace(wishes, users=sizes, messages=sizes, chunks=(20, 200, 2_000, 20_000))
    if short or only:
        wishes = replace(wishes, thinking_users=0, users=(), messages=(), chunks=())
    if short:
        wishes = replace(wishes, seconds=SHORT_S, connections=(1,), forgotten=2, messages=(10, 20))
    report = run(wishes, click.echo, lambda secret, sub: make_token(secret, sub, "bench", None, None, TOKEN_LIFE_S))
    out.mkdir(parents=True, exist_ok=True)
    (out / "bench.json").write_text(report.to_json(), "utf-8")
    (out / "bench.md").write_text(markdown(report), "utf-8")
    for drawn in draw(report, out):
        click.echo(f"drawn: {drawn}")
    click.echo(markdown(report))
