// The C interface: options and requests of continuous batches.
#include <algorithm>

#include "runtime/c_api/c_api_batch.h"
#include "runtime/engine/serving/beam_text.h"
#include "runtime/engine/serving/new_tokens.h"

namespace smelt::c_api {
namespace {

/// Returns a function for the text of new tokens. `context`: the last tokens of the prompt.
TextOfTokens text_behind(const Tokenizer& tokenizer, std::span<const int32_t> context) {
  auto decoder = std::make_shared<StreamingDecoder>(tokenizer);
  for (const int32_t token : context) decoder->push(token);
  return
      [decoder](std::optional<int32_t> token) { return token ? decoder->push(*token) : decoder->finish(); };
}

/// Sets the text function of a request. The last tokens of the prompt are the context of its first new ones.
void add_text(const smelt_tokenizer* tokenizer, Request& request) {
  constexpr ptrdiff_t kContext = 256;
  if (!tokenizer) return;
  const std::vector<int32_t>& prompt = request.prompt;
  const std::vector<int32_t> context(prompt.end() - std::min(std::ssize(prompt), kContext), prompt.end());
  const auto begin = [own = tokenizer->tokenizer, context] { return text_behind(own, context); };
  if (request.options.num_beams > 1)
    request.text_of_beam = text_of_beam(begin);
  else
    request.text = begin();
}

/// Sets the numbers of most probable tokens.
void take_log_probabilities(const smelt_request& given, Request& request) {
  if (given.log_probabilities != 0) request.log_probabilities = given.best;
  if (given.prompt_log_probabilities != 0) request.prompt_log_probabilities = given.prompt_best;
  if (given.log_probabilities == 0 && given.best > 0)
    fail("best {}: expected log_probabilities = 1, or no best", given.best);
  if (given.prompt_log_probabilities == 0 && given.prompt_best > 0)
    fail("prompt_best {}: expected prompt_log_probabilities = 1, or no prompt_best", given.prompt_best);
}

void take_specification(const smelt_request& given, int64_t vocabulary, Request& request) {
  if (!given.specification) return;
  if (!given.tokenizer) fail("specification: there is no text without a tokenizer");
  const auto specification = structured::specification_from_json(given.specification);
  if (!specification) return;
  request.constrained = given.tokenizer->constraints(static_cast<size_t>(vocabulary))
                            .text(*specification, request.options.eos_token_id, request.prompt);
}

}  // namespace

ContinuousBatchOptions batch_options(const smelt_batch_options* given) {
  ContinuousBatchOptions options;
  if (!given) return options;
  const smelt_batch_options read = read_struct(*given, "the batch's options");
  options.slots = read.slots;
  if (read.most_waiting > 0) options.most_waiting = read.most_waiting;
  if (read.chunk > 0) options.chunk = read.chunk;
  options.draft = read.draft;
  if (read.ahead > 0) options.ahead = read.ahead - 1;
  options.prepares = read.prepares != 0;
  options.shares_prefixes = read.no_shared_prefixes == 0;
  options.plan_chooses = read.host_samples == 0;
  return options;
}

Request batch_request(smelt_batch& batch, const smelt_request& given) {
  if (given.count > 0) required(given.ids, "the list of the prompt's ids");
  if (given.stop_count > 0) required(given.stop, "the list of stop texts");
  Request request{.prompt = {given.ids, given.ids + given.count}, .options = batch.defaults};
  if (given.json) read_generation_options(given.json, request.options);
  count_new_tokens(request);
  for (size_t i = 0; i < given.stop_count; ++i)
    request.stop.emplace_back(required(given.stop[i], "a stop text"));
  take_log_probabilities(given, request);
  request.index = given.index, request.priority = given.priority;
  if (given.adapter) request.adapter = find_batch_adapter(batch, given.adapter);
  add_text(given.tokenizer, request);
  take_specification(given, batch.batch.vocabulary(), request);
  return request;
}

}  // namespace smelt::c_api
