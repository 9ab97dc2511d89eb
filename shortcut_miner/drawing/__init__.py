"""Boxes and words drawn on images, with Pillow (extra ``images``)."""
