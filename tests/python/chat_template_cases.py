"""Conversations, templates and a generator of templates for check_chat_templates.py."""

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Get the weather of a \"city\" <now>\nin degrees",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "Ünïcode – city"}, "days": {"type": "integer", "minimum": 1},
        "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
        "either": {"type": ["string", "null"]}, "any": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        "required": ["city"]},
    "return": {"type": "string", "description": "text"}}}
TIME = {"type": "function", "function": {"name": "now", "description": "The time.",
                                         "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "abcdef123", "type": "function",
        "function": {"name": "get_weather", "arguments": {"city": "Zürich", "days": 2, "deep": {"a": [1, None, True]}}}}
TEXT_CALL = {"id": "abcdef124", "type": "function",
             "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
SYSTEM = {"role": "system", "content": "You are  terse.\n"}
USER = {"role": "user", "content": " Hello, wörld! 你好 🎉 \n"}
ASSISTANT = {"role": "assistant", "content": "Hi <b>there</b> & \"you\"\n\n"}
MORE = {"role": "user", "content": "And 'now'?"}
PARTS = {"role": "user", "content": [{"type": "image", "image": "a.png"}, {"type": "text", "text": "What is this?"},
                                     {"type": "image_url", "image_url": {"url": "u"}},
                                     {"type": "video", "video": "v"}, {"type": "audio", "audio": "x"}]}
THOUGHT = {"role": "assistant", "content": "<think>\nhm, 1 < 2\n</think>\n\nYes."}
REASONED = {"role": "assistant", "content": "Yes.", "reasoning_content": "\nBecause.\n", "thinking": "Because."}
CALLING = {"role": "assistant", "content": "", "tool_calls": [CALL]}
CALLING_NONE = {"role": "assistant", "content": None, "tool_calls": [CALL, TEXT_CALL]}
REPLY = {"role": "tool", "name": "get_weather", "tool_call_id": "abcdef123", "content": "{\"t\": 21.5}"}
REPLY_OBJECT = {"role": "tool", "name": "get_weather", "tool_call_id": "abcdef124", "content": {"t": 21.5, "ok": True}}
DOCUMENTS = [{"title": "One", "text": "First text.", "contents": "c", "doc_id": 1},
             {"title": "Zwei – 2", "text": "Second\ntext.", "contents": "d", "doc_id": 2}]


def conversation(messages, tools=None, documents=None, prompt=False, **more):
    return {"messages": messages, "tools": tools, "documents": documents, "add_generation_prompt": prompt,
            "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", **more}


def conversations():
    long = [SYSTEM, USER, ASSISTANT, MORE, THOUGHT, USER, REASONED, MORE]
    return [
        conversation([USER], prompt=True),
        conversation([SYSTEM, USER], prompt=True),
        conversation([USER, ASSISTANT]),
        conversation(long, prompt=True),
        conversation(long[:-1]),
        conversation([SYSTEM, USER, ASSISTANT, MORE, {"role": "assistant", "content": "It is"}],
                     continue_final_message=True),
        conversation([PARTS], prompt=True),
        conversation([{"role": "system", "content": [{"type": "text", "text": "Sys"}]}, PARTS,
                      {"role": "assistant", "content": [{"type": "text", "text": "A cat"}]}, MORE], prompt=True),
        conversation([SYSTEM, USER], [WEATHER, TIME], prompt=True),
        conversation([USER, CALLING, REPLY], [WEATHER], prompt=True),
        conversation([SYSTEM, USER, CALLING_NONE, REPLY, REPLY_OBJECT, ASSISTANT], [WEATHER, TIME]),
        conversation([USER, CALLING, REPLY, ASSISTANT, MORE], [WEATHER], prompt=True, enable_thinking=False),
        conversation([USER], prompt=True, enable_thinking=True, thinking=True, reasoning_effort="high",
                     date_string="26 Jul 2024", builtin_tools=["web", "python"], custom_tools=None),
        conversation([USER, ASSISTANT, MORE], documents=DOCUMENTS, prompt=True, citation_mode="fast"),
        conversation([]),
        conversation([], [], [], True),
        conversation([USER, MORE], prompt=True),
        conversation([{"role": "user", "content": ""}, {"role": "assistant", "content": "\n"}, {"role": "user", "content": " "}]),
        conversation([ASSISTANT, USER], prompt=True),
        conversation([{"role": "developer", "content": "Dev"}, USER, REASONED, MORE], prompt=True,
                     model_identity="I am x", keep_past_thinking=True),
        {"messages": [USER, ASSISTANT, MORE], "add_generation_prompt": True},
        conversation([{"role": "narrator", "content": "x"}, USER], prompt=True),
        conversation([SYSTEM, SYSTEM, USER, CALLING, REPLY, CALLING, REPLY], [WEATHER]),
    ]


def feature_variables():
    return {
        "messages": [SYSTEM, USER, ASSISTANT, MORE], "tools": [WEATHER, TIME], "n": 7, "f": 2.5, "big": 123456789012,
        "neg": -3, "s": "Hello, wörld", "t": "  x\ty \n", "empty": "", "none_value": None, "yes": True, "no": False,
        "xs": [3, 1, 2], "words": ["b", "A", "c", "a"], "mixed": [1, "a", None, 2.5, [1], {"k": "v"}],
        "d": {"b": 1, "a": 2, "items": 3, "C": [1, 2], "nested": {"x": {"y": "z"}}},
        "people": [{"name": "Zoe", "age": 3, "city": "x"}, {"name": "al", "age": 5, "city": "Y"},
                   {"name": "Bob", "age": 3, "city": "y"}],
        "tree": [{"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": 4, "kids": []}]}]}, {"v": 5, "kids": []}],
    }


FEATURES = [
    # White space and raw text
    "a\n  {% if yes %}\n  b\n  {% endif %}\nc\n{# note #}\nd {#- note -#} e\n",
    "  {%+ if yes %} x {%- endif -%}  \n y\n",
    "{% raw %}{{ not }} {% a %}{% endraw %}\n z {% raw -%}  \n q {%- endraw %}\n",
    "{{ s }}\n{{- s -}}\n  w\r\n\tx\r y\n\n",
    "{% if yes -%}\n\n  a\n{%- endif %}\n\n",
    # Scopes
    "{% set x = 1 %}{% for i in xs %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}",
    "{% for i in xs %}{{ late }}{% endfor %}{% set late = 1 %}{{ late }}",
    "{% if no %}{% set q = 1 %}{% endif %}{{ q is defined }}{% set q = 2 %}{% if yes %}{% set q = q + 1 %}{% endif %}{{ q }}",
    "{% set ns = namespace(a=1, b='x') %}{% for i in xs %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}{{ ns['b'] }}{{ ns.c is defined }}",
    "{% with a = 1, b = n %}{{ a }}{{ b }}{% set a = 5 %}{{ a }}{% endwith %}{{ a }}",
    "{% set x %}a{{ n }}\n b{% endset %}[{{ x }}]{% set y | upper | replace('A', 'z') %}abc{% endset %}{{ y }}",
    "{% set a, b = 1, [2] %}{% set (c, d) = (3, 4) %}{{ a }}{{ b }}{{ c }}{{ d }}",
    # Loops
    "{% for x in xs %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a', 'b') }}{{ loop.changed(x > 1) }};{% endfor %}",
    "{% for x in xs if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }},{% else %}none{% endfor %}{% for x in [] %}{% else %}none{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a + b + c }}{% endfor %}",
    "{% for n in tree recursive %}{{ n.v }}@{{ loop.depth }}{% if n.kids %}({{ loop(n.kids) }}){% endif %}{% endfor %}",
    "{% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x > 4 %}{% break %}{% endif %}{{ x }}{% else %}e{% endfor %}",
    "{% for m in messages %}{% for c in m.content[:3] %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}",
    # Macros
    "{% macro m(a, b='x', c=n) %}{{ a }}{{ b }}{{ c }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1) }}|{{ m(1, 2, 3, 4, k=5) }}|{{ m(c=1, a=2) }}",
    "{% macro box(t) %}<{{ t }}>{{ caller('u') }}</>{% endmacro %}{% call(v) box('x') %}in {{ v }} {{ n }}{% endcall %}",
    "{% macro f(k) %}{{ k }}{% if k > 0 %}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(4) }}{{ f.name }}{{ f.arguments }}{{ f }}",
    "{% filter upper | trim %}  ab{{ s }}  {% endfilter %}{% autoescape false %}{{ '<' }}{% endautoescape %}",
    "{% generation %}x{{ n }}{% endgeneration %}{% generation %}\ny\n{% endgeneration %}",
    # Expressions
    "{{ 7 // 2 }}{{ -7 // 2 }}{{ 7 % -3 }}{{ 7 / 2 }}{{ 2 ** 10 }}{{ 2 ** -1 }}{{ 1e3 }}{{ 1.0 }}{{ 1e16 }}{{ 1e-5 }}{{ 0.1 + 0.2 }}{{ -2 ** 2 }}",
    "{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 'a' in s }}{{ 'w' not in s }}{{ 1 == 1.0 }}{{ true == 1 }}{{ [1] == [1.0] }}{{ 'a' ~ 1 ~ none }}",
    "{{ s[1:4] }}{{ s[::-1] }}{{ s[-1] }}{{ s[99] }}{{ xs[-1] }}{{ xs[1:] }}{{ xs[::2] }}{{ (1, 2, 3)[:2] }}{{ range(5)[1:3] }}{{ s[8] }}",
    "{{ n if no }}{{ n if no else 'b' if no else 'c' }}{{ no or empty or 'z' }}{{ yes and n }}{{ not yes }}{{ x.y is defined if x is defined else 'u' }}",
    "{{ d['items'] }}{{ d.a }}{{ d['a'] }}{{ d.missing }}{{ d.get('q', 'w') }}{{ d.nested.x.y }}{{ d.keys() }}{{ d.values() }}{{ d.items() }}",
    "{{ xs.append }}{{ xs.append is defined }}{{ s.__class__ }}{{ d.update is defined }}{{ d._x }}",
    "{{ \"a\\tb\\u00e9\\x41\\n\\\\ \\' \\q\" }}{{ 'it''s' }}{{ 0x1F }}{{ 1_000 }}{{ 0b11 }}{{ 0o17 }}",
    "{{ mixed }}{{ d }}{{ (1,) }}{{ () }}{{ [none, true, 'a\\'b', \"q\\\"'\", '\\n\\u200b'] }}{{ {1: 2, 'a': (1, 2.0)} }}",
    # Methods
    "{{ t.strip() }}|{{ t.split() }}|{{ 'a,b,,c'.split(',') }}|{{ 'a,b,c'.rsplit(',', 1) }}|{{ s.startswith(('x', 'He')) }}|{{ s.find('w') }}|{{ s.title() }}|{{ s.upper() }}|{{ s.replace('l', 'L', 1) }}",
    "{{ '%s-%05.2f-%-4d|%x' % ('a', 3.14159, 7, 255) }}{{ '{}-{x!r:>5}-{0}'.format(1, x='y') if no else '{0}-{x!r:>5}'.format(1, x='y') }}{{ 'x'.center(5, '*') }}{{ '7'.zfill(3) }}",
    "{{ 'ß'.upper() }}{{ 'ΑΣ'.lower() }}{{ 'ǆ'.title() }}{{ 'a\\nb\\r\\nc'.splitlines() }}{{ 'abc'.removeprefix('a').removesuffix('c') }}{{ 'a-b-c'.partition('-') }}{{ 'x'.join(['1', '2']) }}",
    # Filters and tests
    "{{ xs | sort }}{{ words | sort }}{{ words | sort(case_sensitive=true) }}{{ people | sort(attribute='age,name') | map(attribute='name') | list }}{{ d | dictsort }}{{ xs | sort(reverse=true) }}",
    "{{ people | groupby('age') }}{% for g in people | groupby('city') %}{{ g.grouper }}{{ g.list | length }}{% endfor %}{{ words | unique | list }}{{ xs | batch(2, 'x') | list }}{{ range(7) | slice(3) | list }}",
    "{{ people | selectattr('age', 'equalto', 3) | map(attribute='name') | join(', ') }}{{ xs | select('odd') | list }}{{ xs | reject('>', 1) | list }}{{ words | map('upper') | join }}{{ people | rejectattr('none') | list | length }}",
    "{{ mixed | tojson }}{{ d | tojson(indent=2) }}{{ d | tojson(separators=(',', ':'), sort_keys=true) }}{{ s | tojson(ensure_ascii=true) }}{{ [] | tojson(indent=4) }}{{ '</script>' | tojson }}",
    "{{ 2.5 | round }}{{ 3.14159 | round(2) }}{{ 2.1 | round(method='ceil') }}{{ '42.7' | int }}{{ 'x' | int(5) }}{{ '0x1f' | int(base=16) }}{{ '1.5' | float }}{{ -3 | abs }}{{ xs | sum }}{{ xs | max }}{{ words | min }}{{ 1500 | filesizeformat }}",
    "{{ s | truncate(8) }}{{ 'a b c d e f g h i' | truncate(9, true, '…', 0) }}{{ 'a\\nb' | indent(2, true) }}{{ 'a b' | title }}{{ 'a b/c?ü' | urlencode }}{{ s | wordcount }}{{ s | capitalize }}{{ xs | first }}{{ xs | last }}{{ s | reverse }}{{ xs | reverse | list }}",
    "{{ '<a>&\"' | e }}{{ ('<' | e) + '<' }}{{ '<' | safe | e }}{{ '<' | e | forceescape }}{{ 'x' | center(5) }}|{{ nope | default('d') }}{{ empty | default('e', true) }}{{ none_value | d(1) }}",
    "{{ n is odd }}{{ n is divisibleby 7 }}{{ s is string }}{{ d is mapping }}{{ xs is sequence }}{{ nope is undefined }}{{ none_value is none }}{{ yes is true }}{{ n is number }}{{ f is float }}{{ n is not string }}{{ 'a' is in ['a'] }}{{ s is lower }}{{ n is eq 7 }}{{ xs is iterable }}{{ range is callable }}{{ 'upper' is filter }}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set j = joiner('; ') %}{{ j() }}1{{ j() }}2{{ dict(a=1, **{'b': 2}) }}{{ range(1, 10, 3) | list }}{{ strftime_now('%Y') }}",
    "{{ nope }}{{ nope.x }}", "{{ raise_exception('no ' ~ n) }}", "{{ 1 / 0 }}", "{{ xs.append(1) }}", "{{ [1] + 1 }}", "{{ 'a' < 1 }}",
    "{% for x in nope %}{{ x }}{% endfor %}[{{ nope ~ 'x' }}]{{ nope == nope2 }}{{ nope or 1 }}{{ nope | length }}{{ nope | list }}{{ [nope] }}",
]

WORDS = ["a", "Bc", "wörld", " x ", "", "ß", "12", "-3.5", "a,b,c", "x\\ny", "<&>", "日本", "ab ab", "%s", "{}", "é"]
NAMES = ["n", "f", "s", "t", "empty", "none_value", "yes", "no", "xs", "words", "mixed", "d", "people", "messages", "neg",
         "nope", "big", "tree"]
LOCALS = ["u", "v", "w"]
METHODS = {
    "str": ["upper()", "lower()", "title()", "capitalize()", "swapcase()", "strip()", "lstrip()", "rstrip('x ')", "split()",
            "split({s})", "rsplit({s}, 1)", "split(',', {i})", "splitlines()", "startswith({s})", "endswith(({s}, {s}))",
            "find({s})", "rfind({s})", "count({s})", "index({s})", "replace({s}, {s})", "replace({s}, {s}, {i})",
            "join({e})", "zfill({i})", "center({i})", "ljust({i}, '*')", "rjust({i})", "isdigit()", "isalpha()",
            "isupper()", "islower()", "isspace()", "istitle()", "isalnum()", "partition({s})", "rpartition({s})",
            "removeprefix({s})", "removesuffix({s})", "expandtabs({i})", "casefold()", "format({e}, {e})", "isidentifier()",
            "find({s}, {i})", "count({s}, {i}, {i})", "startswith({s}, {i})", "isprintable()", "isnumeric()"],
    "any": ["items()", "keys()", "values()", "get({s})", "get({s}, {e})", "count({e})", "index({e})", "copy()", "append({e})",
            "name", "content", "a", "nested.x", "role", "missing", "__class__", "update", "real"],
}
FILTERS = ["upper", "lower", "title", "capitalize", "trim", "length", "list", "first", "last", "reverse", "join", "join({s})",
           "join(', ', attribute={s})", "sort", "sort(reverse={e})", "sort(attribute={s})", "sort(case_sensitive=true)",
           "unique | list", "tojson", "tojson(indent={i})", "tojson(sort_keys=true)", "tojson(ensure_ascii=true)", "int",
           "int({e})", "float", "round", "round({i})", "round({i}, 'floor')", "abs", "sum", "max", "min", "string",
           "default({e})", "default({e}, true)", "d", "replace({s}, {s})", "replace({s}, {s}, {i})", "indent({i})",
           "indent({i}, true, true)", "truncate({i})", "truncate({i}, true)", "wordcount", "urlencode", "center({i})",
           "map('upper') | list", "map(attribute={s}) | list", "map('int') | list", "select | list", "select('string') | list",
           "reject('none') | list", "selectattr('name') | list", "selectattr('age', '>', {i}) | list",
           "rejectattr({s}) | list", "batch({i}) | list", "slice({i}) | list", "groupby({s})", "dictsort", "items | list",
           "dictsort(by='value')", "count", "attr({s})", "format({e})", "filesizeformat", "escape", "safe", "e",
           "map('tojson') | join('|')", "select('in', {e}) | list", "max(attribute={s})", "sum(attribute={s})"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "mapping", "sequence", "iterable", "boolean",
         "true", "false", "odd", "even", "lower", "upper", "callable", "divisibleby({i})", "eq({e})", "ne({e})", "in({e})",
         "gt({e})", "le({e})", "sameas(none)", "filter", "test", "escaped"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "~", "and", "or", "==", "!=", "<", "<=", ">", ">=", "in", "not in"]
SPECS = ["%s", "%d", "%5.1f", "%-4s|", "%r", "%05d", "%x", "%e", "%g", "%c", "%+d", "%%", "%(a)s", "%.2s", "%#o", "% d"]
BRACES = ["{}", "{0}", "{a}", "{!r}", "{:>6}", "{:05d}", "{:.2f}", "{:,}", "{:^7}", "{0[0]}", "{a.b}", "{{", "{:x}", "{:%}",
          "{:+}", "{:e}", "{:<4}|", "{:_}"]


class Generator:
    """Random templates of the supported language."""

    def __init__(self, random):
        self.random = random
        self.loops = 0

    def chance(self, p):
        return self.random.random() < p

    def pick(self, items):
        return self.random.choice(items)

    def fill(self, pattern, depth):
        for mark, make in (("{s}", self.text), ("{i}", self.integer), ("{e}", lambda: self.expression(depth - 1))):
            while mark in pattern:
                pattern = pattern.replace(mark, make(), 1)
        return pattern

    def text(self):
        return "'" + self.pick(WORDS + ["name", "age", "a", "content", "b", "x"]) + "'"

    def integer(self):
        return str(self.pick([0, 1, 2, 3, 5, 10, -1, -2]))

    def number(self):
        return self.pick(["0", "1", "2", "7", "10", "1.5", "2.0", "1e3", "0.1", "100000", "3.999", "1e22", "2.675", "255"])

    def format(self, depth):
        if self.chance(0.5):
            return "'" + "".join(self.pick(SPECS + ["a"]) for _ in range(2)) + "' % " + self.pick(
                ["({e}, {e})", "{e}", "[{e}]", "{'a': {e}}", "({e},)"]).replace("{e}", self.expression(depth - 1))
        arguments = ", ".join([self.expression(depth - 1) for _ in range(self.random.randrange(3))] + ["a=" + self.atom()])
        return "'" + "".join(self.pick(BRACES + ["a"]) for _ in range(2)) + "'.format(" + arguments + ")"

    def atom(self):
        kind = self.random.randrange(10)
        if kind < 4:
            return self.pick(NAMES + LOCALS + (["loop.index", "loop.last", "loop.length"] if self.loops else []))
        if kind < 7:
            return self.text()
        return self.number() if kind < 9 else self.pick(["true", "false", "none", "[]", "{}", "()", "range(4)"])

    def expression(self, depth):
        if depth <= 0:
            return self.atom()
        e = lambda: self.expression(depth - 1)
        kind = self.random.randrange(20)
        if kind < 4:
            return f"({e()} {self.pick(BINARY)} {e()})"
        if kind < 8:
            return f"{self.wrapped(depth)} | {self.fill(self.pick(FILTERS), depth)}" if self.chance(0.5) else \
                f"({e()} | {self.fill(self.pick(FILTERS), depth)})"
        if kind < 11:
            return f"{self.wrapped(depth)}.{self.fill(self.pick(METHODS[self.pick(['str', 'str', 'any'])]), depth)}"
        if kind == 11:
            return f"({e()} is {'not ' if self.chance(0.3) else ''}{self.fill(self.pick(TESTS), depth)})"
        if kind == 12:
            return f"({e()} if {e()} else {e()})" if self.chance(0.8) else f"({e()} if {e()})"
        if kind == 13:
            # Constants are not subscripted: Jinja folds such an expression, and then it prints nothing instead of failing.
            return f"{self.pick(NAMES + LOCALS)}[{self.pick(['{e}', '{i}:', ':{i}', '{i}:{i}', '::{i}', '{s}', '{i}', '-1'])}]".replace(
                "{e}", self.atom()).replace("{i}", self.integer()).replace("{s}", self.text())
        if kind == 14:
            return "[" + ", ".join(e() for _ in range(self.random.randrange(4))) + "]"
        if kind == 15:
            return "{" + ", ".join(f"{self.text()}: {e()}" for _ in range(self.random.randrange(3))) + "}"
        if kind == 16:
            return "(" + "".join(e() + ", " for _ in range(self.random.randrange(1, 3))) + ")"
        if kind == 17:
            return f"({self.pick(['not ', '-', '+'])}{e()})"
        if kind == 18:
            return f"({self.format(depth)})"
        return self.pick(["dict(a={e})", "range({i})", "range({i}, {i}, {i})", "namespace(a={e}).a", "({e} < {e} <= {e})",
                          "joiner({e})()", "dict([({s}, {e})])", "'{s}'.join(words)".replace("'{s}'", self.text())]).replace(
            "{e}", self.atom()).replace("{i}", self.integer()).replace("{s}", self.text())

    def wrapped(self, depth):
        return self.atom() if self.chance(0.5) else f"({self.expression(depth - 1)})"

    def sign(self):
        return self.pick(["", "", "", "-", "+"])

    def tag(self, body):
        end = self.pick(["", "", "", "-", "+"])
        return "{%" + self.sign() + " " + body + " " + end + "%}"

    def statement(self, depth):
        kind = self.random.randrange(15)
        body = lambda: self.body(depth - 1)
        expression = self.expression(self.random.randrange(4))
        if depth <= 0 or kind < 6:
            return "{{" + self.pick(["", "-"]) + " " + expression + " " + self.pick(["", "-"]) + "}}"
        if kind == 6:
            other = self.tag("elif " + self.expression(1)) + body() if self.chance(0.3) else ""
            other += self.tag("else") + body() if self.chance(0.5) else ""
            return self.tag("if " + expression) + body() + other + self.tag("endif")
        if kind < 9:
            return self.loop(depth)
        if kind == 9:
            return self.tag(f"set {self.pick(LOCALS)} = {expression}")
        if kind == 10:
            name = self.pick(LOCALS)
            return self.tag(f"set {name}") + body() + self.tag("endset") + "{{ " + name + " }}"
        if kind == 11:
            return self.tag(f"with {self.pick(LOCALS)} = {expression}") + body() + self.tag("endwith")
        if kind == 12:
            return self.macro(depth)
        if kind == 13:
            return self.tag("filter " + self.pick(["upper", "trim", "title", "replace('a', 'b')", "indent(2)", "length"])) \
                + body() + self.tag("endfilter")
        return self.pick(["{# c #}", "{#- c -#}", "{% raw %}{{ x }}{% endraw %}", self.tag("generation") + "g" + self.tag("endgeneration")])

    def loop(self, depth):
        source = self.expression(1) if self.chance(0.3) else self.pick(["xs", "words", "people", "messages", "range(3)", "mixed",
                                                                        "d.items()", "tree", "s", "t.split()"])
        test = f" if {self.expression(1)}" if self.chance(0.2) else ""
        target = self.pick(LOCALS) if self.chance(0.85) else "u, v"
        self.loops += 1
        body = self.body(depth - 1)
        if self.chance(0.2):
            body += self.tag("if " + self.expression(1)) + self.tag(self.pick(["break", "continue"])) + self.tag("endif") + "~"
        self.loops -= 1
        other = self.tag("else") + self.body(depth - 1) if self.chance(0.2) else ""
        return self.tag(f"for {target} in {source}{test}") + body + other + self.tag("endfor")

    def macro(self, depth):
        loops, self.loops = self.loops, 0
        body = self.body(depth - 1)
        self.loops = loops
        text = self.tag(f"macro m(u, v={self.expression(1)})") + body + self.pick(["", "{{ caller() }}", "{{ varargs }}{{ kwargs }}"]) \
            + self.tag("endmacro")
        call = f"m({self.expression(1)}{self.pick(['', ', ' + self.atom(), ', v=' + self.atom(), ', w=1'])})"
        if self.chance(0.4):
            return text + self.tag("call " + call) + "in" + self.tag("endcall")
        return text + "{{ " + call + " }}"

    def data(self):
        return self.pick(["a", " ", "\n", "  \n", "\n  ", "x\n", "", "\t", "é"])

    def body(self, depth):
        return "".join(self.data() + self.statement(depth) for _ in range(self.random.randrange(1, 3))) + self.data()

    def template(self):
        return "".join(self.data() + self.statement(3) for _ in range(self.random.randrange(1, 4))) + self.data()
