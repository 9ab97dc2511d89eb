"""Whether Pillow is here, asked before anything that draws is loaded."""

from shortcut_miner.errors import BackendError, missing_library


def check_pillow() -> None:
    """Raise BackendError unless Pillow is installed, with the part that draws letters of any size."""
    try:
        from PIL import features
    except ImportError as error:
        raise missing_library("pictures", "Pillow", "images") from error
    if not features.check("freetype2"):
        raise BackendError(
            "pictures: got a Pillow without FreeType, expected one that draws letters. Install its wheel: "
            "pip install --force-reinstall 'shortcut-miner[images]'."
        )
