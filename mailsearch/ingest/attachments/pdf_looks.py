"""Which text of a PDF page a reader does not see.

Invisible text, tiny text, text off the page, clipped away or covered, and text in the colour of what is behind it.
"""

import ctypes
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from mailsearch.ingest import colours
from mailsearch.ingest.colours import Colour

_MOST_OBJECTS = 20_000
_INVISIBLE = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)
_STROKED = (pdfium.FPDF_TEXTRENDERMODE_STROKE, pdfium.FPDF_TEXTRENDERMODE_FILL_STROKE)
_PAINTED = (pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_SHADING)
_SMALLEST_POINTS = 1.5
_OPAQUE = 250
_MOST_SEGMENTS = 6

Bounds = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class _Paint:
    """Something painted on the page, the `place`th object of it. `colour` is None where it is not one plain colour."""

    place: int
    bounds: Bounds
    colour: Colour | None


def unseen(page: pypdfium2.PdfPage) -> set[int]:
    """Addresses of the page's text objects that a reader doesn't see."""
    texts: list[tuple[int, pypdfium2.PdfObject]] = []
    painted: list[_Paint] = []
    for place, item in enumerate(page.get_objects(max_depth=8)):
        if place > _MOST_OBJECTS:
            break
        if item.type == pdfium.FPDF_PAGEOBJ_TEXT:
            texts.append((place, item))
        elif item.type in _PAINTED:
            painted.append(_Paint(place, item.get_bounds(), _plain_colour(item)))
    box = page.get_cropbox()
    return {address(item.raw) for place, item in texts if _is_unseen(item, place, painted, box)}


def address(pointer: object) -> int:
    """What tells one object of the library from another."""
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _is_unseen(item: pypdfium2.PdfObject, place: int, painted: list[_Paint], box: Bounds) -> bool:
    mode = pdfium.FPDFTextObj_GetTextRenderMode(item.raw)
    if mode in _INVISIBLE or _points(item) < _SMALLEST_POINTS:
        return True
    colour = _fill(item)
    if colour is None:
        return False
    if colour[3] < 0.04:
        return True
    bounds = item.get_bounds()
    inner = item.level > 0
    # What stands inside of another object is placed in that object's own measures.
    if not inner and (not _meet(bounds, box) or _is_clipped(item, bounds) or _is_covered(bounds, place, painted)):
        return True
    # An outline may be seen where what it encloses is not.
    return mode not in _STROKED and _melts(colour, bounds, None if inner else place, painted)


def _melts(colour: Colour, bounds: Bounds, place: int | None, painted: list[_Paint]) -> bool:
    """Whether text of *colour* can't be told from what is behind it; *place* is None for text inside other objects."""
    behind = [one for one in painted if (place is None or one.place < place) and _holds_centre(one.bounds, bounds)]
    if behind and place is None:
        return False
    ground = behind[-1].colour if behind else colours.WHITE
    return ground is not None and not colours.legible(colour, ground)


def _is_covered(bounds: Bounds, place: int, painted: list[_Paint]) -> bool:
    return any(one.place > place and one.colour is not None and _holds(one.bounds, bounds) for one in painted)


def _is_clipped(item: pypdfium2.PdfObject, bounds: Bounds) -> bool:
    """Whether nothing of the text is inside of what its clipping lets through."""
    clip = pdfium.FPDFPageObj_GetClipPath(item.raw)
    count = pdfium.FPDFClipPath_CountPaths(clip) if clip else 0
    clips = [_clip_bounds(clip, number) for number in range(min(count, 20))]
    return any(one is not None and not _meet(bounds, one) for one in clips)


def _clip_bounds(clip: object, number: int) -> Bounds | None:
    """What a rectangle among the clips lets through; None for other shapes."""
    count = pdfium.FPDFClipPath_CountPathSegments(clip, number)
    if not 3 <= count <= _MOST_SEGMENTS:
        return None
    across, along = ctypes.c_float(), ctypes.c_float()
    points: list[tuple[float, float]] = []
    for index in range(count):
        segment = pdfium.FPDFClipPath_GetPathSegment(clip, number, index)
        if segment and pdfium.FPDFPathSegment_GetPoint(segment, across, along):
            points.append((across.value, along.value))
    if not points:
        return None
    return (
        min(point[0] for point in points),
        min(point[1] for point in points),
        max(point[0] for point in points),
        max(point[1] for point in points),
    )


def _plain_colour(item: pypdfium2.PdfObject) -> Colour | None:
    """The colour of a filled, opaque rectangle of the page itself; None for all else."""
    if item.type != pdfium.FPDF_PAGEOBJ_PATH or item.level > 0:
        return None
    mode, stroke = ctypes.c_int(), ctypes.c_int()
    filled = pdfium.FPDFPath_GetDrawMode(item.raw, mode, stroke) and mode.value != pdfium.FPDF_FILLMODE_NONE
    if not filled or not 3 <= pdfium.FPDFPath_CountSegments(item.raw) <= _MOST_SEGMENTS:
        return None
    colour = _fill(item)
    return colour if colour is not None and colour[3] * 255 >= _OPAQUE else None


def _fill(item: pypdfium2.PdfObject) -> Colour | None:
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not pdfium.FPDFPageObj_GetFillColor(item.raw, red, green, blue, alpha):
        return None
    return (float(red.value), float(green.value), float(blue.value), alpha.value / 255)


def _points(item: pypdfium2.PdfObject) -> float:
    """The size of the type as it is painted."""
    size = ctypes.c_float()
    if not pdfium.FPDFTextObj_GetFontSize(item.raw, size):
        return 12.0
    matrix = item.get_matrix()
    return float(abs(size.value) * abs(matrix.a * matrix.d - matrix.b * matrix.c) ** 0.5)


def _meet(one: Bounds, other: Bounds) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _holds(outer: Bounds, inner: Bounds) -> bool:
    return outer[0] <= inner[0] and outer[1] <= inner[1] and outer[2] >= inner[2] and outer[3] >= inner[3]


def _holds_centre(outer: Bounds, inner: Bounds) -> bool:
    across, along = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] <= across <= outer[2] and outer[1] <= along <= outer[3]
