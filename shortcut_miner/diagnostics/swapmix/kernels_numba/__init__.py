"""Compiled loops of the SwapMix room: flat arrays in, flat arrays out."""
