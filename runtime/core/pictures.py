"""Pictures in files: their pixels, and files of pixels. Pillow, the extra `image`, decodes and encodes.

Pixels are (height, width) of grey, or (height, width, channels) of red, green, blue and, for four, opacity, in uint8.
"""

from __future__ import annotations

import io
from types import ModuleType
from typing import Any

import numpy as np

from runtime.base import ArgumentError, MXNetError

_FORMATS = {".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG"}


def _pillow() -> ModuleType:
    try:
        from PIL import Image, ImageOps  # noqa: F401 (ImageOps becomes an attribute of the package)
    except ModuleNotFoundError:
        from optgen import extras

        raise ImportError(f"pictures are read and written by Pillow: {extras.install('image')}") from None
    import PIL

    return PIL


def decode(content: bytes, colour: int, name: str) -> np.ndarray:
    """The pixels of a file's content, turned upright as its EXIF data say.

    `colour` is 1 for three channels, 0 for grey, and -1 for those that the file has. What was transparent keeps its
    colour, and 16 bits lose the lower 8, as with OpenCV. MXNetError, which calls the file `name`, for what is no
    picture, or a damaged one.
    """
    pillow = _pillow()
    if not content:
        raise MXNetError(f"{name} is empty, and no picture")
    try:
        with pillow.Image.open(io.BytesIO(content)) as picture:
            if colour == 0:
                picture.draft("L", picture.size)  # a JPEG holds the grey, and need not compute it from colours
            upright = pillow.ImageOps.exif_transpose(picture)
            if colour == 0 and upright.mode in ("RGB", "RGBA", "P", "PA", "CMYK"):
                return _grey(np.array(upright.convert("RGB")), from_png=picture.format == "PNG")
            return np.array(_in_mode(upright, colour))
    except pillow.UnidentifiedImageError:
        raise MXNetError(
            f"{name} is no picture of a known format: its {len(content)} bytes begin {content[:8]!r}"
        ) from None
    except (OSError, ValueError, SyntaxError, EOFError, pillow.Image.DecompressionBombError) as error:
        raise MXNetError(f"{name} is a picture that cannot be decoded: {error}") from None


def _grey(pixels: np.ndarray, from_png: bool) -> np.ndarray:
    """.299 red + .587 green + .114 blue, in the whole numbers of libpng, which cuts fractions off, or of OpenCV."""
    weights, half, bits = ((9797, 19234, 3737), 0, 15) if from_png else ((4899, 9617, 1868), 8192, 14)
    return ((pixels.astype(np.int32) @ np.array(weights, np.int32) + half) >> bits).astype(np.uint8)


def _in_mode(picture: Any, colour: int) -> Any:
    """A picture of Pillow in its mode L, RGB or RGBA."""
    if picture.mode.startswith("I"):  # 16 bits of grey, in which Pillow would cut off what is above 255
        picture = _pillow().Image.fromarray((np.asarray(picture).astype(np.uint32) >> 8).astype(np.uint8))
    if colour == -1:
        grey, opacity = picture.mode in ("1", "L"), picture.mode in ("RGBA", "LA", "PA")
        return picture.convert("L" if grey else "RGBA" if opacity else "RGB")
    return picture.convert("RGB" if colour else "L")


def encode(pixels: np.ndarray, suffix: str, quality: int) -> bytes:
    """The content of a file of pixels: a JPEG of `quality` from 1 to 100, or a PNG compressed by 0 to 9."""
    pillow = _pillow()
    kind = _FORMATS.get(suffix.lower())
    if kind is None:
        raise ArgumentError(f"pictures are written as {', '.join(_FORMATS)}, not as {suffix!r}")
    pixels = np.asarray(pixels)
    if pixels.dtype != np.uint8 or not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (1, 3, 4))):
        raise ArgumentError(
            "a picture is (height, width) or (height, width, channels) of uint8, with 1, 3 or 4 channels, not "
            f"{pixels.shape} of {pixels.dtype}"
        )
    if pixels.ndim == 3 and (pixels.shape[2] == 1 or (kind == "JPEG" and pixels.shape[2] == 4)):
        pixels = pixels[..., 0] if pixels.shape[2] == 1 else pixels[..., :3]
    # 9 levels of compression; OpenCV takes higher numbers as the highest.
    options = {"quality": quality} if kind == "JPEG" else {"compress_level": min(quality, 9)}
    content = io.BytesIO()
    pillow.Image.fromarray(np.ascontiguousarray(pixels)).save(content, kind, **options)
    return content.getvalue()
