"""Models' answers to accuracy, with intervals, and as tables for people."""
