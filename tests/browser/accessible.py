"""Whether axe-core finds something serious in a page, and whether the page fits its window."""

import os

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize

_DESK: ViewportSize = {"width": 1280, "height": 900}
_PHONE: ViewportSize = {"width": 400, "height": 800}
_axe = Axe()


def serious(page: Page) -> list[str]:
    """Rules of axe-core that a page breaks seriously, each with the first place where it does."""
    found = _axe.run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in ("serious", "critical")
    ]


def picture(page: Page, name: str) -> None:
    """A picture for whoever wants to look: `PICTURES=FOLDER`."""
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def poor_in_any_look(page: Page, called: str) -> list[str]:
    """What is amiss with an open page in the dark, and in the light on a phone: rules of axe-core, what sticks out.

    Pictures of both are named *called*.
    """
    found = []
    for name, scheme, size in (("dark", "dark", _DESK), ("phone", "light", _PHONE)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size(size)
        found += [f"{name}: {rule}" for rule in serious(page)]
        if (wider := overflow(page)) > 0:
            found.append(f"{name}: {wider} pixels wider than its window")
        picture(page, f"{called}-{name}")
    return found


def overflow(page: Page) -> int:
    """Pixels that a page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
