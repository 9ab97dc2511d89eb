"""Resplit: training and test questions with other answers to the same types. README.md is the room's card."""
