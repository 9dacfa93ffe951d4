"""The address and the way back: a link is a step of the history, an address that is put into an open page is shown, and
what the browser does with keys held stays the browser's."""

import unittest

import pages


def setUpModule():
    pages.need_browser()


# What the page shows, as far as an address says it.
SHOWN = """
    const rows = [...document.querySelectorAll('#section-table tbody tr')].filter(row => !row.hidden);
    return {
        filter: document.querySelector('#section-filter').value, rows: rows.map(row => row.dataset.path),
        sorted: document.querySelector('#section-table [aria-sort]')?.cellIndex ?? null,
        steps: [...document.querySelectorAll('#plot-steps input[type=range]')].slice(0, 2).map(one => Number(one.value)),
        ticks: [...document.querySelectorAll('#plot-steps .tick')].map(one => one.textContent),
        log: document.querySelector('#plot-steps input[type=checkbox]').checked,
        boxes: [...document.querySelectorAll('#flame-graph .box')].map(one => [one.title, one.className]),
        search: document.querySelector('#flame-search').value,
        step: document.querySelector('#waterfall-tools [aria-pressed=true]').textContent,
    };"""

ADDRESS = "#filter=forward&sort=2a&steps=100-160&log=1&search=back&own=1&example=1"


class History(pages.OnePage):
    """One page with findings, plots, sections and waterfalls."""

    NAME = "marked"

    def setUp(self):
        self.browser.open(self.page)

    def tearDown(self):
        self.assertEqual(self.browser.messages(), [])

    def shown(self):
        return self.browser.run(SHOWN)

    def put(self, address):
        """Puts an address into the page that is open, as a person does who edits or pastes it."""
        self.browser.run("window.isStillOpen = true; window.told = false; addEventListener('hashchange', () => { window.told = true; }, { once: true });"
                         "location.hash = arguments[0]", address)
        self.browser.wait("window.told")
        self.assertTrue(self.browser.run("return window.isStillOpen"))

    def back(self, forward=False):
        self.browser.run("window.told = false; addEventListener('popstate', () => { window.told = true; }, { once: true });"
                         "history.go(arguments[0])", 1 if forward else -1)
        self.browser.wait("window.told")

    def test_an_address_is_shown_on_an_open_page(self):
        plain = self.shown()
        self.browser.open(self.page, ADDRESS)
        expected = self.shown()
        for name, value in plain.items():
            self.assertNotEqual(expected[name], value, name)
        self.browser.open(self.page)
        self.put(ADDRESS)
        self.assertEqual(self.shown(), expected)
        # And what it does not say is as at first.
        self.put("#at=flame")
        self.assertEqual(self.shown(), plain)
        top = self.browser.run("return document.querySelector('#flame').getBoundingClientRect().top")
        self.assertLess(abs(top), 40)
        self.back()
        self.assertEqual(self.shown(), expected)

    def test_back_returns_from_every_link(self):
        links = self.browser.run("return [...document.querySelectorAll('nav a, .finding a')].length")
        self.assertGreater(links, 10)
        before = self.browser.run("return history.length")
        for at in range(links):
            self.browser.open(self.page, "#filter=fwd")
            place = "return [location.hash, document.querySelector('#section-filter').value]"
            first = self.browser.run(place)
            count = self.browser.run("return history.length")
            target = self.browser.run("const link = document.querySelectorAll('nav a, .finding a')[arguments[0]]; link.click(); return link.getAttribute('href').slice(1)", at)
            # Browsers keep fifty steps at most.
            self.assertEqual(self.browser.run("return history.length"), min(count + 1, 50), target)
            there = self.browser.run(place)
            self.assertIn(f"at={target}", there[0])
            self.back()
            self.assertEqual(self.browser.run(place), first, target)
            self.back(forward=True)
            self.assertEqual(self.browser.run(place), there, target)
        self.assertGreaterEqual(self.browser.run("return history.length"), before)

    def test_looking_around_is_no_step_of_the_history(self):
        count = self.browser.run("return history.length")
        self.browser.drag("#plot-steps .drawing", 0.4, 0.7)
        self.browser.write("#section-filter", "fwd")
        self.browser.click("#section-table th:nth-child(3) button")
        self.assertIn("steps=", self.browser.run("return location.hash"))
        self.assertEqual(self.browser.run("return history.length"), count)

    def test_clicks_with_keys_are_left_to_the_browser(self):
        for held in ("ctrlKey", "metaKey", "shiftKey", "altKey"):
            for link in ("nav a", ".finding a.see"):
                # What comes after the page's own listener sees whether the browser was to act, and stops it here.
                taken, address = self.browser.run("""
                    let taken = null;
                    window.addEventListener('click', (event) => { taken = event.defaultPrevented; event.preventDefault(); }, { once: true });
                    document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, [arguments[1]]: true }));
                    return [taken, location.hash];""", link, held)
                self.assertEqual((taken, address), (False, ""), (held, link))
        taken = self.browser.run("""
            let taken = null;
            window.addEventListener('click', (event) => { taken = event.defaultPrevented; }, { once: true });
            document.querySelector('nav a').click();
            return taken;""")
        self.assertTrue(taken)


if __name__ == "__main__":
    unittest.main(verbosity=2)
