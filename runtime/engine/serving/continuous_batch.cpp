#include "runtime/engine/serving/continuous_batch.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/cpu/small_m.h"
#include "runtime/engine/generation/loop_choice.h"
#include "runtime/engine/generation/loop_inputs.h"
#include "runtime/engine/serving/choosing_rows.h"
#include "runtime/engine/serving/model_drafter.h"
#include "runtime/engine/serving/running_beams.h"

namespace smelt {
namespace {

size_t chosen_slots(size_t asked, size_t most) {
  if (asked > most)
    fail(
        "{} slots: expected at most {}; compile with a larger --max B= (on a CPU up to {} rows have the bits "
        "that each has alone)",
        asked, most, SmallM::kMostRows);
  return asked == 0 ? most : asked;
}

/// Returns the place of a new request: after all that begin before it.
auto place_in(std::deque<Steps::Sequence>& waiting, int32_t priority) {
  return std::ranges::upper_bound(waiting, priority, {},
                                  [](const Steps::Sequence& each) { return each->request().priority; });
}

/// Returns the number of beams of a search whose beams the plan may choose; otherwise 0.
int64_t plannable_beams(const Steps::Sequence& sequence) {
  const RunningBeams* beams = sequence->beams();
  return beams && beams->plan_may_choose() ? sequence->request().options.num_beams : 0;
}

RowAdapter row_adapter(const Request& request) {
  return request.adapter ? RowAdapter{request.adapter->slot, request.adapter->number} : RowAdapter();
}

}  // namespace

ContinuousBatch::ContinuousBatch(Session& session, const ContinuousBatchOptions& options)
    : session_(session), rows_(CacheRows::of(session, options.shares_prefixes)), options_(options) {
  options_.slots = chosen_slots(options.slots, CacheRows::exact_rows(session, rows_->slots()));
  rows_->limit_texts(options_.slots);
  if (options_.chunk == 0) options_.chunk = default_chunk();
  if (AdapterInterface adapters(session.plan()); adapters.slots > 0) adapters_.emplace(std::move(adapters));
  for (const State& state : session.plan().states)
    if (state.role == Role::cache) counts_.cache_bytes += state_bytes(session.plan(), state);
  const size_t ahead = options.ahead.value_or(runs_ahead(session.plan().target).most > 1 ? 1 : 0);
  options_.ahead = ahead;
  if (options_.draft > 0) make_drafter();
  const size_t step_tokens = rows_->reads_sources() ? rows_->mixed_tokens() : options_.chunk;
  steps_ = std::make_unique<Steps>(
      *rows_, ahead, step_tokens,
      DraftSource{drafter_, options_.draft,
                  options_.most_drafted == 0 ? options_.slots : options_.most_drafted});
  if (options_.plan_chooses && rows_->reads_sources() && PlannedBeams::suits(session))
    make_planned_beams(ahead);
  if (!options_.prepares) return;
  rows_->prepare();
  if (planned_) prepare_planned_beams();
  if (drafter_) drafter_->prepare();
}

void ContinuousBatch::make_drafter() {
  if (rows_->reads_sources()) fail("drafts: the model is an encoder-decoder; expected a decoder");
  if (!mixes()) fail("drafts: the plan has no runs of several tokens per row; compile with --step-tokens=");
  if (options_.draft_model != nullptr)
    drafter_ = std::make_shared<ModelDrafter>(*options_.draft_model, vocabulary(), options_.shares_prefixes);
  else
    drafter_ = std::make_shared<LookupDrafter>();
  counts_.cache_bytes += drafter_->cache_bytes();
}

void ContinuousBatch::make_planned_beams(size_t ahead) {
  // If a search ends in the first run of a group, the others of the group run its rows in vain.
  constexpr size_t kTogether = 2;
  if (options_.together == 0)
    options_.together = runs_ahead(session_.plan().target).together > 1 ? kTogether : 1;
  planned_ = std::make_unique<PlannedBeams>(session_, *rows_,
                                            PlannedBeams::Limits{options_.slots, ahead, options_.together});
}

/// Requests for searches have greedy options.
void ContinuousBatch::prepare_planned_beams() {
  Request usual{.prompt = {0}, .options = model_generation_options(session_.plan().model)};
  usual.options.do_sample = false;
  if (usual.options.num_beams == 1 || !planned_->refuses(usual).empty()) return;
  planned_->prepare(usual.options.num_beams, options_.chunk * options_.together);
}

size_t ContinuousBatch::default_chunk() const {
  constexpr size_t kChunk = 64, kSourceTokens = 512;
  if (rows_->reads_sources()) return kSourceTokens;
  return mixes() ? rows_->mixed_tokens() : kChunk;
}

/// The last new token is never read.
void ContinuousBatch::check_length(const Request& request) const {
  const size_t prompt = request.prompt.size();
  const auto fresh = static_cast<size_t>(request.options.max_new_tokens);
  if (prompt <= capacity() && fresh <= capacity() - prompt + 1)
    return rows_->check(prompt + std::max<size_t>(fresh, 1) - 1,
                        static_cast<size_t>(request.options.num_beams));
  fail(
      "a prompt of {} tokens and {} new ones exceed the {} tokens that a slot holds; ask for fewer, or "
      "compile "
      "with a larger --max T=",
      prompt, fresh, capacity());
}

/// A search has as many rows as beams, and what it reports is known when it ends.
void ContinuousBatch::check_beams(const Request& request) const {
  const GenerationOptions& options = request.options;
  if (options.num_beams > static_cast<int64_t>(options_.slots))
    fail("num_beams {}: expected at most {}, the slots of the batch; ask for fewer, or start with more slots",
         options.num_beams, options_.slots);
  if (options.max_new_tokens < 1) fail("max_new_tokens 0: a beam search has at least one new token");
  const char* other = request.log_probabilities || request.prompt_log_probabilities ? "log-probabilities"
                      : request.constrained   ? "a specification of the text"
                      : !request.stop.empty() ? "stop texts"
                      : request.includes_stop ? "text of a stop"
                                              : nullptr;
  if (other) fail("num_beams {}: a beam search has no {}", options.num_beams, other);
}

void ContinuousBatch::check(const Request& request) const {
  const GenerationOptions& options = request.options;
  options.validate(vocabulary());
  if (options.num_beams > 1)
    check_beams(request);
  else if (options.num_return_sequences != 1)
    fail("num_return_sequences {}: expected a request for each", options.num_return_sequences);
  if (options.sliding_window) fail("sliding_window: a continuous batch keeps whole texts");
  if (request.prompt.empty()) fail("the prompt is empty: expected at least one token");
  for (const int32_t token : request.prompt)
    if (token < 0 || token >= vocabulary())
      fail("token {} of the prompt is outside the model's vocabulary of {}", token, vocabulary());
  const size_t begins = request.prompt_begins.size();
  if (begins > 0 && begins != request.prompt.size() + 1)
    fail("{} beginnings of {} tokens of the prompt: expected one for each, and the length of the text",
         begins, request.prompt.size());
  rows_->check_source(request.source);
  if (request.adapter && !adapters_)
    fail("adapter '{}': the plan has no slots for adapters; compile it with --adapters=",
         request.adapter->name);
  if (!request.source.empty() && request.prompt_log_probabilities)
    fail("log-probabilities of the prompt: it is a source, which the model reads and does not predict");
  if (!request.stop.empty() && !request.text) fail("stop: there is no text without a tokenizer");
  if (std::ranges::count(request.stop, "") > 0) fail("stop: an empty text; expected at least one byte");
  check_length(request);
}

/// Those that wait take free slots with the next steps.
void ContinuousBatch::require_room(size_t requests) const {
  if (requests > most_requests())
    fail("{} requests at once: expected at most {}, which are all that may run and wait", requests,
         most_requests());
  if (running_requests() + waiting_.size() + requests > most_requests())
    fail_with(Status::unavailable, "{} requests run and {} wait, of at most {} together: try again later",
              running_requests(), waiting_.size(), most_requests());
}

size_t ContinuousBatch::running_requests() const {
  const auto is_request = [](const Sequence& sequence) { return sequence->is_request(); };
  return static_cast<size_t>(std::ranges::count_if(running_, is_request)) +
         (planned_ ? planned_->running() : 0);
}

/// Returns the sequence of a request, which is the first row of its search if it has beams.
ContinuousBatch::Sequence ContinuousBatch::sequence_of(Request request) const {
  if (request.options.num_beams == 1) return std::make_shared<RunningSequence>(std::move(request), next_);
  return std::make_shared<RunningBeams>(request)->first_row(std::move(request), next_);
}

/// If no step is started ahead, nothing is gained where the plan samples for a constrained text, which then
/// gets no drafts.
bool ContinuousBatch::plan_samples(const RunningSequence& sequence) const {
  if (!rows_->choosing() || !options_.plan_chooses || sequence.request().options.num_beams > 1) return false;
  if (drafter_ && sequence.is_constrained() && options_.ahead.value_or(0) == 0) return false;
  return is_taken(entry::next_pages, rows_->choosing()->refuses(sequence.request()));
}

ContinuousBatch::Id ContinuousBatch::submit(Request request) {
  check(request);
  require_room(1);
  const Sequence sequence = sequence_of(std::move(request));
  if (plan_samples(*sequence)) sequence->leave_choice_to_plan();
  if (planned_ && sequence->beams() && is_taken(entry::next_beams, planned_->refuses(sequence->request())))
    sequence->beams()->let_plan_choose();
  if (drafter_) sequence->set_draft_length(drafter_->first_length());
  known_.emplace(next_, sequence);
  if (sequence->ended())
    count_end(Finish::length);
  else
    waiting_.insert(place_in(waiting_, sequence->request().priority), sequence);
  return next_++;
}

/// Returns the slots that no request has. A beam search also has those of its rows to come.
size_t ContinuousBatch::free_slots() const {
  size_t taken = running_.size();
  for (const Sequence& sequence : running_)
    if (sequence->beams() && sequence->is_request()) taken += sequence->beams()->rows_to_come();
  return options_.slots - taken;
}

/// Returns whether the next request can begin, if `leaving` rows leave: not while an update of the weights
/// waits. Later requests wait for it, too, so that small ones do not overtake a large one forever.
bool ContinuousBatch::has_room(size_t leaving) const {
  if (waiting_.empty() || update_) return false;
  const RunningSequence& next = *waiting_.front();
  return next.most_rows() <= free_slots() + leaving &&
         rows_->has_room(next.prompt(), next.most_held(), next.most_rows(), row_adapter(next.request()));
}

/// Lets waiting requests begin, each in a new last row. The encoder reads the sources of those that begin
/// together, which have at most `chunk` tokens, unless there is one source alone.
void ContinuousBatch::admit_mixed() {
  std::vector<RowSource> sources;
  size_t tokens = 0;
  while (has_room()) {
    tokens += waiting_.front()->request().source.size();
    if (!sources.empty() && tokens > options_.chunk) break;
    running_.emplace_back(), begin(running_.size() - 1);
    if (rows_->reads_sources()) sources.push_back({running_.size() - 1, running_.back()->request().source});
  }
  if (sources.empty()) return;
  rows_->read_sources(sources);
  for (const RowSource& source : sources) counts_.prompt_tokens += source.tokens.size();
}

/// Returns the number of beams of each request that runs or waits, if the plan may choose the beams of all of
/// them, and all have the same number; otherwise 0.
int64_t ContinuousBatch::planned_beams() const {
  if (!planned_ || (running_.empty() && waiting_.empty())) return 0;
  const int64_t beams = plannable_beams(running_.empty() ? waiting_.front() : running_.front());
  const auto suits = [&](const Sequence& sequence) { return plannable_beams(sequence) == beams; };
  return std::ranges::all_of(running_, suits) && std::ranges::all_of(waiting_, suits) ? beams : 0;
}

/// Lets searches begin whose beams the plan chooses: those that come next and have as many beams as the
/// running ones. Sources are limited as in admit_mixed, by the tokens for all steps of a group.
void ContinuousBatch::admit_planned() {
  if (!planned_->starts()) return;
  const int64_t beams = planned_->idle() ? planned_beams() : planned_->beams();
  const size_t room = update_ ? 0 : planned_->free(beams);
  std::vector<Sequence> fresh;
  size_t tokens = 0;
  while (fresh.size() < room && !waiting_.empty() && plannable_beams(waiting_.front()) == beams) {
    const Request& next = waiting_.front()->request();
    tokens += next.source.size();
    if (!fresh.empty() && tokens > options_.chunk * options_.together) break;
    counts_.prompt_tokens += next.source.size() + next.prompt.size();
    fresh.push_back(next_to_begin());
  }
  if (!fresh.empty()) planned_->begin(fresh);
}

/// Lets waiting requests begin: if rows mix, each in a new last row; otherwise one in row 0, unless a prompt
/// is being read there. If the plan is to choose beams, requests begin when all others have ended.
void ContinuousBatch::admit() {
  if (planned_ && !planned_->idle()) return admit_planned();
  if (planned_beams() > 0) return running_.empty() ? admit_planned() : void();
  if (mixes()) return admit_mixed();
  if (!has_room()) return;
  if (running_.empty()) {
    running_.emplace_back();
  } else {
    if (running_[0]->reads_prompt()) return;
    const RowMove moves[] = {{0, running_.size(), running_[0]->held()}};
    rows_->move(moves);
    running_.push_back(running_[0]);
  }
  begin(0);
}

/// Removes the next request from those that wait.
ContinuousBatch::Sequence ContinuousBatch::next_to_begin() {
  Sequence next = std::move(waiting_.front());
  waiting_.pop_front();
  next->begin();
  next->set_weights_version(counts_.weights_version);
  return next;
}

/// Begins the next request in a free row.
void ContinuousBatch::begin(size_t row) {
  running_[row] = next_to_begin();
  RunningSequence& sequence = *running_[row];
  sequence.hold(rows_->begin(row, sequence.prompt(), sequence.most_held(), sequence.most_rows(),
                             row_adapter(sequence.request())));
}

bool ContinuousBatch::step() {
  if (idle()) return false;
  ++counts_.steps;
  try {
    admit();
    if (planned_ && !planned_->idle()) add(planned_->step());
    add(steps_->step(running_));
    read_chunk();
    continue_beams();
    leave();
  } catch (const Error& error) {  // nothing is known of the caches
    fail_all(error.what());
  }
  apply_waiting_update();
  return true;
}

void ContinuousBatch::add(const Steps::Taken& taken) {
  counts_.new_tokens += taken.tokens, counts_.plan_tokens += taken.by_plan;
  counts_.prompt_tokens += taken.read;
  counts_.draft_tokens += taken.drafted, counts_.kept_draft_tokens += taken.kept;
}

void ContinuousBatch::read_chunk() {
  if (running_.empty() || mixes()) return;
  RunningSequence& sequence = *running_[0];
  if (!sequence.reads_prompt()) return;
  const CacheRows::Read read = rows_->read(sequence.prompt(), sequence.held(), options_.chunk);
  sequence.hold(read.tokens);
  counts_.prompt_tokens += read.tokens;
  if (sequence.reads_prompt()) return;
  counts_.new_tokens += sequence.take(read.logits);
}

/// Lets the beam searches that have chosen their sequences continue with these. All copies of caches are made
/// together.
void ContinuousBatch::continue_beams() {
  std::vector<RunningBeams::Copy> copies;
  for (size_t row = 0; row < running_.size(); ++row) {
    RunningBeams* const beams = running_[row]->beams();
    if (!beams || !beams->has_chosen() || beams->ended()) continue;
    beams->go_on([&](Sequence added) { running_.push_back(std::move(added)); }, copies);
  }
  if (!copies.empty()) copy_rows(copies);
}

void ContinuousBatch::copy_rows(std::span<const RunningBeams::Copy> copies) {
  std::unordered_map<const RunningSequence*, size_t> rows;
  for (size_t row = 0; row < running_.size(); ++row) rows.emplace(running_[row].get(), row);
  std::vector<RowCopy> all;
  for (const RunningBeams::Copy& copy : copies)
    all.push_back({rows.at(copy.from), rows.at(copy.to), copy.length, copy.begins});
  rows_->copy(all);
}

/// Removes ended sequences. One for which a step in progress still writes stays. Unless rows mix, a request
/// that waits begins in row 0 where that is free.
void ContinuousBatch::leave() {
  if (planned_) planned_->leave([&](const RunningSequence& sequence) { count_end(sequence.finish()); });
  std::vector<size_t> free;
  for (size_t row = 0; row < running_.size(); ++row)
    if (running_[row]->ended() && !steps_->has(running_[row])) free.push_back(row);
  if (free.empty()) return;
  for (const size_t row : free) {
    if (running_[row]->may_be_invalid()) rows_->clear(row, running_[row]->examined());
    rows_->end(row);
    if (running_[row]->is_request()) count_end(running_[row]->finish());
  }
  const bool refills = free.front() == 0 && !mixes() && has_room(free.size());
  if (refills) free.erase(free.begin());
  close_up(free);
  if (refills) begin(0);
}

/// Moves the last rows to the free ones before them. `free`: in increasing order.
void ContinuousBatch::close_up(std::span<const size_t> free) {
  const size_t kept = running_.size() - free.size();
  std::vector<RowMove> moves;
  size_t to = 0;
  for (size_t row = kept; row < running_.size(); ++row) {
    if (std::ranges::binary_search(free, row)) continue;
    moves.push_back({row, free[to++], running_[row]->held()});
    running_[moves.back().to] = running_[row];
  }
  running_.resize(kept);
  if (moves.empty()) return;
  rows_->move(moves);
  for (const RowMove& each : moves)
    if (each.length > 0 && running_[each.to]->reads_prompt()) rows_->clear(each.from, 0);
}

void ContinuousBatch::fail_all(const std::string& error) {
  std::vector<Sequence> failed = std::exchange(running_, {});
  if (planned_) std::ranges::copy(planned_->sequences(), std::back_inserter(failed));
  for (const Sequence& sequence : failed) {
    if (!sequence->ended()) sequence->end(Finish::failed, error);
    if (sequence->is_request()) count_end(sequence->finish());
  }
  steps_->forget();
  rows_->forget();
  if (planned_) planned_->forget();
  if (drafter_) drafter_->forget();
}

void ContinuousBatch::count_end(Finish finish) {
  ++(finish == Finish::cancelled ? counts_.cancelled
     : finish == Finish::failed  ? counts_.failed
                                 : counts_.ended);
}

Progress ContinuousBatch::poll(Id id) {
  const auto found = known_.find(id);
  if (found == known_.end()) fail("there is no request {}, or its end was told", id);
  Progress progress = found->second->progress();
  if (progress.finish != Finish::none) known_.erase(found);
  return progress;
}

/// Cancels a request. A running one leaves its slot now, not with the next step, unless a step is in
/// progress.
void ContinuousBatch::cancel(Id id) {
  const auto found = known_.find(id);
  if (found == known_.end() || found->second->ended()) return;
  const Sequence sequence = found->second;
  sequence->end(Finish::cancelled);
  if (sequence->beams()) sequence->beams()->end_rows();
  if (std::erase(waiting_, sequence) > 0) return count_end(Finish::cancelled);
  try {
    leave();
  } catch (const Error& error) {
    fail_all(error.what());
  }
  apply_waiting_update();
}

void ContinuousBatch::update_weights(WeightUpdate update) {
  check_weight_update(session_, update);
  if (update.waits && is_running()) {
    update_ = std::move(update);
    return;
  }
  finish_steps();
  update_.reset();
  apply(update);
}

void ContinuousBatch::write_adapter(const ServedAdapter& adapter, const AdapterWeights& weights) {
  if (!adapters_) fail("adapters: the plan has no slots for them; compile it with --adapters=");
  finish_steps();
  adapters_->write(session_, adapter, weights);
}

/// Ends the steps in progress, which use the present weights.
void ContinuousBatch::finish_steps() {
  try {
    add(steps_->finish());
    if (planned_) add(planned_->finish());
    leave();
  } catch (const Error& error) {
    fail_all(error.what());
  }
}

void ContinuousBatch::apply_waiting_update() {
  if (!update_ || is_running()) return;
  const WeightUpdate update = std::move(*update_);
  update_.reset();
  apply(update);
}

void ContinuousBatch::apply(const WeightUpdate& update) {
  session_.load_weights(*update.weights);
  if (!update.keeps_prefixes) rows_->forget_prefixes();
  counts_.weights_version = update.version.value_or(counts_.weights_version + 1);
  ++counts_.weight_updates;
  for (const Sequence& sequence : running_) sequence->set_weights_version(counts_.weights_version);
  if (!planned_) return;
  for (const Sequence& sequence : planned_->sequences())
    sequence->set_weights_version(counts_.weights_version);
}

ContinuousBatchCounts ContinuousBatch::counts() const {
  ContinuousBatchCounts counts = counts_;
  counts.slots = options_.slots, counts.running = running_requests(), counts.waiting = waiting_.size();
  counts.used_slots = running_.size(), counts.pages = rows_->pages();
  if (planned_) counts.used_slots += planned_->used_slots();
  return counts;
}

}  // namespace smelt
