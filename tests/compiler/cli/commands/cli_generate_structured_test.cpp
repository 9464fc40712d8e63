// smelt generate with a JSON Schema, a regular expression or a grammar: all results satisfy it.
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Json = nlohmann::json;

class GenerateStructured : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    spill(path("model.json"), R"({"family": "llama", "vocab_size": 256, "hidden": 32, "max_positions": 256,
        "tokenizer": "bytes", "decoder": {"layers": 2, "heads": 2, "ffn": 40}})");
  }
  /// Returns the new texts of two prompts with three results each.
  std::vector<std::string> texts(const std::string& options) const {
    const Outcome found = smelt(
        "generate model.json --from-scratch --prompt ab --prompt x --do-sample --num-return-sequences "
        "3 --max-new-tokens 200 --json " +
        options);
    expect_good(found);
    std::vector<std::string> result;
    std::istringstream stream(found.out);
    for (std::string line; std::getline(stream, line);) {
      const Json json = Json::parse(line);
      result.push_back(json["text"].get<std::string>().substr(json["prompt_ids"].size()));
    }
    EXPECT_EQ(result.size(), 6U);
    return result;
  }
  static std::string plain() { return "generate model.json --from-scratch --prompt ab "; }
};

TEST_F(GenerateStructured, ObjectsSatisfyTheirSchema) {
  spill(path("schema.json"), R"({"type": "object", "additionalProperties": false, "required": ["a", "b"],
      "properties": {"b": {"enum": ["x", "y"]}, "a": {"type": "integer", "minimum": 0, "maximum": 99}}})");
  for (const char* drafts : {"", "--draft model.json"}) {
    const auto found = texts(std::string("--json-schema schema.json ") + drafts);
    for (const std::string& text : found) {
      const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
      ASSERT_TRUE(value.is_object()) << text;
      EXPECT_TRUE(value["b"] == "x" || value["b"] == "y");
      EXPECT_LE(value["a"].get<int>(), 99);
      EXPECT_LT(text.find("\"b\""), text.find("\"a\"")) << "the order of the schema";
    }
  }
}

TEST_F(GenerateStructured, DraftsChangeNoText) {
  const std::string options = "--regex '([a-f]{2}-)+z' --seed 5 ";
  const auto expected = texts(options);
  for (const char* drafts : {"--draft model.json", "--draft ngram"})
    EXPECT_EQ(texts(options + drafts), expected) << drafts;
  for (const std::string& text : expected)
    if (text.size() < 200) {
      EXPECT_TRUE(std::regex_match(text, std::regex("([a-f]{2}-)+z"))) << text;
    }
}

TEST_F(GenerateStructured, GrammarsAndStreams) {
  spill(path("g.gbnf"), "root ::= \"<\" [0-9] root? \">\"\n");
  for (const std::string& text : texts("--grammar g.gbnf"))
    if (text.size() < 200) {
      EXPECT_TRUE(std::regex_match(text, std::regex("(<[0-9])+>+"))) << text;
    }
  const Outcome one = smelt(plain() + "--regex '(yes|no)!'");
  expect_good(one);
  EXPECT_TRUE(one.out == "abyes!\n" || one.out == "abno!\n") << one.out;
}

TEST_F(GenerateStructured, AreRefusedByName) {
  spill(path("s.json"), R"({"not": {}})");
  expect_error(smelt(plain() + "--json-schema s.json"), "--json-schema: JSON Schema at #: the keyword 'not'");
  spill(path("s.json"), "{");
  expect_error(smelt(plain() + "--json-schema s.json"), "--json-schema: ");
  expect_error(smelt(plain() + "--json-schema nowhere.json"), "nowhere.json");
  expect_error(smelt(plain() + "--regex '(a'"), "--regex: ");
  expect_error(smelt(plain() + "--regex a --num-beams 2"), "--regex and num_beams 2: a beam search has");
  expect_error(smelt("generate $GOLDEN --ids '3 1' --regex a"), "--regex: the model has no tokenizer");
  const std::string sources = (fs::path(SMELT_SOURCE_DIR) / "tests/goldens/t5-gated").string();
  expect_error(smelt("generate '" + sources + "' --ids '3 1' --regex a"), "is an encoder-decoder");
  expect_error(smelt(plain() + "--regex a --no-kv-cache"), "--no-kv-cache");
  spill(path("g.gbnf"), "root ::= root \"a\"\n");
  expect_error(smelt(plain() + "--grammar g.gbnf"), "--grammar: ");
  const Outcome two = smelt(plain() + "--regex a --grammar g.gbnf");
  EXPECT_NE(two.status, 0);
  EXPECT_TRUE(has(two.err, "--regex") && has(two.err, "--grammar")) << two.err;
}

}  // namespace
}  // namespace smelt::test
