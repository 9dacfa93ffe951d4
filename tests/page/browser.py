"""A browser without a window, driven through its own driver by WebDriver (W3C). Only the standard library; Debian's
packages are chromium and chromium-driver. What is clicked and what must follow is the tests' business."""

import base64
import json
import multiprocessing.util
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

# What one call may take: pages of tens of thousands of elements are looked at, on machines that are busy.
SECONDS = 600

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"

KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014",
        "Down": "\ue015", "Space": " ", "Home": "\ue011", "End": "\ue010", "Shift": "\ue008"}


def programs():
    """Paths of browser and driver, or None where one is missing."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def started(width, height, scripts):
    """A session of a browser that is started for it: address of its driver, the driver's process, its id."""
    program, driver = programs()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--lang=en-US",
                 "--hide-scrollbars", "--force-color-profile=srgb", f"--window-size={width},{height}"]
    preferences = {} if scripts else {"profile.managed_default_content_settings.javascript": 2}
    wanted = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
              "timeouts": {"script": SECONDS * 1_000},
              "goog:chromeOptions": {"binary": program, "args": arguments, "prefs": preferences}}
    for attempt in range(100):
        try:
            answer = called("POST", f"{base}/session", {"capabilities": {"alwaysMatch": wanted}})
            # In processes that others have started, too.
            multiprocessing.util.Finalize(None, end_all, exitpriority=1)
            return base, process, answer["sessionId"]
        except (urllib.error.URLError, ConnectionError):
            if attempt == 99 or process.poll() is not None:
                raise
            time.sleep(0.1)


def called(method, url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise RuntimeError(json.loads(error.read())["value"]["message"]) from error


def end(base, driver, session):
    try:
        called("DELETE", f"{base}/session/{session}")
    finally:
        driver.terminate()
        driver.wait()


def end_all():
    for sessions in Browser.idle.values():
        while sessions:
            end(*sessions.pop())


class Browser:
    """A window of its own, in a session that earlier ones may have had: to start a browser takes seconds. Use as a context."""

    # Sessions that nobody has now, by whether their pages may run scripts.
    idle = {True: [], False: []}

    def __init__(self, width=1280, height=900, scripts=True):
        self.scripts = scripts
        self.base, self.driver, self.session = self.idle[scripts].pop() if self.idle[scripts] else started(width, height, scripts)
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.renew()
        except (OSError, RuntimeError):
            self.end()
            raise
        self.idle[self.scripts].append((self.base, self.driver, self.session))

    def renew(self):
        """Leaves the session as it was at its start: a new window, which has neither history nor emulation, and nothing told."""
        fresh = self.call("POST", "/window/new", {"type": "tab"})["handle"]
        for handle in self.call("GET", "/window/handles"):
            if handle != fresh:
                self.call("POST", "/window", {"handle": handle})
                self.call("DELETE", "/window")
        self.call("POST", "/window", {"handle": fresh})
        self.messages()
        self.requests()

    def end(self):
        end(self.base, self.driver, self.session)

    def call(self, method, path, body=None):
        return called(method, f"{self.base}/session/{self.session}{path}", body)

    def cdp(self, command, parameters=None):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters or {}})

    def open(self, path, fragment="", ready=True):
        self.call("POST", "/url", {"url": "about:blank"})
        self.call("POST", "/url", {"url": f"file://{path}{fragment}"})
        if ready:
            self.wait("document.documentElement.dataset.ready === 'yes'")

    def run(self, script, *arguments):
        """The value of a script's `return`."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """What the script gives to its last argument."""
        return self.call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def wait(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not self.run(f"return Boolean({condition})"):
            if time.monotonic() > end:
                raise AssertionError(f"never became true: {condition}")
            time.sleep(0.02)

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call("POST", f"/element/{self.find(selector)}/click", {})

    def write(self, selector, text):
        element = self.find(selector)
        self.call("POST", f"/element/{element}/clear", {})
        self.call("POST", f"/element/{element}/value", {"text": text})

    def press(self, *names):
        """Keys, as a person presses them."""
        actions = []
        for name in names:
            key = KEYS.get(name, name)
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def press_with(self, held, *names):
        """Keys while another one is held."""
        actions = [{"type": "keyDown", "value": KEYS[held]}]
        for name in names:
            actions += [{"type": "keyDown", "value": KEYS[name]}, {"type": "keyUp", "value": KEYS[name]}]
        actions.append({"type": "keyUp", "value": KEYS[held]})
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def drag(self, selector, start, end):
        """From one share of an element's width to another, at half of its height."""
        box = self.run("const e=document.querySelector(arguments[0]); e.scrollIntoView({block:'center'});"
                       "const b=e.getBoundingClientRect(); return [b.left,b.top,b.width,b.height]", selector)
        point = lambda share: {"x": int(box[0] + share * box[2]), "y": int(box[1] + box[3] / 2), "duration": 50}
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
            {"type": "pointerMove", **point(start)}, {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", **point((start + end) / 2)}, {"type": "pointerMove", **point(end)},
            {"type": "pointerUp", "button": 0}]}]})

    def media(self, kind="", **features):
        self.cdp("Emulation.setEmulatedMedia", {
            "media": kind, "features": [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]})

    def resize(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride",
                 {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def messages(self):
        """What was written to the console since the last call, errors of the policy among them."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def requests(self):
        """Addresses that were asked for since the last call."""
        entries = [json.loads(entry["message"])["message"] for entry in self.call("POST", "/se/log", {"type": "performance"})]
        return [entry["params"]["request"]["url"] for entry in entries if entry["method"] == "Network.requestWillBeSent"]

    def picture(self, path, part=None):
        """What is seen, or all of the first element of that selector, or the whole page (`:root`)."""
        parameters = {"format": "png"}
        if part:
            x, y, width, height = self.run(
                "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
                "return [box.left + scrollX, box.top + scrollY, box.width, box.height]", part)
            # With some of what is around it.
            around = 8 if part != ":root" else 0
            parameters.update(captureBeyondViewport=True, clip={
                "x": max(x - around, 0), "y": max(y - around, 0), "width": width + 2 * around, "height": height + 2 * around, "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.cdp("Page.captureScreenshot", parameters)["data"]))

    def paper(self):
        """The page as a PDF."""
        return base64.b64decode(self.cdp("Page.printToPDF", {"printBackground": True})["data"])
