// Training through the command line: what a run leaves, and that it survives interruption to the same bits.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Json = nlohmann::json;

class Training : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    write_text("text.txt", 400);
  }
  static std::string train(const std::string& more) {
    return "train $GOLDEN --from-scratch --data text.txt --data-format bytes --batch 3 --length 21 --lr "
           "0.003 --warmup 2 "
           "--eval-batches 2 --seed 7 " +
           more;
  }
  std::vector<double> losses(const std::string& run) const {
    std::vector<double> losses;
    std::istringstream lines(slurp(path(run + "/metrics.jsonl")));
    for (std::string line; std::getline(lines, line);) {
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_object() && json["event"] == "step") losses.push_back(json["loss"]);
    }
    return losses;
  }
  /// Starts the command, which trains into the directory `run`, and kills it once it has reported so many
  /// steps.
  void kill_after(int steps, const std::string& run, const std::string& command) const {
    const Outcome killed =
        shell("export OMP_NUM_THREADS=2 GOLDEN='" + kGolden.string() + "'; " + binary() + " " + command +
              " & pid=$!; for i in $(seq 3000); do n=$(grep -c '\"step\"' " + run +
              "/metrics.jsonl 2>/dev/null); [ \"${n:-0}\" -ge " + std::to_string(steps) +
              " ] && break; kill -0 $pid 2>/dev/null || break; "
              "sleep 0.01; done; kill -9 $pid 2>/dev/null; wait $pid; echo ended $?");
    EXPECT_TRUE(has(killed.out, "ended ")) << killed.err;
  }
  /// The model of docs/guides/models.md, as it stands there.
  static std::string hand_written_model() {
    const std::string docs = slurp(fs::path(SMELT_SOURCE_DIR) / "docs/guides/models.md");
    const size_t begin = docs.find("```smelt\n") + 9;
    return docs.substr(begin, docs.find("```", begin) - begin);
  }
  std::string final_weights(const std::string& run) const {
    return slurp(path(run + "/model/model.safetensors"));
  }
};

TEST_F(Training, LeavesARunDirectory) {
  const Outcome outcome =
      smelt(train("--run-dir run --steps 40 --eval-every 20 --sample-every 40 --sample-tokens 5"));
  expect_good(outcome);
  EXPECT_TRUE(has(outcome.err, "planned memory")) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "held-back loss")) << outcome.out;
  for (const char* file : {"train.json", "options.json", "graph.ir", "graph.dot", "metrics.jsonl", "loss.svg",
                           "model/config.json", "model/model.safetensors"})
    EXPECT_TRUE(fs::exists(path("run") / file)) << file;
  EXPECT_TRUE(has(slurp(path("run/graph.ir")), "fusion"));
  const std::vector<double> all = losses("run");
  ASSERT_EQ(all.size(), 40u);
  EXPECT_LT(all.back(), all.front() - 0.5) << "it learns";
  EXPECT_EQ(Json::parse(slurp(path("run/train.json")))["steps"], 40);
}

TEST_F(Training, WhatItSavedGeneratesAndEvaluates) {
  const Outcome trained =
      smelt(train("--run-dir run --steps 10 --eval-every 10 --eval-batches 1000 --held-back 0.2"));
  expect_good(trained);
  expect_good(smelt("generate run --ids '32 33' --max-new-tokens 3"));
  const Outcome loss = smelt(
      "evaluate run --data text.txt --data-format bytes --length 21 --batch 3 --held-back 0.2 --split "
      "held-back --json");
  expect_good(loss);
  const double evaluated = Json::parse(loss.out)["loss"];
  const size_t at = trained.out.find("held-back loss ") + 15;
  EXPECT_NEAR(evaluated, std::stod(trained.out.substr(at)), 1e-3) << trained.out;
}

TEST_F(Training, EpochsMetricsAndTheBestCheckpoint) {
  const std::string command = train(
      "--run-dir run --epochs 0.1 --warmup 10% --schedule warmup_stable_decay --eval-every 5 --metric "
      "perplexity");
  const Outcome trained =
      smelt(command.substr(0, command.find("--warmup 2")) + command.substr(command.find("--eval-batches")));
  expect_good(trained);
  EXPECT_TRUE(has(trained.out, ", perplexity ")) << trained.out;
  const Json options = Json::parse(slurp(path("run/options.json")));
  EXPECT_EQ(options["warmup_steps"], "10%");
  EXPECT_EQ(options["steps"], losses("run").size());
  EXPECT_TRUE(has(slurp(path("run/metrics.jsonl")), "\"perplexity\":"));
  expect_good(smelt("generate run --weights run/best --ids '32 33' --max-new-tokens 3"));

  const Outcome resumed = smelt("train $GOLDEN --config run/train.json --resume --steps 40");
  expect_good(resumed);
  EXPECT_TRUE(has(resumed.out, "done at step 40"))
      << "the steps replace the epochs of the file: " << resumed.out;
  EXPECT_TRUE(has(smelt(train("--epochs 2 --steps 3")).err, "excludes"));
  EXPECT_TRUE(has(smelt(train("--warmup 0.1")).err, "expected a number of steps, or a share"));
}

TEST_F(Training, TheAccuracyOfTokensIsThatOfEvaluate) {
  const Outcome trained =
      smelt(train("--run-dir run --steps 30 --eval-every 30 --held-back 0.2 --token-accuracy"));
  expect_good(trained);
  const Outcome found = smelt(
      "evaluate run --data text.txt --data-format bytes --length 21 --batch 3 --batches 2 --held-back 0.2 "
      "--split held-back --token-accuracy --json");
  expect_good(found);
  const double accuracy = Json::parse(found.out)["token_accuracy"];
  EXPECT_GT(accuracy, 0);
  EXPECT_TRUE(has(trained.out, fmt::format("token_accuracy {:.2f}%", 100 * accuracy))) << trained.out;
}

TEST_F(Training, UpdatesWithSpikesAreSkippedAndCounted) {
  const Outcome trained = smelt(
      train("--run-dir run --steps 40 --lr 0.000001 --dropout 0.3 --on-spike skip --spike-factor 1.01"));
  expect_good(trained);
  EXPECT_TRUE(has(trained.out, " updates skipped")) << trained.out;
  EXPECT_TRUE(has(trained.err, "is skipped: the gradient norm is")) << trained.err;
  expect_good(smelt(train("--run-dir all --steps 30 --on-spike skip --spike-factor 1000")));
  expect_good(smelt(train("--run-dir ignored --steps 30")));
  EXPECT_EQ(losses("all"), losses("ignored"));
}

/// A run that ended, one that went on and was killed, one whose newest checkpoint is damaged.
TEST_F(Training, TheNewestWeightsOfARunAreUsedAndSaid) {
  expect_good(smelt(train("--run-dir run --steps 6 --checkpoint-every 2 ")));
  const std::string generate = "generate run --ids '32 33' --max-new-tokens 8";
  const Outcome ended = smelt(generate);
  expect_good(ended);
  EXPECT_FALSE(has(ended.err, "checkpoint")) << ended.err;

  std::string saved = slurp(path("run/model/model.safetensors"));
  fs::remove(path("run/model/model.safetensors"));
  for (const char* command : {"generate run", "generate run/model", "generate run/model/config.json",
                              "generate $GOLDEN --weights run",
                              "generate $GOLDEN --weights run/checkpoints/step-0000000006.safetensors"}) {
    const Outcome killed = smelt(std::string(command) + " --ids '32 33' --max-new-tokens 8");
    expect_good(killed);
    EXPECT_EQ(killed.out, ended.out) << command;
  }
  EXPECT_TRUE(has(smelt(generate).err, "newest checkpoint, run/checkpoints/step-0000000006")) << "it is said";

  const std::string step = "\"step\":\"6\"", earlier = "\"step\":\"2\"";
  saved.replace(saved.find(step), step.size(), earlier);
  spill(path("run/model/model.safetensors"), saved);
  EXPECT_TRUE(has(smelt(generate).err, "newest checkpoint, run/checkpoints/step-0000000006"));
  std::string bytes = slurp(path("run/checkpoints/step-0000000006.safetensors"));
  bytes[bytes.size() / 2] ^= 0x40;
  spill(path("run/checkpoints/step-0000000006.safetensors"), bytes);
  const Outcome damaged = smelt(generate);
  EXPECT_TRUE(has(damaged.err, "damaged")) << damaged.err;
  EXPECT_TRUE(has(damaged.err, "newest checkpoint, run/checkpoints/step-0000000004")) << damaged.err;
}

TEST_F(Training, ARefusedResumeChangesNothing) {
  expect_good(smelt(train("--run-dir run --steps 4")));
  const auto contents = [&] {
    std::string all;
    for (const char* file : {"train.json", "options.json", "graph.ir", "graph.dot", "metrics.jsonl",
                             "loss.svg", "model/config.json"})
      all += slurp(path("run") / file);
    return all;
  };
  const std::string before = contents();
  expect_error(smelt(train("--run-dir run --steps 8 --resume --optimizer sgd --dropout 0")),
               "belongs to another plan");
  EXPECT_EQ(contents(), before);
}

TEST_F(Training, AQuietRunSaysThatItsDataChanged) {
  expect_good(smelt(train("--run-dir run --steps 2 --quiet")));
  const Outcome same = smelt(train("--run-dir run --steps 3 --resume --quiet"));
  expect_good(same);
  EXPECT_FALSE(has(same.err, "resumed")) << same.err;
  spill(path("text.txt"), slurp(path("text.txt")) + "more of it");
  const Outcome other = smelt(train("--run-dir run --steps 4 --resume --quiet"));
  expect_good(other);
  EXPECT_TRUE(has(other.err, "resumed at step 3 with other data")) << other.err;
}

TEST_F(Training, AHandWrittenModelIsTrainedEvaluatedAndGeneratesFrom) {
  const std::string model = hand_written_model();
  spill(path("model.ir"), model);
  const std::string data = " --data text.txt --data-format bytes ";
  expect_good(
      smelt("train model.ir --batch 8 --length 64 --lr 0.05 --steps 40 --eval-every 40 --run-dir run" + data +
            "--sample-every 40 --sample-tokens 5"));
  EXPECT_LT(losses("run").back(), losses("run").front() - 1);
  const Outcome evaluated = smelt("evaluate run --json" + data);
  expect_good(evaluated);
  EXPECT_LT(Json::parse(evaluated.out)["loss"].get<double>(), 4.5) << evaluated.out;
  expect_good(smelt("generate run --ids '84 104 101' --max-new-tokens 4"));
  expect_good(smelt("compile run/model --mode infer"));

  std::string other = model;
  other.replace(other.find("@loss"), 5, "@main");
  spill(path("main.ir"), other);
  expect_error(smelt("train main.ir --batch 8 --length 64" + data),
               "expected a graph @loss, which returns loss_sum and token_count (docs/guides/models.md); the "
               "graphs are "
               "@main, @logits");
  expect_error(smelt("evaluate main.ir --from-scratch" + data),
               "@evaluate is made from a graph @loss, which this model does not have");
}

TEST_F(Training, SamplesGoThroughTheModelsTokenizer) {
  expect_good(shell("cp -r '" + kGolden.string() + "' model"));
  const auto write_tokenizer = [&](const std::string& one) {
    spill(path("model/tokenizer.json"),
          R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "three": 3, "one": )" + one +
              R"(}}, "pre_tokenizer": {"type": "WhitespaceSplit"}})");
  };
  const std::string command =
      "train model --data text.txt --data-format bytes --batch 2 --length 16 --steps 2 --sample-every 1 "
      "--sample-tokens 4 --run-dir run --sample-prompt ";
  write_tokenizer("1");
  expect_good(smelt(command + "'three one'"));
  EXPECT_TRUE(has(slurp(path("run/metrics.jsonl")), R"("text":"three one)"))
      << slurp(path("run/metrics.jsonl"));
  EXPECT_TRUE(smelt("generate run --prompt 'three one' --max-new-tokens 2").out.starts_with("three one"));
  fs::remove_all(path("run"));
  expect_good(smelt(command + "''"));  // no token: the beginning that the model names
  write_tokenizer("500");
  fs::remove_all(path("run"));
  expect_error(smelt(command + "'three one'"), "the tokenizer gives token 500");
  EXPECT_FALSE(fs::exists(path("run"))) << "before anything is done";
}

TEST_F(Training, TextGoesThroughTheModelsTokenizer) {
  expect_good(shell("cp -r '" + kGolden.string() + "' model"));
  spill(path("model/tokenizer.json"),
        R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "two": 12, "one": 11}},
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "truncation": {"max_length": 3, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}})");
  std::string words;
  for (int i = 0; i < 200; ++i) words += i % 2 ? "two " : "one ";
  spill(path("words.txt"), words);
  const std::string command =
      "train model --data words.txt --batch 2 --length 16 --steps 40 --lr 0.01 --run-dir run";
  expect_good(smelt(command + " --held-back 0.2"));
  EXPECT_LT(losses("run").back(), 0.1) << "one and two take turns";
  EXPECT_EQ(smelt("generate run --prompt 'one two one' --max-new-tokens 3").out, "one two one two one two\n");
  expect_good(smelt("evaluate run --data words.txt --length 16 --batch 2"));
  spill(path("latin.txt"), words + "d\xE9j\xE0 " + words);
  expect_error(smelt("evaluate run --data latin.txt --length 16 --batch 2"),
               "latin.txt': byte 802 is no UTF-8: expected a text in UTF-8");
}

TEST_F(Training, OptionsWithoutEffectAreErrors) {
  const std::pair<const char*, const char*> unused[] = {
      {"--schedule-power 2", "--schedule polynomial"},
      {"--schedule-cycles 2 --schedule linear", "--schedule cosine-with-restarts"},
      {"--schedule-decay 10%", "--schedule warmup-stable-decay"},
      {"--schedule constant --min-lr 0.001", "a --schedule other than constant"},
      {"--spike-factor 5", "--on-spike stop or skip"},
      {"--metric perplexity", "--eval-every above 0"},
      {"--token-accuracy", "--eval-every above 0"},
      {"--sample-tokens 5", "--sample-every above 0"}};
  for (const auto& [given, needed] : unused)
    expect_error(smelt(train(std::string("--steps 1 ") + given)), needed);
  expect_error(smelt("compile $GOLDEN --mode infer --layer-dropout 0.5 -o x.plan"), "is for training");
  spill(path("g.ir"), "graph @g(%x: f32[2]) { return y = %x }");
  expect_error(smelt("dump g.ir --label-smoothing 0.1"), "a graph in text form has its own operations");
  expect_good(smelt(train("--steps 2 --early-stopping 0")));
  expect_good(
      smelt(train("--steps 2 --schedule polynomial --schedule-power 2 --run-dir run --layer-dropout 0.5")));
  expect_good(smelt("train --config $PWD/run/train.json --steps 2 $GOLDEN --run-dir again"));
}

TEST_F(Training, OverfitsOneBatch) {
  expect_good(smelt(train("--run-dir run --steps 60 --overfit-one-batch --dropout 0 --schedule constant")));
  EXPECT_LT(losses("run").back(), 1.0);
}

TEST_F(Training, TheResolvedConfigRepeatsTheRun) {
  expect_good(smelt(train("--run-dir first --steps 6 --optimizer momentum --clip 0.5")));
  expect_good(smelt("train $GOLDEN --config first/train.json --run-dir second"));
  EXPECT_EQ(losses("first"), losses("second"));
  EXPECT_EQ(final_weights("first"), final_weights("second"));
}

TEST_F(Training, ResultsDoNotDependOnThreads) {
  expect_good(smelt(train("--run-dir one --steps 5 --threads 1")));
  expect_good(smelt(train("--run-dir two --steps 5 --threads 2")));
  EXPECT_EQ(losses("one").size(), 5u);
  EXPECT_NEAR(losses("one").back(), losses("two").back(), 1e-5);
}

TEST_F(Training, AccumulationEqualsTheLargeBatch) {
  spill(path("text.txt"), std::string(5000, 'e'));  // every window is the same, so that only the sums differ
  const std::string common = "--dropout 0 --steps 5 --schedule constant --warmup 0 ";
  expect_good(smelt(train(common + "--run-dir large --batch 6")));
  expect_good(smelt(train(common + "--run-dir accumulated --batch 2 --accumulate 3")));
  const std::vector<double> large = losses("large"), accumulated = losses("accumulated");
  ASSERT_EQ(large.size(), 5u);
  ASSERT_EQ(accumulated.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(accumulated[i] / large[i], 1, 1e-5) << i;
  EXPECT_LT(large.back(), large.front());
}

TEST_F(Training, AKilledRunGoesOnToTheSameBits) {
  const std::string options = "--steps 40 --checkpoint-every 5 --eval-every 10 --keep 2 ";
  expect_good(smelt(train(options + "--run-dir whole")));
  // Killed as soon as a checkpoint stands and more steps were done; again in the middle of the second part.
  for (const int steps : {12, 27}) {
    const std::string resume = steps > 12 ? " --resume" : "";
    kill_after(steps, "killed", train(options + "--run-dir killed" + resume));
    const Outcome evaluated =
        smelt("evaluate killed --data text.txt --data-format bytes --length 21 --batches 2");
    expect_good(evaluated);
    EXPECT_TRUE(has(evaluated.err, "newest checkpoint, killed/checkpoints/step-")) << evaluated.err;
  }
  expect_good(smelt(train(options + "--run-dir killed --resume")));
  EXPECT_EQ(losses("whole"), losses("killed"));
  EXPECT_EQ(final_weights("whole"), final_weights("killed"));
  int checkpoints = 0;
  for (const auto& file : fs::directory_iterator(path("killed/checkpoints"))) {
    (void)file;
    ++checkpoints;
  }
  EXPECT_EQ(checkpoints, 2) << "--keep 2";
}

/// The description stands in the run directory from the start, also where it is a graph in text form.
TEST_F(Training, AKilledRunOfAHandWrittenModelIsEvaluated) {
  spill(path("model.ir"), hand_written_model());
  const std::string data = " --data text.txt --data-format bytes ";
  kill_after(
      4, "killed",
      "train model.ir --batch 8 --length 64 --steps 100000 --checkpoint-every 2 --run-dir killed" + data);
  EXPECT_FALSE(fs::exists(path("killed/model/model.safetensors")));
  EXPECT_EQ(slurp(path("killed/model/model.ir")), hand_written_model());
  const Outcome evaluated = smelt("evaluate killed --batches 2" + data);
  expect_good(evaluated);
  EXPECT_TRUE(has(evaluated.err, "newest checkpoint, killed/checkpoints/step-")) << evaluated.err;
}

TEST_F(Training, ADamagedCheckpointIsPassedOver) {
  const std::string options = "--steps 20 --checkpoint-every 5 --keep 3 ";
  expect_good(smelt(train(options + "--run-dir whole")));
  fs::copy(path("whole"), path("hurt"), fs::copy_options::recursive);
  fs::path newest;
  for (const auto& file : fs::directory_iterator(path("hurt/checkpoints")))
    newest = std::max(newest, file.path());
  std::string bytes = slurp(newest);
  bytes[bytes.size() / 2] ^= 0x40;
  spill(newest, bytes);
  const Outcome outcome = smelt(train(options + "--run-dir hurt --resume"));
  expect_good(outcome);
  EXPECT_TRUE(has(outcome.err, "damaged")) << outcome.err;
  EXPECT_EQ(final_weights("whole"), final_weights("hurt"));
}

TEST_F(Training, AnInterruptEndsWithACheckpoint) {
  const std::string run = binary() + " " + train("--run-dir run --steps 100000 --schedule constant");
  const Outcome outcome = shell("export OMP_NUM_THREADS=2 GOLDEN='" + kGolden.string() + "'; " + run +
                                " & pid=$!; for i in $(seq 3000); do [ -s run/metrics.jsonl ] && break; "
                                "sleep 0.01; done; kill -TERM $pid; wait $pid");
  EXPECT_EQ(outcome.status, 143) << "128 + SIGTERM: " << outcome.err;
  EXPECT_TRUE(has(outcome.out, "stopped at step")) << outcome.out << outcome.err;
  EXPECT_FALSE(fs::is_empty(path("run/checkpoints")));
}

TEST_F(Training, AFreshRunDoesNotOverwriteAnother) {
  expect_good(smelt(train("--run-dir run --steps 2")));
  expect_error(smelt(train("--run-dir run --steps 2")), "--resume");
}

TEST_F(Training, ALossThatIsNotFiniteStopsTheRun) {
  const std::string wild =
      "--steps 50 --lr 1e30 --warmup 0 --optimizer sgd --schedule constant --clip 0 --weight-decay 0 ";
  const Outcome plain = smelt(train(wild + "--run-dir run"));
  expect_error(plain, "training stopped at step");
  EXPECT_TRUE(has(plain.err, "--detect-anomaly")) << plain.err;
  const Outcome detected = smelt(train(wild + "--run-dir run2 --detect-anomaly"));
  expect_error(detected, "the first value that is not finite");
  const std::string at = fmt::format("training stopped at step {}: ", losses("run2").size() + 1);
  EXPECT_TRUE(has(detected.err, at)) << detected.err << "\nexpected " << at;
}

TEST_F(Training, ReportsTheShareOfTheMachinesPeak) {
  const Outcome outcome = smelt(train("--run-dir run --steps 3"));
  expect_good(outcome);
  EXPECT_TRUE(has(outcome.out, "GFLOP/s (MFU ")) << outcome.out;
  std::istringstream lines(slurp(path("run/metrics.jsonl")));
  int steps = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    if (json["event"] != "step") continue;
    ++steps;
    const double achieved = json["gflops_per_second"], peak = json["peak_gflops_per_second"];
    EXPECT_GT(achieved, 0);
    EXPECT_GT(peak, 0);
    EXPECT_NEAR(json["mfu"].get<double>(), achieved / peak, 1e-9 * achieved / peak);
  }
  EXPECT_EQ(steps, 3);
}

TEST_F(Training, DetectAnomalyLeavesGoodRunsAlone) {
  expect_good(smelt(train("--run-dir plain --steps 3")));
  expect_good(smelt(train("--run-dir watched --steps 3 --detect-anomaly")));
  EXPECT_EQ(losses("plain"), losses("watched"));
}

}  // namespace
}  // namespace smelt::test
