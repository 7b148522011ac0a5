"""A headless Chromium for tests, spoken to over a pipe with the DevTools protocol."""

import base64
import fcntl
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-pipe",
]
# Chromium listens on file descriptor 3 and answers on 4.
LAUNCHER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
KEY_CODES = {"ArrowRight": 39, "ArrowLeft": 37, "Tab": 9, "End": 35, "Home": 36, "Enter": 13}


class Browser:
    """One page in a browser of its own; everything the console says and every request is kept."""

    def __init__(self, width=1280, height=900, dark=False):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read_end, self._write = os.pipe()
        self._read, write_end = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read_end, write_end)]
        os.close(read_end)
        os.close(write_end)
        command = [sys.executable, "-c", LAUNCHER, *map(str, ends), CHROMIUM, *FLAGS]
        command.append(f"--user-data-dir={self._profile.name}")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, pass_fds=ends, **quiet)
        for end in ends:
            os.close(end)
        self._buffer = b""
        self._numbers = itertools.count(1)
        self.complaints = []
        self.requests = []
        self._session = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        self._profile.cleanup()

    def resize(self, width, height=900):
        size = {"width": width, "height": height}
        self._call("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=False)

    def open(self, path):
        self._call("Page.navigate", url=Path(path).resolve().as_uri())
        deadline = time.monotonic() + 30
        while self.run("document.readyState") != "complete":
            assert time.monotonic() < deadline, "the page does not finish loading"
            time.sleep(0.05)
        self.settle()

    def settle(self):
        """Wait for two frames, so that what an event caused has been drawn."""
        self.run(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
        )

    def run(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key):
        pressed = {"key": key, "code": key, "windowsVirtualKeyCode": KEY_CODES[key]}
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, **pressed)
        self.settle()

    def point_at(self, selector, across=0.5, down=0.5):
        """Move the mouse over an element, to a share of its width and height."""
        element = f"document.querySelector({selector!r})"
        self.run(f"{element}.scrollIntoView({{block: 'center'}})")
        box = f"{element}.getBoundingClientRect()"
        x, y, width, height = self.run(f"(b => [b.x, b.y, b.width, b.height])({box})")
        where = {"x": x + across * width, "y": y + down * height}
        self._call("Input.dispatchMouseEvent", type="mouseMoved", **where)
        self.settle()

    def screenshot(self, path):
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self._call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path, inches=(8.27, 11.69)):
        """Print on paper of a width and a height, A4 unless told."""
        paper = dict(zip(("paperWidth", "paperHeight"), inches, strict=True))
        printed = self._call("Page.printToPDF", preferCSSPageSize=True, **paper)
        Path(path).write_bytes(base64.b64decode(printed["data"]))

    def _call(self, method, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next_message()
            self._keep(answer)
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer.get('error')}"
                return answer["result"]

    def _next_message(self):
        while b"\0" not in self._buffer:
            received = os.read(self._read, 1 << 20)
            assert received, "the browser went away"
            self._buffer += received
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _keep(self, message):
        method = message.get("method")
        parameters = message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.complaints.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
