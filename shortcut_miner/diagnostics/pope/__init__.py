"""POPE: polling questions about objects that are in an image, or are not. README.md is the room's card."""
