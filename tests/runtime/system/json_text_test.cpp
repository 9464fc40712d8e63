#include "runtime/system/json_text.h"

#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

std::string fault(const std::string& text) {
  try {
    parse_json(text, "a.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_file);
    return error.what();
  }
  return "accepted";
}

TEST(JsonText, ReadsWhatIsRight) {
  const std::string text =
      "\xEF\xBB\xBF {\"a\": [1, -2.5e-3, \"\\u00e9\xc3\xa9\\n\", true, null, {}, []], \"b\": 0}\n";
  const Json json = parse_json(text, "a.json");
  EXPECT_EQ(json.dump(), "{\"a\":[1,-0.0025,\"\xc3\xa9\xc3\xa9\\n\",true,null,{},[]],\"b\":0}");
  EXPECT_EQ(parse_ordered_json(R"({"b": 1, "a": {"d": 2, "c": 3}})", "a").dump(),
            R"({"b":1,"a":{"d":2,"c":3}})");
}

TEST(JsonText, SaysWhereItIsBrokenAndWhatWasExpected) {
  const auto at = [](int byte, int line, int column, const char* found, const char* expected) {
    return fmt::format("'a.json': broken JSON at byte {} (line {}, column {}): found {}, expected {}", byte,
                       line, column, found, expected);
  };
  const char* value = "a value (an object, a list, a string, a number, true, false or null)";
  const char* end = "the end of the text";
  EXPECT_EQ(fault(""), at(1, 1, 1, end, value));
  EXPECT_EQ(fault("{\n  \"a\": }"), at(10, 2, 8, "'}'", value));
  EXPECT_EQ(fault("[1, 2"), at(6, 1, 6, end, "',' or ']'"));
  EXPECT_EQ(fault("[1, 2,]"), at(7, 1, 7, "']'", value));
  EXPECT_EQ(fault("{\"a\" 1}"), at(6, 1, 6, "'1'", "':'"));
  EXPECT_EQ(fault("{\"a\": 1]"), at(8, 1, 8, "']'", "',' or '}'"));
  EXPECT_EQ(fault("{'a': 1}"), at(2, 1, 2, "'''", "a name in double quotes"));
  EXPECT_EQ(fault("{\"a\": 1,\n}"), at(10, 2, 1, "'}'", "a name in double quotes"));
  EXPECT_EQ(fault("{} {}"), at(4, 1, 4, "'{'", end));
  EXPECT_EQ(fault("[-x]"), at(3, 1, 3, "'x'", "a digit"));
  EXPECT_EQ(fault("[1.]"), at(4, 1, 4, "']'", "a digit"));
  EXPECT_EQ(fault("[NaN]"), at(2, 1, 2, "'N'", value));
  EXPECT_EQ(fault("\"ab"), at(4, 1, 4, end, "the double quote that ends a string"));
  EXPECT_EQ(fault("\"a\nb\""), at(3, 1, 3, "the byte 0x0A",
                                  "no control character in a string: write it as \\u and four digits"));
  EXPECT_EQ(fault("\"\\x\""), at(3, 1, 3, "'x'", "one of \" \\ / b f n r t u behind a backslash"));
  EXPECT_EQ(fault("\"\\u12g4\""), at(6, 1, 6, "'g'", "four hexadecimal digits behind \\u"));
  EXPECT_EQ(fault("\"\xC3\x28\""), at(3, 1, 3, "'('", "UTF-8"));
  EXPECT_EQ(fault("\"\xC0\xAF\""), at(2, 1, 2, "the byte 0xC0", "UTF-8"));
  EXPECT_EQ(fault("1e999"), "'a.json': JSON with a number beyond 1.8e308, which no double holds");
  const auto half = [](int byte, const char* unit) {
    return fmt::format(
        "'a.json': JSON with half a surrogate pair at byte {} (line 1, column {}): found {}, expected two of "
        "them",
        byte, byte, unit);
  };
  EXPECT_EQ(fault("\"\\ud800\""), half(2, "\\ud800"));
  EXPECT_EQ(fault("\"a\\\\\\ud83d\\ude00\\uDE00\""), half(17, "\\uDE00"));
}

/// Whatever nlohmann's parser refuses has a message of ours, without the library's own words.
TEST(JsonText, EveryCutAndEveryChangedByteHasOurMessage) {
  const std::string good = "{\"key\": [1.5e3, \"t\xc3\xa9xt\\u0041\\n\", {\"x\": null}], \"y\": -0}";
  int refused = 0;
  const auto check = [&](const std::string& text) {
    if (nlohmann::json::accept(text)) return;
    ++refused;
    const std::string message = fault(text);
    EXPECT_TRUE(message.starts_with("'a.json': ")) << message;
    EXPECT_EQ(message.find("json.exception"), std::string::npos) << message;
    EXPECT_NE(message.find("expected"), std::string::npos) << text << ": " << message;
  };
  for (size_t size = 0; size < good.size(); ++size) check(good.substr(0, size));
  for (size_t at = 0; at < good.size(); ++at)
    for (const char c : {'"', '{', '}', '[', ',', 'e', '\\', '\x01', '\xff', ' '}) {
      std::string text = good;
      text[at] = c;
      check(text);
    }
  EXPECT_GT(refused, 300);
}

TEST(JsonText, RepeatedKeysAndDeepNestingAreErrors) {
  EXPECT_EQ(fault(R"({"a": {"b": 1, "b": 2}})"), "'a.json': the key 'b' appears twice in one object");
  EXPECT_EQ(fault(R"([{"b": 1}, {"b": 2}])"), "accepted");
  const std::string deep(100000, '[');
  EXPECT_EQ(fault(deep), "'a.json': JSON nested deeper than 64 levels");
  EXPECT_EQ(fault(std::string(64, '[') + std::string(64, ']')), "accepted");
  EXPECT_TRUE(parse_json_or_null(deep).is_null());
  EXPECT_TRUE(parse_json_or_null("{").is_null());
  EXPECT_EQ(parse_json_or_null("[3]"), Json::array({3}));
}

TEST(JsonText, AFileIsNamed) {
  const TemporaryDirectory d;
  d.write("c.json", "{\"a\": [1,\n 2}");
  try {
    read_json_file(d / "c.json");
    FAIL() << "read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("c.json': broken JSON at byte 13 (line 2, column 3)"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace smelt
