"""FPVG: which regions of an image a question is about, and whether a model's answer rests on them."""
