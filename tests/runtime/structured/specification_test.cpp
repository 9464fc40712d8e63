#include "runtime/structured/specification.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/engine/serving/api_error.h"
#include "runtime/structured/constraint_cache.h"
#include "tests/runtime/structured/matching.h"

namespace smelt::structured {
namespace {

std::optional<Specification> read(const std::string& body) {
  auto parsed = parse_ordered_json(body, "body");
  return take_specification(parsed);
}

/// Returns "status param code: message".
template <typename F>
std::string fault_of(F f) {
  try {
    f();
  } catch (const ApiError& error) {
    return fmt::format("{} {} {}: {}", error.http_status(), error.param(), error.code(), error.what());
  }
  return "no ApiError";
}

bool accepts(const std::string& body, std::string_view text) {
  return matches(compile(read(body).value()), text);
}

TEST(Specifications, OfOpenAI) {
  EXPECT_FALSE(read(R"({"messages": [], "response_format": {"type": "text"}})"));
  EXPECT_FALSE(read(R"({"response_format": null, "guided_json": null})"));
  EXPECT_TRUE(accepts(R"({"response_format": {"type": "json_object"}})", R"({"a": [1]})"));
  EXPECT_FALSE(accepts(R"({"response_format": {"type": "json_object"}})", "[1]"));
  const std::string schema =
      R"({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "description": "d", "strict": true,
          "schema": {"type": "object", "properties": {"z": {"type": "integer"}, "a": {}}, "required": ["z", "a"]}}}})";
  EXPECT_TRUE(accepts(schema, R"({"z": 1, "a": 2})"));
  EXPECT_FALSE(accepts(schema, R"({"a": 2, "z": 1})"));  // the order of the schema
  EXPECT_TRUE(accepts(R"({"response_format": {"type": "regex", "pattern": "a+"}})", "aa"));
  EXPECT_TRUE(accepts(R"({"response_format": {"type": "grammar", "grammar": "root ::= \"x\""}})", "x"));
}

TEST(Specifications, OfVllm) {
  EXPECT_TRUE(accepts(R"({"guided_json": {"type": "null"}})", "null"));
  EXPECT_TRUE(accepts(R"({"guided_json": "{\"type\": \"null\"}"})", "null"));
  EXPECT_TRUE(accepts(R"({"guided_regex": "[0-9]"})", "7"));
  EXPECT_TRUE(accepts(R"({"guided_choice": ["yes", "é\n"]})", "é\n"));
  EXPECT_TRUE(accepts(R"({"guided_grammar": "root ::= [a-c]"})", "b"));
  EXPECT_TRUE(accepts(R"({"structured_outputs": {"json": true, "regex": null}})", "[1, 2]"));
  EXPECT_TRUE(accepts(R"({"structured_outputs": {"choice": ["a"]}})", "a"));
  EXPECT_TRUE(accepts(R"({"structured_outputs": {"regex": "a"}})", "a"));
  EXPECT_TRUE(accepts(R"({"structured_outputs": {"grammar": "root ::= \"a\""}})", "a"));
  EXPECT_TRUE(accepts(R"({"structured_outputs": {"json_object": true}})", R"({"a": 1})"));
  const std::string compact =
      R"({"structured_outputs": {"json_object": true, "disable_any_whitespace": true}})";
  EXPECT_TRUE(accepts(compact, R"({"a":1})"));
  EXPECT_FALSE(accepts(compact, R"({"a": 1})"));
}

TEST(Specifications, OtherMembersStay) {
  auto body = parse_ordered_json(R"({"b": 1, "guided_regex": "x", "response_format": null, "a": 2})", "body");
  EXPECT_EQ(take_specification(body)->member, "guided_regex");
  EXPECT_EQ(body.dump(), R"({"b":1,"a":2})");
}

TEST(Specifications, AreRefusedByName) {
  const std::pair<const char*, const char*> faults[] = {
      {R"({"response_format": "json"})", "400 response_format invalid_value: response_format = \"json\""},
      {R"({"response_format": {"type": "xml"}})",
       R"(response_format.type = "xml": expected "text", "json_object", "json_schema", "regex" or "grammar")"},
      {R"({"response_format": {}})", "response_format.type = null"},
      {R"({"response_format": {"type": "json_object", "schema": {}}})",
       "400 response_format unknown_parameter: response_format has no member 'schema'; expected type"},
      {R"({"response_format": {"type": "regex", "pattern": 3}})",
       "response_format.pattern = 3: expected a regular expression"},
      {R"({"response_format": {"type": "grammar"}})",
       "response_format.grammar = null: expected a grammar in GBNF"},
      {R"({"response_format": {"type": "json_schema"}})",
       "response_format.json_schema = null: expected an object"},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}})",
       "response_format.json_schema.schema = null: expected a JSON Schema"},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"name": 1, "schema": {}}}})",
       "response_format.json_schema.name = 1: expected a text"},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"strict": "yes", "schema": {}}}})",
       "response_format.json_schema.strict = \"yes\": expected true or false"},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"schemas": {}}}})",
       "has no member 'schemas'; expected name, description, schema, strict"},
      {R"({"structured_outputs": {}})", "structured_outputs = {}: expected one of json, regex, choice"},
      {R"({"structured_outputs": {"whitespace_pattern": " "}})",
       "structured_outputs has no member 'whitespace_pattern'; expected json, regex, choice, grammar"},
      {R"({"structured_outputs": {"json": {}, "regex": "a"}})",
       "structured_outputs.json and structured_outputs.regex: expected only one of them"},
      {R"({"structured_outputs": {"json_object": 1}})",
       "structured_outputs.json_object = 1: expected true or false"},
      {R"({"guided_json": {}, "response_format": {"type": "json_object"}})",
       "400 guided_json invalid_value: response_format and guided_json: expected only one of them"},
      {R"({"guided_json": {}, "guided_grammar": "a"})", "guided_json and guided_grammar"},
      {R"({"guided_json": 3})", "guided_json = 3: expected a JSON Schema"},
      {R"({"guided_json": "{"})", "guided_json"},
      {R"({"guided_choice": []})", "guided_choice = []: expected a list of at least one text"},
      {R"({"guided_choice": ["a", 1]})", "expected a list of at least one text"},
      {R"({"guided_whitespace_pattern": " "})",
       "400 guided_whitespace_pattern unknown_parameter: there is no option 'guided_whitespace_pattern'; "
       "expected "
       "response_format, structured_outputs, guided_json"}};
  for (const auto& [body, message] : faults)
    EXPECT_HAS(fault_of([&, text = body] { read(text); }), message) << body;
  const std::string long_text =
      R"({"guided_regex": ")" + std::string(kMostSpecificationBytes + 1, 'a') + "\"}";
  EXPECT_HAS(fault_of([&] { read(long_text); }), "expected at most 1048576");
}

TEST(Specifications, FaultsOfTheirTextsHaveMemberAndPlace) {
  const std::pair<const char*, const char*> faults[] = {
      {R"x({"guided_regex": "a(?=b)"})x",
       "400 guided_regex invalid_value: guided_regex: regular expression, byte 3: look-around"},
      {R"({"guided_grammar": "root ::= a"})",
       "guided_grammar: grammar: the rule 'a' is used, but not defined"},
      {R"({"guided_json": {"properties": {"a/b": {"items": {"not": {}}}}}})",
       "guided_json: JSON Schema at #/properties/a~1b/items: the keyword 'not' is not supported"},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"schema": {"anyOf": [true, {"minLength": -1}]}}}})",
       "400 response_format invalid_value: response_format.json_schema.schema: JSON Schema at #/anyOf/1: "
       "'minLength'"},
      {R"x({"structured_outputs": {"json": {"$defs": {"x": {"pattern": "(?!a)"}}, "items": {"$ref": "#/$defs/x"}}}})x",
       "JSON Schema at #/$defs/x: 'pattern' has \"(?!a)\": regular expression, byte 2: look-around"},
      {R"({"guided_json": {"type": "object", "patternProperties": {"[": {}}}})",
       "JSON Schema at #: 'patternProperties' has \"[\""},
      {R"({"guided_json": {"items": {"format": "phone"}}})", "JSON Schema at #/items: the format 'phone'"}};
  for (const auto& [body, message] : faults)
    EXPECT_HAS(fault_of([&, text = body] { compile(read(text).value()); }), message) << body;
}

class ConstraintCaches : public testing::Test {
 protected:
  static Specification regex(const std::string& text) {
    return {.kind = SpecificationKind::regex, .text = text, .most_whitespace = 0, .member = "guided_regex"};
  }
  std::shared_ptr<const ConstraintTokens> tokens_ =
      std::make_shared<const ConstraintTokens>(byte_token_bytes(257));
};

TEST_F(ConstraintCaches, CompileEqualSpecificationsOnce) {
  ConstraintCache cache(tokens_);
  const auto first = cache.get(regex("a"));
  Specification other = regex("a");
  other.member = "response_format.pattern";
  EXPECT_EQ(cache.get(other), first);
  EXPECT_NE(cache.get(regex("b")), first);
  other.kind = SpecificationKind::choice;
  other.text = "[\"a\"]";
  EXPECT_NE(cache.get(other), first);
  EXPECT_EQ(cache.compiled(), 3u);
  EXPECT_HAS(fault_of([&] { cache.get(regex("(")); }), "400 guided_regex");
  EXPECT_EQ(cache.entries(), 3u);
}

TEST_F(ConstraintCaches, DropTheLeastRecentlyUsed) {
  ConstraintCache cache(tokens_, {.most_entries = 2});
  const auto a = cache.get(regex("a"));
  cache.get(regex("b"));
  EXPECT_EQ(cache.get(regex("a")), a);
  cache.get(regex("c"));
  EXPECT_EQ(cache.entries(), 2u);
  EXPECT_EQ(cache.get(regex("a")), a);
  EXPECT_EQ(cache.compiled(), 3u);
  cache.get(regex("b"));
  EXPECT_EQ(cache.compiled(), 4u);
}

TEST_F(ConstraintCaches, AreBoundedInBytes) {
  ConstraintCache cache(tokens_, {.most_bytes = 20'000});
  for (int i = 0; i < 20; ++i) cache.get(regex(std::string(40, 'a') + std::to_string(i)));
  EXPECT_GT(cache.entries(), 1u);
  EXPECT_LT(cache.entries(), 15u);
  ASSERT_TRUE(cache.get(regex(std::string(5000, 'a'))));  // too large for the cache
  EXPECT_LT(cache.entries(), 15u);
}

TEST_F(ConstraintCaches, ServeThreads) {
  ConstraintCache cache(tokens_, {.most_entries = 3});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) EXPECT_TRUE(cache.get(regex(std::to_string((i + t) % 5))));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.entries(), 3u);
}

}  // namespace
}  // namespace smelt::structured
