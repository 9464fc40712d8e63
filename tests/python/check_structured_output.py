"""Compares structured output with the packages jsonschema and re: random schemas and texts, JSON-Schema-Test-Suite, expressions, times.

Usage: python3 check_structured_output.py DRIVER [SUITE] [--schemas N] [--walks N] [--expressions N] [--vocabulary FILE]
DRIVER is build/structured_output_driver (tests/support/structured_output_driver.cpp). SUITE is a directory with draft6,
draft7, draft2019-09 and draft2020-12 (json/tests in the source distribution of jsonschema). FILE has lines of base64 and an id (*.tiktoken).
The package jsonschema[format] checks formats. Exit code 0: all as expected; 1: not; 77: the package jsonschema is not installed.
"""
import argparse
import base64
import collections
import json
import pathlib
import random
import re
import subprocess
import sys

DRAFTS = {"draft6": "http://json-schema.org/draft-06/schema#", "draft7": "http://json-schema.org/draft-07/schema#",
          "draft2019-09": "https://json-schema.org/draft/2019-09/schema", "draft2020-12": "https://json-schema.org/draft/2020-12/schema"}
# Valid instances that the grammar has no text for, by the descriptions of group and test: the restrictions of json_schema.h.
RESTRICTED = [
    ("time format", "leap second"), ("date-time format", "leap second"), ("validation of date-time strings", "leap second"),
    ("validation of time strings", "leap second"), ("e-mail", "quoted"), ("e-mail", "address-literal"),
    ("const with object", "different property order"), ("", "is only an annotation by default"),
]


class Driver:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def walk_vocabulary():
    texts = [chr(c).encode() for c in range(32, 127)] + [bytes([b]) for b in "é日😀".encode()]
    texts += [b"true", b"false", b"null", b'":', b'","', b'{"', b'"}', b"}]", b"\\u00", b"\n", b"10", b"ab", b"foo", b"bar", b"\xc3\xa9a"]
    return [base64.b64encode(text).decode() for text in texts]


def resolve(schema, root):
    """Returns a schema and all schemas that apply to the same value by $ref and combinations, in the order of the grammar."""
    if not isinstance(schema, dict):
        return []
    found = []
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].split("/")[1:]:
            part = re.sub("%([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)), part).replace("~1", "/").replace("~0", "~")
            target = target[int(part)] if isinstance(target, list) else target.get(part, {})
        found += resolve(target, root) if target is not schema else []
    found.append(schema)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(keyword, []):
            found += resolve(part, root)
    return found


def arranged(value, schemas, root):
    """Returns a value with its members in the order of the schema, and integers instead of numbers such as 1.0."""
    schemas = [found for schema in schemas for found in resolve(schema, root)]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return int(value)
    if isinstance(value, list):
        def of(i):
            for schema in schemas:
                items, prefix = schema.get("items", {}), schema.get("prefixItems", [])
                prefix = items if isinstance(items, list) else prefix
                yield prefix[i] if i < len(prefix) else schema.get("additionalItems", {}) if isinstance(items, list) else items
        return [arranged(element, of(i), root) for i, element in enumerate(value)]
    if not isinstance(value, dict):
        return value
    names = [name for schema in schemas for name in schema.get("properties", {})]
    names += [name for schema in schemas for name in schema.get("required", [])] + list(value)

    def of(name):
        for schema in schemas:
            yield schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
    return {name: arranged(value[name], of(name), root) for name in dict.fromkeys(names) if name in value}


def dumped(value, schema):
    return json.dumps(arranged(value, [schema], schema), ensure_ascii=False, separators=(",", ":"))


def with_draft(schema, draft):
    return {"$schema": DRAFTS[draft], **schema} if isinstance(schema, dict) else schema


class Check:
    def __init__(self, driver, jsonschema, walks):
        self.driver, self.jsonschema, self.walks = driver, jsonschema, walks
        self.counts, self.refused, self.faults = collections.Counter(), collections.Counter(), []

    def validator(self, schema, draft):
        kind = {"draft6": self.jsonschema.Draft6Validator, "draft7": self.jsonschema.Draft7Validator,
                "draft2019-09": self.jsonschema.Draft201909Validator}.get(draft, self.jsonschema.Draft202012Validator)
        return kind(schema, format_checker=kind.FORMAT_CHECKER)

    def group(self, file, group, draft):
        schema = with_draft(group["schema"], draft)
        reply = self.driver.ask(compile="schema", text=schema)
        self.counts["schemas"] += 1
        if "error" in reply:
            if "no text satisfies" in reply["error"]:
                self.counts["schemas that nothing satisfies"] += 1
                if any(test["valid"] for test in group["tests"]):
                    self.faults.append((file, group["description"], "refused as empty"))
                return
            message = reply["error"].split(": ", 1)[1]  # without the place
            word = re.search(r"\$ref|'([^']*)'|look-around|escape|anchor|back ref", message)
            self.refused[word[0] if word else reply["error"][:60]] += 1
            self.counts["refused schemas"] += 1
            return
        self.counts["supported schemas"] += 1
        for test in group["tests"]:
            self.instance(file, group, test, schema)
        self.walk(file, group, schema, draft)

    def instance(self, file, group, test, schema):
        text = dumped(test["data"], schema)
        whole = self.driver.ask(match=text).get("whole")
        restricted = any(g in group["description"] and t in test["description"] for g, t in RESTRICTED)
        name = "valid" if test["valid"] else "invalid"
        if whole == test["valid"]:
            self.counts[f"{name} instances as expected"] += 1
        elif test["valid"] and (restricted or has_float(test["data"], text)):
            self.counts["valid instances outside the restricted spelling"] += 1
        else:
            self.faults.append((file, group["description"], test["description"], text, f"expected {name}"))

    def walk(self, file, group, schema, draft):
        validator = self.validator(schema, draft)
        for seed in range(self.walks):
            reply = self.driver.ask(walk=seed, steps=60)
            text = reply.get("text", "")
            if "dead" in reply or "error" in reply:
                self.faults.append((file, group["description"], "a walk without an end", reply))
                continue
            if "unfinished" in reply:
                self.counts["unfinished walks"] += 1
                continue
            try:
                errors = list(validator.iter_errors(json.loads(text)))
            except RecursionError:
                continue
            self.counts["walks"] += 1
            if errors:
                self.faults.append((file, group["description"], "a walk that is not valid", text[:300], errors[0].message[:200]))


class SchemaMaker:
    """Random schemas of the kinds of the public suite."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def document(self):
        self.refers = self.rng.random() < 0.3
        schema = self.schema(0)
        if not self.refers or not isinstance(schema, dict):
            return schema
        # A definition may refer to itself where a value need not have the property.
        node = {"type": "object", "properties": {"v": self.schema(2), "next": {"$ref": "#/$defs/node"}}, "required": ["v"],
                "additionalProperties": False}
        return {**schema, "$defs": {"node": node, "a~b/c": self.scalar()}}

    def schema(self, depth):
        kind = self.rng.random()
        if depth > 3 or kind < 0.35:
            return self.scalar()
        if self.refers and kind < 0.42:
            return {"$ref": self.rng.choice(["#/$defs/node", "#/$defs/a~0b~1c"])}
        if kind < 0.65:
            return self.object(depth)
        if kind < 0.8:
            return self.array(depth)
        return self.combination(depth)

    def chosen(self, **makers):
        """Returns an object with each keyword by chance."""
        return {name: make() for name, make in makers.items() if self.rng.random() < 0.4}

    def scalar(self):
        return self.rng.choice([self.string, self.number, self.fixed, lambda: {"type": self.rng.choice(["null", "boolean", "integer", "number", "string"])},
                                lambda: {"type": self.rng.sample(["null", "boolean", "integer", "string", "number"], 2)}, lambda: True])()

    def string(self):
        rng, least = self.rng, self.rng.randint(0, 4)
        extra = rng.choice([
            lambda: {"pattern": rng.choice(["^[a-c]{2,5}$", "x", "^\\d+(\\.\\d{2})?$", "(ab|cd)+e", "^[^\"]*$", "^é?[日本]{1,3}$", "\\s", "^(a|b\\\\)*$"])},
            lambda: {"format": rng.choice(["date", "time", "date-time", "duration", "uuid", "ipv4", "ipv6", "email", "uri", "hostname", "json-pointer"])},
            lambda: self.chosen(minLength=lambda: least, maxLength=lambda: least + rng.randint(0, 9))])()
        return {"type": "string", **extra}

    def number(self):
        rng = self.rng
        low = rng.choice([0, -5, 17, -1000, 0.5, -2.25, 1e3])
        bounds = self.chosen(**{rng.choice(["minimum", "exclusiveMinimum"]): lambda: low,
                                rng.choice(["maximum", "exclusiveMaximum"]): lambda: low + rng.choice([3, 40.5, 12345])})
        if rng.random() < 0.5:
            return {"type": "number", **bounds}
        return {"type": "integer", **bounds, **self.chosen(multipleOf=lambda: rng.choice([2, 3, 7, 10]))}

    def fixed(self):
        values = ["a", "é\n\"", 1, 1.5, -0.25, True, None, {"k": [1, {}]}, [], ["x", None], "", 10**12]
        return self.rng.choice([{"const": self.rng.choice(values)}, {"enum": self.rng.sample(values, 3)}])

    def object(self, depth):
        rng = self.rng
        names = rng.sample(["a", "b", "name", "x y", "é", "q\"", "id", "x1"], rng.randint(0, 4))
        schema = {"type": "object", "properties": {name: self.schema(depth + 1) for name in names}}
        schema |= self.chosen(required=lambda: rng.sample(names + ["other"], rng.randint(0, len(names))),
                              additionalProperties=lambda: rng.choice([False, self.schema(depth + 2)]),
                              patternProperties=lambda: {rng.choice(["^x", "\\d$", "^[ab]"]): self.schema(depth + 2)})
        if rng.random() < 0.2:
            schema["propertyNames"] = rng.choice([{"maxLength": 3}, {"pattern": "^[a-z]"}, {"enum": ["a", "b", "z"]}])
        if rng.random() < 0.2:
            schema |= rng.choice([{"maxProperties": rng.randint(0, 3)}, {"minProperties": 1}])
        return schema

    def array(self, depth):
        rng, least = self.rng, self.rng.randint(0, 3)
        schema = {"type": "array", "items": self.schema(depth + 1)}
        if rng.random() < 0.3:
            schema["prefixItems"] = [self.schema(depth + 1) for _ in range(rng.randint(1, 3))]
        return schema | self.chosen(minItems=lambda: least, maxItems=lambda: least + rng.randint(0, 4))

    def combination(self, depth):
        rng, count = self.rng, self.rng.randint(2, 3)
        kind = rng.choice(["anyOf", "allOf", "oneOf"])
        if kind == "oneOf":
            return {kind: [{"type": "object", "properties": {"kind": {"const": f"k{i}"}, "value": self.schema(depth + 1)}, "required": ["kind"]}
                           for i in range(count)]}
        if kind == "allOf":
            return {kind: [self.object(depth + 2) for _ in range(count)]}
        return {kind: [self.schema(depth + 1) for _ in range(count)], **rng.choice([{}, {}, {"type": ["object", "string", "null"]}])}


def mutated(text, rng):
    """Returns a text with a few characters removed, replaced or repeated."""
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(["", "0", "1", "a", '"', ",", "}", "null", text[at:at + 3] * 2]) + text[at + rng.randint(0, 2):]
    return text


def check_schemas(driver, jsonschema, count, walks):
    """Texts under the masks of random schemas are valid, and so are changed texts that the automaton accepts."""
    maker, rng, faults, counts, refused = SchemaMaker(5), random.Random(6), [], collections.Counter(), collections.Counter()
    kind = jsonschema.Draft202012Validator
    while counts["schemas"] < count:
        schema = maker.document()
        reply = driver.ask(compile="schema", text=schema, whitespace=rng.choice([0, 3, 20]))
        if "error" in reply:
            refused[re.sub(r"^JSON Schema( at [^:]*)?: |\d+", "", reply["error"])[:60]] += 1
            continue
        counts["schemas"] += 1
        validator = kind(schema, format_checker=kind.FORMAT_CHECKER)
        for _ in range(walks):
            reply = driver.ask(walk=rng.randrange(1 << 30), steps=40)
            if "dead" in reply or "error" in reply:
                faults.append((schema, "a walk without an end", reply))
            elif "unfinished" in reply:
                counts["unfinished walks"] += 1
            else:
                counts["walks"] += 1
                changed = mutated(reply["text"], rng)
                is_accepted = driver.ask(match=changed)["whole"]
                counts["changed texts"] += 1
                counts["changed texts that match"] += is_accepted
                for text in [reply["text"]] + [changed] * is_accepted:
                    errors = [error.message[:200] for error in validator.iter_errors(json.loads(text))]
                    if errors:
                        faults.append((json.dumps(schema), "a text that is not valid", text[:300], errors[0]))
    print("random schemas:", ", ".join(f"{name} {number}" for name, number in counts.items()), f"; faults: {len(faults)}")
    print("refused:", ", ".join(f"{word} ({number})" for word, number in refused.most_common(12)))
    return faults


def has_float(value, text):
    """Returns whether the text has a number with an exponent, which bounds exclude."""
    return isinstance(value, float) and ("e" in text)


def random_expression(rng, depth=0):
    pieces = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.random()
        if kind < 0.45 or depth > 2:
            piece = rng.choice(["a", "b", "c", "0", ".", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "[ab]", "[^a]", "[a-c0]", "\\.", "[\\d_]", "é"])
        elif kind < 0.7:
            piece = rng.choice(["(", "(?:"]) + random_expression(rng, depth + 1) + ")"
        else:
            piece = "(?:" + "|".join(random_expression(rng, depth + 1) for _ in range(rng.randint(2, 3))) + ")"
        # re needs exponential time for nested repetitions without bounds, so few are nested.
        pieces.append(piece + rng.choice(["", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "{0,12}", "{4,9}"] if depth == 0 and len(piece) < 16
                                         else ["", "", "", "", "?", "{2}", "{1,2}"]))
    return "".join(pieces)


def check_expressions(driver, count):
    rng, faults, pairs, matches = random.Random(7), [], 0, 0
    for _ in range(count):
        expression = random_expression(rng)
        if rng.random() < 0.3:
            expression = "^" + expression + "$"
        reply = driver.ask(compile="regex", text=expression)
        if "error" in reply:
            faults.append((expression, reply))
            continue
        compiled = re.compile(expression, re.ASCII)
        for _ in range(25):
            if rng.random() < 0.4:
                text = driver.ask(walk=rng.randrange(1 << 30), steps=10).get("text", "")[:16]
            else:
                text = "".join(rng.choice("abc0._ \né") for _ in range(rng.randint(0, 9)))
            expected = compiled.fullmatch(text) is not None
            pairs += 1
            matches += expected
            if driver.ask(match=text).get("whole") != expected:
                faults.append((expression, text, expected))
    print(f"expressions: {count}, texts: {pairs}, of which {matches} match; differences: {len(faults)}")
    return faults


def documents():
    person = {"type": "object", "properties": {
        "name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 150}, "email": {"type": "string", "format": "email"},
        "tags": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 20}, "maxItems": 10},
        "role": {"enum": ["admin", "user", "guest"]}, "address": {"$ref": "#/$defs/address"}, "score": {"type": "number"},
        "born": {"type": "string", "format": "date"}, "more": {}},
        "required": ["name", "age", "role"], "additionalProperties": False,
        "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
                                                               "next": {"anyOf": [{"$ref": "#/$defs/address"}, {"type": "null"}]}},
                              "required": ["street", "zip"], "additionalProperties": False}}}
    value = {"name": "María Ångström, called \"Max\"", "age": 42, "email": "max.a@example.org", "tags": ["one tag", "日本語 tag", "x"],
             "role": "admin", "address": {"street": "12 Long Street\nBack door", "zip": "01234",
                                          "next": {"street": "Another One", "zip": "98765", "next": None}},
             "score": -12.75e3, "born": "1996-02-29", "more": {"free": [1, 2, {"deep": [[], {}, "text", True]}], "x": "y"}}
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    pretty = json.dumps(value, ensure_ascii=False, indent=2)
    yield "schema, compact", dict(compile="schema", text=person), compact
    yield "schema, indented", dict(compile="schema", text=person, whitespace=20), pretty
    yield "any object", dict(compile="object", text=""), compact
    yield "any object, indented", dict(compile="object", text="", whitespace=20), pretty
    yield "expression", dict(compile="regex", text=r"(\w+ ){3,30}=> [^\n]{1,80}\n(https?://[\w./]+)?"), "some words of a text => and the rest, 12 of them\nhttp://example.org/a"
    arithmetic = 'root ::= sum "\\n"\nsum ::= term (("+" | "-") term)*\nterm ::= factor (("*" | "/") factor)*\nfactor ::= [0-9]+ | [a-z]+ | "(" sum ")"\n'
    yield "grammar", dict(compile="gbnf", text=arithmetic), "(12+value)*(3/(abc-7)*((1)))-100\n"


def print_times(driver, file):
    print(driver.ask(vocabulary=str(file)))
    firsts, everything = [], []
    for name, request, text in documents():
        compiled = driver.ask(**request)
        first, again = driver.ask(time=text), driver.ask(time=text)
        if isinstance(first, dict):
            print(name, compiled, first)
            continue
        firsts += first
        everything += again
        print(f"{name}: compiled in {compiled['microseconds']} us, {compiled['states']} states; {len(first)} masks; us per mask "
              f"(first pass) {quantiles(first)}, (second pass) {quantiles(again)}")
    print(f"all: first pass {quantiles(firsts)}, second pass {quantiles(everything)}")


def quantiles(times):
    times = sorted(times)
    return f"p50 {times[len(times) // 2]:.0f} p99 {times[int(len(times) * 0.99)]:.0f} max {times[-1]:.0f}"


def check_suite(driver, jsonschema, suite, walks):
    check = Check(driver, jsonschema, walks)
    for draft in DRAFTS:
        for file in sorted((suite / draft).glob("*.json")) + sorted((suite / draft / "optional" / "format").glob("*.json")):
            for group in json.loads(file.read_text()):
                check.group(f"{draft}/{file.name}", group, draft)
    for name, count in check.counts.items():
        print(f"{name}: {count}")
    print("refused:", ", ".join(f"{word} {count}" for word, count in check.refused.most_common()))
    return check.faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("driver")
    parser.add_argument("suite", type=pathlib.Path, nargs="?", help="directory of JSON-Schema-Test-Suite; default: none")
    parser.add_argument("--schemas", type=int, default=600, help="random schemas; default: 600")
    parser.add_argument("--walks", type=int, default=20, help="random walks per schema; default: 20")
    parser.add_argument("--expressions", type=int, default=400, help="random regular expressions; default: 400")
    parser.add_argument("--vocabulary", help="vocabulary for the times of masks; default: no times")
    options = parser.parse_args()
    try:
        import jsonschema
    except ImportError as error:
        print(f"skipped: {error}", file=sys.stderr)
        return 77
    driver = Driver(options.driver)
    driver.ask(vocabulary=walk_vocabulary())
    faults = check_schemas(driver, jsonschema, options.schemas, options.walks)
    faults += check_suite(driver, jsonschema, options.suite, options.walks) if options.suite else []
    faults += check_expressions(driver, options.expressions)
    for fault in faults:
        print("FAULT", *fault, sep=" | ")
    if options.vocabulary:
        print_times(driver, options.vocabulary)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
