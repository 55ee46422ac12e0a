"""Plots of what the scripts measured, as PNG, for report.py."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from maskbench import AGAIN, FIRST, READY, SHARES
from PIL import Image

__all__ = ["plot_batches", "plot_growth", "plot_quantiles"]

COLOURS = {"constrain": "#c0392b", "llguidance": "#2471a3", "glrmask": "#1e8449", "xgrammar": "#8e44ad"}
LINES = {
    "first": ("new grammar", "#c0392b"),
    "last": ("its last tokens", "#e59866"),
    "again": ("known grammar", "#2471a3"),
}
NINES = (0.0, 0.5, 0.9, 0.99, 0.999)


def _nines(share: Any) -> Any:
    """Where a share of the tokens stands on an axis on which every further nine is as wide."""
    return -np.log10(1 - np.asarray(share))


def plot_quantiles(found: dict[str, dict[str, list[float]]], path: Path) -> None:
    """Per engine, the time that so large a share of the tokens (or schemas) does not exceed."""
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for axis, what in zip(axes, (FIRST, AGAIN, READY), strict=True):
        for engine, curves in found.items():
            if what in curves:
                axis.plot(_nines(SHARES), curves[what], label=engine, color=COLOURS.get(engine), linewidth=1.5)
        axis.set(yscale="log", title=what, xlabel="share of schemas" if what == READY else "share of tokens")
        axis.set_xticks(_nines(NINES), [f"{share:g}" for share in NINES])
        axis.set_xlim(0, 2 if what == READY else float(_nines(SHARES[-1])))
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    _save(figure, path)


def plot_growth(found: dict[str, list[dict[str, Any]]], axes_of: dict[str, str], path: Path) -> None:
    """Per curve, µs a token by size: in a new grammar, for its last tokens, and in a known one."""
    drawn = {name: points for name, points in found.items() if points}
    columns = 5
    rows = -(-len(drawn) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(12, 2 * rows), layout="constrained", squeeze=False)
    for axis in grid.flat[len(drawn) :]:
        axis.set_visible(False)
    for axis, (name, points) in zip(grid.flat, drawn.items(), strict=False):
        sizes = [point["size"] for point in points]
        for key, (label, colour) in LINES.items():
            axis.plot(sizes, [max(point[key], 0.1) for point in points], "o-", label=label, color=colour, markersize=3)
        axis.set(xscale="log", yscale="log", ylim=(1, 30_000))
        axis.set_title(name, fontsize=9)
        axis.set_xlabel(axes_of.get(name, ""), fontsize=7)
        axis.tick_params(labelsize=7)
        axis.grid(alpha=0.3)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    figure.supylabel("µs a token", fontsize=8)
    _save(figure, path)


def plot_batches(found: list[dict[str, Any]], path: Path) -> None:
    """µs a sequence, by way of use, size of the batch and number of threads."""
    ways = list(dict.fromkeys(one["way"] for one in found))
    figure, axes = plt.subplots(1, len(ways), figsize=(9, 2.8), layout="constrained", squeeze=False)
    for axis, way in zip(axes[0], ways, strict=True):
        chosen = [one for one in found if one["way"] == way]
        for k, threads in enumerate(chosen[0]["threads"]):
            heights = [one["means"][k] / one["size"] for one in chosen]
            axis.bar(np.arange(len(chosen)) + 0.35 * k, heights, 0.33, label=f"{threads} thread" + "s" * (threads > 1))
        axis.set_xticks(np.arange(len(chosen)) + 0.17, [str(one["size"]) for one in chosen])
        axis.set(title=way, xlabel="sequences")
        axis.grid(axis="y", alpha=0.3)
    axes[0][0].set_ylabel("µs a sequence")
    axes[0][0].legend(fontsize=8)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    """In few colours, which takes a third of the bytes."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=90, format="png")
    plt.close(figure)
    with Image.open(drawn) as picture:
        picture.convert("RGB").quantize(32).save(path, optimize=True)
