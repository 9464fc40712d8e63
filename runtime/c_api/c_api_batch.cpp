// The C interface: continuous batches.
#include <algorithm>
#include <map>

#include "runtime/c_api/c_api_detail.h"
#include "runtime/c_api/structs.h"
#include "runtime/engine/serving/continuous_batch.h"

using namespace smelt;
using namespace smelt::c_api;

struct smelt_batch {
  ContinuousBatch batch;
  GenerationOptions defaults;  // of the plan's model
  std::map<ContinuousBatch::Id, bool> has_log_probabilities;
  // The progress of the last poll.
  Progress told;
  std::vector<int32_t> ids;
  std::vector<float> log_probabilities;
};

static_assert(SMELT_FINISH_NONE == static_cast<int>(Finish::none));
static_assert(SMELT_FINISH_CANCELLED == static_cast<int>(Finish::cancelled));
static_assert(SMELT_FINISH_FAILED == static_cast<int>(Finish::failed));

namespace {

ContinuousBatchOptions options_of(const smelt_batch_options* given) {
  ContinuousBatchOptions options;
  if (!given) return options;
  const smelt_batch_options read = read_struct(*given, "the batch's options");
  options.slots = read.slots;
  if (read.most_waiting > 0) options.most_waiting = read.most_waiting;
  if (read.chunk > 0) options.chunk = read.chunk;
  return options;
}

/// Returns the options of a request, which is one sequence without beams regardless of the model's own file.
GenerationOptions defaults_of(const Plan& plan) {
  GenerationOptions options = model_generation_options(plan.model);
  options.want_one_sequence();
  return options;
}

/// Returns the text function of a request. The last tokens of the prompt are the context of its first new
/// ones.
TextOfTokens text_behind(const smelt_tokenizer* tokenizer, std::span<const int32_t> prompt) {
  constexpr size_t kContext = 256;
  if (!tokenizer) return {};
  auto decoder = std::make_shared<StreamingDecoder>(tokenizer->tokenizer);
  for (const int32_t token : prompt.last(std::min(prompt.size(), kContext))) decoder->push(token);
  return
      [decoder](std::optional<int32_t> token) { return token ? decoder->push(*token) : decoder->finish(); };
}

/// A batch counts new tokens alone.
void take_max_length(Request& request) {
  GenerationOptions& options = request.options;
  if (!options.max_length) return;
  options.max_new_tokens = options.new_tokens(request.prompt.size());
  if (options.max_new_tokens < 1)
    fail("max_length {}: a prompt of {} tokens leaves no room for new ones; give max_new_tokens",
         *options.max_length, request.prompt.size());
  options.max_length.reset();
}

Request request_of(const smelt_batch& batch, const smelt_request& given) {
  if (given.count > 0) required(given.ids, "the list of the prompt's ids");
  if (given.stop_count > 0) required(given.stop, "the list of stop texts");
  Request request{.prompt = {given.ids, given.ids + given.count}, .options = batch.defaults};
  if (given.json) read_generation_options(given.json, request.options);
  take_max_length(request);
  for (size_t i = 0; i < given.stop_count; ++i)
    request.stop.emplace_back(required(given.stop[i], "a stop text"));
  if (given.log_probabilities != 0) request.log_probabilities = 0;
  request.text = text_behind(given.tokenizer, request.prompt);
  return request;
}

void keep(smelt_batch& batch, Progress progress) {
  batch.told = std::move(progress);
  batch.ids.clear(), batch.log_probabilities.clear();
  for (const NewToken& token : batch.told.tokens) {
    batch.ids.push_back(token.id);
    batch.log_probabilities.push_back(token.log_probability);
  }
}

}  // namespace

extern "C" {

smelt_status smelt_batch_create(smelt_session* session, const smelt_batch_options* options,
                                smelt_batch** batch) {
  return guarded([&] {
    required(batch, "batch");
    Session& s = *required(session, "the session")->session;
    *batch = new smelt_batch{ContinuousBatch(s, options_of(options)), defaults_of(s.plan()), {}, {}, {}, {}};
  });
}

void smelt_batch_free(smelt_batch* batch) { delete batch; }

smelt_status smelt_batch_submit(smelt_batch* batch, const smelt_request* request, uint64_t* id) {
  return guarded([&] {
    required(batch, "the batch"), required(request, "the request"), required(id, "id");
    const smelt_request given = read_struct(*request, "the request");
    const ContinuousBatch::Id made = batch->batch.submit(request_of(*batch, given));
    batch->has_log_probabilities[made] = given.log_probabilities != 0;
    *id = made;
  });
}

smelt_status smelt_batch_step(smelt_batch* batch, int32_t* worked) {
  return guarded([&] {
    const bool some = required(batch, "the batch")->batch.step();
    if (worked) *worked = some ? 1 : 0;
  });
}

smelt_status smelt_batch_poll(smelt_batch* batch, uint64_t id, smelt_progress* progress) {
  return guarded([&] {
    required(batch, "the batch"), checked_size(*required(progress, "progress"), "progress");
    keep(*batch, batch->batch.poll(id));
    const Progress& told = batch->told;
    const smelt_progress filled{sizeof filled,
                                batch->ids.data(),
                                batch->ids.size(),
                                batch->has_log_probabilities[id] ? batch->log_probabilities.data() : nullptr,
                                told.text.c_str(),
                                told.text.size(),
                                static_cast<smelt_finish>(told.finish),
                                told.error.c_str()};
    write_struct(*progress, filled, "progress");
    if (told.finish != Finish::none) batch->has_log_probabilities.erase(id);
  });
}

smelt_status smelt_batch_cancel(smelt_batch* batch, uint64_t id) {
  return guarded([&] { required(batch, "the batch")->batch.cancel(id); });
}

}  // extern "C"
