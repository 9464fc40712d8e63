"""What people read of plans and of the machine."""

import json
from html.parser import HTMLParser

import pytest

import smelt
from smelt import reports

from conftest import GOLDEN


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
        (dict(emit="plan", format="yaml"), "no format 'yaml'"),
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


@pytest.fixture(scope="module")
def unsimplified():
    bounds = {"B": 4, "T": 32}
    return smelt.compile(
        GOLDEN, mode="infer", entry=["logits"], max=bounds, attention_mask=True, disable_pass="simplify"
    )


def data_of(path):
    """Of a page: it stands there as JSON."""
    text = path.read_text()
    tag = '<script type="application/json" id="data">'
    begin = text.index(tag) + len(tag)
    return json.loads(text[begin : text.index("</script>", begin)])["data"]


def test_a_report_is_a_page(plan, unsimplified, tmp_path):
    plan.report(tmp_path / "a.html", against=unsimplified)
    plan.save(tmp_path / "a.plan")
    smelt.load(tmp_path / "a.plan").report(str(tmp_path / "b.html"), entry="logits")
    compiled, loaded = data_of(tmp_path / "a.html"), data_of(tmp_path / "b.html")
    assert compiled["diff"] and not loaded["diff"]
    assert compiled["refusals"] and loaded["head"]["from_plan"] and len(loaded["entries"]) == 1


def test_faults_of_reports(plan, tmp_path):
    with pytest.raises(smelt.Error, match="no entry @nope; there are: @logits"):
        plan.report(tmp_path / "a.html", entry="nope")
    with pytest.raises(smelt.Error, match="against: a str, expected a smelt.Plan"):
        plan.report(tmp_path / "a.html", against="b.plan")
    with pytest.raises(smelt.Error, match="nowhere.json"):
        plan.report(tmp_path / "a.html", profile=tmp_path / "nowhere.json")
    with pytest.raises(smelt.Error, match="a.html"):
        plan.report(tmp_path / "no" / "a.html")
    assert not list(tmp_path.iterdir())


def test_differences_are_the_changed_steps(plan, unsimplified):
    assert plan.diff(plan) == "the plans have the same steps\n"
    text = plan.diff(unsimplified, entry=["logits"])
    assert "only before" in text and "0 are only before" not in text


def test_memory_is_the_sum_of_its_parts(plan):
    memory = plan.memory()
    assert memory["total"] == sum(memory["states"].values()) + memory["arena"] + memory["constants"]
    assert memory["arena"] >= max(memory["arena_of_entry"].values()) > 0
    assert "arena" in str(memory) and "parameter" in str(memory)


def test_memory_names_what_is_alive_at_the_peak(plan):
    for entry, peak in plan.memory()["peak_of_entry"].items():
        assert 0 <= peak["step"] < peak["steps"], entry
        assert sum(group["bytes"] for group in peak["alive"]) == peak["bytes"] <= plan.memory()["arena_of_entry"][entry]
        assert peak["alive"] == sorted(peak["alive"], key=lambda group: -group["bytes"])
        assert all(group["buffers"] > 0 and group["source"] and group["role"] for group in peak["alive"])


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
