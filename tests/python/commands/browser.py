"""A page in headless Chromium, driven through the pipe of its DevTools protocol."""

import base64
import json
import os
import subprocess
import time


class Browser:
    """One page. Close it, or use it in a `with` statement."""

    def __init__(self, url, profile):
        """Opens `url`. `profile`: a directory for the browser's files."""
        to_browser, self._commands = os.pipe()
        self._replies, from_browser = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(  # the browser reads commands from 3 and writes replies to 4
            ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", "chromium", *flags]
            + [f"--user-data-dir={profile}", "--window-size=900,700"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser), os.close(from_browser)
        self._rest, self._number, self._session = b"", 0, None
        target = self.call("Target.createTarget", url=url)["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._commands), os.close(self._replies)

    def _next_message(self):
        while b"\0" not in self._rest:
            part = os.read(self._replies, 1 << 16)
            if not part:
                raise EOFError("the browser has ended")
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        """The result of a command of the protocol."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._next_message()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    def value(self, expression):
        """The value of an expression in JavaScript."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, expression, seconds=30):
        """Waits until the expression is true."""
        end = time.monotonic() + seconds
        while not self.value(expression):
            assert time.monotonic() < end, f"{expression} did not become true: {self.value('document.body.innerText')}"
            time.sleep(0.02)

    def move_pointer_to(self, selector):
        """Moves the mouse to the middle of the first element that the selector finds."""
        box = self.value(f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])"
                         f"(document.querySelector({json.dumps(selector)}).getClientRects()[0])")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
