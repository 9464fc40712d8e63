#include "runtime/engine/data/packed_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "runtime/base/error.h"
#include "runtime/engine/data/batches.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

using Lengths = std::vector<int64_t>;
using Ids = std::vector<int32_t>;

std::vector<Lengths> documents_of(const PackedRows& rows) {
  std::vector<Lengths> all;
  for (int64_t row = 0; row < rows.size(); ++row) all.emplace_back(rows[row].begin(), rows[row].end());
  return all;
}

TEST(PackRows, FirstFit) {
  EXPECT_EQ(documents_of(pack_rows(Lengths{5, 3, 4, 1, 7, 2}, 7)),
            (std::vector<Lengths>{{1, 2}, {4}, {0, 3}, {5}}));
  EXPECT_EQ(documents_of(pack_rows(Lengths{0, 7, 0, 1}, 7)), (std::vector<Lengths>{{1}, {3}}));
  EXPECT_EQ(pack_rows(Lengths{}, 7).size(), 0);
  EXPECT_EQ(pack_rows(Lengths{0, 0}, 7).size(), 0);
  EXPECT_HAS(message_of([] { pack_rows(Lengths{2, 8}, 7); }), "document 1 is 8 tokens long");
}

TEST(PackRows, EveryDocumentOnceAndInOrder) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const auto width = static_cast<int64_t>(1 + random() % 40);
    Lengths lengths(random() % 500);
    for (int64_t& length : lengths)
      length = static_cast<int64_t>(random() % (static_cast<uint32_t>(width) + 1));
    const PackedRows rows = pack_rows(lengths, width);
    std::vector<int> seen(lengths.size());
    for (const Lengths& row : documents_of(rows)) {
      EXPECT_FALSE(row.empty());
      EXPECT_TRUE(std::ranges::is_sorted(row));
      int64_t used = 0;
      for (const int64_t document : row)
        ++seen[static_cast<size_t>(document)], used += lengths[static_cast<size_t>(document)];
      EXPECT_LE(used, width);
    }
    for (size_t i = 0; i < lengths.size(); ++i) EXPECT_EQ(seen[i], lengths[i] > 0) << i;
  }
}

std::shared_ptr<const TokenData> open(const TemporaryDirectory& d, const std::vector<std::string>& texts) {
  std::vector<std::filesystem::path> files;
  for (const std::string& text : texts) files.push_back(d.write("text" + std::to_string(files.size()), text));
  return std::make_shared<const TokenData>(files, TokenFormat::bytes, 256);
}

/// The texts of the documents.
std::vector<std::string> texts_of(const TokenDocuments& documents) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < documents.size(); ++i) {
    Ids ids(static_cast<size_t>(documents.length(i)));
    documents.read(i, 0, reinterpret_cast<std::byte*>(ids.data()));
    texts.emplace_back(ids.begin(), ids.end());
  }
  return texts;
}

std::vector<std::string> documents_in(const std::vector<std::string>& files, int64_t length, Ids end) {
  const TemporaryDirectory d;
  const auto data = open(d, files);
  return texts_of({{data, 0, data->size()}, {.length = length, .document_end = std::move(end)}});
}

TEST(TokenDocuments, EndWithTheirEndAndTheirFile) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(documents_in({"ab.c..d", "e.f"}, 9, {'.'}), (Texts{"ab.", "c.", ".", "d", "e.", "f"}));
  EXPECT_EQ(documents_in({"ab..c...d", ".e"}, 9, {'.', '.'}), (Texts{"ab..", "c..", ".d", ".e"}));
  EXPECT_EQ(documents_in({"ab", "cd"}, 9, {}), (Texts{"ab", "cd"}));
  EXPECT_EQ(documents_in({"abcd", "abcdefghi", "abc"}, 4, {}), (Texts{"abcd", "abcd", "efgh", "i", "abc"}));
  EXPECT_EQ(documents_in({"abc.de.f"}, 4, {'.'}), (Texts{"abc.", "de.", "f"}));
  EXPECT_EQ(documents_in({"abc..de"}, 4, {'.', '.'}), (Texts{"abc.", ".", "de"})) << "an end that is cut";
  EXPECT_HAS(message_of([] { documents_in({"aaa"}, 4, {'a'}); }), "no document has two tokens");
}

Ids ints_in(const Batch& batch, const char* name) {
  const auto span = batch.find(name)->as<int32_t>();
  return {span.begin(), span.end()};
}

PackedRange packed(const DataPart& part, PackOptions options) {
  return std::get<PackedRange>(pack(part, options));
}

TEST(PackedData, RowsOfTexts) {
  const TemporaryDirectory d;
  const auto data = open(d, {"abc.d.efgh."});
  const PackedRange rows = packed(TokenRange{data, 0, data->size()}, {.length = 7, .document_end = {'.'}});
  ASSERT_EQ(rows.size(), 2);
  Batch batch;
  rows.data->read(Lengths{0, 1}, batch);
  EXPECT_EQ(batch.tokens, 14);
  EXPECT_EQ(ints_in(batch, "input_ids"),
            (Ids{'a', 'b', 'c', '.', 'd', '.', 0, 'e', 'f', 'g', 'h', '.', 0, 0}));
  EXPECT_EQ(ints_in(batch, "labels"),
            (Ids{'a', 'b', 'c', '.', 'd', '.', -100, 'e', 'f', 'g', 'h', '.', -100, -100}));
  EXPECT_EQ(ints_in(batch, "segment_ids"), (Ids{1, 1, 1, 1, 2, 2, 0, 1, 1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(ints_in(batch, "position_ids"), (Ids{0, 1, 2, 3, 0, 1, 0, 0, 1, 2, 3, 4, 0, 0}));
  EXPECT_EQ(rows.data->summary(), "2 rows of 7 tokens hold 3 documents of 11 tokens: 78.6% full");
  EXPECT_EQ(rows.data->largest(5).size(), 4u);
  EXPECT_EQ(rows.data->largest(5)[2].shape, (Lengths{5, 7}));
}

/// The documents that a batch holds, by what segment_ids and position_ids say.
void collect(const Batch& batch, std::vector<Ids>& documents) {
  const Ids ids = ints_in(batch, "input_ids"), labels = ints_in(batch, "labels"),
            segments = ints_in(batch, "segment_ids"), positions = ints_in(batch, "position_ids");
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(labels[i], segments[i] == 0 ? -100 : ids[i]);
    if (segments[i] == 0) continue;
    if (positions[i] == 0) documents.emplace_back();
    EXPECT_EQ(positions[i], static_cast<int32_t>(documents.back().size()));
    documents.back().push_back(ids[i]);
  }
}

TEST(PackedData, AnEpochHoldsEveryTokenOnceAndInOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    const TemporaryDirectory d;
    std::vector<std::string> texts(1 + random() % 4);
    for (std::string& text : texts)
      for (size_t left = 2 + random() % 300; left > 0; --left) text += "abcdefg."[random() % 8];
    const auto data = open(d, texts);
    const PackOptions options{.length = static_cast<int64_t>(2 + random() % 30), .document_end = {'.'}};
    const TokenRange range{data, static_cast<int64_t>(random() % 2), data->size()};
    const TokenDocuments documents(range, options);
    const PackedRange rows = packed(range, options);
    const BatchOptions batches{.batch = 3, .length = options.length, .micro_steps = 2, .seed = 9};
    const auto stream = make_stream(rows, batches), again = make_stream(rows, batches);
    std::vector<Ids> found, expected;
    Batch batch, second;
    for (int64_t i = 0; i < (rows.size() + 2) / 3; ++i) {
      stream->fill(i / 2, i % 2, batch);
      collect(batch, found);
    }
    again->fill(1, 0, second);  // without the steps before
    stream->fill(1, 0, batch);
    EXPECT_EQ(ints_in(batch, "input_ids"), ints_in(second, "input_ids"));
    for (const std::string& text : texts_of(documents)) expected.emplace_back(text.begin(), text.end());
    std::ranges::sort(found), std::ranges::sort(expected);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(std::accumulate(expected.begin(), expected.end(), size_t{0},
                              [](size_t sum, const Ids& ids) { return sum + ids.size(); }),
              static_cast<size_t>(range.size()));
  }
}

/// An encoder's entry and, beside it, one that tells no documents apart and one whose labels all count.
struct PackedExample {
  Plan plan;
  PackedExample() {
    plan.symbols.bound({"B"}, 64);
    plan.symbols.bound({"T"}, 40);
    const Dim b = Dim::symbol("B"), t = Dim::symbol("T");
    const Port ids{"input_ids", DType::i32, {b, t}, -1, false, IdRange{100}},
        mask{"attention_mask", DType::i32, {b, t}, -1, true, {}, 1},
        weights{"weights", DType::f32, {b, t, 2}, -1, true, {}, 1},
        labels{"labels", DType::i32, {b, t}, -1, false, IdRange{100, -100}},
        label{"labels", DType::i32, {b}, -1, false, IdRange{3, -100}},
        all_labels{"labels", DType::i32, {b, t}, -1, false, IdRange{100}},
        segments{"segment_ids", DType::i32, {b, t}, -1, true, {}, 0};
    plan.entries = {{.name = "packs", .inputs = {ids, mask, weights, segments, labels}},
                    {.name = "alone", .inputs = {ids, mask, labels}},
                    {.name = "counts", .inputs = {ids, segments, all_labels}},
                    {.name = "classes", .inputs = {ids, mask, segments, label}}};
  }
  const PlanEntry& entry(const char* name) const { return *plan.find_entry(name); }
};

/// Records of these lengths with ids 1, 2, ... through all of them, and labels that are mostly hidden.
std::filesystem::path write_records(const TemporaryDirectory& d, const Lengths& lengths, int64_t width,
                                    const char* more = nullptr) {
  const auto rows = static_cast<int64_t>(lengths.size());
  Ids ids, mask, labels;
  std::vector<float> weights;
  for (const int64_t length : lengths)
    for (int64_t i = 0; i < width; ++i) {
      ids.push_back(i < length ? static_cast<int32_t>(weights.size() / 2 % 90) : 99);
      mask.push_back(i < length);
      labels.push_back(i < length && i % 3 == 1 ? ids.back() : -100);
      for (int twice = 0; twice < 2; ++twice)
        weights.push_back(static_cast<float>(ids.back()) + 0.5f * twice);
    }
  const auto view = [&](const char* name, const Ids& values) {
    return TensorView{name, DType::i32, {rows, width}, std::as_bytes(std::span(values))};
  };
  std::vector<TensorView> tensors = {
      view("input_ids", ids),
      view("attention_mask", mask),
      view("labels", labels),
      {"weights", DType::f32, {rows, width, 2}, std::as_bytes(std::span(weights))}};
  if (more) tensors.push_back(view(more, ids));
  write_safetensors(d / "records.safetensors", tensors);
  return d / "records.safetensors";
}

RecordRange open_records(const PackedExample& example, const std::filesystem::path& file, const char* entry) {
  auto data =
      std::make_shared<const RecordData>(std::vector{file}, example.entry(entry), example.plan.symbols);
  return {data, 0, data->size()};
}

TEST(PackedData, RowsOfRecords) {
  const TemporaryDirectory d;
  const PackedExample example;
  RecordRange records = open_records(example, write_records(d, {9, 3, 2, 1, 5}, 9), "packs");
  records.begin = 1;
  const PackOptions options = pack_options(example.entry("packs"), 6, {});
  EXPECT_FALSE(options.position_ids);
  const PackedRange rows = packed(records, options);
  ASSERT_EQ(rows.size(), 2);
  Batch batch;
  rows.data->read(Lengths{0, 1}, batch);
  EXPECT_EQ(ints_in(batch, "input_ids"), (Ids{9, 10, 11, 18, 19, 27, 36, 37, 38, 39, 40, 0}));
  EXPECT_EQ(ints_in(batch, "attention_mask"), (Ids{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(ints_in(batch, "segment_ids"), (Ids{1, 1, 1, 2, 2, 3, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(ints_in(batch, "labels"), (Ids{-100, 10, -100, -100, 19, -100, -100, 37, -100, -100, 40, -100}));
  EXPECT_EQ(batch.find("weights")->shape, (Lengths{2, 6, 2}));
  EXPECT_EQ(batch.find("weights")->as<float>()[11], 27.5f);
  EXPECT_EQ(batch.find("weights")->as<float>()[22], 0);
  EXPECT_EQ(batch.find("position_ids"), nullptr);
  EXPECT_EQ(rows.data->largest(2).size(), 5u);
}

TEST(PackedData, SaysWhatCannotBePacked) {
  const TemporaryDirectory d;
  const PackedExample example;
  const auto file = write_records(d, {4, 7}, 7);
  const auto options = [&](const char* entry) { return pack_options(example.entry(entry), 6, {}); };
  EXPECT_HAS(message_of([&] { options("alone"); }), "'alone' has no input segment_ids");
  EXPECT_HAS(message_of([&] { options("counts"); }), "'counts' has no input labels i32[B,T] with a label");
  EXPECT_HAS(message_of([&] { options("classes"); }), "'classes' has no input labels");
  EXPECT_HAS(message_of([&] { pack_options(example.entry("packs"), 6, {4, 100}); }),
             "cannot end with token 100: expected an id from 0 to 99");
  const PackOptions packs = options("packs");
  EXPECT_HAS(message_of([&] { pack(open_records(example, file, "packs"), packs); }),
             "record 1 is 7 tokens long, but packed rows have 6");
  const auto again = write_records(d, {4, 5}, 7, "segment_ids");
  EXPECT_HAS(message_of([&] { pack(open_records(example, again, "packs"), packs); }),
             "'segment_ids': the records are packed already");
  const Ids ids(6, 1), labels = {0, 1};
  write_safetensors(d / "classes.safetensors",
                    std::vector<TensorView>{{"input_ids", DType::i32, {2, 3}, std::as_bytes(std::span(ids))},
                                            {"labels", DType::i32, {2}, std::as_bytes(std::span(labels))}});
  EXPECT_HAS(message_of([&] { pack(open_records(example, d / "classes.safetensors", "classes"), packs); }),
             "'labels' is [B]: records are packed where all tensors hold a value a token");
  const auto data = open(d, {"abc"});
  EXPECT_HAS(message_of([&] { pack(TokenRange{data, 0, 3}, {.length = 1}); }), "rows of 1 tokens");
  const PackedRange empty = packed(TokenRange{data, 3, 3}, {.length = 4});
  EXPECT_HAS(message_of([&] { make_stream(empty, {}); }), "there are no rows to train on");
  EXPECT_HAS(message_of([&] { make_list(empty, {}, 1); }), "no rows are held back");
}

}  // namespace
}  // namespace smelt
