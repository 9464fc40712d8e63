"""Compares Smelt's chat templates with those of Jinja2 as transformers runs them: every output has to be equal byte for byte.

Usage: python3 check_chat_templates.py DRIVER templates DIRECTORY...    (templates in *.jinja, *.py, *.json, *.yaml files)
       python3 check_chat_templates.py DRIVER features                  (templates after documented features)
       python3 check_chat_templates.py DRIVER fuzz [SECONDS [SEED]]     (random templates; default: 300 seconds)
Needs jinja2 and transformers. The driver is tests/runtime/templates/render_lines.cpp:
  g++-12 -std=c++20 -O1 -I. tests/runtime/templates/render_lines.cpp runtime/templates/*.cpp \\
         runtime/tokenizers/unicode/utf8.cpp -lfmt -o DRIVER
Exit code 0: all equal; 1: not; 2: wrong usage.
"""
import ast
import json
import pathlib
import random
import resource
import signal
import subprocess
import sys
import time

import jinja2
from transformers.utils import chat_template_utils

import chat_template_cases as cases


def compile_template(source):
    template = chat_template_utils._cached_compile_jinja_template(source)
    template.environment.globals["strftime_now"] = lambda format: f"<{format}>"
    return template


class TooSlow(BaseException):
    pass


def stop(signum, frame):
    raise TooSlow


def patiently(make):
    """The result of `make`, or None after two seconds: Python computes numbers of any size."""
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(2)
    try:
        return make()
    except TooSlow:
        return None
    finally:
        signal.alarm(0)


def theirs(source, conversations):
    """The outputs of Jinja2; None where it refuses."""
    try:
        template = compile_template(source)
    except Exception as error:
        return [(None, f"{type(error).__name__}: {error}")] * len(conversations)
    out = []
    for variables in conversations:
        try:
            text = template.render(**variables)
            text.encode()
            out.append((text, ""))
        except Exception as error:
            out.append((None, f"{type(error).__name__}: {error}"))
    return out


class Driver:
    def __init__(self, path):
        self.path = path
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def render(self, source, conversations):
        line = json.dumps({"template": source, "variables": conversations}) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            code = self.process.wait()
            self.start()
            return [{"error": f"the driver ended with {code}", "kind": "crash"}] * len(conversations)
        return json.loads(answer)


class Report:
    def __init__(self):
        self.equal = self.refused = self.unsupported = 0
        self.faults = []

    def compare(self, name, source, variables, their, our):
        text, error = their
        if text is not None and " at 0x" in text:  # an address, which no two processes share
            return "address"
        deep = "RecursionError" in error and "error" in our
        if "error" in our and our["kind"] in ("unsupported", "limit") and not deep:
            self.unsupported += 1
            return our["kind"]
        if text is None and "error" in our and our["kind"] != "crash":
            self.refused += 1
        elif text is not None and our.get("text") == text:
            self.equal += 1
        else:
            self.faults.append((name, source, variables, text if text is not None else error, our))
            return "fault"
        return "equal"

    def print(self):
        for name, source, variables, their, our in self.faults[:20]:
            print(f"--- {name}\n{source if len(source) < 1500 else ''}\nvariables: {json.dumps(variables)[:600]}")
            print(f"theirs: {their!r}\nours:   {our}")
        print(f"equal {self.equal}, both refuse {self.refused}, not supported here {self.unsupported}, "
              f"different {len(self.faults)}")
        return 1 if self.faults else 0


def looks_like_template(text):
    return "{%" in text and "%}" in text and ("message" in text or "tools" in text)


def sum_of_texts(node):
    """The text of a constant or of a sum of constants, or None."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return None
    left, right = sum_of_texts(node.left), sum_of_texts(node.right)
    return left + right if left is not None and right is not None else None


def texts_of_python(source):
    """Texts in Python code; texts that are added up are one."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    inside = set()
    for node in ast.walk(tree):
        if node in inside:
            continue
        text = sum_of_texts(node)
        if text is not None:
            inside.update(ast.walk(node))
            yield text


def texts_of_json(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_of_json(item)


def texts_of_file(path):
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    if path.suffix in (".jinja", ".jinja2"):
        yield source
    elif "{%" not in source:
        return
    elif path.suffix == ".py":
        yield from texts_of_python(source)
    elif path.suffix == ".json":
        try:
            yield from texts_of_json(json.loads(source))
        except ValueError:
            return


def found_templates(directories):
    found = {}
    for directory in directories:
        for path in sorted(pathlib.Path(directory).rglob("*")):
            if path.is_file() and path.suffix in (".jinja", ".jinja2", ".py", ".json"):
                for text in texts_of_file(path):
                    if isinstance(text, str) and looks_like_template(text):
                        found.setdefault(text, str(path))
    return found


def check_templates(driver, directories):
    report, conversations, by_kind = Report(), cases.conversations(), {}
    templates = found_templates(directories)
    rendered = 0
    for source, name in templates.items():
        their = theirs(source, conversations)
        our = driver.render(source, conversations)
        results = [report.compare(name, source, v, t, o) for v, t, o in zip(conversations, their, our)]
        rendered += any(t[0] is not None for t in their)
        for result, o in zip(results, our):
            if result in ("unsupported", "limit"):
                by_kind.setdefault(o["error"].split(": ", 1)[-1], set()).add(name)
    print(f"{len(templates)} templates ({rendered} that Jinja2 renders for one conversation or more), "
          f"{len(conversations)} conversations each")
    for error, names in by_kind.items():
        print(f"not supported: {error} ({len(names)} files, as {sorted(names)[0]})")
    return report.print()


def check_features(driver):
    report = Report()
    for source in cases.FEATURES:
        variables = [cases.feature_variables()]
        report.compare("feature", source, variables[0], theirs(source, variables)[0], driver.render(source, variables)[0])
    print(f"{len(cases.FEATURES)} templates")
    return report.print()


def check_random(driver, seconds, seed):
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    report, end, count = Report(), time.time() + seconds, 0
    while time.time() < end and len(report.faults) < 20:
        generator = cases.Generator(random.Random(seed + count))
        source, variables = generator.template(), [cases.feature_variables()]
        our, their = driver.render(source, variables), patiently(lambda: theirs(source, variables))
        if their is None or our[0].get("kind") == "crash":
            their = [(None, "")] if our[0].get("kind") != "crash" else [("", "crash")]
        report.compare(f"seed {seed + count}", source, variables[0], their[0], our[0])
        count += 1
    print(f"{count} templates")
    return report.print()


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ("templates", "features", "fuzz"):
        print(__doc__, file=sys.stderr)
        return 2
    driver, what, rest = Driver(sys.argv[1]), sys.argv[2], sys.argv[3:]
    if what == "templates":
        return check_templates(driver, rest)
    if what == "features":
        return check_features(driver)
    return check_random(driver, float(rest[0]) if rest else 300, int(rest[1]) if len(rest) > 1 else 1)


if __name__ == "__main__":
    sys.exit(main())
