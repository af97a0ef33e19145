"""What was measured as a table in markdown, and its curves as pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.bench.running import LIMIT_MS, Figure, Report

_PROCESSES: Final = ("api", "postgres", "redis", "chroma")


def markdown(report: Report) -> str:
    """Return the tables."""
    wishes = report.wishes
    lines = [
        f"API processes: {wishes.workers}. Each figure is of {wishes.seconds:g} seconds. The ratio is to the",
        "hello at as many connections, in the same run; the processor's time is microseconds for one request.",
        "",
        *_table(report.hello),
        "",
        *_table(report.operations),
    ]
    if report.thinking:
        lines += [
            "",
            f"Users who think (size: asked a second), until p99 passes {LIMIT_MS:g} ms or an answer fails:",
            "",
        ]
        lines += _table(report.thinking)
    for name, figures in ((name, figures) for name, figures in report.growth.items() if figures):
        lines += ["", f"Growth: {name}.", "", *_table(figures)]
    return "\n".join(lines) + "\n"


def draw(report: Report, folder: Path) -> list[Path]:
    """Draw a picture of each curve; none where matplotlib (the extra `bench`) isn't installed."""
    try:
        from matplotlib.figure import Figure as Picture  # noqa: PLC0415 - of an extra
    except ImportError:
        return []
    drawn: list[Path] = []
    for name, figures in report.growth.items():
        if not figures:
            continue
        picture = Picture(figsize=(7, 4), layout="constrained")
        axes = picture.subplots()
        for operation in dict.fromkeys(figure.operation for figure in figures):
            of_it = [figure for figure in figures if figure.operation == operation]
            axes.plot([each.size or 0 for each in of_it], [each.p50_ms for each in of_it], "o-", label=operation)
        sizes = sorted({each.size or 0 for each in figures})
        axes.set(xscale="log", xlabel=name, ylabel="p50, milliseconds", title=f"What it takes, against {name}")
        axes.minorticks_off()
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
        drawn.append(folder / f"growth-{name.replace(' ', '-')}.svg")
        picture.savefig(drawn[-1])
    return drawn


def _table(figures: Sequence[Figure]) -> list[str]:
    sized = any(figure.size is not None for figure in figures)
    head = ["operation", *(["size"] if sized else []), "connections", "a second", "p50 ms", "p95 ms", "p99 ms"]
    head += [f"{name} us" for name in _PROCESSES] + ["ratio", "by processor", "other answers"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for each in figures:
        cells = [each.operation, *([str(each.size)] if sized else []), str(each.connections), f"{each.rate:.0f}"]
        cells += [f"{wait:.1f}" for wait in (each.p50_ms, each.p95_ms, each.p99_ms)]
        cells += [f"{each.cpu_us[name]:.0f}" if name in each.cpu_us else "" for name in _PROCESSES]
        cells += ["" if ratio is None else f"{ratio:.2f}" for ratio in (each.ratio, each.cpu_ratio)]
        cells.append(", ".join(f"{count} x {status}" for status, count in each.others.items()))
        lines.append("| " + " | ".join(cells) + " |")
    return lines
