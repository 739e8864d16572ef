"""The learning curve as an SVG picture, drawn by hand: no plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Band = Sequence[tuple[float, float, float]]  # mean, least, most, for each task in order
WIDTH, HEIGHT = 360, 240
LEFT, TOP, RIGHT, BOTTOM = 46, 34, 10, 38
WITH, WITHOUT, INK, GRID = "#1f6feb", "#9a6700", "#57606a", "#d0d7de"


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram: what the y axis says, its greatest value, the curves with memory and without. `held`: the number of the task
    from which on all members are held out.
    """

    title: str
    top: float
    with_memory: Band
    without: Band
    held: int
    percent: bool = False


def svg(panels: Sequence[Panel], caption: str) -> str:
    """The diagrams side by side."""
    width = WIDTH * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + 22}" width="{width}" height="{HEIGHT + 22}" '
        'font-family="sans-serif" font-size="11" role="img">',
        f"<title>{caption}</title>",
        f'<rect width="{width}" height="{HEIGHT + 22}" fill="#ffffff"/>',
    ]
    for n, panel in enumerate(panels):
        parts.append(f'<g transform="translate({n * WIDTH} 0)">{_panel(panel)}</g>')
    parts.append(_legend(width))
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel) -> str:
    count = max(2, len(panel.with_memory))

    def x(task: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * task / (count - 1)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(value, panel.top) / panel.top

    out = [f'<text x="{LEFT}" y="18" fill="{INK}" font-weight="bold">{panel.title}</text>']
    for k in range(5):
        value = panel.top * k / 4
        said = f"{value:.0%}" if panel.percent else f"{value:g}"
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="{GRID}"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end" fill="{INK}">{said}</text>')
    for i in range(0, count, 50):
        out.append(f'<text x="{x(i):.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle" fill="{INK}">{i}</text>')
    out.append(f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 6}" text-anchor="middle" fill="{INK}">tasks</text>')
    at = x(min(panel.held, count - 1))
    out.append(
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="{INK}" stroke-dasharray="3 3"/>'
    )
    out.append(f'<text x="{at + 4:.1f}" y="{TOP + 10}" fill="{INK}">held out</text>')
    for band, colour in ((panel.without, WITHOUT), (panel.with_memory, WITH)):
        around = [(x(i), y(most)) for i, (_, _, most) in enumerate(band)]
        around += [(x(i), y(least)) for i, (_, least, _) in reversed([*enumerate(band)])]
        out.append(f'<polygon points="{_points(around)}" fill="{colour}" fill-opacity="0.15"/>')
        line = [(x(i), y(middle)) for i, (middle, _, _) in enumerate(band)]
        out.append(f'<polyline points="{_points(line)}" fill="none" stroke="{colour}" stroke-width="2"/>')
    return "".join(out)


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _legend(width: int) -> str:
    out, at = [], width / 2 - 110
    for name, colour in (("with memory", WITH), ("without", WITHOUT)):
        out.append(
            f'<line x1="{at:.0f}" x2="{at + 18:.0f}" y1="{HEIGHT + 8}" y2="{HEIGHT + 8}" stroke="{colour}" stroke-width="2"/>'
        )
        out.append(f'<text x="{at + 24:.0f}" y="{HEIGHT + 12}" fill="{INK}">{name}</text>')
        at += 130
    return "".join(out)
