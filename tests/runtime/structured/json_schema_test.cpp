#include <gtest/gtest.h>

#include "runtime/structured/flat_schema.h"
#include "tests/runtime/structured/matching.h"

namespace smelt::structured {
namespace {

void expect(std::string_view schema, std::vector<std::string> valid, std::vector<std::string> invalid) {
  const AutomatonPointer automaton = schema_automaton(schema);
  for (const std::string& text : valid) EXPECT_TRUE(matches(automaton, text)) << schema << "\n" << text;
  for (const std::string& text : invalid) EXPECT_FALSE(matches(automaton, text)) << schema << "\n" << text;
}

TEST(JsonSchema, AnyValue) {
  expect("true", {"null", "-0.5e+3", R"({"a":[1,{}],"b":""})", R"("\u00e9\ud83d\ude00\n")"},
         {"01", "[1,]", "{a:1}", "\"\n\"", R"("\ud83d")", R"("\x")", " 1", "nul", "1.", "\"\xFF\""});
}

TEST(JsonSchema, Objects) {
  expect(
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"null"},"c":{}},"required":["a","d"],
             "additionalProperties":{"type":"boolean"}})",
      {R"({"a":1,"d":true})", R"({"a":1,"b":null,"c":[],"d":false,"x":true,"":true})"},
      {R"({"a":1})", R"({"d":true,"a":1})", R"({"a":1,"d":true,"a":2})", R"({"a":1,"d":true,"b":true})",
       R"({"a":1,"d":true,"x":1})"});
  expect(
      R"({"type":"object","properties":{"a":{},"b":{},"c":{}},"additionalProperties":false,"minProperties":1,"maxProperties":2})",
      {R"({"a":1})", R"({"b":1,"c":1})"}, {"{}", R"({"a":1,"b":1,"c":1})", R"({"d":1})"});
  expect(
      R"({"type":"object","patternProperties":{"^x":{"type":"integer"},"y$":{"minimum":5}},"additionalProperties":false})",
      {"{}", R"({"x":1,"xy":7,"y":"text"})"},
      {R"({"x":true})", R"({"xy":3})", R"({"xy":"text"})", R"({"z":1})"});
  expect(R"({"type":"object","propertyNames":{"maxLength":2},"maxProperties":1})", {"{}", R"({"ab":1})"},
         {R"({"abc":1})", R"({"a":1,"b":1})"});
}

TEST(JsonSchema, ArraysStringsAndFixedValues) {
  expect(
      R"({"type":"array","prefixItems":[{"type":"integer"},{"const":"x"}],"items":{"type":"null"},"minItems":1,"maxItems":4})",
      {"[1]", R"([1,"x"])", R"([1,"x",null,null])"},
      {"[]", "[null]", R"([1,"y"])", R"([1,"x",null,null,null])"});
  expect(R"({"type":"string","minLength":2,"maxLength":3})",
         {R"("ab")", R"("\u00e9é😀")", R"("\ud83d\ude00x")"}, {R"("a")", R"("abcd")", R"("\ud83d\ude00")"});
  expect(R"({"type":"string","pattern":"^a.*[\"\\\\]$|^\\d+$","maxLength":4})",
         {R"("a\"")", R"("ab\\")", R"("1234")"}, {R"("12345")", R"("ab")", "\"a\"\""});
  expect(R"({"enum":["a\n",1.0,{"k":[true]},null]})", {R"("a\n")", "1", "1.0", R"({"k":[true]})", "null"},
         {"2", "true", R"({"k":[]})"});
  expect(R"({"enum":["a","bb",3,null],"type":["string","null"],"minLength":2})", {R"("bb")", "null"},
         {R"("a")", "3"});
}

TEST(JsonSchema, Numbers) {
  const AutomatonPointer integers =
      schema_automaton(R"({"type":"integer","minimum":-57,"exclusiveMaximum":1204,"multipleOf":3})");
  const AutomatonPointer numbers =
      schema_automaton(R"({"type":"number","exclusiveMinimum":-1.25,"maximum":30.5})");
  for (int i = -1300; i <= 1300; ++i) {
    EXPECT_EQ(matches(integers, std::to_string(i)), i >= -57 && i < 1204 && i % 3 == 0) << i;
    const std::string text = fmt::format("{:.2f}", i / 20.0);
    EXPECT_EQ(matches(numbers, text), i / 20.0 > -1.25 && i / 20.0 <= 30.5) << text;
  }
  expect(R"({"type":"integer","minimum":1e3})", {"1000", "99999999999999999999999"},
         {"999", "-1000", "1000.0"});
  expect(R"({"type":"number","exclusiveMinimum":0})", {"0.001", "1"}, {"0", "-0", "0.0", "-1"});
}

TEST(JsonSchema, CombinationsAndReferences) {
  expect(
      R"({"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},
             "required":["v","next"],"additionalProperties":false}},"$ref":"#/$defs/node"})",
      {R"({"v":1,"next":{"v":2,"next":null}})"}, {R"({"v":1})", R"({"v":1,"next":{"v":2}})"});
  expect(
      R"({"allOf":[{"properties":{"a":{"minimum":3}}},{"properties":{"a":{"type":"integer"},"b":{}},"required":["b"]}],"type":"object"})",
      {R"({"a":3,"b":1})"}, {R"({"a":2,"b":1})", R"({"a":3})"});
  expect(R"({"oneOf":[{"type":"object","properties":{"k":{"const":"a"},"x":{}},"required":["k"]},
                      {"type":"object","properties":{"k":{"const":"b"}},"required":["k"]},{"type":"null"}]})",
         {R"({"k":"a","x":1})", R"({"k":"b"})", "null"}, {R"({"k":"c"})", "1"});
  expect(R"({"type":"string","nullable":true})", {"null", "\"\""}, {"1"});
  expect(
      R"({"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"type":"null"}},"properties":{"x":{"$ref":"#/definitions/a","type":"string"}}})",
      {R"({"x":null})"}, {R"({"x":""})"});
}

TEST(JsonSchema, Formats) {
  const auto format = [](const char* name) {
    return fmt::format(R"({{"type":"string","format":"{}"}})", name);
  };
  expect(format("date"), {"\"2024-02-29\"", "\"2000-02-29\""},
         {"\"2023-02-29\"", "\"1900-02-29\"", "\"2024-04-31\""});
  expect(format("date-time"), {"\"2024-02-29T23:59:59.5Z\"", "\"2024-01-01t00:00:00+01:30\""},
         {"\"2024-01-01\"", "\"2024-01-01T24:00:00Z\""});
  expect(format("ipv6"),
         {"\"::\"", "\"::1\"", "\"1:2:3:4:5:6:7::\"", "\"::ffff:1.2.3.4\"", "\"1:2:3:4:5:6:7:8\""},
         {"\":\"", "\"1:2:3:4:5:6:7\"", "\"1::2::3\"", "\"1:2:3:4:5:6:7:8::\"", "\"::ffff:1.2.3.256\""});
  expect(format("uuid"), {"\"2eb8aa08-aa98-11ea-b4aa-73b441d16380\""},
         {"\"2eb8aa08aa9811eab4aa73b441d16380\""});
  EXPECT_HAS(error_of([&] { schema_automaton(format("phone")); }), "expected one of date, time");
}

/// OpenAPI has formats of numbers.
TEST(JsonSchema, FormatsOfOtherTypesAreIgnored) {
  expect(R"({"type":"integer","format":"int32"})", {"1"}, {"\"1\""});
}

TEST(JsonSchema, RefusesByName) {
  const std::pair<const char*, const char*> refused[] = {
      {R"({"not":{}})", "'not'"},
      {R"({"if":{}})", "'if'"},
      {R"({"uniqueItems":true})", "'uniqueItems'"},
      {R"({"contains":{}})", "'contains'"},
      {R"({"type":"number","multipleOf":0.1})", "'multipleOf'"},
      {R"({"propertyName":{}})", "'propertyName'"},
      {R"({"$ref":"http://a/b"})", "$ref 'http://a/b'"},
      {R"({"$ref":"#/x"})", "refers to nothing"},
      {R"({"oneOf":[{"type":"integer"},{"minimum":2}]})", "'oneOf' may overlap"},
      {R"({"minProperties":3})", "'minProperties'"},
      {R"({"type":"strin"})", "'type'"},
      {R"({"minLength":-1})", "'minLength'"},
      {R"x({"pattern":"(?=a)"})x", "look-around"},
      {R"({"$ref":"#"})", "refer to themselves"},
      {R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})", "no text satisfies"},
      {R"({"type":"string","enum":[1]})", "no text satisfies"},
      {"[]", "expected an object or a boolean"}};
  for (const auto& [schema, message] : refused)
    EXPECT_HAS(error_of([&] { schema_automaton(schema); }), message) << schema;
}

TEST(JsonSchema, StepsOfAllPatternsAreBounded) {
  const LanguageSteps bound(100);
  const auto compile_patterns = [] {
    schema_automaton(R"({"properties":{"a":{"pattern":"^(a|b)*a(a|b){5}$"}}})");
  };
  EXPECT_EQ(error_of(compile_patterns), "");  // a schema has a bound of its own
  EXPECT_HAS(error_of([] { pattern_language("^(a|b)*a(a|b){5}$", "pattern"); }), "too many steps");
}

TEST(JsonSchema, WhitespaceIsBounded) {
  SchemaOptions options;
  options.layout.most_whitespace = 3;
  const AutomatonPointer automaton = schema_automaton(
      R"({"type":"object","properties":{"a":{"type":"array","items":{"const":{"k":1}}}}})", options);
  EXPECT_TRUE(matches(automaton, "{\n  \"a\" : [ {\"k\" :1 } ,\t{\"k\":1}]\n}"));
  EXPECT_FALSE(matches(automaton, "{\n   \"a\":[]}"));
  EXPECT_FALSE(matches(automaton, " {}"));
}

}  // namespace
}  // namespace smelt::structured
