"""Readers: other people's files in, typed tables out.

Formats are recognised by their content, never by file name. Every reader takes a plain file, a ``.gz``,
a ``.zst`` or a zip's member, and gives a :class:`~shortcut_miner.sources.opening.reading.Reading`.
"""
