"""How long a download waits, and how often it tries again."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Patience with a server.

    Attributes
    ----------
    tries : int
        In a row that give no further byte of the file, 1 or more.
    first_wait, longest_wait : float
        Seconds between two tries: doubled each time and drawn around that; also how long a server's
        Retry-After is obeyed.
    answer : float
        Seconds to wait for a connection, and for each next bytes.
    """

    tries: int = 5
    first_wait: float = 1.0
    longest_wait: float = 120.0
    answer: float = 60.0
