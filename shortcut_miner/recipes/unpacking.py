"""Members of an archive as files, for readers that need files: a folder that appears as a whole."""

import shutil
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from shortcut_miner.errors import OutputError, SourceError, examples
from shortcut_miner.journal import is_plain_name, sync
from shortcut_miner.sources.opening.containers import zip_names
from shortcut_miner.sources.opening.files import system_errors
from shortcut_miner.sources.opening.streams import copy_unpacked
from shortcut_miner.timing import OnStage, in_parts


def unpack_members(
    archive: Path, patterns: Sequence[str], target: Path, *, on_stage: OnStage | None = None
) -> Path:
    """Write the members of a zip archive that fit patterns into a folder, by their plain names; return it.

    A folder that has them all is left as it is.

    Raises
    ------
    SourceError
        A damaged archive, a pattern that no member fits, names that are no plain file names or come twice, a
        folder that has only some of them.
    OutputError
        No room, or no permission to write.
    """
    members = _chosen(archive, patterns)
    if target.exists():
        if missing := [name for name in members if not (target / name).is_file()]:
            raise SourceError(
                f"{target}: got a folder without {examples(missing)}, expected all of {archive.name}. "
                "Move it away."
            )
        return target
    draft = Path()
    try:
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        for name, member in in_parts([*members.items()], f"unpack {archive.name}", on_stage, "files"):
            copy_unpacked(archive / member, draft / name)
            sync(draft / name)
        draft.chmod(0o755)
        draft.rename(target)
    except OSError as error:
        raise OutputError(
            f"{target}: got {error.strerror or error} while unpacking, expected room and permission to "
            "write. Free some space, or give another --data-dir."
        ) from error
    finally:
        if draft != Path():
            shutil.rmtree(draft, ignore_errors=True)
    return target


def _chosen(archive: Path, patterns: Sequence[str]) -> dict[str, str]:
    """Return the members that fit, by their plain names."""
    with system_errors(str(archive), archive), archive.open("rb") as stored:
        names = zip_names(stored)
    fitting = [name for name in names if any(fnmatch(name, pattern) for pattern in patterns)]
    lacking = [one for one in patterns if not any(fnmatch(name, one) for name in names)]
    if lacking:
        raise SourceError(
            f"{archive}: got no member like {examples(lacking)}, expected some; it has "
            f"{examples(names) or 'none'}. Move it away to download it again."
        )
    members: dict[str, str] = {}
    for name in fitting:
        path = PurePosixPath(name)
        plain = path.name
        if path.is_absolute() or ".." in path.parts or not is_plain_name(plain) or plain in members:
            raise SourceError(
                f"{archive}: got the member {name!r}, expected plain names that differ, inside the archive. "
                "Correct the recipe's unpack."
            )
        members[plain] = name
    return members
