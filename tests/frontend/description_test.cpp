#include "frontend/description.h"

#include "tests/frontend/support.h"

namespace smelt {
namespace {

using testing::expect_in, testing::kGolden, testing::message_of;

TEST(Description, ADirectoryKeepsItsConfig) {
  const Description description = read_description(kGolden);
  EXPECT_EQ(description.kind, Description::Kind::directory);
  EXPECT_EQ(description.weights(), kGolden / "model.safetensors");
  const Json json = Json::parse(description.build({})->description);
  EXPECT_EQ(json.at("config"), read_json_file(kGolden / "config.json"));
  EXPECT_EQ(json.at("generation"), read_json_file(kGolden / "generation_config.json"));
  EXPECT_EQ(read_description(kGolden / "config.json").spec, description.spec);
}

TEST(Description, ASpecFileIsAModelFromScratch) {
  testing::TemporaryDirectory directory;
  write_file(directory.path / "tiny.json", to_json(testing::small_spec()).dump());
  const Description description = read_description(directory.path / "tiny.json");
  EXPECT_EQ(description.kind, Description::Kind::spec);
  EXPECT_EQ(description.spec, testing::small_spec());
  EXPECT_EQ(description.weights(), std::nullopt);
  EXPECT_EQ(description.config.at("n_inner"), 31);
  EXPECT_NE(description.build({})->find_graph("loss"), nullptr);
}

TEST(Description, ADirectoryMayHoldASpecOrAGraph) {
  testing::TemporaryDirectory directory;
  const auto weights = directory.path / "model.safetensors";
  write_file(directory.path / "model.ir", "graph @f(%x: f32[3]) {\n  return y = %x\n}\n");
  const Description graph = read_description(directory.path);
  EXPECT_EQ(graph.kind, Description::Kind::graph);
  EXPECT_EQ(graph.weights(), std::nullopt);
  write_file(weights, "");
  EXPECT_EQ(graph.weights(), weights);
  write_file(directory.path / "spec.json", to_json(testing::small_spec()).dump());
  const Description spec = read_description(directory.path);
  EXPECT_EQ(spec.spec, testing::small_spec());
  EXPECT_EQ(spec.weights(), weights);
  write_file(directory.path / "other.json", to_json(testing::small_spec()).dump());
  EXPECT_EQ(read_description(directory.path / "other.json").weights(), std::nullopt) << "from scratch";
  std::filesystem::create_directory(directory.path / "empty");
  expect_in(message_of([&] { read_description(directory.path / "empty"); }),
            {"config.json", "spec.json", "model.ir"});
}

TEST(Description, ADirectoryWithASpecMayHaveOptionsOfGeneration) {
  testing::TemporaryDirectory directory;
  write_file(directory.path / "spec.json", to_json(testing::small_spec()).dump());
  write_file(directory.path / "other.json", to_json(testing::small_spec()).dump());
  EXPECT_EQ(read_description(directory.path).generation, Json::object());
  const std::string without = read_description(directory.path).content();
  const Json options = {{"num_beams", 5}, {"length_penalty", 0.7}};
  write_file(directory.path / "generation_config.json", options.dump());
  for (const auto& path : {directory.path, directory.path / "spec.json"}) {
    const Description description = read_description(path);
    EXPECT_EQ(description.generation, options);
    EXPECT_EQ(Json::parse(description.build({})->description).at("generation"), options);
    EXPECT_NE(description.content(), without) << "plans are kept by it";
  }
  EXPECT_EQ(read_description(directory.path / "other.json").generation, Json::object());
  write_file(directory.path / "generation_config.json", "[4]");
  expect_in(message_of([&] { read_description(directory.path); }),
            {"generation_config.json", "expected an object"});
}

TEST(Description, AGraphHasItsOwnSymbols) {
  testing::TemporaryDirectory directory;
  const auto path = directory.path / "double.ir";
  write_file(
      path,
      "symbols N <= 31\ngraph @double(%x: f32[N,3]) {\n  %y = add %x, %x : f32[N,3]\n  return y = %y\n}\n");
  const Description description = read_description(path);
  EXPECT_EQ(description.kind, Description::Kind::graph);
  EXPECT_EQ(description.build({})->symbols.upper(Dim::symbol("N")), 31);
  EXPECT_EQ(description.build({.bounds = {{{"N"}, 7}}})->symbols.upper(Dim::symbol("N")), 7);
  expect_in(message_of([&] { description.build({.bounds = {{{"B"}, 7}}}); }), {"no symbol B", "declared: N"});
}

TEST(Description, OtherThingsAreRefused) {
  testing::TemporaryDirectory directory;
  expect_in(message_of([&] { read_description(directory.path / "nothing"); }), {"nothing", "no such file"});
  write_file(directory.path / "model.onnx", "x");
  expect_in(message_of([&] { read_description(directory.path / "model.onnx"); }), {"expected a directory"});
  write_file(directory.path / "list.json", "[1]");
  expect_in(message_of([&] { read_description(directory.path / "list.json"); }), {"expected an object"});
}

TEST(Description, TheExampleIsAByteLevelModel) {
  const Description description =
      read_description(std::filesystem::path(SMELT_SOURCE_DIR) / "examples/gpt2-small-bytes");
  EXPECT_EQ(description.spec.tokenizer, TokenizerKind::bytes);
  EXPECT_TRUE(description.spec.tokens.eos.empty());
  EXPECT_EQ(description.weights(), std::nullopt);
  EXPECT_NE(description.build({})->find_graph("loss"), nullptr);
}

}  // namespace
}  // namespace smelt
