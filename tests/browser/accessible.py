"""Whether axe-core finds something serious in a page, and whether the page fits its window."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_axe = Axe()


def serious(page: Page) -> list[str]:
    """Rules of axe-core that a page breaks seriously, each with the first place where it does."""
    found = _axe.run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in ("serious", "critical")
    ]


def overflow(page: Page) -> int:
    """Pixels that a page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
