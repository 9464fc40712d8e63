// Rows of texts as training data, from an empty directory: texts, classes, translations and chats.
#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Json = nlohmann::json;

class RowCommands : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    spill(path("gpt2.json"), R"({"family": "gpt2", "vocab_size": 256, "hidden": 32, "max_positions": 64,
      "decoder": {"layers": 1, "heads": 2}})");
    spill(path("bert.json"), R"({"family": "bert", "vocab_size": 256, "hidden": 32, "max_positions": 64,
      "encoder": {"layers": 1, "heads": 2}, "head": {"kind": "sequence_classes", "classes": 2}})");
    spill(path("marian.json"), R"({"family": "marian", "vocab_size": 256, "hidden": 32, "max_positions": 32,
      "encoder": {"layers": 1, "heads": 2}, "decoder": {"layers": 1, "heads": 2},
      "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}})");
  }

  /// Lines of JSON with a text of some words each.
  static std::string texts(int count, uint32_t seed) {
    std::mt19937 random(seed);
    std::string lines;
    for (int i = 0; i < count; ++i) {
      std::string text;
      for (uint32_t k = 0; k < 3 + random() % 12; ++k) text += random() % 2 ? "the cat " : "a dog ";
      lines += Json{{"text", text}, {"id", i}}.dump() + "\n";
    }
    return lines;
  }

  void write_zstd(const char* name, const std::string& text) const {
    std::string out(::ZSTD_compressBound(text.size()), '\0');
    out.resize(::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
    spill(path(name), out);
  }

  void write_csv(const char* name, int count) const {
    std::mt19937 random(5);
    std::string text = "text,label\n";
    for (int i = 0; i < count; ++i)
      text += random() % 2 ? "\"good, really\",positive\n" : "\"a \"\"bad\"\" one\",negative\n";
    spill(path(name), text);
  }

  double held_back_loss(const std::string& arguments) const {
    const Outcome found = smelt("evaluate " + arguments + " --split held-back --json");
    expect_good(found);
    return Json::parse(found.out)["loss"];
  }
};

TEST_F(RowCommands, PretrainingFromCompressedLines) {
  write_zstd("a.jsonl.zst", texts(300, 1));
  const Outcome trained =
      smelt("train gpt2.json --data a.jsonl.zst --steps 40 --batch 4 --lr 0.01 --run-dir run");
  expect_good(trained);
  EXPECT_TRUE(has(trained.err, "data: 300 examples of ")) << trained.err;
  EXPECT_TRUE(has(trained.err, "packed: ")) << trained.err;
  EXPECT_LT(held_back_loss("run --data a.jsonl.zst"), 2.5);
  expect_good(smelt("generate run --prompt 'the ' --max-new-tokens 4"));
}

TEST_F(RowCommands, ClassificationFromCsvKeepsTheNamesOfItsClasses) {
  write_csv("reviews.csv", 200);
  const std::string data = " --data reviews.csv --label-field label ";
  expect_good(smelt("train bert.json --steps 30 --lr 0.01 --run-dir run" + data));
  EXPECT_EQ(Json::parse(slurp(path("run/labels.json"))), Json({"negative", "positive"}));
  const Outcome found = smelt("evaluate run --json" + data);
  expect_good(found);
  EXPECT_EQ(Json::parse(found.out)["accuracy"], 1.0);
  spill(path("one.csv"),
        "text,label\n\"good, really\",positive\n");  // the number of the run, not of this file
  const Outcome one = smelt("evaluate run --json --data one.csv --label-field label");
  expect_good(one);
  EXPECT_EQ(Json::parse(one.out)["accuracy"], 1.0);
  spill(path("other.csv"), "text,label\nx,neutral\n");
  expect_error(smelt("evaluate run --data other.csv --label-field label"), "'other.csv', row 1");
}

TEST_F(RowCommands, TranslationHasTheTargetAloneInItsLoss) {
  std::string lines;
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::string source, target;
    for (uint32_t k = 0; k < 2 + random() % 6; ++k) {
      source += static_cast<char>('a' + random() % 4);
      target += static_cast<char>(source.back() - 'a' + 'A');
    }
    lines += Json{{"translation", {{"en", source}, {"fr", target}}}}.dump() + "\n";
  }
  spill(path("pairs.jsonl"), lines);
  const std::string data =
      " --data pairs.jsonl --prompt-field translation.en --completion-field translation.fr ";
  const Outcome trained =
      smelt("train marian.json --steps 60 --lr 0.01 --eval-every 30 --translations 5 --run-dir run" + data);
  expect_good(trained);
  EXPECT_TRUE(has(slurp(path("run/metrics.jsonl")), "\"bleu\":"));
  EXPECT_LT(held_back_loss("run" + data), 2.2);
  const Outcome found = smelt("evaluate run --split held-back --translations 5 --json" + data);
  expect_good(found);
  EXPECT_TRUE(has(trained.out, fmt::format("bleu {:.4f}", Json::parse(found.out)["bleu"].get<double>())))
      << trained.out << found.out;
  expect_error(smelt("evaluate run --token-accuracy" + data),
               "expected a decoder or a masked language model");
}

TEST_F(RowCommands, ChatsTeachTheAnswersOfTheAssistant) {
  fs::create_directory(path("model"));
  fs::copy(path("gpt2.json"), path("model/spec.json"));
  spill(path("model/chat_template.jinja"),
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}|{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}");
  std::string lines;
  for (int i = 0; i < 100; ++i)
    lines += Json{{"messages",
                   {{{"role", "user"}, {"content", fmt::format("say {}", i % 7)}},
                    {{"role", "assistant"}, {"content", fmt::format("{}", i % 7)}}}}}
                 .dump() +
             "\n";
  spill(path("chats.jsonl"), lines);
  const std::string data = " --data chats.jsonl --messages-field messages ";
  const Outcome found = smelt("evaluate model --from-scratch --json" + data);
  expect_good(found);
  EXPECT_EQ(Json::parse(found.out)["targets"], 200);  // a digit and the end of the answer, for each chat
  expect_good(smelt("train model --steps 30 --lr 0.01 --run-dir run" + data));
  expect_good(smelt("train model --steps 3 --pack --run-dir packed" + data));
  expect_error(smelt("train gpt2.json --steps 3" + data), "has no chat template");
}

TEST_F(RowCommands, ARunThatStopsInAShuffledEpochGoesOnToTheSameBits) {
  spill(path("a.jsonl"), texts(200, 1)), spill(path("b.jsonl"), texts(150, 2));
  const std::string train =
      "train gpt2.json --data a.jsonl=0.8 b.jsonl=0.2 --seed 5 --batch 3 --threads 1 --lr 0.01 --schedule "
      "constant "
      "--checkpoint-every 7 ";
  expect_good(smelt(train + "--steps 21 --run-dir whole"));
  expect_good(smelt(train + "--steps 7 --run-dir parts"));
  const Outcome resumed = smelt(train + "--steps 21 --run-dir parts --resume");
  expect_good(resumed);
  EXPECT_FALSE(has(resumed.err, "other data")) << resumed.err;
  EXPECT_TRUE(slurp(path("whole/model/model.safetensors")) == slurp(path("parts/model/model.safetensors")));
}

TEST_F(RowCommands, RowsThatAreNotValidStopARunOrAreCounted) {
  spill(path("a.jsonl"), texts(60, 1) + "{\"text\": 5}\n{\"text\": \"\"}\n{\"txt\": \"x\"}\n" + texts(5, 2));
  const std::string train = "train gpt2.json --steps 1 --batch 1 --data a.jsonl ";
  expect_error(smelt(train),
               "'a.jsonl', row 61: 'text' is 5: expected a text (--on-bad-row skip leaves such rows out)");
  const Outcome skipped = smelt(train + "--on-bad-row skip");
  expect_good(skipped);
  EXPECT_TRUE(has(skipped.err, "3 of 68 rows skipped, the first: ")) << skipped.err;
  write_zstd("whole.jsonl.zst", texts(3000, 1));
  const std::string whole = slurp(path("whole.jsonl.zst"));
  spill(path("cut.jsonl.zst"), whole.substr(0, whole.size() - 5));
  expect_error(smelt("train gpt2.json --steps 1 --data cut.jsonl.zst"),
               "'cut.jsonl.zst': zstd data end within");
  spill(path("labels.csv"), "text,label\na,0\nb,1\nc,2\n");
  expect_error(smelt("train bert.json --steps 1 --data labels.csv --label-field label"),
               "'labels.csv', row 3: 'label' is 2: expected a class from 0 to 1");
  spill(path("mixed.csv"), "text,label\na,0\nb,yes\n");
  expect_error(smelt("train bert.json --steps 1 --data mixed.csv --label-field label"),
               "row 2: 'label' is a text, and in rows before it a number");
  spill(path("three.csv"), "text,label\na,x\nb,y\nc,z\n");
  expect_error(smelt("train bert.json --steps 1 --data three.csv --label-field label"),
               "'label' has 3 classes ('x', 'y', 'z'), but the model has 2");
}

/// A text among numbers leaves out its own row alone; rows at the end that are left out are counted, too.
TEST_F(RowCommands, RowsLeftOutAreThoseThatAreNotValid) {
  std::string lines;
  for (int i = 0; i < 60; ++i)
    lines += Json{{"text", "a text"}, {"label", i == 20 ? Json("oops") : Json(i % 2)}}.dump() + "\n";
  spill(path("mixed.jsonl"), lines + "no JSON\n{}\n");
  const std::string train = "train bert.json --steps 1 --batch 2 --data mixed.jsonl --label-field label";
  const Outcome stopped = smelt(train);
  EXPECT_TRUE(has(stopped.err, "row 21: 'label' is a text, and in rows before it a number")) << stopped.err;
  const Outcome trained = smelt(train + " --on-bad-row skip");
  expect_good(trained);
  EXPECT_TRUE(has(trained.err, "3 of 62 rows skipped")) << trained.err;
}

TEST_F(RowCommands, FilesOfOtherKindsAreNotReadAsTexts) {
  spill(path("a.jsonl"), texts(50, 1)), spill(path("b.bin"), std::string(100, 'x'));
  const Outcome found = smelt("train gpt2.json --steps 1 --batch 2 --data a.jsonl b.bin");
  EXPECT_TRUE(has(found.err, "'b.bin': its ending is that of no file with rows")) << found.err;
  spill(path("a.txt"), std::string(4000, 'x'));
  const Outcome skips = smelt("train gpt2.json --steps 1 --batch 2 --data a.txt --on-bad-row skip");
  EXPECT_TRUE(has(skips.err, "--on-bad-row is for rows")) << skips.err;
}

TEST_F(RowCommands, SourcesAreDirectoriesPatternsAndStandardInput) {
  fs::create_directory(path("shards"));
  spill(path("shards/a.jsonl"), texts(50, 1)), spill(path("shards/b.jsonl"), texts(50, 2));
  const std::string train = "train gpt2.json --steps 2 --batch 1 --data ";
  for (const char* source : {"shards", "'shards/*.jsonl'", "shards/a.jsonl shards/b.jsonl"})
    EXPECT_TRUE(has(smelt(train + source).err, "data: 100 examples")) << source;
  const Outcome piped = shell("cat shards/a.jsonl | " + binary() + " " + train + "- --data-format jsonl");
  expect_good(piped);
  EXPECT_TRUE(has(piped.err, "data: 50 examples")) << piped.err;
  expect_error(smelt(train + "-"), "name its format with --data-format");
  expect_error(smelt(train + "shards/a.jsonl=0.5 shards/b.jsonl"), "1 of 2 sources have a share");
}

/// An epoch has each source as often as its share needs: b has a fifth of the tokens, and three quarters of
/// the epoch.
TEST_F(RowCommands, SharesRepeatTheSmallerSources) {
  spill(path("a.jsonl"), texts(400, 1)), spill(path("b.jsonl"), texts(100, 2));
  const Outcome plain = smelt("train gpt2.json --steps 1 --batch 1 --held-back 0 --data a.jsonl b.jsonl");
  const Outcome shares =
      smelt("train gpt2.json --steps 1 --batch 1 --held-back 0 --data a.jsonl=1 b.jsonl=3");
  expect_good(plain), expect_good(shares);
  const auto rows = [](const Outcome& outcome) {
    const size_t at = outcome.err.find("packed: ");
    return at == outcome.err.npos ? 0 : std::stoi(outcome.err.substr(at + 8));
  };
  EXPECT_NEAR(static_cast<double>(rows(shares)) / rows(plain), 3.2, 0.3) << shares.err;
  expect_error(smelt("train gpt2.json --steps 1 --data a.jsonl=1 b.jsonl=100000"), "times in an epoch");
}

TEST_F(RowCommands, FieldsThatDoNotFitTheModelAreNamed) {
  spill(path("a.jsonl"), texts(5, 1));
  const auto error = [&](const std::string& arguments, const char* part) {
    expect_error(smelt("train " + arguments + " --steps 1 --data a.jsonl"), part);
  };
  error("bert.json", "name the column of the class with --label-field");
  error("marian.json", "name the columns of the source and of the target");
  error("gpt2.json --label-field id", "this model has no classes");
  error("gpt2.json --prompt-field text", "belong together: give both");
  error("gpt2.json --text-field id --messages-field text", "those of several tasks");
  error("gpt2.json --text-field txt", "there is no column 'txt': the columns are 'id', 'text'");
  error("gpt2.json --pack --no-pack", "say different things");
}

}  // namespace
}  // namespace smelt::test
