// Data sets of records through the command line: images that are classified, pairs that are translated.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <random>

#include "runtime/engine/weights/safetensors.h"
#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Json = nlohmann::json;

class RecordCommands : public CommandLine {
 protected:
  /// Noise around one of four levels of brightness: the label.
  void write_images(const char* name, int64_t count) const {
    std::mt19937 random(3);
    std::vector<uint8_t> pixels, labels;
    for (int64_t n = 0; n < count; ++n) {
      labels.push_back(static_cast<uint8_t>(random() % 4));
      for (int i = 0; i < 36; ++i) pixels.push_back(static_cast<uint8_t>(random() % 60 + 60 * labels.back()));
    }
    write_safetensors(path(name),
                      std::vector<TensorView>{
                          {"pixel_values", DType::u8, {count, 1, 6, 6}, std::as_bytes(std::span(pixels))},
                          {"labels", DType::u8, {count}, std::as_bytes(std::span(labels))}});
    spill(path("vit.json"), R"({"family": "vit", "hidden": 16, "encoder": {"layers": 1, "heads": 2},
      "embedding": {"image_size": 6, "patch_size": 3, "channels": 1}, "head": {"classes": 4}})");
  }

  /// The target is the source from the back.
  void write_pairs(const char* name, int64_t count, int64_t width) const {
    std::mt19937 random(4);
    std::vector<int32_t> ids(static_cast<size_t>(count * width), 0), labels(ids.size(), -100);
    std::vector<uint8_t> mask(ids.size(), 0);
    for (int64_t n = 0; n < count; ++n) {
      const auto length = static_cast<int64_t>(2 + random() % (width - 2));
      for (int64_t i = 0; i < length; ++i) {
        const auto at = static_cast<size_t>(n * width + i),
                   back = static_cast<size_t>(n * width + length - 2 - i);
        mask[at] = 1, ids[at] = i == length - 1 ? 1 : static_cast<int32_t>(4 + random() % 8);
        labels[i == length - 1 ? at : back] = ids[at];
      }
    }
    const auto view = [&](const char* tensor, DType type, const auto& values) {
      return TensorView{tensor, type, {count, width}, std::as_bytes(std::span(values))};
    };
    write_safetensors(path(name),
                      std::vector{view("input_ids", DType::i32, ids), view("labels", DType::i32, labels),
                                  view("attention_mask", DType::u8, mask)});
    spill(path("marian.json"), R"({"family": "marian", "vocab_size": 12, "hidden": 16, "max_positions": 24,
      "encoder": {"layers": 1, "heads": 2}, "decoder": {"layers": 1, "heads": 2},
      "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}})");
  }
};

TEST_F(RecordCommands, ImagesAreLearntAndCounted) {
  write_images("images.safetensors", 203);
  const Outcome trained = smelt(
      "train vit.json --data images.safetensors --held-back 0.2 --run-dir run --steps 120 --threads 1 "
      "--batch "
      "16 --lr "
      "0.01 "
      "--eval-every 30 --eval-batches 100 --seed 2");
  expect_good(trained);
  EXPECT_TRUE(has(trained.out, "accuracy ")) << trained.out;
  const Outcome found =
      smelt("evaluate run --threads 1 --data images.safetensors --held-back 0.2 --split held-back --json");
  expect_good(found);
  const Json json = Json::parse(found.out);
  EXPECT_GT(json["accuracy"].get<double>(), 0.95) << found.out;
  EXPECT_EQ(json["targets"], 40);
  EXPECT_TRUE(has(trained.out, fmt::format("accuracy {:.2f}%", 100 * json["accuracy"].get<double>())));
  EXPECT_TRUE(has(slurp(path("run/metrics.jsonl")), "\"accuracy\":"));
}

/// Numbers are missed by some distance: there is no accuracy of them, and no perplexity.
TEST_F(RecordCommands, ARegressionHasALossAlone) {
  const std::vector<int32_t> ids = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
  const std::vector<float> labels = {0.5f, -1.25f, 2.0f, 0.0f};
  write_safetensors(path("scores.safetensors"),
                    std::vector<TensorView>{{"input_ids", DType::i32, {4, 3}, std::as_bytes(std::span(ids))},
                                            {"labels", DType::f32, {4}, std::as_bytes(std::span(labels))}});
  const std::string arguments =
      "evaluate '" SMELT_SOURCE_DIR "/tests/goldens/bert-regression' --data scores.safetensors";
  const Outcome text = smelt(arguments), json = smelt(arguments + " --json");
  expect_good(text);
  expect_good(json);
  EXPECT_TRUE(has(text.out, "a target, over 4 targets")) << text.out;
  EXPECT_FALSE(has(text.out, "accuracy")) << text.out;
  const Json found = Json::parse(json.out);
  EXPECT_EQ(found["targets"], 4);
  EXPECT_GT(found["loss"].get<double>(), 0);
  EXPECT_FALSE(found.contains("accuracy") || found.contains("perplexity")) << json.out;
}

/// Records of a head of answers, and of one of pretraining, whose labels of tokens are all ignored.
TEST_F(RecordCommands, HeadsThatAreNoLanguageModelsHaveALossAlone) {
  const std::vector<int32_t> ids = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}, places = {0, 1, 2, 1};
  const std::vector<int32_t> ignored(12, -100), follows = {0, 1, 1, 0}, outside(4, 99);
  const auto rows = [](const char* name, std::vector<int64_t> shape, const std::vector<int32_t>& values) {
    return TensorView{name, DType::i32, std::move(shape), std::as_bytes(std::span(values))};
  };
  const auto evaluated = [&](const char* golden, std::vector<TensorView> labels) {
    labels.push_back(rows("input_ids", {4, 3}, ids));
    write_safetensors(path("records.safetensors"), labels);
    return smelt(
        fmt::format("evaluate '" SMELT_SOURCE_DIR "/tests/goldens/{}' --data records.safetensors", golden));
  };
  const Outcome spans =
      evaluated("bert-spans", {rows("start_positions", {4}, places), rows("end_positions", {4}, outside)});
  const Outcome pretraining = evaluated(
      "bert-pretraining", {rows("labels", {4, 3}, ignored), rows("next_sentence_label", {4}, follows)});
  for (const Outcome& outcome : {spans, pretraining}) {
    expect_good(outcome);
    EXPECT_TRUE(has(outcome.out, "a target, over 4 targets")) << outcome.out;
    EXPECT_FALSE(has(outcome.out, "perplexity") || has(outcome.out, "nan")) << outcome.out;
    EXPECT_FALSE(has(outcome.out, "loss 0.000000")) << outcome.out;
  }
  const std::vector<int32_t> classes(12, -100);
  expect_error(evaluated("bert-tokens", {rows("labels", {4, 3}, classes)}), "the loss is over 0 targets");
}

TEST_F(RecordCommands, PairsAreTrainedEvaluatedAndTranslated) {
  write_pairs("pairs.safetensors", 300, 9);
  write_pairs("held.safetensors", 50, 12);
  const std::string data = " --data pairs.safetensors --validation held.safetensors";
  expect_good(smelt(
      "train marian.json --run-dir run --steps 30 --threads 1 --batch 16 --lr 0.005 --eval-every 15" + data));
  const Outcome found = smelt("evaluate run --threads 1 --split held-back --json" + data);
  expect_good(found);
  EXPECT_LT(Json::parse(found.out)["loss"].get<double>(), 2.4);
  const Outcome translated = smelt("generate run --ids '5 6 7 1' --ids '8 1' --max-new-tokens 5 --json");
  expect_good(translated);
  std::istringstream lines(translated.out);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(Json::parse(line)["prompt_ids"], Json({5, 6, 7, 1}));
  const Json fresh = Json::parse(line)["new_ids"];
  const Outcome one = smelt("generate run --ids '5 6 7 1' --max-new-tokens 5");
  expect_good(one);
  std::istringstream words(one.out);  // only what the decoder wrote
  for (const Json& id : fresh) {
    int32_t word = -1;
    words >> word;
    EXPECT_EQ(word, id.get<int32_t>());
  }
}

/// Lines as records: what is behind the end of one is padding that the labels tell.
TEST_F(RecordCommands, RecordsOfUnequalLengthArePacked) {
  constexpr int64_t kCount = 60, kWidth = 15;
  std::mt19937 random(6);
  std::vector<int32_t> ids(kCount * kWidth, 0), labels(ids.size(), -100);
  for (int64_t n = 0; n < kCount; ++n)
    for (int64_t i = 0, length = static_cast<int64_t>(1 + random() % kWidth); i < length; ++i)
      ids[static_cast<size_t>(n * kWidth + i)] = labels[static_cast<size_t>(n * kWidth + i)] =
          static_cast<int32_t>((3 * n + i) % 7);
  const auto view = [&](const char* name, const std::vector<int32_t>& values) {
    return TensorView{name, DType::i32, {kCount, kWidth}, std::as_bytes(std::span(values))};
  };
  write_safetensors(path("lines.safetensors"), std::vector{view("input_ids", ids), view("labels", labels)});
  spill(path("gpt2.json"), R"({"family": "gpt2", "vocab_size": 12, "hidden": 16, "max_positions": 32,
    "decoder": {"layers": 1, "heads": 2}})");
  const std::string train = "train gpt2.json --data lines.safetensors --batch 3 --threads 1 --pack ";
  const Outcome trained =
      smelt(train + "--steps 60 --lr 0.01 --eval-every 60 --sample-every 60 --sample-tokens 3 --run-dir run");
  expect_good(trained);
  EXPECT_TRUE(has(trained.err, "packed: ")) << trained.err;
  EXPECT_TRUE(has(trained.err, " rows of 32 tokens hold 57 documents of ")) << trained.err;
  EXPECT_TRUE(has(slurp(path("run/metrics.jsonl")), "% full"));
  const auto held_back = [&](const std::string& more) {
    const Outcome found =
        smelt("evaluate run --data lines.safetensors --split held-back --threads 1 --json" + more);
    expect_good(found);
    return Json::parse(found.out)["loss"].get<double>();
  };
  const double packed = held_back(" --pack");
  EXPECT_TRUE(has(trained.out, fmt::format("held-back loss {:.4f}", packed))) << trained.out;
  EXPECT_NEAR(packed / held_back(""), 1, 1e-5) << "the records alone";
  expect_error(smelt(train + "--steps 1 --length 9"), "but the plan takes T <= 9");
}

TEST_F(RecordCommands, SayWhatCannotBePacked) {
  write_images("images.safetensors", 20);
  write_pairs("pairs.safetensors", 20, 9);
  write_text("text.txt", 20);
  expect_error(smelt("train vit.json --data images.safetensors --pack --steps 1"), "embedding.patch_size");
  expect_error(smelt("train marian.json --data pairs.safetensors --pack --steps 1"),
               "encoder.layers: segment_ids: ");
  expect_error(smelt("train '" SMELT_SOURCE_DIR "/tests/goldens/bert-multi' --data pairs.safetensors --pack"),
               "head.kind: segment_ids: ");
  spill(path("gpt2.json"), R"({"family": "gpt2", "vocab_size": 256, "hidden": 16, "max_positions": 32,
    "decoder": {"layers": 1, "heads": 2}})");
  expect_good(smelt("compile gpt2.json --max B=4 -o plain.plan"));
  expect_error(smelt("train plain.plan --data text.txt --batch 4 --pack --steps 1"),
               "'train_step' has no input segment_ids");
  expect_good(smelt("compile gpt2.json --max B=4 --segment-ids --position-ids -o packs.plan"));
  const Outcome trained =
      smelt("train packs.plan --data text.txt --batch 4 --pack --document-end 10 --steps 2");
  expect_good(trained);
  EXPECT_TRUE(has(trained.err, "documents of ")) << trained.err;
  expect_error(smelt("train gpt2.json --data text.txt --pack --document-end 46,256"),
               "cannot end with token 256");
  expect_error(smelt("train gpt2.json --data text.txt --document-end 46"), "document_end is of packed rows");
}

TEST_F(RecordCommands, SayWhatDoesNotFit) {
  write_images("images.safetensors", 20);
  write_pairs("pairs.safetensors", 20, 9);
  write_text("text.txt", 20);
  expect_error(smelt("train vit.json --data pairs.safetensors --steps 1"),
               "there is no tensor 'pixel_values'");
  expect_error(smelt("train marian.json --data images.safetensors --steps 1"),
               "there is no tensor 'input_ids'");
  expect_error(smelt("train marian.json --data text.txt --steps 1"), "this model has an encoder");
  expect_error(smelt("train marian.json --data pairs.safetensors text.txt --steps 1"), "give one kind");
  expect_error(smelt("train marian.json --data pairs.safetensors --max S=5 --steps 1"),
               "the plan takes S <= 5");
  expect_error(smelt("train vit.json --data images.safetensors --sample-every 1 --steps 1"),
               "--sample-every 1");
}

}  // namespace
}  // namespace smelt::test
