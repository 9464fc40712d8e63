// Every family trains on records, and a run that was killed goes on to the same bits.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <random>
#include <stdexcept>

#include "compiler/driver/compile.h"
#include "runtime/base/error.h"
#include "runtime/engine/training/trainer.h"
#include "runtime/engine/weights/safetensors.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRecords = 30, kWidth = 13, kSteps = 20;

struct FamilyCase {
  const char* name;
  const char* spec;
};
void PrintTo(const FamilyCase& c, std::ostream* out) { *out << c.name; }

#define SMELT_DECODER \
  R"("vocab_size": 41, "hidden": 16, "max_positions": 32, "decoder": {"layers": 2, "heads": 2})"
#define SMELT_ENCODER \
  R"("vocab_size": 41, "hidden": 16, "max_positions": 32, "encoder": {"layers": 2, "heads": 2})"
#define SMELT_BOTH SMELT_DECODER R"(, "encoder": {"layers": 2, "heads": 2})"
constexpr FamilyCase kCases[] = {
    {"gpt2", "{\"family\": \"gpt2\", " SMELT_DECODER "}"},
    {"llama", "{\"family\": \"llama\", " SMELT_DECODER "}"},
    {"mistral", "{\"family\": \"mistral\", " SMELT_DECODER "}"},
    {"qwen2", "{\"family\": \"qwen2\", " SMELT_DECODER "}"},
    {"qwen3", "{\"family\": \"qwen3\", " SMELT_DECODER "}"},
    {"gemma", "{\"family\": \"gemma\", " SMELT_DECODER "}"},
    {"gemma2", "{\"family\": \"gemma2\", \"attention\": {\"window\": 5}, " SMELT_DECODER "}"},
    {"bloom", "{\"family\": \"bloom\", " SMELT_DECODER "}"},
    {"opt", "{\"family\": \"opt\", " SMELT_DECODER "}"},
    {"gpt_neox", "{\"family\": \"gpt_neox\", " SMELT_DECODER "}"},
    {"bert_masked", "{\"family\": \"bert\", " SMELT_ENCODER R"(, "head": {"kind": "mlm", "bias": true}})"},
    {"bert_classes", "{\"family\": \"bert\", " SMELT_ENCODER
                     R"(, "head": {"kind": "sequence_classes", "pooler": true, "classes": 3}})"},
    {"roberta", "{\"family\": \"roberta\", " SMELT_ENCODER
                R"(, "head": {"kind": "mlm", "bias": true}, "tokens": {"pad": 1}})"},
    {"distilbert",
     "{\"family\": \"distilbert\", " SMELT_ENCODER R"(, "head": {"kind": "mlm", "bias": true}})"},
    {"vit", R"({"family": "vit", "hidden": 16, "encoder": {"layers": 2, "heads": 2},
                "embedding": {"image_size": 6, "patch_size": 3, "channels": 2}, "head": {"classes": 3}})"},
    {"bart",
     "{\"family\": \"bart\", " SMELT_BOTH R"(, "tokens": {"pad": 1, "decoder_start": 2, "eos": [2]}})"},
    {"marian",
     "{\"family\": \"marian\", " SMELT_BOTH R"(, "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}})"},
    {"t5", "{\"family\": \"t5\", " SMELT_BOTH R"(, "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}})"}};

/// Random records for the inputs of an entry: sources of several lengths, some labels that do not count.
class Records {
 public:
  explicit Records(const PlanEntry& entry) {
    for (const Port& port : entry.inputs) add(port);
  }
  void write(const fs::path& path) const { write_safetensors(path, views_); }

 private:
  void add(const Port& port) {
    std::vector<int64_t> shape;
    for (const Dim& dim : port.shape)
      shape.push_back(dim.constant().value_or(shape.empty() ? kRecords : kWidth));
    const int64_t count = count_elements(shape);
    std::vector<std::byte>& bytes = memory_.emplace_back(static_cast<size_t>(4 * count));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = i * kRecords / count, column = i % (count / kRecords);
      const int32_t value = draw(port, column >= 4 + row % 8);
      const float pixel = static_cast<float>(value % 100) / 50;
      std::memcpy(bytes.data() + 4 * i, port.dtype == DType::f32 ? static_cast<const void*>(&pixel) : &value,
                  4);
    }
    views_.push_back({port.name, port.dtype, shape, bytes});
  }

  int32_t draw(const Port& port, bool padding) {
    const auto below = static_cast<uint32_t>(port.ids ? port.ids->below : 1000);
    const auto value = static_cast<int32_t>(random_() % below);
    if (port.name == "attention_mask") return padding ? 0 : 1;
    const bool ignored =
        port.shape.size() > 1 && port.ids && port.ids->ignored && (padding || random_() % 4 == 0);
    return ignored ? static_cast<int32_t>(*port.ids->ignored) : value;
  }

  std::mt19937 random_{7};
  std::list<std::vector<std::byte>> memory_;
  std::vector<TensorView> views_;
};

/// Ends a run as a kill does: nothing is saved, no destructor's work is needed.
struct Killer : TrainerObserver {
  int64_t at = -1;
  std::vector<double> losses;
  void stepped(const StepRecord& record) override {
    losses.push_back(record.loss);
    if (record.step == at) throw std::runtime_error("killed");
  }
};

class FamilyTraining : public ::testing::TestWithParam<FamilyCase> {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "smelt-family-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    work_ = name;
    CompileOptions options;
    options.build.dropout = 0.1;
    options.training.optimizer.clip_norm = 1;
    Description description{Description::Kind::spec, "spec.json", spec_from_json(GetParam().spec), nullptr,
                            Json::object(),          {}};
    plan_ = std::make_shared<const Plan>(compile(description, options).plan);
    Records(*plan_->find_entry("train_step")).write(work_ / "data.safetensors");
    data_ = std::make_shared<const RecordData>(std::vector{work_ / "data.safetensors"},
                                               *plan_->find_entry("train_step"), plan_->symbols);
  }
  void TearDown() override { fs::remove_all(work_); }

  struct Result {
    std::vector<double> losses;
    std::vector<std::byte> states;
    TrainingResult result;
  };

  Result train(const char* directory, int64_t accumulation, bool resume = false, int64_t killed_at = -1) {
    TrainerOptions options;
    options.run_directory = work_ / directory;
    options.steps = kSteps, options.batch = 7, options.learning_rate = 0.003, options.warmup_steps = 3;
    options.gradient_accumulation = accumulation;
    options.eval_every = 10, options.checkpoint_every = 5, options.seed = 11, options.resume = resume;
    Session session(plan_, {.threads = 1, .seed = 11});
    session.initialize(11);
    Trainer trainer(session, options, split<RecordData>(data_, nullptr, 0.2));
    Killer killer;
    killer.at = killed_at;
    trainer.add_observer(killer);
    Result done;
    if (killed_at > 0)
      EXPECT_THROW(trainer.run(), std::runtime_error);
    else
      done.result = trainer.run();
    for (const State& state : plan_->states) {
      const auto bytes = session.state(state.name);
      done.states.insert(done.states.end(), bytes.begin(), bytes.end());
    }
    done.losses = killer.losses;
    return done;
  }

  fs::path work_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const RecordData> data_;
};

TEST_P(FamilyTraining, RepeatsAndResumesToTheSameBits) {
  for (const int64_t accumulation : {1, 2}) {
    const std::string suffix = std::to_string(accumulation);
    const Result first = train(("first" + suffix).c_str(), accumulation);
    const Result second = train(("second" + suffix).c_str(), accumulation);
    ASSERT_EQ(first.losses.size(), static_cast<size_t>(kSteps));
    EXPECT_TRUE(
        std::ranges::all_of(first.losses, [](double loss) { return std::isfinite(loss) && loss > 0; }));
    EXPECT_NE(first.losses.front(), first.losses.back());
    EXPECT_EQ(first.losses, second.losses);
    EXPECT_EQ(first.states, second.states);

    train(("killed" + suffix).c_str(), accumulation, false, 13);
    const Result rest = train(("killed" + suffix).c_str(), accumulation, true);
    ASSERT_EQ(rest.losses.size(), 10u) << "from the checkpoint of step 10";
    EXPECT_TRUE(std::ranges::equal(rest.losses, std::span(first.losses).subspan(10)));
    EXPECT_EQ(first.states, rest.states);
    EXPECT_EQ(first.result.held_back_loss, rest.result.held_back_loss);
    const bool classifies = plan_->find_entry("logits")->outputs[0].shape.size() == 2;
    EXPECT_EQ(find_metric(first.result.metrics, "accuracy").has_value(), classifies);
  }
}

INSTANTIATE_TEST_SUITE_P(All, FamilyTraining, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace smelt
