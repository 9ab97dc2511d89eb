"""Whether a file has the format that it is asked for.

What else it is :mod:`.recognise` says, which loads the formats of all families. That takes longer than to
read a small file, and is done for one that has none of those asked for.
"""

from collections.abc import Collection, Sequence

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.kinds import RIGHT_FILE, Content, Format, find_format


def known_format(
    content: Content, formats: Sequence[Format], expected: str, *, of_tables: str = RIGHT_FILE
) -> Format:
    """Return which of a family's formats a file has.

    `of_tables` is what to do about a table of other columns.

    Raises
    ------
    SourceError
        It has none of them; the message says what it is instead.
    """
    failed = None
    try:
        if found := find_format(content, formats):
            return found
    except SourceError as error:  # it is damaged, or no text
        failed = error
    from shortcut_miner.sources.recognise import nearest_format

    return nearest_format(content, formats, expected, of_tables, failed)


def check_no_other_kind(source: Source, needed: Collection[str], expected: str = "") -> None:
    """Raise SourceError if a file that lacks columns is of a format that other options take.

    Parameters
    ----------
    source : Source
    needed : collection of str
        The columns. Where one of several is missing, nothing is raised: the reader's own words name it.
    expected : str, optional
        In words; by default a table with these columns.
    """
    from shortcut_miner.sources.recognise import refuse_other_kind

    refuse_other_kind(source, needed, expected)
