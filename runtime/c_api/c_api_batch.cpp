// The C interface: continuous batches.
#include "runtime/c_api/c_api_batch.h"

using namespace smelt;
using namespace smelt::c_api;

static_assert(SMELT_FINISH_NONE == static_cast<int>(Finish::none));
static_assert(SMELT_FINISH_CANCELLED == static_cast<int>(Finish::cancelled));
static_assert(SMELT_FINISH_FAILED == static_cast<int>(Finish::failed));

namespace {

/// Returns the options of a request, which is one sequence without beams unless the request asks for them,
/// regardless of the model's own file.
GenerationOptions defaults_of(const Plan& plan) {
  GenerationOptions options = model_generation_options(plan.model);
  options.want_one_sequence();
  return options;
}

std::vector<smelt_batch::Best> best_of(const std::vector<NewToken>& tokens) {
  std::vector<smelt_batch::Best> all(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i)
    for (const auto& [id, log_probability] : tokens[i].best) {
      all[i].ids.push_back(id);
      all[i].log_probabilities.push_back(log_probability);
    }
  return all;
}

std::vector<smelt_batch::Beam> beams_of(const std::vector<Progress>& results) {
  std::vector<smelt_batch::Beam> all(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    for (const NewToken& token : results[i].tokens) {
      all[i].ids.push_back(token.id);
      all[i].weights_versions.push_back(token.weights_version);
    }
  return all;
}

void keep(smelt_batch& batch, Progress progress) {
  batch.told = std::move(progress);
  batch.ids.clear(), batch.log_probabilities.clear();
  for (const NewToken& token : batch.told.tokens) {
    batch.ids.push_back(token.id);
    batch.log_probabilities.push_back(token.log_probability);
  }
  batch.best = best_of(batch.told.tokens), batch.prompt_best = best_of(batch.told.prompt);
  batch.beams = beams_of(batch.told.beams);
}

smelt_progress progress_of(const smelt_batch& batch) {
  const Progress& told = batch.told;
  smelt_progress filled{};
  filled.ids = batch.ids.data(), filled.count = batch.ids.size();
  if (batch.told_log_probabilities) filled.log_probabilities = batch.log_probabilities.data();
  filled.text = told.text.c_str(), filled.bytes = told.text.size();
  filled.finish = static_cast<smelt_finish>(told.finish), filled.error = told.error.c_str();
  filled.prompt_count = told.prompt.size();
  filled.beam_count = told.beams.size();
  filled.has_begun = told.has_begun ? 1 : 0, filled.is_requests_fault = told.is_requests_fault ? 1 : 0;
  return filled;
}

/// Fills in a token of the last poll. `has`: whether its log-probability was requested.
void tell_token(const std::vector<NewToken>& tokens, const std::vector<smelt_batch::Best>& best, size_t index,
                bool has, smelt_batch_token* to) {
  if (index >= tokens.size()) fail("token {}: the last poll has reported {}", index, tokens.size());
  const NewToken& token = tokens[index];
  smelt_batch_token filled{};
  filled.id = token.id;
  filled.has_log_probability = has && token.has_log_probability ? 1 : 0;
  filled.log_probability = filled.has_log_probability != 0 ? token.log_probability : 0;
  filled.best_ids = best[index].ids.data(), filled.best_count = best[index].ids.size();
  filled.best_log_probabilities = best[index].log_probabilities.data();
  filled.rank = token.rank, filled.weights_version = token.weights_version;
  write_struct(*required(to, "token"), filled, "token");
}

smelt_batch_beam beam_of(const smelt_batch& batch, size_t index) {
  const std::vector<Progress>& found = batch.told.beams;
  if (index >= found.size()) fail("beam {}: the last poll has reported {}", index, found.size());
  const smelt_batch::Beam& arrays = batch.beams[index];
  smelt_batch_beam filled{};
  filled.ids = arrays.ids.data(), filled.count = arrays.ids.size();
  filled.weights_versions = arrays.weights_versions.data();
  filled.text = found[index].text.c_str(), filled.bytes = found[index].text.size();
  filled.score = found[index].score.value_or(0);
  filled.finish = static_cast<smelt_finish>(found[index].finish);
  return filled;
}

smelt_batch_counts counts_of(const ContinuousBatchCounts& counts) {
  smelt_batch_counts filled{};
  filled.slots = counts.slots, filled.running = counts.running, filled.waiting = counts.waiting;
  filled.steps = counts.steps;
  filled.prompt_tokens = counts.prompt_tokens, filled.new_tokens = counts.new_tokens;
  filled.plan_tokens = counts.plan_tokens;
  filled.draft_tokens = counts.draft_tokens, filled.kept_draft_tokens = counts.kept_draft_tokens;
  filled.ended = counts.ended, filled.cancelled = counts.cancelled, filled.failed = counts.failed;
  filled.weights_version = counts.weights_version, filled.weight_updates = counts.weight_updates;
  filled.cache_bytes = counts.cache_bytes;
  filled.pages = counts.pages.total, filled.used_pages = counts.pages.used;
  filled.shared_pages = counts.pages.shared, filled.kept_pages = counts.pages.kept;
  filled.found_pages = counts.pages.found;
  return filled;
}

}  // namespace

extern "C" {

smelt_status smelt_batch_create(smelt_session* session, const smelt_batch_options* options,
                                smelt_batch** batch) {
  return guarded([&] {
    required(batch, "batch");
    Session& s = *required(session, "the session")->session;
    *batch = new smelt_batch{.batch = ContinuousBatch(s, batch_options(options)),
                             .defaults = defaults_of(s.plan())};
  });
}

void smelt_batch_free(smelt_batch* batch) { delete batch; }

smelt_status smelt_batch_get_limits(const smelt_batch* batch, smelt_batch_limits* limits) {
  return guarded([&] {
    const ContinuousBatch& b = required(batch, "the batch")->batch;
    const smelt_batch_limits filled{sizeof filled, b.vocabulary(), b.capacity(), b.most_requests()};
    write_struct(*required(limits, "limits"), filled, "limits");
  });
}

smelt_status smelt_batch_get_counts(const smelt_batch* batch, smelt_batch_counts* counts) {
  return guarded([&] {
    const smelt_batch_counts filled = counts_of(required(batch, "the batch")->batch.counts());
    write_struct(*required(counts, "counts"), filled, "counts");
  });
}

smelt_status smelt_batch_submit(smelt_batch* batch, const smelt_request* request, uint64_t* id) {
  return guarded([&] {
    required(batch, "the batch"), required(request, "the request"), required(id, "id");
    const smelt_request given = read_struct(*request, "the request");
    const ContinuousBatch::Id made = batch->batch.submit(batch_request(*batch, given));
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
    batch->told_log_probabilities = batch->has_log_probabilities[id];
    write_struct(*progress, progress_of(*batch), "progress");
    if (batch->told.finish != Finish::none) batch->has_log_probabilities.erase(id);
  });
}

smelt_status smelt_batch_polled_token(const smelt_batch* batch, size_t index, smelt_batch_token* token) {
  return guarded([&] {
    required(batch, "the batch");
    tell_token(batch->told.tokens, batch->best, index, batch->told_log_probabilities, token);
  });
}

smelt_status smelt_batch_polled_prompt_token(const smelt_batch* batch, size_t index,
                                             smelt_batch_token* token) {
  return guarded([&] {
    required(batch, "the batch");
    tell_token(batch->told.prompt, batch->prompt_best, index, true, token);
  });
}

smelt_status smelt_batch_polled_beam(const smelt_batch* batch, size_t index, smelt_batch_beam* beam) {
  return guarded([&] {
    const smelt_batch_beam filled = beam_of(*required(batch, "the batch"), index);
    write_struct(*required(beam, "beam"), filled, "beam");
  });
}

smelt_status smelt_batch_cancel(smelt_batch* batch, uint64_t id) {
  return guarded([&] { required(batch, "the batch")->batch.cancel(id); });
}

}  // extern "C"
