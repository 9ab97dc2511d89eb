"""Reports: one self-contained HTML page about what rooms built and scored, and its charts as files.

:mod:`.charts` turns tables into Vega-Lite charts, :mod:`.rooms` says what a room's page shows, :mod:`.html`
writes it. Everything here needs the extra ``report``.
"""
