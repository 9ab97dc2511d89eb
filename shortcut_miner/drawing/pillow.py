"""Whether Pillow is here, asked before anything that draws is loaded."""

from shortcut_miner.errors import BackendError

INSTALL = "pip install 'shortcut-miner[images]'"


def check_pillow() -> None:
    """Raise BackendError unless Pillow is installed, with the part that draws letters of any size."""
    try:
        from PIL import features
    except ImportError as error:
        raise BackendError(
            f"pictures: got no Pillow here, expected the extra images. Install it: {INSTALL}"
        ) from error
    if not features.check("freetype2"):
        raise BackendError(
            "pictures: got a Pillow without FreeType, expected one that draws letters. Install its wheel: "
            f"{INSTALL} --force-reinstall"
        )
