"""Questions with their answers, and values of questions."""
