// Chat templates: outputs that Jinja2 gives, refusals and limits. tests/python/check_chat_templates.py
// compares many more with Jinja2 itself.
#include "runtime/templates/chat_template.h"

#include <gtest/gtest.h>

#include <thread>

namespace smelt::templates {
namespace {

using nlohmann::ordered_json;

const ordered_json kChat = ordered_json::parse(R"({
  "messages": [{"role": "user", "content": " Hi, wörld "}, {"role": "assistant", "content": "Yes."}],
  "tools": [{"name": "f", "arguments": {"z": 1, "a": [true, null, 2.50]}}],
  "bos_token": "<s>", "add_generation_prompt": true})");

std::string render(std::string_view source, const ordered_json& variables = kChat, RenderLimits limits = {}) {
  RenderOptions options{.limits = limits,
                        .clock = [](const std::string& format) { return "<" + format + ">"; }};
  return ChatTemplate::parse(source, "t").render(variables, options);
}

struct Refusal {
  Fault fault;
  int line;
  std::string message, what;
};

Refusal refusal(std::string_view source, RenderLimits limits = {}) {
  try {
    ADD_FAILURE() << source << " gave " << render(source, kChat, limits);
  } catch (const TemplateError& error) {
    return {error.fault(), error.line(), error.message(), error.what()};
  }
  return {};
}

TEST(ChatTemplate, RendersMessages) {
  EXPECT_EQ(
      render(
          "{{ bos_token }}{% for m in messages %}\n<|{{ m.role }}|>{{ m['content'] | trim }}\n{% endfor %}\n"
          "{% if add_generation_prompt %}\n<|assistant|>\n{% endif %}\n"),
      "<s><|user|>Hi, wörld\n<|assistant|>Yes.\n<|assistant|>\n");
}

TEST(ChatTemplate, RemovesWhiteSpaceAsTransformersDoes) {
  EXPECT_EQ(render("a\n  {% if true %}\n  b\n  {%- endif %}\n\nc {#- x #} d\n"), "a\n  b\nc d");
  EXPECT_EQ(render("  {%+ if true %} x {%- endif -%}  \n y"), "   xy");
  EXPECT_EQ(render("{% raw %}{{ a }}{% endraw %}\n|"), "{{ a }}|");
}

TEST(ChatTemplate, KeepsTheOrderOfObjectsInJson) {
  EXPECT_EQ(render("{{ tools | tojson }}"),
            R"([{"name": "f", "arguments": {"z": 1, "a": [true, null, 2.5]}}])");
  EXPECT_EQ(render("{{ {'b': 'é\"', 'a': []} | tojson(indent=1, sort_keys=true) }}"),
            "{\n \"a\": [],\n \"b\": \"é\\\"\"\n}");
  EXPECT_EQ(render("{{ '🎉' | tojson(ensure_ascii=true) }}"), "\"\\ud83c\\udf89\"");
}

TEST(ChatTemplate, ComputesAsPython) {
  EXPECT_EQ(render("{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** -1 }} {{ 0.1 + 0.2 }} {{ 1e16 }} {{ 1e-5 "
                   "}} {{ 1.0 }}"),
            "-4 2 3.5 0.5 0.30000000000000004 1e+16 1e-05 1.0");
  EXPECT_EQ(render("{{ 1 < 2 < 3 }}{{ 1 == 1.0 }}{{ [1, 'a\\'', none, (2,)] }}{{ {'k': true} }}"),
            "TrueTrue[1, \"a'\", None, (2,)]{'k': True}");
  EXPECT_EQ(render("{{ 'wörld'[::-1] }} {{ 'ß'.upper() }} {{ 'wörld' | length }} {{ 'wörld'[1] }} {{ "
                   "'%05.1f' % 2.25 }}"),
            "dlröw SS 5 ö 002.2");
}

TEST(ChatTemplate, KnowsTheCaseOfText) {
  EXPECT_EQ(render("{{ 'AB 1'.isupper() }}{{ 'Ab' is upper }}{{ 'aé' is lower }}{{ 'ǅ'.isupper() }}{{ 'ΑΣ "
                   "Σ'.lower() }}"),
            "TrueFalseTrueFalseας σ");
}

TEST(ChatTemplate, ScopesAreThoseOfJinja) {
  EXPECT_EQ(render("{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}"),
            "231");
  EXPECT_EQ(render("{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor "
                   "%}{{ ns.n }}"),
            "2");
  EXPECT_EQ(render("{% for m in messages %}{{ late }}{% endfor %}{% set late = 1 %}{{ late }}",
                   {{"messages", {1}}, {"late", 7}}),
            "1");
}

TEST(ChatTemplate, RunsLoopsAndMacros) {
  EXPECT_EQ(render("{% for x in [3, 4, 5] if x > 3 %}{{ loop.index }}{{ loop.last }}{{ loop.length }};{% "
                   "else %}-{% endfor %}"),
            "1False2;2True2;");
  EXPECT_EQ(render("{% for x in range(9) %}{% if x == 1 %}{% continue %}{% endif %}{% if x > 3 %}{% break "
                   "%}{% endif %}{{ x }}"
                   "{% endfor %}"),
            "023");
  EXPECT_EQ(render("{% macro m(a, b=2) %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{{ caller() }}{% endmacro %}"
                   "{% call m(1, 3, 4, k=5) %}c{% endcall %}"),
            "13(4,){'k': 5}c");
  EXPECT_EQ(render("{% for n in [[1, [2]]] recursive %}{{ loop(n) if n is iterable else n }}{% endfor %}"),
            "12");
}

TEST(ChatTemplate, PrintsNothingForUndefinedValues) {
  EXPECT_EQ(render("[{{ nope }}{{ messages[9] }}{{ 1 if false }}]{% for x in nope %}{% endfor %}{{ nope is "
                   "defined }}"),
            "[]False");
  EXPECT_EQ(refusal("\n{{ nope.x }}").what, "t:2: 'nope' is undefined");
}

TEST(ChatTemplate, HidesWhatTheSandboxHides) {
  EXPECT_EQ(render("{{ messages.append }}{{ ''.__class__ }}{{ {}.update }}{{ messages.append is defined }}"),
            "False");
  EXPECT_EQ(refusal("{{ messages.append(1) }}").fault, Fault::runtime);
  EXPECT_EQ(refusal("{% set ns = namespace(_a=1) %}").fault, Fault::runtime);
}

TEST(ChatTemplate, FindsThePartsOfTheAssistant) {
  const auto parsed =
      ChatTemplate::parse("é{% generation %}ab{% endgeneration %}c{% generation %}d{% endgeneration %}");
  const Rendered out = parsed.render_parts(kChat);
  EXPECT_EQ(out.text, "éabcd");
  EXPECT_EQ(out.assistant, (std::vector<std::pair<size_t, size_t>>{{2, 4}, {5, 6}}));
}

TEST(ChatTemplate, UsesTheClockOfTheCaller) {
  EXPECT_EQ(render("{{ strftime_now('%d %b') }}"), "<%d %b>");
  EXPECT_EQ(system_time(""), "");
  EXPECT_EQ(system_time("%Y").size(), 4u);
}

TEST(ChatTemplate, SaysWhatIsWrongAndWhere) {
  const Refusal raised = refusal("a\n{{ raise_exception('no system') }}");
  EXPECT_EQ(raised.fault, Fault::raised);
  EXPECT_EQ(raised.message, "no system");
  EXPECT_EQ(raised.what, "t:2: no system");
  EXPECT_EQ(refusal("\n{% if a %}").what,
            "t:2: the tag 'if' has no end: expected 'elif' or 'else' or 'endif'");
  EXPECT_EQ(refusal("{{ 1 + }}").fault, Fault::syntax);
  EXPECT_EQ(refusal("{{ x | nofilter }}").what, "t:1: there is no filter named 'nofilter'");
  EXPECT_EQ(refusal("{% include 'a' %}").fault, Fault::unsupported);
  EXPECT_EQ(refusal("{{ x | urlize }}").what, "t:1: the filter 'urlize' of Jinja is not supported");
  EXPECT_EQ(refusal("{{ 9223372036854775807 + 1 }}").fault, Fault::unsupported);
  EXPECT_EQ(refusal("\xff").fault, Fault::syntax);
}

TEST(ChatTemplate, StopsAtItsLimits) {
  const RenderLimits few{.steps = 20000, .bytes = 1000, .depth = 100};
  for (const char* source :
       {"{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
        "{{ 'x' * 10000000000 }}", "{{ [1] * 10000000000 }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{{ '%1000000000d' % 1 }}",
        "{% for a in range(9999) %}xxxxxx{% endfor %}", "{{ 'x'.center(2000000000) }}",
        "{{ '{:>99999999}'.format(1) }}",
        "{% set ns = namespace(x=[]) %}{% for a in range(999) %}{% set ns.x = [ns.x] %}{% endfor %}",
        "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}", "{{ 'abc' | replace('', 'x' * 900) }}",
        "{{ [1] | tojson(indent=999999999) }}", "{{ 'a' | indent(999999999, true) }}"}) {
    EXPECT_EQ(refusal(source, few).fault, Fault::limit) << source;
  }
  EXPECT_EQ(refusal("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}").fault,
            Fault::limit);
  EXPECT_EQ(refusal("{{ " + std::string(5000, '-') + "1 }}").fault, Fault::limit);
  std::string nested;
  for (int i = 0; i < 5000; ++i) nested += "{% if a %}";
  EXPECT_EQ(refusal(nested).fault, Fault::limit);
}

TEST(ChatTemplate, AllowsDeepRecursionWithinTheStack) {
  EXPECT_EQ(refusal("{% macro m(x) %}{{ m([x]) }}{% endmacro %}{{ m(1) }}").fault, Fault::limit);
  EXPECT_EQ(
      refusal("{% set ns = namespace(x=1) %}{% for a in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}")
          .fault,
      Fault::limit);
  EXPECT_EQ(render("{% macro m(n) %}{{ m(n - 1) if n else 'end' }}{% endmacro %}{{ m(150) }}"), "end");
}

TEST(ChatTemplate, FreesCyclesAndChains) {
  EXPECT_EQ(
      render("{% set ns = namespace() %}{% set ns.me = [ns] %}{% macro m() %}{% endmacro %}{% set ns.m = m %}"
             "{% for a in range(20000) %}{% set next = namespace(last=ns.me) %}{% set ns.me = next %}{% "
             "endfor %}"),
      "");
}

TEST(ChatTemplate, RendersInThreads) {
  const auto parsed = ChatTemplate::parse("{% for m in messages %}{{ m | tojson }}{% endfor %}{{ 'c' ~ 1 }}");
  const std::string expected = parsed.render(kChat);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) wrong[t] += parsed.render(kChat) != expected;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace smelt::templates
