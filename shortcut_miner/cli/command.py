"""What a command is to the tree of commands: its words, its function, its help, and an example that runs."""

import dataclasses
from collections.abc import Callable

# The examples run, in any folder, after ``shortcut-miner demo``.
ENTER = "cd shortcut-miner-demo    # made by: shortcut-miner demo"


@dataclasses.dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Attributes
    ----------
    words : tuple of str
        What is typed, such as ("rad", "build").
    function : callable or str
        What runs; an import path where loading it is left until it does.
    help : str
        One sentence.
    example : str
        Lines for a shell.
    """

    words: tuple[str, ...]
    function: Callable[..., int] | str
    help: str
    example: str

    @property
    def epilogue(self) -> str:
        """The example as the end of a help page."""
        return "Example:\n\n" + "\n".join(f"  {line}" for line in self.example.splitlines())
