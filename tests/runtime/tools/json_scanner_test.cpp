// JSON byte by byte: what is whole, what is open and what is wrong, as the JSON parser has it.
#include "runtime/tools/json_scanner.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/system/json_text.h"

namespace smelt::tools {
namespace {

/// Returns "whole", "open", or the number of the first wrong byte.
std::string scan(std::string_view text) {
  JsonScanner scanner;
  for (size_t i = 0; i < text.size(); ++i)
    if (scanner.push(text[i]) == JsonByte::wrong) return std::to_string(i);
  return scanner.is_whole() ? "whole" : "open";
}

std::string kinds(std::string_view text) {
  JsonScanner scanner;
  std::string kinds;
  for (const char byte : text) kinds += "!_.kv"[static_cast<size_t>(scanner.push(byte))];
  return kinds;
}

TEST(JsonScanner, TakesWhatIsJson) {
  for (const char* text :
       {"{}", "[]", "{ }", R"({"a":1})", R"([ -0, 0.5, 1e9, 12.25E-3, 10e+0, true,false , null ])",
        R"({"a":{"b":[[],{}]},"c":"\"\\\/\b\f\n\r\té"} )", "[\"日本\"]"}) {
    std::string trimmed(text);
    while (trimmed.ends_with(' ')) trimmed.pop_back();
    EXPECT_EQ(scan(trimmed), "whole") << text;
    for (size_t i = 1; i < trimmed.size(); ++i) EXPECT_EQ(scan(trimmed.substr(0, i)), "open") << i << text;
  }
}

TEST(JsonScanner, StopsAtTheFirstWrongByte) {
  EXPECT_EQ(scan("1"), "0");
  EXPECT_EQ(scan(" {}"), "0");
  EXPECT_EQ(scan("{} "), "2") << "whole before it";
  EXPECT_EQ(scan("{a"), "1");
  EXPECT_EQ(scan("[1,]"), "3");
  EXPECT_EQ(scan(R"({"a":1,})"), "7");
  EXPECT_EQ(scan(R"({"a" 1})"), "5");
  EXPECT_EQ(scan("[01]"), "2");
  EXPECT_EQ(scan("[-]"), "2");
  EXPECT_EQ(scan("[1.]"), "3");
  EXPECT_EQ(scan("[.5]"), "1");
  EXPECT_EQ(scan("[1e]"), "3");
  EXPECT_EQ(scan("[1e+]"), "4");
  EXPECT_EQ(scan("[1.5.2]"), "4");
  EXPECT_EQ(scan("[1e5e5]"), "4");
  EXPECT_EQ(scan("[trye]"), "3");
  EXPECT_EQ(scan("[1 2]"), "3");
  EXPECT_EQ(scan("[1}"), "2");
  EXPECT_EQ(scan("{]"), "1");
  EXPECT_EQ(scan("[\"\n\"]"), "2");
  EXPECT_EQ(scan(R"(["\x"])"), "3");
  EXPECT_EQ(scan(R"(["\u12g4"])"), "6");
}

TEST(JsonScanner, HasTheDepthOfTheParser) {
  const size_t most = JsonScanner::kMostDepth;
  const std::string deep = std::string(most, '[') + std::string(most, ']');
  EXPECT_EQ(scan(deep), "whole");
  EXPECT_TRUE(parse_json_or_null(deep).is_array());
  EXPECT_EQ(scan(std::string(most + 1, '[')), std::to_string(most));
}

TEST(JsonScanner, TellsKeysFromValues) {
  EXPECT_EQ(kinds(R"({"a": "b", "c":[1 ,{}]})"), "vkkk._vvv._kkk.vv_.vvvv");
}

TEST(JsonScanner, KnowsStrings) {
  JsonScanner scanner;
  std::string inside;
  for (const char byte : std::string_view(R"(["a\"",1])"))
    scanner.push(byte), inside += scanner.in_string() ? 's' : '-';
  EXPECT_EQ(inside, "-ssss----");
}

}  // namespace
}  // namespace smelt::tools
