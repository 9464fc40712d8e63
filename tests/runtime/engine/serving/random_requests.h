// Random requests with all options that a ContinuousBatch supports, and their expected tokens.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/engine/generation/logits_processors.h"
#include "runtime/engine/generation/sampling.h"
#include "runtime/engine/serving/request.h"
#include "runtime/structured/regex.h"
#include "tests/runtime/engine/serving/remembering_model.h"

namespace smelt {

using Tokens = std::vector<int32_t>;

inline Request request_of(Tokens prompt, int64_t fresh) {
  Request request{.prompt = std::move(prompt), .options = {}};
  request.options.max_new_tokens = fresh;
  return request;
}

inline Tokens ids_of(const Progress& progress) {
  Tokens ids;
  for (const NewToken& token : progress.tokens) ids.push_back(token.id);
  return ids;
}

/// Returns a constraint of texts whose tokens are single letters: token 0 is "a", token 1 is "b", and so on.
inline std::shared_ptr<structured::Constraint> letters(std::string_view expression) {
  structured::TokenBytes tokens;
  for (int64_t word = 0; word < kWords; ++word) tokens.bytes.emplace_back(1, static_cast<char>('a' + word));
  return std::make_shared<structured::Constraint>(
      structured::compile(structured::regex_grammar(expression)),
      std::make_shared<const structured::ConstraintTokens>(std::move(tokens)));
}

/// Sets the score of each token that may not come next to -infinity.
inline void ban_others(structured::ConstrainedText& text, std::vector<double>& scores) {
  std::vector<uint32_t> bits(text.words());
  text.fill(bits);
  for (size_t word = 0; word < scores.size(); ++word)
    if ((bits[word / 32] >> word % 32 & 1) == 0) scores[word] = kBanned;
}

/// Returns the new tokens that a request should get, computed from remembered_logits (remembering_model.h)
/// without a cache and without a batch.
inline Tokens alone(const Request& request) {
  Tokens tokens = request.prompt;
  std::optional<structured::ConstrainedText> text;
  if (request.constrained) text = *request.constrained;
  while (tokens.size() - request.prompt.size() < static_cast<size_t>(request.options.max_new_tokens)) {
    const std::vector<float> logits = remembered_logits(tokens);
    std::vector<double> scores(logits.begin(), logits.end());
    process_scores(request.options, {tokens, request.prompt.size(), 0, request.prompt}, scores);
    if (text) ban_others(*text, scores);
    tokens.push_back(draw(candidates(scores, request.options),
                          uniform_number(request.options.seed, tokens.size(), request.index)));
    if (request.options.ends(tokens.back())) break;
    if (text && (!text->advance(tokens.back()) || text->must_end())) break;
  }
  return {tokens.begin() + static_cast<ptrdiff_t>(request.prompt.size()), tokens.end()};
}

/// Generator of random requests.
class RandomRequests {
 public:
  explicit RandomRequests(uint32_t seed = 7) : random_(seed) {}

  Request next(int64_t longest_prompt = 30) {
    Request request = request_of(tokens(1 + number(longest_prompt)), number(16));
    GenerationOptions& options = request.options;
    options.do_sample = number(2) == 1, options.seed = static_cast<uint32_t>(number(1000));
    options.top_k = number(9), options.top_p = 0.5 + 0.05 * static_cast<double>(number(11));
    options.min_p = 0.02 * static_cast<double>(number(3));
    options.temperature = 0.5 * static_cast<double>(number(4));
    options.repetition_penalty = 1 + 0.2 * static_cast<double>(number(3));
    options.no_repeat_ngram_size = 3 * number(2), options.min_new_tokens = number(5);
    if (number(2) == 1) options.eos_token_id = tokens(2);
    request.index = static_cast<size_t>(number(3));
    return request;
  }
  int64_t number(int64_t below) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(below)); }
  Tokens tokens(int64_t count) {
    Tokens result;
    while (std::ssize(result) < count) result.push_back(static_cast<int32_t>(number(kWords)));
    return result;
  }

 private:
  std::mt19937 random_;
};

}  // namespace smelt
