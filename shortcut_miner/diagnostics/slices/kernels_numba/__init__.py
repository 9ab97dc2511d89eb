"""Compiled loops of the slices room: flat arrays in, flat arrays out."""

from pathlib import Path

from shortcut_miner import kernel_cache

# Before the first kernel looks for its cache.
kernel_cache.prepare(Path(__file__).parent)
