#include "runtime/engine/data/examples.h"

#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "runtime/engine/data/batches.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

using Ids = std::vector<int32_t>;

std::shared_ptr<const ExampleSet> write_set(const TemporaryDirectory& d, std::string_view name,
                                            ExampleKind kind, const std::vector<Example>& examples) {
  ExampleWriter writer(d / name, kind);
  for (const Example& example : examples) writer.add(example);
  writer.facts().skipped = 2, writer.facts().first_skipped = "row 3";
  writer.finish();
  return ExampleSet::open(d / name);
}

Port port(const char* name, Shape shape, DType dtype = DType::i32) {
  Port made{.name = name, .dtype = dtype, .shape = std::move(shape)};
  if (dtype == DType::i32) made.ids = IdRange{.below = 100, .ignored = -100};
  return made;
}

const Dim kB = Dim::symbol("B"), kT = Dim::symbol("T"), kS = Dim::symbol("S");

Symbols symbols() {
  Symbols made;
  for (const char* name : {"B", "T", "S"}) made.bound({name}, 8);
  return made;
}

Ids input(const Batch& batch, const char* name) {
  const auto span = batch.find(name)->as<int32_t>();
  return {span.begin(), span.end()};
}

TEST(ExampleSet, KeepsWhatIsWritten) {
  const TemporaryDirectory d;
  const auto set = write_set(d, "pairs", ExampleKind::pairs, {{{1, 2, 3}, {9}}, {{4}, {8, 7, 60}}});
  EXPECT_EQ(set->size(), 2);
  EXPECT_EQ(Ids(set->ids(1).begin(), set->ids(1).end()), Ids{4});
  EXPECT_EQ(Ids(set->labels(1).begin(), set->labels(1).end()), (Ids{8, 7, 60}));
  EXPECT_EQ(set->facts().longest, 3);
  EXPECT_EQ(set->facts().longest_labels, 3);
  EXPECT_EQ(set->facts().largest_id, 60);
  EXPECT_EQ(set->facts().skipped, 2);
  std::filesystem::resize_file(d / "pairs/labels.i32", 8);
  EXPECT_HAS(message_of([&] { ExampleSet::open(d / "pairs"); }), "are damaged: remove that directory");
}

TEST(ExampleSet, HasNoNameBeforeItIsWhole) {
  const TemporaryDirectory d;
  {
    ExampleWriter writer(d / "set", ExampleKind::documents);
    writer.add({{1, 2}, {}});
  }
  EXPECT_TRUE(std::filesystem::is_empty(d.path()));
}

TEST(Examples, ArePaddedToTheLongest) {
  const TemporaryDirectory d;
  const PlanEntry entry{
      .name = "loss",
      .inputs = {port("input_ids", {kB, kS}), port("attention_mask", {kB, kS}), port("labels", {kB, kT})}};
  const auto set =
      write_set(d, "pairs", ExampleKind::pairs, {{{1, 2, 3}, {9}}, {{4}, {8, 7}}, {{5, 6}, {3}}});
  const ExampleData data({{set, 0, 3}, {set, 1, 2}}, ExampleKind::pairs, entry, symbols(), "'x'");
  EXPECT_EQ(data.size(), 4);
  Batch batch;
  data.read(std::vector<int64_t>{3, 2}, batch);
  EXPECT_EQ(input(batch, "input_ids"), (Ids{4, 0, 5, 6}));
  EXPECT_EQ(input(batch, "attention_mask"), (Ids{1, 0, 1, 1}));
  EXPECT_EQ(input(batch, "labels"), (Ids{8, 7, 3, -100}));
  EXPECT_EQ(data.largest(2)[0].shape, (std::vector<int64_t>{2, 3}));
}

TEST(Examples, OfClassesTakeTheNumbersOfTheirNames) {
  const TemporaryDirectory d;
  const PlanEntry entry{.name = "loss", .inputs = {port("input_ids", {kB, kT}), port("labels", {kB})}};
  const auto set = write_set(d, "classes", ExampleKind::classes, {{{1}, {0}}, {{2}, {1}}, {{3}, {-100}}});
  const auto numbers = std::make_shared<const Ids>(Ids{5, 3});
  const ExampleData data({{set, 0, 3, numbers}}, ExampleKind::classes, entry, symbols(), "'x'");
  Batch batch;
  data.read(std::vector<int64_t>{0, 1, 2}, batch);
  EXPECT_EQ(input(batch, "labels"), (Ids{5, 3, -100}));
  const auto wrong = std::make_shared<const Ids>(Ids{5, 300});
  EXPECT_HAS(
      message_of([&] { ExampleData({{set, 0, 3, wrong}}, ExampleKind::classes, entry, symbols(), "'x'"); }),
      "example 1 has the label 300");
  EXPECT_HAS(message_of([&] { ExampleData({{set, 0, 3}}, ExampleKind::numbers, entry, symbols(), "'x'"); }),
             "labels f32[B]: a regression");
}

TEST(Examples, OfIdsBeyondTheVocabularyAreRefused) {
  const TemporaryDirectory d;
  const PlanEntry entry{.name = "loss", .inputs = {port("input_ids", {kB, kT}), port("labels", {kB, kT})}};
  const auto set = write_set(d, "set", ExampleKind::completions, {{{1, 100}, {-100, 100}}});
  EXPECT_HAS(
      message_of([&] { ExampleData({{set, 0, 1}}, ExampleKind::completions, entry, symbols(), "'x'"); }),
      "the tokenizer has made the id 100, but the model's vocabulary has 100 tokens");
}

TEST(Examples, OfDocumentsAreTokensWithTheirEnds) {
  const TemporaryDirectory d;
  const auto set = write_set(d, "set", ExampleKind::documents, {{{1, 2, 3}, {}}, {{4, 5}, {}}, {{6}, {}}});
  const TokenData data({{set, 1, 6}, {set, 0, 4}}, 100, "'x'");
  Ids ids(9);
  data.read(0, ids);
  EXPECT_EQ(ids, (Ids{2, 3, 4, 5, 6, 1, 2, 3, 4}));
  EXPECT_EQ(data.file_begins(), (std::vector<int64_t>{0, 2, 4, 5, 8}));
  EXPECT_HAS(message_of([&] { TokenData({{set, 0, 6}}, 5, "'x'"); }), "the id 6");
}

}  // namespace
}  // namespace smelt
