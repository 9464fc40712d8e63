#include "compiler/cli/commands/continue_prompts.h"

#include <limits>
#include <optional>
#include <utility>

namespace smelt::cli {
namespace {

using Results = std::vector<Hypothesis>;

/// Holds results back until those of all previous prompts have been passed on.
class InOrder {
 public:
  InOrder(size_t prompts, const OnResults& tell) : waiting_(prompts), tell_(tell) {}

  void add(size_t prompt, Results results) {
    waiting_[prompt] = std::move(results);
    for (; next_ < waiting_.size() && waiting_[next_]; ++next_)
      tell_(next_, *std::exchange(waiting_[next_], Results()));
  }
  /// Returns the number of prompts, from the first on, whose results have been passed on.
  size_t told() const { return next_; }

 private:
  std::vector<std::optional<Results>> waiting_;
  const OnResults& tell_;
  size_t next_ = 0;
};

/// The sequences of each prompt as they grow, token by token.
class Growing {
 public:
  Growing(const Generator& generator, std::span<const Generator::Tokens> prompts,
          const GenerationOptions& options, InOrder& order)
      : options_(options),
        order_(order),
        sequences_(prompts.size(), none(options)),
        open_(prompts.size(), each(options)) {
    for (const Generator::Tokens& prompt : prompts) most_.push_back(generator.new_tokens(prompt, options));
  }

  void add(size_t sequence, int32_t token) {
    const size_t prompt = sequence / each(options_);
    std::vector<int32_t>& tokens = sequences_[prompt][sequence % each(options_)].tokens;
    tokens.push_back(token);
    const bool ended = options_.ends(token) || std::ssize(tokens) == most_[prompt];
    if (ended && --open_[prompt] == 0) order_.add(prompt, std::move(sequences_[prompt]));
  }
  static Results none(const GenerationOptions& options) {
    return Results(each(options), {{}, std::numeric_limits<float>::quiet_NaN()});
  }

 private:
  static size_t each(const GenerationOptions& options) {
    return static_cast<size_t>(options.num_return_sequences);
  }

  const GenerationOptions& options_;
  InOrder& order_;
  std::vector<Results> sequences_;
  std::vector<size_t> open_;   // sequences of each prompt that have not ended
  std::vector<int64_t> most_;  // new tokens of each prompt
};

void draw(Generator& generator, std::span<const Generator::Tokens> prompts, const GenerationOptions& options,
          GenerationClock& clock, InOrder& order) {
  Growing growing(generator, prompts, options, order);
  generator.generate(prompts, options, [&](size_t sequence, int32_t token) {
    clock.token();
    growing.add(sequence, token);
    return true;
  });
  while (order.told() < prompts.size()) order.add(order.told(), Growing::none(options));  // 0 new tokens
}

void search(Generator& generator, std::span<const Generator::Tokens> prompts,
            const GenerationOptions& options, GenerationClock& clock, InOrder& order) {
  const auto all =
      generator.search(prompts, options, {}, [&](size_t prompt, std::span<const Hypothesis> found) {
        for (const Hypothesis& each : found) clock.tokens_at_once(each.tokens.size());
        order.add(prompt, {found.begin(), found.end()});
      });
  while (order.told() < prompts.size()) order.add(order.told(), all[order.told()]);  // 0 new tokens
}

}  // namespace

void continue_prompts(Generator& generator, std::span<const Generator::Tokens> prompts,
                      const GenerationOptions& options, GenerationClock& clock, const OnResults& on_results) {
  InOrder order(prompts.size(), on_results);
  (options.num_beams == 1 ? draw : search)(generator, prompts, options, clock, order);
}

}  // namespace smelt::cli
