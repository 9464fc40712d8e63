"""What people read of plans and of the machine."""

import json
from html.parser import HTMLParser

import pytest

import smelt
from smelt import reports


@pytest.mark.parametrize(
    "level, part",
    [
        ("graph", "layer_norm"),
        ("fused", "fusion"),
        ("program", "kernel"),
        ("kernels", "parallel"),
        ("llvm", "define"),
        ("plan", "logits"),
    ],
)
def test_levels(plan, level, part):
    assert part in plan.dump(level)


def test_formats_and_filters(plan):
    assert json.loads(plan.dump("fused", format="json"))
    assert plan.dump("graph", format="dot").startswith("digraph")
    whole, part = plan.dump("fused"), plan.dump("fused", filter="h.1.")
    assert "h.1." in part and len(part) < len(whole)


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(emit="fuse"), "no level 'fuse'"),
        (dict(emit="program", format="dot"), "dot draws graphs"),
        (dict(emit="llvm", format="json"), "is text"),
        (dict(emit="cuda"), "GPU's code"),
    ],
)
def test_bad_levels_are_errors(plan, options, message):
    with pytest.raises(smelt.Error, match=message):
        plan.dump(**options)


def test_notebooks_draw_graphs(plan, monkeypatch):
    graph = plan.graph("fused", filter="h.1.")
    assert graph == plan.dump("fused", filter="h.1.") and graph.dot.startswith("digraph")
    if reports.shutil.which("dot"):
        assert graph._repr_html_().startswith("<svg")
    monkeypatch.setattr(reports.shutil, "which", lambda name: None)
    text = graph._repr_html_()
    assert text.startswith("<pre>") and "h.1.ln_1" in text and "<" not in text[len("<pre>") : -len("</pre>")]


def test_fusion_is_explained(plan):
    text = plan.explain_fusion()
    assert "ln_1" in text and len(plan.explain_fusion(filter="ln_f")) < len(text)


def test_a_loaded_plan_has_no_graphs(plan, tmp_path):
    plan.save(tmp_path / "a.plan")
    loaded = smelt.load(tmp_path / "a.plan")
    assert loaded.dump("plan") == plan.dump("plan")
    with pytest.raises(smelt.Error, match="no graphs"):
        loaded.dump("fused")
    with pytest.raises(smelt.Error, match="no graphs"):
        loaded.explain_fusion()


def test_memory_is_the_sum_of_its_parts(plan):
    memory = plan.memory()
    assert memory["total"] == sum(memory["states"].values()) + memory["arena"] + memory["constants"]
    assert memory["arena"] >= max(memory["arena_of_entry"].values()) > 0
    assert "arena" in str(memory) and "parameter" in str(memory)


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_notebooks_show_tables(plan):
    for shown in (plan, plan.memory(), smelt.doctor(measure=False)):
        Tags(shown._repr_html_())
    assert "logits: f32[B,T,131]" in plan._repr_html_()


def test_doctor():
    found = smelt.doctor(measure=False)
    assert found["smelt"] == smelt.__version__ and "instructions" in repr(found)
    assert "copy bandwidth" in smelt.doctor()
