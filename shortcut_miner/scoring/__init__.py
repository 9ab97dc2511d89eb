"""Models' answers to accuracy, with intervals, and as tables for people."""

from shortcut_miner.scoring.accuracy import score_questions as score_questions
