"""The command line: a thin skin over the library, and the only part of it that prints.

:mod:`.app` has the tree of commands, :mod:`.arguments` checks what was typed, :mod:`.run` turns errors into
messages and exit codes, :mod:`.options` has what all commands share, :mod:`.console` prints, as
:mod:`.layout` lays it out. The other modules hold the commands; they import what is heavy inside their
functions, so that help loads neither Polars nor numba.
"""
