"""SwapMix (Gupta et al., CVPR 2022): plans of context swaps, and how much a model leans on context."""
