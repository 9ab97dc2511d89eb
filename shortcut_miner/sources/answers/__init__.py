"""Models' answers, and the weights that answers are scored with."""
