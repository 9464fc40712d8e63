#include "compiler/cli/commands/verify_same_bits.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>

#include "compiler/cli/commands/verify_report.h"
#include "compiler/cli/shared/generation_flags.h"
#include "compiler/cli/shared/model.h"
#include "runtime/base/error.h"

namespace smelt::cli {
namespace {

using Tokens = Generator::Tokens;
using Texts = std::vector<Tokens>;
using LogProbabilities = Generator::LogProbabilities;

/// The lengths of the prompts, in tokens: less and more than the sizes of tiles.
constexpr int64_t kLengths[] = {1, 7, 16, 33, 64, 100, 130};
constexpr int64_t kNewTokens = 24;

/// The numbers of compared values and of those whose bits differ.
struct Count {
  int64_t all = 0, different = 0;
  void add(float a, float b) {
    ++all;
    different += std::bit_cast<uint32_t>(a) != std::bit_cast<uint32_t>(b);
  }
};

Tokens joined(const Tokens& a, std::span<const int32_t> b) {
  Tokens all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

class BitComparison {
 public:
  BitComparison(const std::filesystem::path& path, const CompileFlags& flags, int threads,
                const PlanMaker& make)
      : path_(path), flags_(flags), make_(make), weights_(weights_in(path)) {
    weights_.threads = threads;
    model_ = open_model(path_, weights_);
    if (!model_.spec()) fail("{}: --same-bits needs a model's description", path_.string());
    weights_.from_scratch = !model_.weights;
    prompts_ = random_prompts();
  }

  Verified run() {
    write_texts();
    const bool reads_source = Generator(*writer_).reads_source();
    writer_.reset();
    if (flags_.values.weight_type != WeightType::floats)
      report_.add_note("losses of training", "left out: weights of few bits are not trained");
    else if (model_.spec()->criterion.label_smoothing > 0)
      report_.add_note("losses of training", "left out: with label smoothing they are no log-probabilities");
    else if (reads_source)
      report_.add_note("losses of training", "left out: labels of an encoder-decoder are also its inputs");
    else
      compare_losses();
    return report_.result();
  }

 private:
  Texts random_prompts() const {
    std::mt19937 random(1);
    const int64_t most = most_tokens() - kNewTokens, vocabulary = model_.spec()->vocab_size;
    Texts prompts;
    for (const int64_t length : kLengths) {
      if (length > most) continue;
      prompts.emplace_back(static_cast<size_t>(length));
      for (int32_t& id : prompts.back())
        id = static_cast<int32_t>(random() % static_cast<uint64_t>(vocabulary));
    }
    if (prompts.empty()) fail("{}: no prompt fits {} tokens", path_.string(), most_tokens());
    return prompts;
  }

  int64_t most_tokens() const {
    const int64_t wanted = *std::ranges::max_element(kLengths) + kNewTokens,
                  own = model_.spec()->max_positions;
    return own > 0 ? std::min(own, wanted) : wanted;
  }

  std::unique_ptr<Session> session_of(CompileOptions options) {
    options.build.same_bits = true, options.build.dropout = 0;
    std::vector<Symbols::Bound>& bounds = options.build.bounds;
    default_bound(bounds, "B", std::ssize(prompts_));
    default_bound(bounds, "T", most_tokens());
    if (options.mode == Mode::infer) options.entries = generation_entries(model_, options);
    compile_model(model_, options, flags_);
    if (make_) model_.plan = std::make_shared<const Plan>(make_(*model_.description, options));
    return open_session(model_, weights_);
  }

  // ---- generation

  GenerationOptions greedy(int64_t tokens) const {
    GenerationOptions options = GenerationFlags().options(model_.about, 0);
    options.do_sample = false, options.num_beams = 1, options.num_return_sequences = 1;
    options.max_new_tokens = tokens, options.min_new_tokens = tokens;
    options.max_length.reset();
    return options;
  }

  Texts written(const Texts& prompts, int64_t tokens, LogProbabilities& logarithms) {
    return Generator(*writer_).generate(prompts, greedy(tokens), {}, {}, &logarithms);
  }

  void write_texts() {
    CompileOptions options = flags_.options();
    options.mode = Mode::infer;
    writer_ = session_of(options);
    texts_ = written(prompts_, kNewTokens, logarithms_);
    compare_alone();
    if (!Generator(*writer_).reads_source())
      for (const int64_t read : {int64_t{1}, int64_t{5}, int64_t{17}}) compare_continued(read);
  }

  void compare_alone() {
    Count count;
    for (size_t i = 0; i < prompts_.size(); ++i) {
      LogProbabilities own;
      written({prompts_[i]}, kNewTokens, own);
      for (size_t t = 0; t < logarithms_[i].size(); ++t) count.add(logarithms_[i][t], own[0].at(t));
    }
    add("written alone and in a batch", count);
  }

  /// Texts of which the first `read` new tokens belong to the prompt.
  void compare_continued(int64_t read) {
    Texts prompts;
    for (size_t i = 0; i < prompts_.size(); ++i)
      prompts.push_back(joined(prompts_[i], std::span(texts_[i]).first(static_cast<size_t>(read))));
    LogProbabilities rest;
    written(prompts, kNewTokens - read, rest);
    Count count;
    for (size_t i = 0; i < rest.size(); ++i)
      for (size_t t = 0; t < rest[i].size(); ++t)
        count.add(logarithms_[i].at(t + static_cast<size_t>(read)), rest[i][t]);
    add(fmt::format("written and, {} tokens of them, read", read), count);
  }

  // ---- training

  /// The new token of a text whose loss is computed.
  struct Place {
    size_t text, token;
  };

  void compare_losses() {
    CompileOptions options = flags_.options();
    options.mode = Mode::train;
    options.build.has_sampler.reset();
    options.training.accumulation = false;
    options.entries = {"evaluate", "train_step"};
    const auto trainer = session_of(options);
    trainer->scalar("learning_rate") = 0;
    for (const char* entry : {"evaluate", "train_step"}) {
      Count count;
      for (size_t text = 0; text < texts_.size(); ++text)
        for (size_t token = 0; token < logarithms_[text].size(); ++token)
          count.add(-logarithms_[text][token], loss_of(*trainer, entry, {text, token}));
      add(fmt::format("loss of {} and log-probability", entry), count);
    }
  }

  /// Returns the loss of a run over all texts in which one token has a label.
  float loss_of(Session& trainer, const std::string& entry, const Place& place) const {
    const auto rows = std::ssize(texts_), length = most_tokens();
    const auto no_label = static_cast<int32_t>(model_.spec()->criterion.ignore_index);
    std::vector<int32_t> ids(static_cast<size_t>(rows * length)), labels(ids.size(), no_label);
    for (size_t i = 0; i < texts_.size(); ++i)
      std::ranges::copy(joined(prompts_[i], texts_[i]), ids.begin() + static_cast<int64_t>(i) * length);
    const size_t at = place.text * static_cast<size_t>(length) + prompts_[place.text].size() + place.token;
    labels[at] = ids[at];
    const std::vector<InputTensor> inputs = {{"input_ids", DType::i32, {rows, length}, ids.data()},
                                             {"labels", DType::i32, {rows, length}, labels.data()}};
    for (const HostTensor& output : trainer.run(entry, inputs))
      if (output.name == (entry == "evaluate" ? "loss_sum" : "loss")) return output.as<float>()[0];
    fail_with(Status::internal, "@{} returns no loss", entry);
  }

  void add(const std::string& what, const Count& count) {
    report_.add_exact(what, fmt::format("{} of {} differ", count.different, count.all),
                      count.different == 0 && count.all > 0);
  }

  const std::filesystem::path path_;
  const CompileFlags& flags_;
  const PlanMaker& make_;
  WeightFlags weights_;
  Model model_;
  Texts prompts_, texts_;
  LogProbabilities logarithms_;
  std::unique_ptr<Session> writer_;
  VerifyReport report_;
};

}  // namespace

Verified verify_same_bits(const std::filesystem::path& model, const CompileFlags& flags, int threads,
                          const PlanMaker& make) {
  return BitComparison(model, flags, threads, make).run();
}

}  // namespace smelt::cli
