"""Folders of results: written as a whole or not at all, and never at the cost of somebody's files.

A run writes into a hidden folder inside its output folder; at the end all files get their names in one step
(:mod:`shortcut_miner.journal`). What it may replace or remove is what its manifest of the same command lists
with the digest that the file still has; every other file in the folder stays, and a run that would need the
name of one is refused. The same is checked before the work, to be told in time.
"""

import contextlib
import dataclasses
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from shortcut_miner.claims import check_place, check_unclaimed
from shortcut_miner.dry_runs import target_of
from shortcut_miner.errors import ConfigError, OutputError, SourceError, examples
from shortcut_miner.journal import (
    STAGING_PREFIX,
    Change,
    Digest,
    as_digest,
    commit,
    digest_of,
    finish_interrupted,
    finish_locked,
    is_decided,
    is_plain_name,
    locked,
    sync,
)
from shortcut_miner.storage import LEAK_RECORD, MANIFEST, RUN_RECORD, UNLISTED, read_json_file, write_json
from shortcut_miner.version import __version__

Inputs = Mapping[str, Any]  # of paths, or lists of them
_ANOTHER = "Choose another --out."
_DECIDED = "The new files are complete, and the next command that reads this folder puts the rest in place"
_RECORD_FIELDS = {
    RUN_RECORD: {"out", "files", "backend", "threads"},
    LEAK_RECORD: {"package", "command", "classifier", "leak"},
}


@dataclasses.dataclass(frozen=True, slots=True)
class Ours:
    """What a folder has of our own.

    Attributes
    ----------
    manifest : dict
        Of the run that wrote it; empty if none did.
    files : dict of str to Digest
        Each file that is as that run wrote it, with manifest and run record.
    """

    manifest: dict[str, Any]
    files: dict[str, Digest]


def check_target(
    out: Path | None,
    *,
    command: str,
    config: Mapping[str, Any],
    names: Iterable[str],
    inputs: Inputs | None = None,
    force: bool = False,
) -> Ours:
    """Return what of a folder a run may replace.

    Parameters
    ----------
    out : Path or None
        The folder to write; it need not exist. Without one, that of a dry run, if there is any.
    command : str
        Such as "rad build".
    config : mapping
        The run's options, as its manifest is going to have them.
    names : iterable of str
        What it is going to write beside manifest.json; ``*`` and ``?`` stand for what is not known yet.
    inputs : mapping of str to path or list of path, optional
        Role -> files or folders that the run reads.
    force : bool
        Replace the files of a run with other options.

    Raises
    ------
    ConfigError
        `out` is a file; a file in the way that is not ours or was changed since; an input among the files to
        replace; another command's folder, or other options without `force`; another process at work in it.
    SourceError
        An interrupted run that can't be finished.
    """
    out = target_of(out)
    if out is None:
        return Ours({}, {})
    _check_name(out)
    if not out.is_dir():
        return Ours({}, {})
    check_unclaimed(out)
    finish_interrupted(out)
    return _checked(out, command, config, names, inputs, force)


def _checked(
    out: Path,
    command: str,
    config: Mapping[str, Any],
    names: Iterable[str],
    inputs: Inputs | None,
    force: bool,
) -> Ours:
    wanted = (MANIFEST, *names)
    there = sorted(path.name for path in out.iterdir() if any(fnmatch(path.name, one) for one in wanted))
    manifest = _our_manifest(out)
    listed = {} if not manifest else {name: as_digest(one) for name, one in manifest["files"].items()}
    _check_inputs(out, sorted({*there, *listed}), inputs or {})
    if manifest and manifest["command"] != command:
        raise ConfigError(
            f"--out {out}: got a folder that {manifest['command']} wrote, expected an empty one or one of "
            f"{command}. {_ANOTHER}"
        )
    ours = {name: digest for name in listed if (digest := digest_of(out / name)) is not None}
    changed = [name for name in listed if os.path.lexists(out / name) and ours.get(name) != listed[name]]
    if changed:
        raise ConfigError(
            f"--out {out}: got {examples(changed)} changed since {command} wrote the folder, expected files "
            f"as it wrote them. {_ANOTHER}"
        )
    ours |= _records(out) if manifest else {}
    strange = [name for name in there if name not in ours]
    if strange:
        raise ConfigError(
            f"--out {out}: got a folder with {examples(strange)}, which {command} did not write and would "
            f"replace, expected no such file. {_ANOTHER}"
        )
    if manifest and not force:
        _check_options(out, manifest, config)
    return Ours(manifest, ours)


def _our_manifest(out: Path) -> dict[str, Any]:
    """Return the manifest that a run of ours wrote; {} if there is none of any kind."""
    path = out / MANIFEST
    if not os.path.lexists(path):
        return {}
    try:
        found = None if path.is_symlink() else read_json_file(path)
    except SourceError:
        found = None
    if not isinstance(found, dict) or found.get("package") != "shortcut_miner":
        raise ConfigError(
            f"--out {out}: got a folder with a {MANIFEST} that shortcut-miner did not write, expected none "
            f"or its own. {_ANOTHER}"
        )
    files = found.get("files")
    if isinstance(files, list):
        raise ConfigError(
            f"--out {out}: got a folder of version {found.get('version')}, whose {MANIFEST} can't tell its "
            "files from yours, expected digests. Choose another --out, or delete the folder if nothing in it "
            "is yours."
        )
    try:
        is_whole = all(
            is_plain_name(name) and as_digest(one) is not None for name, one in found["files"].items()
        )
        is_whole &= all(isinstance(one["role"], str) and one["sha256"] for one in found["inputs"])
    except (AttributeError, LookupError, TypeError, ValueError):
        is_whole = False
    if not (is_whole and isinstance(found.get("command"), str) and isinstance(found.get("config"), dict)):
        raise ConfigError(
            f"--out {out}: got a folder with a damaged {MANIFEST}, expected one with files, inputs and "
            f"options as it was written. {_ANOTHER}"
        )
    return found


def _records(out: Path) -> dict[str, Digest]:
    """Return manifest.json and, if they are of a run of ours, run.json and leak.json."""
    kept = {MANIFEST: digest_of(out / MANIFEST)}
    for name, fields in _RECORD_FIELDS.items():
        with contextlib.suppress(SourceError):
            record = read_json_file(out / name)
            if isinstance(record, dict) and record.keys() >= fields:
                kept[name] = digest_of(out / name)
    return {name: digest for name, digest in kept.items() if digest is not None}


def _check_inputs(out: Path, names: Sequence[str], inputs: Inputs) -> None:
    """Raise ConfigError if a run reads `out`, or one of the files there that it replaces."""
    for role, given in inputs.items():
        for path in (Path(one) for one in (given if isinstance(given, list | tuple) else [given])):
            # An archive's member stands below the archive, which is the file.
            file = next((one for one in (path, *path.parents) if one.exists()), path)
            reads = [out, *(out / name for name in names)] if file.is_file() or file == path else []
            if any(one.exists() and file.samefile(one) for one in reads if file.exists()):
                what = "the folder" if file.is_dir() else "the folder of a file"
                raise ConfigError(
                    f"--out {out}: got {what} that this run reads ({role} {path}) and might replace, "
                    f"expected another folder. {_ANOTHER}"
                )


def _check_options(out: Path, manifest: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """Raise ConfigError if a folder's options are not those of the run, naming them."""
    there, now = _flat(manifest["config"]), _flat(json.loads(json.dumps(config)))
    if _CAP in there and _is_derived(out):
        there[_CAP] = None
    names = {*there, *now} if manifest.get("version") == __version__ else {*there} & {*now}
    other = sorted(name for name in names if now.get(name) not in (there.get(name), _BY_INPUTS))
    if other:
        told = ", ".join(
            f"{name} {_shown(there.get(name))}, now {_shown(now.get(name))}" for name in other[:_MOST_OPTIONS]
        )
        rest = f" and {len(other) - _MOST_OPTIONS} more" if len(other) > _MOST_OPTIONS else ""
        raise ConfigError(
            f"--out {out}: got a folder that {manifest['command']} wrote with other options ({told}{rest}), "
            "expected the same. Choose another --out, or replace it with --force."
        )


_MOST_OPTIONS = 8
_BY_INPUTS = "auto"  # what it comes to is known when the inputs are
_CAP = "max_rules"  # where it is none, the memory decides; what it decided is recorded if it was reached


def _is_derived(out: Path) -> bool:
    """Return whether the cap on rules in a folder's manifest is not the user's, as its run record says."""
    try:
        limits = read_json_file(out / RUN_RECORD)["limits"]
    except (SourceError, LookupError, TypeError):
        return False
    return isinstance(limits, dict) and _CAP in limits


def _shown(value: object) -> str:
    return "none" if value is None else str(value)


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with those inside others by their joined names.

    >>> _flat({"seed": 0, "build": {"items": "both"}})
    {'seed': 0, 'build.items': 'both'}
    """
    flat: dict[str, Any] = {}
    for name, value in config.items():
        inner = _flat(value) if isinstance(value, dict) else {}
        flat |= {f"{name}.{key}": one for key, one in inner.items()} if inner else {name: value}
    return flat


@contextlib.contextmanager
def staged_folder(
    out: Path, *, inputs: Inputs | None = None, force: bool = False, add: bool = False
) -> Iterator[Path]:
    """Give a hidden folder to write in, manifest included; on success its files get their names in `out`.

    Files of an earlier run of the same command that are not written again go.

    Parameters
    ----------
    out : Path
        The folder.
    inputs, force
        See :func:`check_target`.
    add : bool
        Write further files of the run that wrote `out`: its manifest, and what it lists, stays.

    Raises
    ------
    ConfigError
        `out` is a file, or can't be created or written; see :func:`check_target`.
    OutputError
        The disk is full or a file can't be replaced.
    """
    with _new_staging(out) as staging:
        try:
            yield staging
            _publish(staging, out, inputs, force, add)
        except OSError as error:
            state = _DECIDED if is_decided(out, staging) else "Earlier results are unchanged"
            raise OutputError(
                f"{out}: got {error.strerror or error} while writing, expected room and permission to write. "
                f"{state}; free some space or choose another --out."
            ) from error
        finally:
            if not is_decided(out, staging):
                shutil.rmtree(staging, ignore_errors=True)


def _publish(staging: Path, out: Path, inputs: Inputs | None, force: bool, add: bool) -> None:
    """Let the staged files get their names in `out`, the manifest last."""
    names = sorted(path.name for path in staging.iterdir() if path.name != MANIFEST)
    for name in names:
        sync(staging / name)
    files = {name: digest_of(staging / name) for name in names}
    with locked(out):
        finish_locked(out)
        _remove_abandoned(out)
        if add:
            manifest = _our_manifest(out)
            kept = {name: one for name, one in manifest["files"].items() if name not in files}
        else:
            manifest, kept = read_json_file(staging / MANIFEST), {}
        # The cap on rules was compared before the work, when it was the user's or none.
        asked = {**manifest["config"], _CAP: _BY_INPUTS}
        ours = _checked(out, manifest["command"], asked, names, inputs, force)
        listed = {
            name: dataclasses.asdict(one) for name, one in files.items() if one and name not in UNLISTED
        }
        write_json(manifest | {"files": kept | listed}, staging / MANIFEST)
        sync(staging / MANIFEST)
        gone = () if add else ours.files
        obsolete = [name for name in gone if name not in (MANIFEST, RUN_RECORD, *names)]
        changes = [Change(name, ours.files.get(name), files[name]) for name in names]
        changes += [Change(name, ours.files[name], None) for name in obsolete]
        changes.append(Change(MANIFEST, ours.files.get(MANIFEST), digest_of(staging / MANIFEST)))
        commit(out, staging, changes)


def published_folder(folder: Path) -> Path:
    """Return where the files of a folder that :func:`staged_folder` gave are going to be, absolute.

    A folder that it did not give is where it is.
    """
    is_staged = folder.name.startswith(STAGING_PREFIX)
    return (folder.parent if is_staged else folder).resolve()


def _check_name(out: Path) -> None:
    check_place(out)
    try:
        str(out).encode()
    except UnicodeEncodeError as error:  # tables can't be written there
        raise ConfigError(
            f"--out {out}: got a name that is no UTF-8, expected one that is. Choose another name."
        ) from error


@contextlib.contextmanager
def _new_staging(out: Path) -> Iterator[Path]:
    """Give a new staging folder, locked as long as its process works in it."""
    _check_name(out)
    with contextlib.ExitStack() as stack:
        try:
            out.mkdir(parents=True, exist_ok=True)
            prefix = f"{STAGING_PREFIX}{socket.gethostname()}-{os.getpid()}-"
            with locked(out):  # who tidies up must not find it before it is locked
                staging = Path(tempfile.mkdtemp(prefix=prefix, dir=out))
                stack.enter_context(locked(staging))
        except OSError as error:
            raise ConfigError(
                f"--out {out}: got {error.strerror or error}, expected a folder that can be written. "
                "Choose another folder or fix its permissions."
            ) from error
        yield staging


def _remove_abandoned(out: Path) -> None:
    """Remove staging folders whose process, on this host, no longer runs (killed, power cut).

    Containers may share a host's name and not see each other's processes: their locks tell.
    """
    for folder in out.glob(f"{STAGING_PREFIX}{socket.gethostname()}-*"):
        pid = folder.name.removeprefix(f"{STAGING_PREFIX}{socket.gethostname()}-").split("-")[0]
        if pid.isdigit() and not _is_running(int(pid)) and not _is_locked(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_locked(folder: Path) -> bool:
    try:
        with locked(folder, wait=False):
            return False
    except OSError:
        return True
