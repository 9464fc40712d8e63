// Calls of tools in texts of three formats, whole and in pieces of any length.
#include "runtime/tools/tool_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace smelt::tools {
namespace {

ToolParser parser_of(const char* format) {
  return ToolParser(*find_format(format), [](size_t index) { return "id" + std::to_string(index); });
}

/// Returns "content|name(arguments)|name(arguments)"; checks that ids and names come once, with the first
/// piece.
std::string shown(const ParsedPiece& parsed) {
  std::string text = parsed.content;
  for (size_t i = 0; i < parsed.calls.size(); ++i) {
    EXPECT_EQ(parsed.calls[i].index, i);
    EXPECT_EQ(parsed.calls[i].id, "id" + std::to_string(i));
    text += "|" + parsed.calls[i].name + "(" + parsed.calls[i].arguments + ")";
  }
  return text;
}

std::string parsed_in(const char* format, const std::vector<std::string_view>& pieces) {
  ToolParser parser = parser_of(format);
  ParsedPiece all;
  for (const std::string_view piece : pieces) append(all, parser.push(piece));
  append(all, parser.finish());
  EXPECT_EQ(parser.calls(), all.calls.size());
  return shown(all);
}

/// Returns the result for the whole text, which is that of all divisions into two pieces and into bytes.
std::string parsed(const char* format, std::string_view text) {
  const std::string whole = parsed_in(format, {text});
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_EQ(parsed_in(format, {text.substr(0, i), text.substr(i)}), whole) << format << " at " << i;
    bytes.push_back(text.substr(i, 1));
  }
  EXPECT_EQ(parsed_in(format, bytes), whole) << format;
  return whole;
}

std::string hermes(std::string_view text) { return parsed("hermes", text); }
std::string llama(std::string_view text) { return parsed("llama3_json", text); }
std::string mistral(std::string_view text) { return parsed("mistral", text); }
/// Returns whether all of the text is content, and nothing is a call.
bool is_content(const char* format, std::string_view text) { return parsed(format, text) == text; }

TEST(ToolParser, ReadsHermes) {
  EXPECT_EQ(hermes("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"),
            "|f({\"a\": 1})");
  EXPECT_EQ(
      hermes("Let me see.\n<tool_call>{\"name\": \"f\", \"arguments\": {\"q\": \"é} \\\" 日\"}}</tool_call>\n"
             "<tool_call>\n{\"arguments\": {}, \"name\": \"g\"}\n</tool_call>\n"),
      "Let me see.|f({\"q\": \"é} \\\" 日\"})|g({})");
  EXPECT_EQ(
      hermes(
          R"(<tool_call>{"id": [1, {"name": 2}], "name": "a\u0062", "x": null, "arguments": {}}</tool_call>)"),
      "|ab({})");
  EXPECT_EQ(hermes(R"(a <tool_call>{"name":"f","arguments":{}}</tool_call> b )"), "a  b|f({})");
}

TEST(ToolParser, ReadsLlama) {
  EXPECT_EQ(llama(R"({"name": "f", "parameters": {"a": [1, 2]}})"), R"(|f({"a": [1, 2]}))");
  EXPECT_EQ(llama("\n<|python_tag|>{\"type\": \"function\", \"name\": \"f\", \"parameters\": {}}"), "|f({})");
  EXPECT_EQ(llama(R"({"name": "f", "parameters": {}}; {"name": "g", "arguments": {"x": "1;2"}};)"),
            R"(|f({})|g({"x": "1;2"}))");
  EXPECT_EQ(llama(R"(Sure: <|python_tag|> {"name": "f", "parameters": {}})"), "Sure:|f({})");
}

TEST(ToolParser, ReadsMistral) {
  EXPECT_EQ(
      mistral(
          R"([TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}, "id": "abcdefghi"}, {"name": "g", "arguments": {}}])"),
      R"(|f({"a": 1})|g({}))");
  EXPECT_EQ(mistral(R"([TOOL_CALLS][{"arguments": {"a": {}}, "name": "f"}])"), R"(|f({"a": {}}))");
  EXPECT_EQ(mistral(R"(Well.[TOOL_CALLS]f.x[ARGS]{"a": "]"}[TOOL_CALLS]g-2[CALL_ID]123456789[ARGS] {})"),
            R"(Well.|f.x({"a": "]"})|g-2({}))");
  EXPECT_EQ(mistral(R"([TOOL_CALLS]f{"a": 1})"), R"(|f({"a": 1}))") << "a decoder without [ARGS]";
}

TEST(ToolParser, GivesWhatOnlyLooksLikeACallAsContent) {
  for (const char* text : {"",
                           " ",
                           "Hi \n",
                           "a < b <tool",
                           "<tool_call>",
                           "<tool_call> no </tool_call>",
                           "<tool_call>{}</tool_call>",
                           "<tool_call>[1]</tool_call>",
                           R"(<tool_call>{"name": 3, "arguments": {}}</tool_call>)",
                           R"(<tool_call>{"name": "", "arguments": {}}</tool_call>)",
                           R"(<tool_call>{"name": "f"}</tool_call>)",
                           R"(<tool_call>{"name": "f", "arguments": "{}"}</tool_call>)",
                           R"(<tool_call>{"name": "f", "name": "g", "arguments": {}}</tool_call>)",
                           R"(<tool_call>{"name": "f", "parameters": {}}</tool_call>)",
                           R"(<tool_call>{'name': "f"}</tool_call>)",
                           R"(<tool_call>{"name": "\ud800", "arguments": {}}</tool_call>)",
                           "<tool_call>{\"name\": \"f",
                           R"({"name": "f", "arguments": {}})",
                           "<<tool_call",
                           "<tool_call <tool_calls>"})
    EXPECT_TRUE(is_content("hermes", text)) << text;
  for (const char* text :
       {"{", "{}", R"({"answer": {"name": "f", "parameters": {}}})", "<|python_tag|>print(1)\n",
        R"( x {"name": "f", "parameters": {}})", R"([{"name": "f", "parameters": {}}])"})
    EXPECT_TRUE(is_content("llama3_json", text)) << text;
  for (const char* text :
       {"[TOOL_CALLS]", "[TOOL_CALLS] []", "[TOOL_CALLS] [1]", "[TOOL_CALLS] {}", "[TOOL_CALLS]f",
        "[TOOL_CALLS]f[ARGS]", "[TOOL_CALLS]f[ARGS][]", "[TOOL_CALLS]f [ARGS]{}", "[TOOL_CALLS]f[ARGX]{}",
        "[TOOL_CALLS]f[CALL_ID]-[ARGS]{}", "[TOOL_CALLS]\"f\"[ARGS]{}"})
    EXPECT_TRUE(is_content("mistral", text)) << text;
  const std::string long_name(kMostNameBytes + 1, 'f');
  EXPECT_TRUE(is_content("mistral", "[TOOL_CALLS]" + long_name + "[ARGS]{}"));
  EXPECT_TRUE(
      is_content("hermes", R"(<tool_call>{"name": ")" + long_name + R"(", "arguments": {}}</tool_call>)"));
}

TEST(ToolParser, FindsACallAfterWhatIsNone) {
  EXPECT_EQ(hermes(R"(<tool_call><tool_call>{"name":"f","arguments":{}}</tool_call>)"), "<tool_call>|f({})");
  EXPECT_EQ(hermes(R"(<tool_call>{}<tool_call>{"name":"f","arguments":{}})"), "<tool_call>{}|f({})");
  EXPECT_EQ(mistral("[TOOL_CALLS][TOOL_CALLS]f[TOOL_CALLS]g[ARGS]{}"), "[TOOL_CALLS][TOOL_CALLS]f|g({})");
  EXPECT_EQ(hermes(R"(<tool_call>{"name":"f","arguments":{}}<tool_call>{"name":"g","arguments":{}})"),
            "|f({})|g({})");
}

TEST(ToolParser, LosesNothingOfABrokenCall) {
  EXPECT_EQ(hermes(R"(<tool_call>{"name":"f","arguments":{"a": 'x'}}</tool_call> y)"),
            R"('x'}}</tool_call> y|f({"a": ))");
  EXPECT_EQ(hermes(R"(<tool_call>{"name":"f","arguments":{"a": "b)"), R"(|f({"a": "b))") << "no more tokens";
  EXPECT_EQ(hermes(R"(<tool_call>{"name":"f","arguments":{}}</tool_c)"), "|f({})");
  EXPECT_EQ(hermes(R"(<tool_call>{"name":"f","arguments":{}}</tool>)"), "</tool>|f({})");
  EXPECT_EQ(hermes(R"(<tool_call>{"name":"f","arguments":{}]}</tool_call>)"), "]}</tool_call>|f({})");
  EXPECT_EQ(llama(R"({"name":"f","parameters":{}}; {"no": 1})"), R"(; {"no": 1}|f({}))");
  EXPECT_EQ(llama(R"({"name":"f","parameters":{}} and)"), " and|f({})");
  EXPECT_EQ(mistral(R"([TOOL_CALLS] [{"name":"f","arguments":{}}, {"no": 1}] x)"), R"(, {"no": 1}] x|f({}))");
  EXPECT_EQ(mistral(R"([TOOL_CALLS] [{"name":"f","arguments":{}})"), "|f({})");
  EXPECT_EQ(mistral("[TOOL_CALLS]f[ARGS]{\"a\" 1}"), R"(1}|f({"a" ))");
}

TEST(ToolParser, HoldsNothingBackThatIsDecided) {
  ToolParser parser = parser_of("hermes");
  const auto next = [&](std::string_view text) {
    const ParsedPiece piece = parser.push(text);
    std::string shown = piece.content;
    for (const CallPiece& call : piece.calls)
      shown += "|" + std::to_string(call.index) + call.id + ":" + call.name + "(" + call.arguments;
    return shown;
  };
  EXPECT_EQ(next("Yes, "), "Yes,");
  EXPECT_EQ(next("a <"), " a");
  EXPECT_EQ(next("b"), " <b");
  EXPECT_EQ(next("<tool_"), "");
  EXPECT_EQ(next("call>{\"name\": \"f\""), "");
  EXPECT_EQ(next(", \"arguments\": {"), "|0id0:f({");
  EXPECT_EQ(next("\"a\": \"xy"), "|0:(\"a\": \"xy");
  EXPECT_EQ(next("z\"}"), "|0:(z\"}");
  EXPECT_EQ(next("}</tool_call>\n"), "");
  EXPECT_EQ(next("<tool_call>{\"arguments\": {\"b\": 1}, \"name\": \"g\""), "|1id1:g({\"b\": 1}");
  EXPECT_EQ(next("} "), "");
  EXPECT_EQ(shown(parser.finish()), "");
}

TEST(ToolParser, TakesLinearTimeForOpenedMarkers) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "<tool_call>{\"a\":\"";
  EXPECT_EQ(parsed_in("hermes", {text}), text);
  std::string deep = "<tool_call>{\"name\":\"f\",\"arguments\":" + std::string(100'000, '{');
  EXPECT_EQ(parsed_in("hermes", {deep}).size(), 100'000 + std::string("|f()").size());
}

TEST(ToolFormat, IsRecognizedFromMarkersOfATemplate) {
  const auto name = [](std::string_view text) {
    const ToolFormat* format = recognize_format(text);
    return format ? format->name : "none";
  };
  EXPECT_EQ(name(R"({{- '<tool_call>\n{"name": "' }}{{ tool_call.name }}{{- '", "arguments": ' }})"),
            "hermes");
  EXPECT_EQ(name(R"({{- '<tool_call>\n<function=' + tool_call.name + '>' }}{{ tool_call.arguments }})"),
            "none");
  EXPECT_EQ(name(R"({{- '<tool_call>' + tool_call.name + '<arg_key>' }}{{ tool_call.arguments }})"), "none");
  EXPECT_EQ(
      name(R"({{- '{"name": function name, "parameters": dictionary of argument name and its value}' }})"),
      "llama3_json");
  EXPECT_EQ(name("{{ '[TOOL_CALLS] [' }}"), "mistral");
  EXPECT_EQ(name("{% for m in messages %}{{ m.content }}{% endfor %}"), "none");
  EXPECT_EQ(find_format("mistral")->name, "mistral");
  EXPECT_EQ(find_format("x"), nullptr);
  EXPECT_EQ(format_names(), "hermes, mistral, llama3_json");
}

TEST(ToolFormat, HasMarkersThatBeginOnce) {
  for (const ToolFormat& format : tool_formats())
    for (const std::string_view marker : {format.open, format.close})
      EXPECT_EQ(marker.rfind(marker.substr(0, 1)), 0U) << marker;
}

TEST(ToolFormat, GivesIds) {
  EXPECT_EQ(call_id(*find_format("hermes"), "12-3", 1, 2), "call_12-3-1-2");
  const std::string id = call_id(*find_format("mistral"), "12-3", 0, 0);
  EXPECT_EQ(id.size(), 9U);
  EXPECT_TRUE(std::ranges::all_of(id, [](char c) { return std::isalnum(static_cast<unsigned char>(c)); }))
      << id;
  EXPECT_NE(id, call_id(*find_format("mistral"), "12-3", 0, 1));
}

}  // namespace
}  // namespace smelt::tools
