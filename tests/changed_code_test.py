#!/usr/bin/env python3
"""Test of changed_code.py: comments are left out, and nothing else is."""
from changed_code import code

SAME = [("int a; // x\n\n/* y\n z */\nint b;", "int a;  // other\nint b;"),
        ("x = 1'000'000; // it's", "x = 1'000'000; // that's"),
        ("c = '\"'; // a", "c = '\"'; // b"),
        ("int a; // continued \\\n here\nint b;", "int a;\nint b;")]
DIFFERENT = [('a = "// no";', 'a = "// yes";'),
             ("c = '\"'; d = \"//1\"", "c = '\"'; d = \"//2\""),
             ('R"a(// x)a"', 'R"a(// y)a"'),
             ("int a = 1'000; // it's\nint b;", "int a = 1'000; // it's\nint c;"),
             ("a / b", "a b")]

for first, second in SAME:
    assert code(first) == code(second), (first, second)
for first, second in DIFFERENT:
    assert code(first) != code(second), (first, second)
