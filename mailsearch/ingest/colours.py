"""CSS colours as numbers, to see whether text can be read on its background (CSS Color 4, WCAG contrast)."""

import re
from functools import lru_cache

Colour = tuple[float, float, float, float]

WHITE: Colour = (255.0, 255.0, 255.0, 1.0)
BLACK: Colour = (0.0, 0.0, 0.0, 1.0)
# Below this ratio of luminance nobody can read the text; pale grey footers on white have 1.3 and more.
_LEGIBLE = 1.18

_NAMED = """
aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4
black 000000 blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 cadetblue 5f9ea0
chartreuse 7fff00 chocolate d2691e coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff
darkblue 00008b darkcyan 008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400 darkgrey a9a9a9
darkkhaki bdb76b darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred 8b0000
darksalmon e9967a darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkslategrey 2f4f4f
darkturquoise 00ced1 darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray 696969 dimgrey 696969
dodgerblue 1e90ff firebrick b22222 floralwhite fffaf0 forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc
ghostwhite f8f8ff gold ffd700 goldenrod daa520 gray 808080 green 008000 greenyellow adff2f grey 808080
honeydew f0fff0 hotpink ff69b4 indianred cd5c5c indigo 4b0082 ivory fffff0 khaki f0e68c lavender e6e6fa
lavenderblush fff0f5 lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6 lightcoral f08080 lightcyan e0ffff
lightgoldenrodyellow fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3 lightpink ffb6c1
lightsalmon ffa07a lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899 lightslategrey 778899
lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6 magenta ff00ff maroon 800000
mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3 mediumpurple 9370db mediumseagreen 3cb371
mediumslateblue 7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc mediumvioletred c71585
midnightblue 191970 mintcream f5fffa mistyrose ffe4e1 moccasin ffe4b5 navajowhite ffdead navy 000080
oldlace fdf5e6 olive 808000 olivedrab 6b8e23 orange ffa500 orangered ff4500 orchid da70d6 palegoldenrod eee8aa
palegreen 98fb98 paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru cd853f
pink ffc0cb plum dda0dd powderblue b0e0e6 purple 800080 rebeccapurple 663399 red ff0000 rosybrown bc8f8f
royalblue 4169e1 saddlebrown 8b4513 salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee
sienna a0522d silver c0c0c0 skyblue 87ceeb slateblue 6a5acd slategray 708090 slategrey 708090 snow fffafa
springgreen 00ff7f steelblue 4682b4 tan d2b48c teal 008080 thistle d8bfd8 tomato ff6347 turquoise 40e0d0
violet ee82ee wheat f5deb3 white ffffff whitesmoke f5f5f5 yellow ffff00 yellowgreen 9acd32 window ffffff
windowtext 000000 canvas ffffff canvastext 000000
"""
_NAMES = dict(re.findall(r"(\w+) ([0-9a-f]{6})", _NAMED))
_HEX = re.compile(r"^#?([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$")
_FUNCTION = re.compile(r"^(rgb|hsl|hwb|lab|lch|oklab|oklch|color)a?\(([^()]{1,80})\)$")


@lru_cache(maxsize=2048)
def read(value: str) -> Colour | None:
    """A CSS colour as red, green, blue (0 to 255) and alpha (0 to 1); None where it is no colour."""
    value = value.strip().lower()
    if value == "transparent":
        return (0.0, 0.0, 0.0, 0.0)
    match = _HEX.match(_NAMES.get(value, value))
    if match:
        return _from_hex(match[1])
    function = _FUNCTION.match(value)
    return _from_function(function[1], function[2]) if function else None


def over(colour: Colour, background: Colour) -> Colour:
    """*colour* painted on *background*."""
    alpha = colour[3]
    if alpha >= 1:
        return colour
    red, green, blue = (
        alpha * top + (1 - alpha) * under for top, under in zip(colour[:3], background[:3], strict=True)
    )
    return (red, green, blue, 1.0)


def legible(colour: Colour, background: Colour) -> bool:
    """Whether text of *colour* on *background* can be read at all."""
    one, other = _luminance(over(colour, background)), _luminance(background)
    return (max(one, other) + 0.05) / (min(one, other) + 0.05) >= _LEGIBLE


def _from_hex(digits: str) -> Colour:
    if len(digits) <= 4:
        digits = "".join(digit * 2 for digit in digits)
    numbers = [int(digits[at : at + 2], 16) for at in range(0, len(digits), 2)]
    return (float(numbers[0]), float(numbers[1]), float(numbers[2]), numbers[3] / 255 if len(numbers) > 3 else 1.0)


def _from_function(kind: str, arguments: str) -> Colour | None:
    parts = re.split(r"[\s,/]+", arguments.strip())
    if kind == "color":
        kind, parts = "unit", parts[1:]
    if len(parts) < 3:
        return None
    try:
        alpha = _fraction(parts[3], 1) if len(parts) > 3 else 1.0
        if kind == "rgb":
            red, green, blue = (_fraction(part, 255) for part in parts[:3])
            return (red, green, blue, alpha)
        if kind == "unit":
            red, green, blue = (255 * _fraction(part, 1) for part in parts[:3])
            return (red, green, blue, alpha)
        if kind.endswith(("lab", "lch")):
            return _from_lightness(parts, 1 if kind.startswith("ok") else 100, alpha)
        hue, saturation, lightness = (
            float(parts[0].removesuffix("deg")),
            _fraction(parts[1], 100),
            _fraction(parts[2], 100),
        )
    except ValueError:
        return None
    if kind == "hwb":
        return _from_hwb(hue, saturation / 100, lightness / 100, alpha)
    return _from_hsl(hue, saturation / 100, lightness / 100, alpha)


def _fraction(value: str, whole: float) -> float:
    number = float(value[:-1]) * whole / 100 if value.endswith("%") else float(value)
    return max(0.0, min(number, whole))


def _from_hwb(hue: float, white: float, black: float, alpha: float) -> Colour:
    white, black = white / max(1.0, white + black), black / max(1.0, white + black)
    red, green, blue = (value * (1 - white - black) + 255 * white for value in _from_hsl(hue, 1.0, 0.5, alpha)[:3])
    return (red, green, blue, alpha)


def _from_lightness(parts: list[str], whole: int, alpha: float) -> Colour | None:
    """The grey that a colour of one of the even spaces is; None where it is none."""
    if abs(float(parts[1].rstrip("%"))) > 0.03 * whole:
        return None
    grey = 255 * _fraction(parts[0], whole) / whole
    return (grey, grey, grey, alpha)


def _from_hsl(hue: float, saturation: float, lightness: float, alpha: float) -> Colour:
    reach = saturation * min(lightness, 1 - lightness)

    def channel(offset: int) -> float:
        place = (offset + hue / 30) % 12
        return 255 * (lightness - reach * max(-1.0, min(place - 3, 9 - place, 1.0)))

    return (channel(0), channel(8), channel(4), alpha)


def _luminance(colour: Colour) -> float:
    def linear(value: float) -> float:
        value /= 255
        return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)

    return 0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2])
