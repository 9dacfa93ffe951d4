"""Draws every board in a browser with Grafana's own libraries, from the answers of a real Prometheus, and the board of a report
from what is in it. What is seen is held against the answers and the boards, by arithmetic of its own (expected.py).

usage: pictures.py FOLDER REPORT: a folder with page.html, page.bundle.js and answers.json, in which pictures are made, and the
board of a report"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "page")]
import expected  # noqa: E402
from browser import Browser  # noqa: E402

BOARDS = HERE.parent.parent / "grafana" / "dashboards"
WIDTH = 1500
# What is seen of each panel: its text, how many colours its plot has beside greys, which are of axes, its failure.
SEEN = """
return Object.fromEntries([...document.querySelectorAll('section[data-panel]')].map((section) => {
  const ink = [...section.querySelectorAll('canvas')].map((canvas) => {
    if (!canvas.width || !canvas.height) return 0;
    const points = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const colors = new Set();
    for (let at = 0; at < points.length; at += 4) {
      const [red, green, blue] = [points[at], points[at + 1], points[at + 2]];
      if (points[at + 3] && Math.max(red, green, blue) - Math.min(red, green, blue) > 60) colors.add(red << 16 | green << 8 | blue);
    }
    return colors.size;
  });
  const box = section.getBoundingClientRect();
  return [section.dataset.panel, {
    text: section.innerText, ink: Math.max(0, ...ink), failed: section.querySelector('.failed')?.innerText ?? '',
    heads: [...section.querySelectorAll('[role=columnheader]')].map((head) => head.innerText.trim()),
    rows: [...section.querySelectorAll('[role=row]')].map((row) => [...row.querySelectorAll('[role=gridcell]')].map((cell) => cell.innerText.trim())),
    box: [box.left, box.top, box.right, box.bottom],
  }];
}))"""


def drawn(window, folder, board, answers):
    """What the page says of each panel, and what is seen of it once all have been drawn."""
    window.open(folder / "page.html", ready=False)
    window.wait("window.draw")
    window.resize(WIDTH, max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in board["panels"]) * 38 + 8)
    said = window.run_async("const done = arguments[2]; window.draw(arguments[0], arguments[1])"
                            ".then(done, (error) => done(String(error.stack)))", board, answers)
    if isinstance(said, str):
        raise AssertionError(said)
    # Plots follow frames later; nothing moves any more once two pictures are the same.
    before = None
    for _ in range(50):
        window.run_async("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")
        seen = window.run(SEEN)
        if seen == before:
            break
        before = seen
    return said, seen


def checked(window, folder, name, board, answers):
    said, seen = drawn(window, folder, board, answers)
    path = folder / "pictures" / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    window.picture(str(path), "#board")
    problems = [f"{name}: {message}" for message in window.messages() if "SEVERE" in message or "rror" in message
                if "ERR_FILE_NOT_FOUND" not in message]
    kinds = {}
    for panel, told in zip(board["panels"], said, strict=True):
        sight = seen[str(panel["id"])]
        results = {} if answers is None else answers["panels"].get(str(panel["id"]), {})
        for problem in expected.problems(panel, results, told, sight):
            problems.append(f"{name}: {panel['title']}: {problem}")
        kinds[panel["type"]] = kinds.get(panel["type"], 0) + 1
    print(f"{name}: {len(said)} panels drawn: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    return problems


def main():
    folder, report = map(pathlib.Path, sys.argv[1:])
    answers = json.loads((folder / "answers.json").read_text())
    problems = []
    with Browser(WIDTH, 900) as window:
        expected.COLORS.update(colors(window, folder))
        for path in sorted(BOARDS.glob("*.json")):
            own = {**answers, "panels": answers["boards"][path.stem], "boards": None}
            problems += checked(window, folder, path.stem, json.loads(path.read_text()), own)
        problems += checked(window, folder, "report", json.loads(report.read_text()), None)
    if problems:
        sys.exit("\n".join(problems))


def colors(window, folder):
    """Grafana's colours by their names."""
    window.open(folder / "page.html", ready=False)
    window.wait("window.draw")
    return window.run("return Object.fromEntries(arguments[0].map((name) => [name, window.colorOf(name)]))", expected.NAMES)


main()
