"""What the page of each room shows: a module a room, each with ``sections(room)``."""
