"""How scenes of the demonstration are shown: as tables where `rich` is installed, else as plain text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Column", "Scene", "show"]


@dataclass(frozen=True)
class Column:
    """One reply: what it is, its text, a verdict on it, and a remark."""

    title: str
    text: str
    verdict: str
    good: bool
    note: str = ""


@dataclass(frozen=True)
class Scene:
    """A question with replies side by side. held: whether the constrained one is what it must be."""

    question: str
    columns: Sequence[Column]
    held: bool


def show(scene: Scene) -> None:
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        sys.stdout.write(f"\n{scene.question}\n")
        for one in scene.columns:
            sys.stdout.write(f"\n--- {one.title}\n{one.text}\n[{one.verdict}] {one.note}\n")
        return
    table = Table(title=scene.question, show_lines=True, expand=True)
    for one in scene.columns:
        table.add_column(one.title, ratio=1)
    table.add_row(*(Text(one.text) for one in scene.columns))
    table.add_row(*(Text(one.verdict, style="green" if one.good else "red") for one in scene.columns))
    if any(one.note for one in scene.columns):
        table.add_row(*(Text(one.note) for one in scene.columns))
    Console().print(table)
