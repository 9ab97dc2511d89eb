"""The jobs of a search on a GPU: what lies on the device, plans of its memory, launches of kernels."""
