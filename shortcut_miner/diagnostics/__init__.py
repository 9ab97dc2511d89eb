"""One room per paper: each builds the paper's dataset and scores models on it."""
