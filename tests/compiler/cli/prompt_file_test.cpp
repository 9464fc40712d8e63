// Files of prompts, and what is said of their lines.
#include "compiler/cli/shared/prompt_file.h"

#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt::cli {
namespace {

struct PromptFile : ::testing::Test {
  TemporaryDirectory directory;

  std::vector<GivenPrompt> read(const char* name, std::string_view text) const {
    return read_prompt_file(directory.write(name, text));
  }
  void expect_fault(const char* name, std::string_view text, const char* part) const {
    EXPECT_HAS(message_of([&] { read(name, text); }), part);
  }
};

TEST_F(PromptFile, EveryLineIsAPrompt) {
  const auto prompts = read("p.txt", "\xEF\xBB\xBFone two\r\n\n \t\n  {three}\nf\xC3\xBCnf");
  ASSERT_EQ(prompts.size(), 3u);
  EXPECT_EQ(prompts[0].text, "one two");
  EXPECT_EQ(prompts[1].text, "  {three}") << "no JSON in a file of text";
  EXPECT_EQ(prompts[2].text, "f\xC3\xBCnf");
  EXPECT_EQ(prompts[1].line, 4) << "blank lines count";
  EXPECT_TRUE(prompts[2].place.ends_with("p.txt, line 5")) << prompts[2].place;
}

TEST_F(PromptFile, LinesOfJsonAreTextsOrIds) {
  for (const char* name : {"p.jsonl", "p.ndjson", "p.json"}) {
    const auto prompts = read(name, "{\"prompt\": \"a\\nb\"}\n\n{\"ids\": [3, 0, 2147483647]}\n");
    ASSERT_EQ(prompts.size(), 2u) << name;
    EXPECT_TRUE(prompts[0].is_text());
    EXPECT_EQ(prompts[0].text, "a\nb");
    EXPECT_FALSE(prompts[1].is_text());
    EXPECT_EQ(*prompts[1].ids, (std::vector<int32_t>{3, 0, 2147483647}));
    EXPECT_EQ(prompts[1].line, 3);
  }
}

TEST_F(PromptFile, LinesThatAreWrongAreNamed) {
  const auto expect = [&](const char* line, const char* part) {
    expect_fault("p.jsonl", std::string("{\"prompt\": \"good\"}\n") + line, "p.jsonl, line 2': ");
    expect_fault("p.jsonl", std::string("{\"prompt\": \"good\"}\n") + line, part);
  };
  expect("{\"prompt\": ", "broken JSON at byte");
  expect("[1, 2]", "a list: expected {\"prompt\": \"a text\"} or {\"ids\": [15496, 11]}");
  expect("{}", "an empty object: expected");
  expect("{\"prompt\": \"a\", \"ids\": [1]}", "two members: expected");
  expect("{\"text\": \"a\"}", "there is no member 'text': expected");
  expect("{\"prompt\": 5}", "prompt = 5: expected a text");
  for (const char* ids : {"[]", "3", "[1.5]", "[-1]", "[2147483648]", "[18446744073709551615]", "[\"1\"]"})
    expect((std::string("{\"ids\": ") + ids + "}").c_str(), "expected a list of at least one token id");
}

TEST_F(PromptFile, TextIsUtf8) {
  expect_fault("p.txt",
               "good\nb\xFF"
               "d\n",
               "p.txt, line 2': byte 2 of the line is no UTF-8");
  expect_fault("p.jsonl", "{\"prompt\": \"\xC3\"}", "p.jsonl, line 1': byte 13 of the line is no UTF-8");
}

TEST_F(PromptFile, FilesWithoutPrompts) {
  for (const char* text : {"", "\n \n", "\xEF\xBB\xBF\r\n"}) expect_fault("p.txt", text, "holds no prompt");
  EXPECT_THROW(read_prompt_file(directory / "nowhere.txt"), Error);
  EXPECT_THROW(read_prompt_file(directory.path()), Error) << "a directory";
}

}  // namespace
}  // namespace smelt::cli
