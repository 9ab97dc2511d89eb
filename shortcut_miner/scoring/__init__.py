"""Accuracy per question, means with intervals, and their tables."""
