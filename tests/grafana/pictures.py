"""Draws every board in a browser with Grafana's own libraries, from the answers of a real Prometheus, and the board of a report
from what is in it; holds what is seen against both. Bundled before by the stage `grafana` (xtask/src/grafana.rs).

usage: pictures.py FOLDER REPORT [PICTURES]: the folder with page.bundle.js and answers.json, the board of a report, and where
pictures go"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "page"))
from browser import Browser  # noqa: E402

BOARDS = HERE.parent.parent / "grafana" / "dashboards"
WIDTH = 1500


def draw(window, board, answers):
    """What the page says of each panel once all have been drawn."""
    said = window.run_async("const done = arguments[2]; window.draw(arguments[0], arguments[1])"
                            ".then(done, (error) => done(String(error.stack)))", board, answers)
    if isinstance(said, str):
        raise AssertionError(said)
    # Plots follow two frames later.
    window.run_async("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 300)))")
    height = window.run("return document.getElementById('board').offsetHeight")
    window.resize(WIDTH, height)
    return said


def main():
    folder, report = map(pathlib.Path, sys.argv[1:3])
    pictures = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else folder / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    answers = json.loads((folder / "answers.json").read_text())
    with Browser(WIDTH, 900) as window:
        for path in sorted(BOARDS.glob("*.json")):
            window.open(folder / "page.html", ready=False)
            window.wait("window.draw")
            board = json.loads(path.read_text())
            said = draw(window, board, {**answers, "panels": answers["boards"][path.stem], "boards": None})
            window.picture(str(pictures / f"{path.stem}.png"), "#board")
            (folder / f"said-{path.stem}.json").write_text(json.dumps(said, indent=1))
            print(path.stem, [entry for entry in window.run("return [...document.querySelectorAll('.failed')].map(e => e.innerText.slice(0, 400))")])
            print("\n".join(message[:300] for message in window.messages()[:6]))
        window.open(folder / "page.html", ready=False)
        window.wait("window.draw")
        draw(window, json.loads(report.read_text()), None)
        window.picture(str(pictures / "report.png"), "#board")
        print("report", [entry for entry in window.run("return [...document.querySelectorAll('.failed')].map(e => e.innerText.slice(0, 400))")])
        print("\n".join(message[:300] for message in window.messages()[:6]))


main()
