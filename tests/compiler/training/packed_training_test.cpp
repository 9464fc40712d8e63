// A batch of packed documents gives the loss and the gradients of the documents alone, and a run over packed
// rows that was ended goes on to the same bits.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <random>

#include "compiler/driver/compile.h"
#include "runtime/engine/training/trainer.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRow = 23, kRows = 5;
constexpr int32_t kVocabulary = 41, kPad = 1;

struct PackedCase {
  const char* name;
  const char* spec;
};
void PrintTo(const PackedCase& c, std::ostream* out) { *out << c.name; }

#define SMELT_PACKED R"("vocab_size": 41, "hidden": 24, "max_positions": 23, )"
#define SMELT_PACKED_DECODER SMELT_PACKED R"("decoder": {"layers": 2, "heads": 3, "ffn": 33})"
#define SMELT_PACKED_ENCODER SMELT_PACKED R"("encoder": {"layers": 2, "heads": 3, "ffn": 33})"
#define SMELT_MASKED R"("head": {"kind": "mlm", "bias": true}, "tokens": {"pad": 1})"
constexpr PackedCase kPackedCases[] = {
    {"gpt2", R"({"family": "gpt2", )" SMELT_PACKED_DECODER "}"},
    {"learned_with_offset", R"({"positions": {"kind": "learned", "offset": 2}, )" SMELT_PACKED_DECODER "}"},
    {"sinusoidal", R"({"positions": {"kind": "sinusoidal"}, )" SMELT_PACKED_DECODER "}"},
    {"distances", R"({"positions": {"kind": "relative_buckets", "buckets": 8}, )" SMELT_PACKED_DECODER "}"},
    {"no_positions", R"({"positions": {"kind": "none"}, )" SMELT_PACKED_DECODER "}"},
    {"llama", R"({"family": "llama", )" SMELT_PACKED
              R"("decoder": {"layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 6, "ffn": 33}})"},
    {"llama_yarn", R"({"family": "llama", "positions": {"scaling": "yarn", "scaling_factor": 2,
                       "original_max_positions": 11}, )" SMELT_PACKED_DECODER "}"},
    {"mistral_window", R"({"family": "mistral", "attention": {"window": 6}, )" SMELT_PACKED_DECODER "}"},
    {"gemma2", R"({"family": "gemma2", )" SMELT_PACKED_DECODER "}"},
    {"opt", R"({"family": "opt", )" SMELT_PACKED_DECODER "}"},
    {"gpt_neox", R"({"family": "gpt_neox", )" SMELT_PACKED_DECODER "}"},
    {"bloom", R"({"family": "bloom", )" SMELT_PACKED_DECODER "}"},
    {"qwen2", R"({"family": "qwen2", )" SMELT_PACKED_DECODER "}"},
    {"bert",
     R"({"family": "bert", "embedding": {"token_types": 2}, )" SMELT_MASKED ", " SMELT_PACKED_ENCODER "}"},
    {"roberta", R"({"family": "roberta", )" SMELT_MASKED ", " SMELT_PACKED_ENCODER "}"},
    {"distilbert", R"({"family": "distilbert", )" SMELT_MASKED ", " SMELT_PACKED_ENCODER "}"}};

CompileOptions packed_options(const TransformerSpec& spec, bool packed) {
  CompileOptions options;
  options.build.dropout = 0;
  options.build.bounds = {{{"B"}, kRows}, {{"T"}, kRow}};
  options.build.segment_ids = packed;
  options.build.position_ids = packed && !spec.positions.counted;
  options.entries = {"accumulate", "apply", "train_step", "evaluate"};
  return options;
}

std::shared_ptr<const Plan> plan_of(const char* text, bool packed) {
  const TransformerSpec spec = spec_from_json(text);
  const Description description{Description::Kind::spec, "spec.json", spec, nullptr, Json::object(), {}};
  return std::make_shared<const Plan>(compile(description, packed_options(spec, packed)).plan);
}

/// Random values for every input that a plan reads, by document: labels that partly do not count, padding
/// ids and hidden tokens in the middle.
class RandomDocuments : public Documents {
 public:
  RandomDocuments(const PlanEntry& entry, std::vector<int64_t> lengths) : lengths_(std::move(lengths)) {
    for (const Port& port : entry.inputs) {
      const bool labels = port.name == "labels";
      columns_.push_back({port.name, DType::i32, {}, labels ? -100 : 0});
      auto& values = values_.emplace_back();
      for (const int64_t length : lengths_)
        for (std::vector<int32_t>& document = values.emplace_back(); std::ssize(document) < length;)
          document.push_back(draw(port.name, document.empty()));
    }
  }
  int64_t size() const override { return std::ssize(lengths_); }
  int64_t length(int64_t document) const override { return lengths_[static_cast<size_t>(document)]; }
  std::vector<DocumentColumn> columns() const override { return columns_; }
  void read(int64_t document, size_t column, std::byte* out) const override {
    std::ranges::copy(values_[column][static_cast<size_t>(document)], reinterpret_cast<int32_t*>(out));
  }
  const std::string& description() const override { return description_; }

  /// The document as a batch of its own.
  void alone(int64_t document, Batch& batch) const {
    batch.clear();
    for (size_t c = 0; c < columns_.size(); ++c)
      read(document, c, batch.add(columns_[c].name, DType::i32, {1, length(document)}));
  }

 private:
  int32_t draw(const std::string& name, bool first) {
    const bool rare = random_() % 5 == 0;
    if (name == "attention_mask") return first || !rare;
    if (name == "token_type_ids") return static_cast<int32_t>(random_() % 2);
    if (name == "labels" && rare) return -100;
    if (name == "input_ids" && rare) return kPad;
    return static_cast<int32_t>(random_() % kVocabulary);
  }

  std::mt19937 random_{3};
  std::vector<int64_t> lengths_;
  std::vector<DocumentColumn> columns_;
  std::vector<std::vector<std::vector<int32_t>>> values_;  // by column and document
  std::string description_ = "random documents";
};

/// Initial values, none of them 0, and the same for every plan of a model.
std::unique_ptr<Session> session_of(const std::shared_ptr<const Plan>& plan) {
  auto session = std::make_unique<Session>(plan, SessionOptions{.threads = 1, .poison = true});
  session->initialize(11);
  for (const State& state : plan->states) {
    if (state.role != Role::parameter) continue;
    for (const Segment& segment : state.segments) {
      std::mt19937 random(static_cast<uint32_t>(std::hash<std::string>()(segment.name)));
      std::vector<float> values = session->read_segment(state.name, segment.name);
      for (float& value : values) value += std::uniform_real_distribution<float>(-0.2f, 0.2f)(random);
      session->write_segment(state.name, segment.name, values);
    }
  }
  return session;
}

struct Sums {
  double loss = 0, targets = 0;
  void add(std::span<const HostTensor> outputs) {
    for (const HostTensor& output : outputs) {
      if (output.name == "loss_sum") loss += output.as<float>()[0];
      if (output.name == "token_count") targets += output.as<float>()[0];
    }
  }
};

std::vector<InputTensor> without(std::string_view name, std::vector<InputTensor> inputs) {
  std::erase_if(inputs, [&](const InputTensor& input) { return input.name == name; });
  return inputs;
}

class PackedTraining : public ::testing::TestWithParam<PackedCase> {};

TEST_P(PackedTraining, EqualsTheDocumentsAlone) {
  const auto plan = plan_of(GetParam().spec, false), packed_plan = plan_of(GetParam().spec, true);
  const auto documents = std::make_shared<const RandomDocuments>(
      *plan->find_entry("accumulate"), std::vector<int64_t>{5, 23, 1, 11, 7, 2, 9, 22, 13, 3});
  const PackedData rows(documents, pack_options(*packed_plan->find_entry("accumulate"), kRow, {}));
  ASSERT_EQ(rows.size(), kRows);

  const auto session = session_of(plan), packed = session_of(packed_plan);
  Batch batch;
  Sums alone, unpacked, together, as_one;
  for (int64_t i = 0; i < documents->size(); ++i) {
    documents->alone(i, batch);
    alone.add(session->run("evaluate", batch.inputs()));
    unpacked.add(packed->run("evaluate", batch.inputs()));
    session->run("accumulate", batch.inputs());
  }
  rows.read(std::vector<int64_t>{0, 1, 2, 3, 4}, batch);
  together.add(packed->run("evaluate", batch.inputs()));
  as_one.add(packed->run("evaluate", without(kSegmentIds, batch.inputs())));
  packed->run("accumulate", batch.inputs());

  EXPECT_EQ(unpacked.targets, alone.targets);
  EXPECT_NEAR(unpacked.loss / alone.loss, 1, 1e-6) << "where no segments are given";
  EXPECT_GT(std::abs(as_one.loss / alone.loss - 1), 1e-4) << "the segments matter";
  EXPECT_GT(alone.targets, 20);
  EXPECT_EQ(together.targets, alone.targets);
  EXPECT_NEAR(together.loss / alone.loss, 1, 1e-5);
  double difference = 0, norm = 0;
  for (const Segment& segment : plan->find_state("parameters")->segments) {
    const auto expected = session->read_segment("gradients", segment.name),
               found = packed->read_segment("gradients", segment.name);
    for (size_t i = 0; i < expected.size(); ++i) {
      difference += std::pow(double{found[i]} - expected[i], 2);
      norm += std::pow(expected[i], 2);
    }
  }
  EXPECT_GT(norm, 0);
  EXPECT_LE(std::sqrt(difference / norm), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(All, PackedTraining, ::testing::ValuesIn(kPackedCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(PackedInputs, HoldWhatTheModelCanLookUp) {
  const auto plan = plan_of(kPackedCases[0].spec, true);
  const std::vector<Port>& inputs = plan->find_entry("train_step")->inputs;
  const auto ids_of = [&](std::string_view name) {
    return std::ranges::find(inputs, name, &Port::name)->ids.value_or(IdRange{});
  };
  EXPECT_EQ(ids_of(kPositionIds), IdRange(kRow, -1));
  EXPECT_EQ(ids_of("labels"), IdRange(kVocabulary, -100));
}

/// Remembers the losses, and what the run says of its rows.
struct Losses : TrainerObserver {
  std::vector<double> losses;
  std::vector<std::string> messages;
  void stepped(const StepRecord& record) override { losses.push_back(record.loss); }
  void message(std::string_view text) override { messages.emplace_back(text); }
};

class PackedRuns : public ::testing::TestWithParam<int64_t> {
 protected:
  PackedRuns() {
    std::string name = (fs::temp_directory_path() / "smelt-packed-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    std::mt19937 random(8);
    std::ofstream text(directory_ / "text");
    for (int i = 0; i < 1500; ++i) text << static_cast<char>(random() % 12 == 0 ? 0 : random() % kVocabulary);
  }
  ~PackedRuns() override { fs::remove_all(directory_); }

  TrainerOptions options(const char* run) const {
    TrainerOptions o;
    o.run_directory = directory_ / run;
    o.steps = 24, o.batch = kRows, o.length = kRow, o.pack = true, o.document_end = {0};
    o.gradient_accumulation = GetParam();
    o.learning_rate = 0.003, o.eval_every = 8, o.seed = 5;
    return o;
  }

  struct Done {
    Losses losses;
    std::vector<std::byte> states;
  };
  Done train(const TrainerOptions& options, int64_t stop_after = -1) const {
    Session session(plan_, {.threads = 1});
    session.initialize(11);
    const auto data =
        std::make_shared<const TokenData>(std::vector{directory_ / "text"}, TokenFormat::bytes, kVocabulary);
    Trainer trainer(session, options, split<TokenData>(data, nullptr, 0.2));
    Done done;
    trainer.add_observer(done.losses);
    trainer.should_stop = [&] { return std::ssize(done.losses.losses) == stop_after; };
    EXPECT_EQ(trainer.run().stopped_early, stop_after > 0);
    for (const State& state : plan_->states) {
      const auto bytes = session.state(state.name);
      done.states.insert(done.states.end(), bytes.begin(), bytes.end());
    }
    return done;
  }

  fs::path directory_;
  std::shared_ptr<const Plan> plan_ = plan_of(kPackedCases[0].spec, true);
};

TEST_P(PackedRuns, ResumeInTheMiddleOfAnEpoch) {
  const Done whole = train(options("whole"));
  ASSERT_EQ(whole.losses.messages.size(), 2u);
  EXPECT_TRUE(whole.losses.messages[0].starts_with("packed: ")) << whole.losses.messages[0];
  EXPECT_TRUE(whole.losses.messages[1].ends_with("% full")) << whole.losses.messages[1];
  TrainerOptions parts = options("parts");
  train(parts, 7);
  parts.resume = true;
  const Done rest = train(parts);
  ASSERT_EQ(rest.losses.losses.size(), 17u);
  EXPECT_TRUE(std::ranges::equal(rest.losses.losses, std::span(whole.losses.losses).subspan(7)));
  EXPECT_EQ(rest.states, whole.states);
  EXPECT_LT(whole.losses.losses.back(), whole.losses.losses.front());
}

INSTANTIATE_TEST_SUITE_P(Accumulating, PackedRuns, ::testing::Values(1, 3));

}  // namespace
}  // namespace smelt
