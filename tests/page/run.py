"""Runs the tests of this folder, or of the modules that are named, several at a time where there are as many processors, each in a process with a browser of
its own; inputs, and the program's reports on them, are made once for all of them. `python3 -m unittest` runs the same, one after the other. What is
tested is in the other files."""

import concurrent.futures
import io
import os
import pathlib
import sys
import tempfile
import time
import unittest

import pages

MOST_AT_ONCE = 4


def cases(suite):
    for one in suite:
        yield from cases(one) if isinstance(one, unittest.TestSuite) else (one,)


def parts(modules):
    """Names of tests that are run one after the other in one process: those of a class that share what it sets up, else each
    by itself."""
    found = {}
    loader = unittest.defaultTestLoader
    for case in cases(loader.loadTestsFromNames(modules) if modules else loader.discover(".")):
        kind = type(case)
        shares = kind.setUpClass.__func__ is not unittest.TestCase.setUpClass.__func__
        name = f"{kind.__module__}.{kind.__qualname__}"
        found.setdefault(name if shares else case.id(), []).append(case.id())
    return list(found.values())


def run(names):
    """What is to be read of these tests, how many there were, whether all went well, and how long they took."""
    text, start = io.StringIO(), time.monotonic()
    outcome = unittest.TextTestRunner(text, verbosity=2).run(unittest.defaultTestLoader.loadTestsFromNames(names))
    return text.getvalue(), outcome.testsRun, outcome.wasSuccessful(), time.monotonic() - start


def main():
    wanted, start = parts(sys.argv[1:]), time.monotonic()
    results = []
    with tempfile.TemporaryDirectory(prefix="stepscope-pages-") as folder:
        # Those of an earlier run, where somebody keeps them.
        pathlib.Path(os.environ.setdefault("STEPSCOPE_PAGE_INPUTS", folder)).mkdir(exist_ok=True)
        # Of this program, and no earlier one.
        os.environ[pages.OUTPUTS] = folder
        with concurrent.futures.ProcessPoolExecutor(min(os.cpu_count() or 1, MOST_AT_ONCE)) as processes:
            for done in concurrent.futures.as_completed(processes.submit(run, names) for names in wanted):
                results.append(done.result())
                print(results[-1][0], file=sys.stderr, flush=True)
    ran, seconds = sum(result[1] for result in results), time.monotonic() - start
    for text, _, _, took in sorted(results, key=lambda result: -result[3])[:5]:
        print(f"{took:6.1f} s  {text.splitlines()[0]}", file=sys.stderr)
    is_right = ran > 0 and all(result[2] for result in results)
    print(f"\nRan {ran} tests in {seconds:.1f}s\n\n{'OK' if is_right else 'FAILED'}", file=sys.stderr)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
