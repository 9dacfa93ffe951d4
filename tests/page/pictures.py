"""Pictures of a report page as people see it, part by part: light, dark, on a narrow screen, printed. Nothing is tested
here; that is in the files beside.

    python3 tests/page/pictures.py report.html FOLDER"""

import pathlib
import sys

import browser

# A name, the width of the screen, and what the page is asked to look like. Paper is an A4 page between its margins.
LOOKS = (
    ("light", 1280, "", {"prefers_color_scheme": "light"}),
    ("dark", 1280, "", {"prefers_color_scheme": "dark"}),
    ("narrow", 360, "", {"prefers_color_scheme": "light"}),
    ("paper", 718, "print", {}),
)

PARTS = "return ['header', ...[...document.querySelectorAll('main > section[id], main figure[id]')].map(one => '#' + one.id)]"


def pictures(page, folder, looks=LOOKS):
    """Writes LOOK-PART.png for every look and part, LOOK.png of what one sees first, and paper.pdf. Parts are
    sections and plots of the page, by their ids."""
    folder.mkdir(parents=True, exist_ok=True)
    for look, width, media, features in looks:
        with browser.Browser(width, 900) as window:
            window.media(media, **features)
            window.open(page.resolve())
            window.picture(folder / f"{look}.png")
            for part in window.run(PARTS):
                window.picture(folder / f"{look}-{part.removeprefix('#')}.png", part)
            if media == "print":
                (folder / "paper.pdf").write_bytes(window.paper())


if __name__ == "__main__":
    if len(sys.argv) != 3 or not browser.programs():
        sys.exit(__doc__ if browser.programs() else "no browser and driver (Debian: `apt-get install chromium chromium-driver`)")
    pictures(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
