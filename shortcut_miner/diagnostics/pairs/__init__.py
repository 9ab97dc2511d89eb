"""Pairs: the same shortcut, right once and wrong once, and 2 x 2 groups. README.md is the room's card."""
