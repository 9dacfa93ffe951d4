"""What these tests do where something that they need is missing: they say so and pass, or fail where it is said to be
needed. Needs no browser itself."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).parent


def outcome(module, **variables):
    """The exit status of a module's tests where no program is found, and what they say."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STEPSCOPE_")}
    with tempfile.TemporaryDirectory() as empty:
        ran = subprocess.run([sys.executable, "-B", "-m", "unittest", module], cwd=FOLDER, capture_output=True, text=True,
                             env=kept | {"PATH": empty} | variables, check=False)
    return ran.returncode, ran.stderr


class Skipped(unittest.TestCase):
    MODULES = sorted(path.stem for path in FOLDER.glob("test_*.py") if path.stem != pathlib.Path(__file__).stem)

    def test_without_a_browser_it_is_said(self):
        self.assertLessEqual({"test_page", "test_figures", "test_everywhere"}, set(self.MODULES))
        for module in self.MODULES:
            status, said = outcome(module)
            self.assertEqual(status, 0, said)
            self.assertIn("\nSKIPPED: no browser", said)

    def test_where_one_is_needed_it_fails(self):
        for module in self.MODULES:
            status, said = outcome(module, STEPSCOPE_BROWSER_NEEDED="1")
            self.assertEqual(status, 1, said)
            self.assertIn("STEPSCOPE_BROWSER_NEEDED is set, and there is no browser", said)

    def test_so_it_is_with_the_accessibility_checker(self):
        checker = "import pages, unittest\ntry:\n    pages.checker()\nexcept unittest.SkipTest:\n    raise SystemExit(3)"
        for variables, status, words in (({}, 3, "\nSKIPPED: STEPSCOPE_AXE names no axe.min.js"),
                                         ({"STEPSCOPE_AXE_NEEDED": "1"}, 1, "STEPSCOPE_AXE_NEEDED is set")):
            kept = {name: value for name, value in os.environ.items() if not name.startswith("STEPSCOPE_")}
            ran = subprocess.run([sys.executable, "-B", "-c", checker], cwd=FOLDER, capture_output=True, text=True, env=kept | variables, check=False)
            self.assertEqual(ran.returncode, status, ran.stderr)
            self.assertIn(words, ran.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
