#include "runtime/engine/data/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "runtime/base/error.h"
#include "runtime/engine/data/batches.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

/// An entry with every kind of input.
struct Example {
  Plan plan;
  Example() {
    plan.symbols.bound({"B"}, 64);
    plan.symbols.bound({"S"}, 40);
    plan.symbols.bound({"T"}, 40);
    const Dim b = Dim::symbol("B"), s = Dim::symbol("S"), t = Dim::symbol("T");
    const Port ids{"input_ids", DType::i32, {b, s}, -1, false, IdRange{100}},
        mask{"attention_mask", DType::i32, {b, s}, -1, true, {}, 1},
        labels{"labels", DType::i32, {b, t}, -1, false, IdRange{100, -100}},
        label{"labels", DType::i32, {b}, -1, false, IdRange{3, -100}},
        pixels{"pixel_values", DType::f32, {b, 2, 3}, -1, false},
        scores{"labels", DType::f32, {b, 3}, -1, false};
    plan.entries = {{.name = "pairs", .inputs = {ids, mask, labels}},
                    {.name = "images", .inputs = {pixels, label}},
                    {.name = "scores", .inputs = {pixels, scores}}};
  }
  RecordData open(const std::vector<std::filesystem::path>& files, const char* entry = "pairs") const {
    return {files, *plan.find_entry(entry), plan.symbols};
  }
};

template <typename T>
struct Stored {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<T> values;
  TensorView view() const { return {name, dtype, shape, std::as_bytes(std::span(values))}; }
};
using Ints = Stored<int32_t>;

/// Records of these lengths; ids and labels tell where they come from.
std::filesystem::path write_pairs(const TemporaryDirectory& d, const char* name,
                                  const std::vector<int64_t>& sources, const std::vector<int64_t>& targets,
                                  int64_t width, int32_t first = 0) {
  const auto rows = static_cast<int64_t>(sources.size());
  Ints ids{"input_ids", DType::i32, {rows, width}, {}}, mask{"attention_mask", DType::i32, {rows, width}, {}},
      labels{"labels", DType::i32, {rows, width}, {}};
  for (size_t row = 0; row < sources.size(); ++row)
    for (int64_t i = 0; i < width; ++i) {
      ids.values.push_back(first + static_cast<int32_t>(row));
      mask.values.push_back(i < sources[row]);
      labels.values.push_back(i < targets[row] ? static_cast<int32_t>(i) : -100);
    }
  write_safetensors(d / name, std::vector{ids.view(), mask.view(), labels.view()});
  return d / name;
}

std::vector<int32_t> values(const Batch& batch, const char* name) {
  const auto span = batch.find(name)->as<int32_t>();
  return {span.begin(), span.end()};
}

TEST(RecordData, IsAsLongAsTheLongestRecordOfTheBatch) {
  const TemporaryDirectory d;
  const RecordData data = Example().open({write_pairs(d, "a.safetensors", {3, 1, 5}, {2, 4, 1}, 7)});
  ASSERT_EQ(data.size(), 3);
  Batch batch;
  data.read(std::vector<int64_t>{1, 0}, batch);
  EXPECT_EQ(batch.find("input_ids")->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(values(batch, "input_ids"), (std::vector<int32_t>{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(values(batch, "attention_mask"), (std::vector<int32_t>{1, 0, 0, 1, 1, 1}));
  EXPECT_EQ(batch.find("labels")->shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(values(batch, "labels"), (std::vector<int32_t>{0, 1, 2, 3, 0, 1, -100, -100}));
  EXPECT_EQ(batch.tokens, 2 * (3 + 4));
  const auto largest = data.largest(9);
  ASSERT_EQ(largest.size(), 3u);
  EXPECT_EQ(largest[0].shape, (std::vector<int64_t>{9, 5}));
  EXPECT_EQ(largest[2].shape, (std::vector<int64_t>{9, 4}));
}

/// Ranks have parts of the sequence: lengths are multiples of their number.
TEST(RecordData, IsPaddedToALengthThatThePlanTakes) {
  const TemporaryDirectory d;
  Example example;
  PlanEntry& pairs = example.plan.entries[0];
  for (Port* port : {&pairs.inputs[0], &pairs.inputs[1]}) port->shape[1] = Dim::symbol("S") * 4;
  pairs.inputs[2].shape[1] = Dim::symbol("T") * 2;
  const RecordData data = example.open({write_pairs(d, "a.safetensors", {3, 1, 5}, {2, 3, 1}, 7)});
  Batch batch;
  data.read(std::vector<int64_t>{2, 1}, batch);
  EXPECT_EQ(batch.find("input_ids")->shape, (std::vector<int64_t>{2, 8}));
  EXPECT_EQ(values(batch, "attention_mask"),
            (std::vector<int32_t>{1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(values(batch, "labels"), (std::vector<int32_t>{0, -100, -100, -100, 0, 1, 2, -100}));
  EXPECT_EQ(data.largest(1)[0].shape, (std::vector<int64_t>{1, 8}));
  EXPECT_EQ(batch.tokens, 2 * (8 + 4));
}

TEST(RecordData, OfNoMaskIsAsLongAsThePlanTakesIt) {
  const TemporaryDirectory d;
  Plan plan;
  plan.symbols.bound({"B"}, 8), plan.symbols.bound({"T"}, 8);
  const Port ids{"input_ids", DType::i32, {Dim::symbol("B"), Dim::symbol("T") * 2}, -1, false, IdRange{100}};
  plan.entries = {{.name = "ids", .inputs = {ids}}};
  const Ints seven{"input_ids", DType::i32, {1, 7}, std::vector<int32_t>(7)};
  write_safetensors(d / "seven", std::vector{seven.view()});
  try {
    const RecordData data({d / "seven"}, plan.entries[0], plan.symbols);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("records are 7 wide, and the plan takes multiples of 2"),
              std::string_view::npos)
        << error.what();
  }
}

TEST(RecordData, FilesOfDifferentWidthsAreOne) {
  const TemporaryDirectory d;
  const RecordData data = Example().open(
      {write_pairs(d, "a.safetensors", {2, 3}, {1, 1}, 3), write_pairs(d, "b.safetensors", {6}, {5}, 9, 40)});
  Batch batch;
  data.read(std::vector<int64_t>{0, 2}, batch);
  EXPECT_EQ(values(batch, "input_ids"), (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 40, 40, 40, 40, 40, 40}));
  EXPECT_EQ(values(batch, "attention_mask"), (std::vector<int32_t>{1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(values(batch, "labels"), (std::vector<int32_t>{0, -100, -100, -100, -100, 0, 1, 2, 3, 4}));
}

TEST(RecordData, WithoutAMaskEverythingIsSeen) {
  const TemporaryDirectory d;
  Ints ids{"input_ids", DType::i32, {2, 5}, std::vector<int32_t>(10, 7)},
      labels{"labels", DType::i32, {2, 5}, std::vector<int32_t>(10, -100)};
  write_safetensors(d / "a.safetensors", std::vector{ids.view(), labels.view()});
  Batch batch;
  Example().open({d / "a.safetensors"}).read(std::vector<int64_t>{0}, batch);
  EXPECT_EQ(batch.find("input_ids")->shape[1], 5);
  EXPECT_EQ(batch.find("labels")->shape[1], 1) << "labels tell their own length, at least one";
  EXPECT_EQ(batch.find("attention_mask"), nullptr);
}

TEST(RecordData, ReadsImagesAndSmallIntegers) {
  const TemporaryDirectory d;
  const Stored<uint8_t> pixels{"pixel_values", DType::u8, {2, 2, 3}, {0, 51, 255, 0, 0, 0, 1, 2, 3, 4, 5, 6}};
  const Stored<int64_t> labels{"labels", DType::i64, {2}, {2, -100}};
  write_safetensors(d / "a.safetensors", std::vector{pixels.view(), labels.view()});
  Batch batch;
  Example().open({d / "a.safetensors"}, "images").read(std::vector<int64_t>{0, 1}, batch);
  const auto floats = batch.find("pixel_values")->as<float>();
  EXPECT_EQ(floats[1], 0.2f);
  EXPECT_EQ(floats[2], 1.0f);
  EXPECT_EQ(floats[11], 6 / 255.0f);
  EXPECT_EQ(values(batch, "labels"), (std::vector<int32_t>{2, -100}));
  EXPECT_EQ(batch.tokens, 2);
}

TEST(RecordData, NamesWhatIsWrong) {
  const TemporaryDirectory d;
  const Example example;
  Ints ids{"input_ids", DType::i32, {2, 3}, {1, 2, 3, 4, 100, 6}},
      labels{"labels", DType::i32, {2, 3}, {1, 2, 3, 4, 5, -100}};
  const auto message = [&](const std::vector<TensorView>& tensors, const char* entry = "pairs") {
    write_safetensors(d / "bad.safetensors", tensors);
    return message_of([&] { example.open({d / "bad.safetensors"}, entry); });
  };
  EXPECT_HAS(message({ids.view(), labels.view()}),
             "tensor 'input_ids': record 1, element 1 is 100, expected an id from 0 to 99");
  EXPECT_HAS(message({ids.view()}), "there is no tensor 'labels'; entry 'pairs' reads input_ids i32[B,S]");
  ids.values[4] = 5;
  Ints extra = ids, narrow = labels, few = labels;
  extra.name = "token_type_ids";
  EXPECT_HAS(message({ids.view(), labels.view(), extra.view()}), "tensor 'token_type_ids': no such input");
  few.shape = {1, 6};
  EXPECT_HAS(message({ids.view(), few.view()}), "holds 1 records, 'input_ids' 2");
  few.shape = {6};
  EXPECT_HAS(message({ids.view(), few.view()}), "expected a record a row of the input's shape [B,T]");
  narrow.values.resize(4), narrow.shape = {2, 2}, narrow.name = "attention_mask";
  EXPECT_HAS(message({ids.view(), labels.view(), narrow.view()}), "expected a width of 3, as 'input_ids'");
  const Stored<float> floats{"input_ids", DType::f32, {2, 3}, std::vector<float>(6, 1)};
  EXPECT_HAS(message({floats.view(), labels.view()}),
             "is F32 [2,3]: expected one of I32, I64, U16, U8, BOOL");
  const Stored<uint8_t> bytes{"pixel_values", DType::u8, {2, 2, 3}, std::vector<uint8_t>(12, 1)},
      scores{"labels", DType::u8, {2, 3}, std::vector<uint8_t>(6, 1)};
  EXPECT_HAS(message({bytes.view(), scores.view()}, "scores"),
             "tensor 'labels' is U8 [2,3]: expected one of F32, F16, BF16, F64 for");
  const Ints label{"labels", DType::i32, {2}, {0, 3}};
  Stored<float> pixels{"pixel_values", DType::f32, {2, 2, 3}, std::vector<float>(12, 1)};
  EXPECT_HAS(message({pixels.view(), label.view()}, "images"), "record 1, element 0 is 3, expected an id");
  pixels.values[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_HAS(message({pixels.view(), label.view()}, "images"),
             "record 1, element 1 is nan, expected a finite");
  const std::vector<int64_t> long_ones = {4, 41};
  EXPECT_HAS(message_of([&] { example.open({write_pairs(d, "l.safetensors", long_ones, {1, 1}, 50)}); }),
             "record 1 is 41 long, but the plan takes S <= 40");
}

std::vector<int32_t> first_ids(const Batch& batch) {
  std::vector<int32_t> ids;
  const HostTensor& all = *batch.find("input_ids");
  for (int64_t row = 0; row < all.shape[0]; ++row)
    ids.push_back(all.as<int32_t>()[static_cast<size_t>(row * all.shape[1])]);
  return ids;
}

RecordRange many(const TemporaryDirectory& d, size_t rows) {
  const std::vector<int64_t> ones(rows, 1);
  const auto data =
      std::make_shared<const RecordData>(Example().open({write_pairs(d, "many.safetensors", ones, ones, 2)}));
  return {data, 0, data->size()};
}

TEST(RecordStream, EveryEpochSeesEachRecordOnceInAnOrderOfItsOwn) {
  const TemporaryDirectory d;
  const RecordRange range = many(d, 33);
  const BatchOptions options{.batch = 10, .micro_steps = 2, .seed = 5};
  const auto stream = make_stream(range, options), again = make_stream(range, options);
  std::vector<std::vector<int32_t>> epochs(3), batches;
  Batch batch;
  for (int64_t i = 0; i < 12; ++i) {
    stream->fill(i / 2, i % 2, batch);
    batches.push_back(first_ids(batch));
    EXPECT_EQ(batches.back().size(), i % 4 == 3 ? 3u : 10u);
    auto& epoch = epochs[static_cast<size_t>(i / 4)];
    epoch.insert(epoch.end(), batches.back().begin(), batches.back().end());
  }
  EXPECT_NE(epochs[0], epochs[1]);
  for (auto& epoch : epochs) {
    EXPECT_FALSE(std::ranges::is_sorted(epoch));
    std::ranges::sort(epoch);
    std::vector<int32_t> all(33);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(epoch, all);
  }
  for (const int64_t i : {7, 2, 11}) {  // a place is a function of the step alone
    again->fill(i / 2, i % 2, batch);
    EXPECT_EQ(first_ids(batch), batches[static_cast<size_t>(i)]);
  }
  make_stream(range, {.batch = 10, .seed = 6})->fill(0, 0, batch);
  EXPECT_NE(first_ids(batch), batches[0]);
}

/// Ids of the batches before update `steps`, from the place's on.
std::vector<int32_t> ids_up_to(const RecordRange& range, const BatchOptions& options, int64_t steps) {
  std::vector<int32_t> ids;
  Batch batch;
  const auto stream = make_stream(range, options);
  for (int64_t step = options.from.step; step < steps; ++step)
    for (int64_t micro = 0; micro < options.micro_steps; ++micro) {
      stream->fill(step, micro, batch);
      const std::vector<int32_t> next = first_ids(batch);
      ids.insert(ids.end(), next.begin(), next.end());
    }
  return ids;
}

/// Whatever the batches, the order of the records is that of the epochs.
TEST(RecordStream, GoesOnWithTheNextUnseenRecord) {
  const TemporaryDirectory d;
  const RecordRange range = many(d, 33);
  const std::vector<int32_t> all = ids_up_to(range, {.batch = 1, .seed = 5}, 200);
  BatchOptions options{.batch = 4, .micro_steps = 1, .seed = 5};
  std::vector<int32_t> seen;
  int64_t step = 0;
  for (const auto& [batch, micro_steps, steps] :
       {std::tuple{4, 1, 5}, {3, 2, 7}, {1, 1, 1}, {10, 1, 4}, {40, 1, 2}}) {
    options.from = place_at(step, range.size(), options);
    EXPECT_EQ(options.from.epoch * range.size() + options.from.record, std::ssize(seen));
    options.batch = batch, options.micro_steps = micro_steps;
    step += steps;
    const std::vector<int32_t> next = ids_up_to(range, options, step);
    seen.insert(seen.end(), next.begin(), next.end());
  }
  EXPECT_TRUE(std::ranges::equal(seen, std::span(all).first(seen.size())));
  EXPECT_EQ(place_at(step, range.size(), options).step, step);
  const auto end = steps_of_epochs(range, 3, options);
  EXPECT_EQ(place_at(end - 1, range.size(), options).epoch, 2);
  EXPECT_GE(place_at(end, range.size(), options).epoch, 3);
  EXPECT_EQ(place_at(9, 20, {.batch = 1, .from = {9, 2, 30}}).epoch, 3) << "of data that have become fewer";
}

/// A run that goes on within the part of an epoch with which it ends, or after it.
TEST(RecordStream, EndsWithAPartOfAnEpoch) {
  const TemporaryDirectory d;
  const DataPart part = split<RecordData>(many(d, 20).data, nullptr, 0).train;
  EXPECT_EQ(steps_of_epochs(part, 1.5, {.batch = 1}), 30);
  EXPECT_EQ(steps_of_epochs(part, 1.5, {.batch = 1, .from = {9, 1, 5}}), 14);
  EXPECT_EQ(steps_of_epochs(part, 1.5, {.batch = 2, .from = {9, 1, 5}}), 12);
  EXPECT_EQ(steps_of_epochs(part, 1.5, {.batch = 1, .from = {9, 1, 15}}), 9);
  EXPECT_EQ(steps_of_epochs(part, 1.5, {.batch = 1, .from = {9, 2, 0}}), 9);
}

TEST(RecordList, CoversOrSpreads) {
  const TemporaryDirectory d;
  const RecordSplit parts = split<RecordData>(many(d, 40).data, nullptr, 0.25);
  EXPECT_EQ(parts.train.end, 30);
  EXPECT_EQ(parts.held_back.size(), 10);
  Batch batch;
  const auto all = make_list(parts.held_back, {.batch = 4}, 100);
  ASSERT_EQ(all->size(), 3);
  all->fill(2, batch);
  EXPECT_EQ(first_ids(batch), (std::vector<int32_t>{38, 39}));
  const auto some = make_list(parts.held_back, {.batch = 2}, 2);
  ASSERT_EQ(some->size(), 2);
  some->fill(1, batch);
  EXPECT_EQ(first_ids(batch), (std::vector<int32_t>{35, 37}));
  const RecordRange none{parts.train.data, 3, 3};
  EXPECT_HAS(message_of([&] { make_list(none, {}, 2); }), "no records are held back");
  EXPECT_HAS(message_of([&] { make_stream(none, {}); }), "no records to train on");
}

}  // namespace
}  // namespace smelt
