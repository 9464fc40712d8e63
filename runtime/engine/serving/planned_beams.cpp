#include "runtime/engine/serving/planned_beams.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/engine/generation/loop_choice.h"
#include "runtime/engine/generation/prompt_lengths.h"
#include "runtime/engine/generation/run_ahead.h"
#include "runtime/engine/serving/cleared_caches.h"
#include "runtime/engine/serving/running_beams.h"
#include "runtime/plan/device_kind.h"

namespace smelt {
namespace {

/// Position of a search that begins: the decoder's prompt is one token.
constexpr LoopPlace kBegin = {.read = 1, .prompt_length = 1};

void wait_for_all(Session& session) {
  try {
    session.synchronize();
  } catch (const Error&) {  // of runs whose results are not needed
  }
}

}  // namespace

bool PlannedBeams::suits(const Session& session) {
  return session.has_entry(entry::encode) && session.has_entry(entry::next_beams) &&
         session.has_entry(entry::begin_beams);
}

/// Candidates of runs that are not taken stay in memory until later runs need it.
PlannedBeams::PlannedBeams(Session& session, CacheRows& rows, Limits limits)
    : session_(session),
      rows_(rows),
      limits_(limits),
      pads_(device_kind(session.plan().target).captures_runs),
      candidates_(session),
      biases_(session, rows.slots(), rows.vocabulary()),
      taken_runs_(rows.slots()) {
  constexpr auto kRuns = static_cast<size_t>(kCandidateRuns);
  limits_.ahead = std::min(limits_.ahead, kRuns - 1);
  limits_.together = std::clamp<size_t>(limits_.together, 1, kRuns - limits_.ahead);
  candidates_.clear(), biases_.clear();
}

PlannedBeams::~PlannedBeams() {
  if (!under_way_.empty()) wait_for_all(session_);
}

std::string PlannedBeams::refuses(const Request& request) const {
  if (request.prompt.size() != 1) return "a prompt of several tokens of the decoder";
  if (request.adapter) return "an adapter";
  return plain_search_refuses(request.options, static_cast<int64_t>(limits_.slots));
}

size_t PlannedBeams::running() const {
  return ending_.size() + searches_.size() - static_cast<size_t>(std::ranges::count(searches_, nullptr));
}

size_t PlannedBeams::used_slots() const { return (running() - ending_.size()) * static_cast<size_t>(beams_); }

std::vector<PlannedBeams::Sequence> PlannedBeams::sequences() const {
  std::vector<Sequence> all;
  for (const auto* searches : {&ending_, &searches_})
    for (const SearchPointer& search : *searches)
      if (search) all.push_back(search->sequence);
  return all;
}

size_t PlannedBeams::free(int64_t beams) const {
  if (const int64_t own = this->beams(); own > 0 && own != beams) return 0;
  const auto stays = [](const SearchPointer& search) { return search && search->left > 0; };
  return limits_.slots / static_cast<size_t>(beams) -
         static_cast<size_t>(std::ranges::count_if(searches_, stays));
}

/// Returns a number for a search that begins. The search that has had it so far needs no more runs.
size_t PlannedBeams::take_number() {
  const auto found = std::ranges::find_if(
      searches_, [](const SearchPointer& search) { return !search || search->left == 0; });
  if (*found) ending_.push_back(std::move(*found));
  return static_cast<size_t>(found - searches_.begin());
}

size_t PlannedBeams::padded(size_t count, size_t most) const {
  return pads_ ? padded_size(count, most) : count;
}

/// All searches have their numbers before the first run, so that none is lost if a run fails.
void PlannedBeams::begin(std::span<const Sequence> sequences) {
  const bool was_idle = idle();
  beams_ = sequences[0]->request().options.num_beams;
  const auto beams = static_cast<size_t>(beams_);
  if (was_idle) searches_.assign(limits_.slots / beams, nullptr);
  inputs_.reset();
  std::vector<RowSource> sources;
  std::vector<size_t> numbers;
  for (const Sequence& sequence : sequences) {
    numbers.push_back(take_number());
    sources.push_back({numbers.back(), sequence->request().source});
    const int64_t tokens = sequence->request().options.max_new_tokens;
    searches_[numbers.back()] = std::make_shared<Search>(Search{sequence, tokens});
  }
  if (was_idle) end_runs();
  for (const size_t number : numbers)
    biases_.set(number * beams, beams, searches_[number]->sequence->request().options);
  rows_.read_sources(sources);
  begin_rows(numbers);
}

/// Takes runs that are in progress after all of their searches have ended.
void PlannedBeams::end_runs() {
  if (under_way_.empty()) return;
  finish();
  session_.synchronize();
}

/// Adds the rows of a search. All of its beams are the prompt, so only the first one has a finite sum.
void PlannedBeams::FirstRows::add(size_t number, size_t beams, int32_t token) {
  for (size_t beam = 0; beam < beams; ++beam) {
    slots.push_back(static_cast<int32_t>(number * beams + beam));
    tokens.push_back(token);
    sums.push_back(beam == 0 ? 0 : -std::numeric_limits<float>::infinity());
  }
}

void PlannedBeams::begin_rows(std::span<const size_t> numbers) {
  FirstRows rows;
  for (const size_t number : numbers) {
    const Request& request = searches_[number]->sequence->request();
    rows.add(number, static_cast<size_t>(request.options.num_beams), request.prompt[0]);
  }
  run_begin(std::move(rows), 1);
}

/// Runs the entry begin_beams.
void PlannedBeams::run_begin(FirstRows rows, int times) {
  const size_t size = padded(rows.slots.size(), limits_.slots);
  rows.slots.resize(size, -1), rows.tokens.resize(size, 0), rows.sums.resize(size, 0);
  const auto count = static_cast<int64_t>(size);
  const InputTensor inputs[] = {port::slots.tensor({count}, rows.slots.data()),
                                port::decoder_input_ids.tensor({count, 1}, rows.tokens.data()),
                                port::sums.tensor({count}, rows.sums.data())};
  session_.repeat(entry::begin_beams, inputs, times);
}

/// The first run of a size chooses kernels, and the second one is captured.
void PlannedBeams::prepare(int64_t beams, size_t source_tokens) {
  if (!pads_) return;
  constexpr int kTimes = 2;
  const auto width = static_cast<size_t>(beams);
  searches_.assign(limits_.slots / width, nullptr);
  rows_.prepare_sources(searches_.size(), source_tokens);
  FirstRows rows;
  for (size_t number = 0, largest = 0; number < searches_.size(); ++number) {
    rows.add(number, width, 0);
    if (rows.slots.size() <= largest) continue;
    run_begin(rows, kTimes);
    largest = padded(rows.slots.size(), limits_.slots);
  }
  for (size_t numbers = 1; numbers <= searches_.size(); numbers = run_searches_ + 1) {
    prepare_inputs(beams, numbers);
    session_.repeat(entry::next_beams, inputs_->tensors(), kTimes);
  }
  session_.synchronize();
  candidates_.clear(), inputs_.reset();
}

/// Returns the highest number of a search, plus 1.
size_t PlannedBeams::used_numbers() const {
  const auto is_used = [](const SearchPointer& search) { return search != nullptr; };
  return static_cast<size_t>(searches_.rend() -
                             std::ranges::find_if(searches_.rbegin(), searches_.rend(), is_used));
}

/// Numbers without a search have the default options.
void PlannedBeams::prepare_inputs(int64_t beams, size_t numbers) {
  static const GenerationOptions kNone;
  run_searches_ = padded(numbers, searches_.size());
  inputs_.emplace(beams);
  for (size_t number = 0; number < run_searches_; ++number) {
    const Search* search = searches_[number].get();
    inputs_->add(kBegin, search ? search->sequence->request().options : kNone);
  }
}

/// Returns the most runs that a search still needs.
int64_t PlannedBeams::most_left() const {
  int64_t most = 0;
  for (const SearchPointer& search : searches_)
    if (search && !search->sequence->ended()) most = std::max(most, search->left);
  return most;
}

void PlannedBeams::start() {
  while (under_way_.size() <= limits_.ahead) {
    const int64_t runs = std::min(static_cast<int64_t>(limits_.together), most_left());
    if (runs == 0) return;
    if (!inputs_) prepare_inputs(beams(), used_numbers());
    session_.repeat(entry::next_beams, inputs_->tensors(), static_cast<int>(runs));
    const auto end = searches_.begin() + static_cast<ptrdiff_t>(run_searches_);
    for (int64_t run = 0; run < runs; ++run) under_way_.emplace_back(searches_.begin(), end);
    for (const SearchPointer& search : searches_)
      if (search) search->left -= std::min(search->left, runs);
  }
}

/// A run leaves candidates for each number, also for those without a search.
void PlannedBeams::take() {
  const std::vector<SearchPointer> searches = std::move(under_way_.front());
  under_way_.pop_front();
  for (size_t number = 0; number < searches.size(); ++number) {
    const size_t run = taken_runs_[number]++;
    wait_for_result(session_, entry::next_beams, [&] { return candidates_.is_there(number, run); });
    take(searches[number].get(), number, run);
  }
}

void PlannedBeams::take(Search* search, size_t number, size_t run) {
  if (!search || search->sequence->ended()) return candidates_.forget(number, run);
  RunningBeams& beams = *search->sequence->beams();
  try {
    const size_t tokens = beams.take(candidates_.take(number, run, beams.kept(), search->offset));
    taken_.tokens += tokens, taken_.by_plan += tokens;
  } catch (const Error& error) {
    if (error.status() != Status::numeric) throw;
    search->sequence->end_failed(error);
  }
}

Steps::Taken PlannedBeams::step() {
  taken_ = {};
  start();
  if (!under_way_.empty()) take();
  return taken_;
}

Steps::Taken PlannedBeams::finish() {
  taken_ = {};
  while (!under_way_.empty()) take();
  return taken_;
}

/// A search has a slot per beam, and the source of its number.
void PlannedBeams::clear(size_t number) {
  const auto beams = static_cast<size_t>(searches_[number]->sequence->request().options.num_beams);
  clear_caches(session_, CacheKind::tokens, number * beams, beams);
  clear_caches(session_, CacheKind::sources, number, 1);
}

void PlannedBeams::leave(const std::function<void(const RunningSequence&)>& on_end) {
  const auto leaves = [&](const SearchPointer& search) {
    if (!search || !search->sequence->ended()) return false;
    on_end(*search->sequence);
    return true;
  };
  std::erase_if(ending_, leaves);
  for (SearchPointer& search : searches_) {
    if (!leaves(search)) continue;
    if (search->sequence->finish() == Finish::failed) clear(static_cast<size_t>(&search - searches_.data()));
    search.reset(), inputs_.reset();
  }
}

void PlannedBeams::forget() {
  searches_.clear(), ending_.clear(), under_way_.clear(), inputs_.reset();
  taken_runs_.assign(taken_runs_.size(), 0);
  wait_for_all(session_);
  try {
    candidates_.clear(), biases_.clear();
  } catch (const Error&) {  // of a device that is lost, which the next run reports
  }
}

}  // namespace smelt
