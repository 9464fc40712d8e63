#include "runtime/engine/serving/steps.h"

#include <algorithm>
#include <future>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/engine/generation/step_loop.h"
#include "runtime/engine/serving/choosing_rows.h"

namespace smelt {

Steps::~Steps() {
  if (!under_way_.empty()) rows_.choosing()->finish();
}

bool Steps::has(const Sequence& sequence) const {
  return std::ranges::any_of(under_way_, [&](const Step& step) {
    return std::ranges::count(step.rows, sequence, &Row::sequence) > 0;
  });
}

/// Returns how the host gets the next token of a row that reads one token.
Sampling Steps::host_sampling(const CacheRows& rows, const RunningSequence& sequence) {
  return rows.gives_candidates() && sequence.takes_candidates() ? Sampling::candidates : Sampling::host;
}

/// Returns whether a sequence may get a draft after its next token, or after those of the steps under way.
bool Steps::wants_draft(const Sequence& sequence) const {
  return !sequence->ended() && !sequence->beams() && sequence->draft_size() == 0 &&
         !sequence->reads_prompt() && !sequence->scores_prompt() &&
         sequence->most_drafted(drafts_.tokens) > 0 && drafts_.drafter->expects_draft(sequence->tokens());
}

/// Chooses the sequences that get drafts: those that may, if these make up for the longer step. A step with
/// drafts takes nearly twice as long, for all texts.
void Steps::choose_drafted() {
  drafted_.clear();
  if (!drafts_.drafter || running_.size() > drafts_.texts) return;
  double expected = 1;
  for (const Sequence& sequence : running_)
    if (wants_draft(sequence)) drafted_.insert(sequence.get()), expected += sequence->expected_of_draft();
  if (expected < static_cast<double>(running_.size())) drafted_.clear();
}

/// Returns whether the next step leaves out a row for which the plan samples: a step reads its draft, or it
/// gets one when the tokens of the steps under way are known.
bool Steps::awaits_tokens(const Sequence& sequence) const {
  const bool has_draft = sequence->draft_size() > 0 || drafted_.contains(sequence.get());
  return sequence->plan_chooses() && has_draft && has(sequence);
}

/// Returns how the plan samples the next token of a sequence.
Sampling Steps::plan_sampling(const RunningSequence& sequence) {
  return sequence.is_constrained() ? Sampling::allowed : Sampling::plan;
}

/// Returns the read of one more token of a row. Unless rows mix, the host has sampled the first token after
/// the prompt.
RowStep Steps::next_token(RunningSequence& sequence, size_t row) {
  const size_t past = sequence.held();
  const Request& request = sequence.request();
  if (!sequence.plan_chooses())
    return {.row = row,
            .tokens = sequence.unread().first(1),
            .past = past,
            .sampling = host_sampling(rows_, sequence),
            .request = &request};
  const bool host_has_token = past < sequence.tokens().size();
  if (past == sequence.prompt().size() && rows_.mixed_tokens() == 0)
    rows_.choosing()->begin_choice(row, sequence.tokens(), request.options);
  static constexpr int32_t kChosen[] = {kChosenToken};
  return {.row = row,
          .tokens = host_has_token ? sequence.unread().first(1) : std::span<const int32_t>(kChosen),
          .past = past,
          .sampling = plan_sampling(sequence),
          .request = &request};
}

/// Adds reads of prompts in the order in which their requests came, as many tokens as the step may have.
void Steps::add_prompts(std::vector<RowStep>& reads) {
  std::vector<size_t> rows;
  for (size_t row = 0; row < running_.size(); ++row)
    if (running_[row]->reads_prompt() && !running_[row]->ended()) rows.push_back(row);
  std::ranges::sort(rows, {}, [&](size_t row) { return running_[row]->number(); });
  size_t left = std::min(chunk_, rows_.mixed_tokens() - reads.size());
  if (rows.size() > rows_.mixed_prompts()) rows.resize(rows_.mixed_prompts());
  for (const size_t row : rows) {
    RunningSequence& sequence = *running_[row];
    const auto rest = sequence.prompt().subspan(sequence.held());
    const auto tokens = rest.first(std::min(rest.size(), left));
    if (tokens.empty()) break;
    left -= tokens.size();
    const bool is_end = tokens.size() == rest.size();
    const Sampling sampling = !is_end                   ? Sampling::none
                              : sequence.plan_chooses() ? plan_sampling(sequence)
                              : rows_.reads_sources()   ? host_sampling(rows_, sequence)
                                                        : Sampling::host;
    if (is_end && sequence.plan_chooses())
      rows_.choosing()->begin_choice(row, sequence.prompt(), sequence.request().options);
    reads.push_back({row, tokens, sequence.held(), sampling, &sequence.request()});
  }
}

/// Returns how many steps of one token the run may have in addition to `reads`, if several may read
/// consecutive tokens of one row.
size_t Steps::free_steps(const std::vector<RowStep>& reads) const {
  const size_t most = rows_.consecutive_steps();
  const size_t left = most - std::min(most, reads.size());
  if (rows_.mixed_tokens() == 0) return left;
  size_t tokens = 0;
  for (const RowStep& read : reads) tokens += read.tokens.size();
  return std::min(left, rows_.mixed_tokens() - tokens);
}

/// Adds reads of prompts whose log-probabilities are requested. As in a draft, each of their tokens is a row
/// of its own, which has the pages of the text's row, so that the run returns the logits after each of them.
void Steps::add_scored_prompts(std::vector<RowStep>& reads) {
  std::vector<RowStep> texts = reads;
  std::erase_if(texts, [&](const RowStep& text) { return !running_[text.row]->scores_prompt(); });
  size_t left = free_steps(reads);
  for (size_t i = 0; i < texts.size(); ++i) {
    const RowStep& text = texts[i];
    const size_t own = text.tokens.size();
    const auto rest = running_[text.row]->unread().subspan(own);
    const auto tokens = rest.first(std::min(rest.size(), left / (texts.size() - i)));
    for (size_t at = 0; at < tokens.size(); ++at)
      reads.push_back({.row = text.row,
                       .tokens = tokens.subspan(at, 1),
                       .past = text.past + own + at,
                       .request = text.request});
    left -= tokens.size();
  }
}

/// Returns all running texts except those of beam searches. Those that were chosen (choose_drafted) and whose
/// last token the step reads get drafts.
std::vector<DraftText> Steps::texts_to_draft(const std::vector<RowStep>& reads) {
  std::vector<DraftText> texts;
  for (size_t row = 0; row < running_.size(); ++row) {
    RunningSequence& sequence = *running_[row];
    if (sequence.ended() || sequence.beams()) continue;
    const bool wants = !has(running_[row]) && drafted_.contains(&sequence) &&
                       std::ranges::count(reads, row, &RowStep::row) == 1;
    texts.push_back({.number = sequence.number(),
                     .request = &sequence.request(),
                     .tokens = sequence.tokens(),
                     .longest = sequence.most_held(),
                     .most = wants ? sequence.most_drafted(drafts_.tokens) : 0});
  }
  return texts;
}

/// Each token of a draft is a row of its own, which has the pages of the text's row, so that the run returns
/// the logits after each of them.
void Steps::add_draft(std::vector<RowStep>& reads, RowStep text, std::span<const int32_t> draft) {
  for (size_t at = 0; at < draft.size(); ++at)
    reads.push_back({.row = text.row,
                     .tokens = draft.subspan(at, 1),
                     .past = text.past + 1 + at,
                     .sampling = text.sampling,
                     .request = text.request});
  taken_.drafted += draft.size();
}

/// Adds reads of drafts.
void Steps::add_drafts(std::vector<RowStep>& reads) {
  std::vector<DraftText> texts = texts_to_draft(reads);
  drafts_.drafter->draft(texts, free_steps(reads));
  for (const DraftText& text : texts) {
    const auto read = std::ranges::find(reads, text.request, &RowStep::request);
    if (text.draft.empty() || read == reads.end()) continue;
    add_draft(reads, *read, running_[read->row]->begin_draft(text.draft));
  }
}

/// Returns what the next step reads of each row that may go on, in the order of the rows.
std::vector<RowStep> Steps::next_reads() {
  std::vector<RowStep> reads;
  choose_drafted();
  for (size_t row = 0; row < running_.size(); ++row)
    if (running_[row]->may_go_on() && !awaits_tokens(running_[row]))
      reads.push_back(next_token(*running_[row], row));
  if (rows_.mixed_tokens() > 0) add_prompts(reads);
  add_scored_prompts(reads);
  if (drafts_.drafter && running_.size() <= drafts_.texts) add_drafts(reads);
  std::ranges::stable_sort(reads, {}, &RowStep::row);
  return reads;
}

/// Runs the model while another thread finds the tokens that may come next in constrained texts.
std::span<const float> Steps::run(const std::vector<RowStep>& reads, const Step& step) {
  const auto is_constrained = [](const Row& row) { return row.sequence->is_constrained(); };
  if (std::ranges::none_of(step.rows, is_constrained)) return rows_.run(reads);
  std::future<void> masks = std::async(std::launch::async, [&] {
    for (const Row& row : step.rows)
      if (row.sampling == Sampling::host) row.sequence->prepare();
  });
  const std::span<const float> logits = rows_.run(reads);
  masks.get();
  return logits;
}

/// Returns false if no row may go on.
bool Steps::start_step() {
  const std::vector<RowStep> reads = next_reads();
  if (reads.empty()) return false;
  Step step;
  for (const RowStep& read : reads) {
    const Sequence& sequence = running_[read.row];
    const size_t prompt = sequence->request().prompt.size();
    taken_.read += std::min(read.tokens.size(), prompt - std::min(prompt, sequence->held()));
    sequence->hold(read.tokens.size());
    const size_t slot = rows_.choosing() ? rows_.choosing()->slot(read.row) : read.row;
    step.rows.push_back({sequence, slot, sequence->held(), read.sampling, read.tokens.back()});
  }
  step.needs_host = std::ranges::any_of(reads, [](const RowStep& read) {
    return read.sampling == Sampling::host || read.sampling == Sampling::candidates;
  });
  step.needs_allowed = std::ranges::count(reads, Sampling::allowed, &RowStep::sampling) > 0;
  if (step.needs_host)
    step.logits = run(reads, step);
  else
    rows_.choosing()->start(reads);
  under_way_.push_back(std::move(step));
  return true;
}

/// Starts the sampling of the rows of a step whose tokens the host restricts. The restrictions depend on the
/// tokens before, so the steps before this one have been taken. The device meanwhile computes the logits.
void Steps::sample_allowed(Step& step) {
  std::vector<ChoosingRows::AllowedRow> rows;
  for (Row& row : step.rows) {
    if (row.sampling != Sampling::allowed) continue;
    RunningSequence& sequence = *row.sequence;
    const auto tokens =
        sequence.wants_token(row.place, row.last_read) ? sequence.allowed() : std::span<const uint32_t>();
    if (tokens.empty())
      row.sampling = Sampling::none;
    else
      rows.push_back({row.slot, row.place, &sequence.request(), tokens});
  }
  if (!rows.empty()) rows_.choosing()->sample_allowed(rows);
  step.needs_allowed = false;
}

/// The next step reads the tokens of the last one, whose sampling is started first.
void Steps::complete_last() {
  if (under_way_.empty() || !under_way_.back().needs_allowed) return;
  while (under_way_.size() > 1) take();
  sample_allowed(under_way_.back());
}

/// Starts a step. If the host samples for a row, it does so before the next step.
int64_t Steps::start() {
  complete_last();
  const int64_t most = std::max<int64_t>(0, under_way() - 1);
  if (!start_step()) return most;
  return under_way_.back().needs_host ? 0 : static_cast<int64_t>(ahead_);
}

Steps::Taken Steps::step(std::span<const Sequence> running) {
  running_ = running, taken_ = {};
  advance(*this);
  return taken_;
}

Steps::Taken Steps::finish() {
  taken_ = {};
  while (!under_way_.empty()) take();
  return taken_;
}

void Steps::take() {
  if (under_way_.front().needs_allowed) sample_allowed(under_way_.front());
  const Step step = std::move(under_way_.front());
  under_way_.pop_front();
  const auto words = static_cast<size_t>(rows_.vocabulary());
  size_t logits = 0, candidates = 0;
  for (const Row& row : step.rows) {
    const size_t at = row.sampling == Sampling::candidates ? candidates++ : logits++;
    if (row.sampling == Sampling::plan || row.sampling == Sampling::allowed)
      take_chosen(row);
    else if (row.sampling == Sampling::candidates)
      take_candidates(row, rows_.candidates(at));
    else if (row.sampling == Sampling::host)
      take_logits(row, step.logits.subspan(at * words, words));
  }
  if (drafts_.drafter) end_drafts(step);
}

/// Takes the logits of a row. Those after a token of a draft count only if that token is the one that was
/// sampled before it.
void Steps::take_logits(const Row& row, std::span<const float> logits) {
  RunningSequence& sequence = *row.sequence;
  if (rows_.choosing()) rows_.choosing()->pass_over(row.slot, row.place);
  if (!sequence.ended() && sequence.wants_logits(row.place, row.last_read))
    taken_.tokens += sequence.take(logits);
}

void Steps::take_candidates(const Row& row, const RowCandidates& found) {
  RunningSequence& sequence = *row.sequence;
  if (!sequence.ended() && sequence.wants_logits(row.place, row.last_read))
    taken_.tokens += sequence.take(found);
}

void Steps::end_drafts(const Step& step) {
  for (const Row& row : step.rows)
    if (row.sequence->draft_size() > 0) taken_.kept += row.sequence->end_draft();
}

/// Takes a sampled token. Tokens after the end of a sequence, and after tokens of a draft that were not
/// sampled, are discarded.
void Steps::take_chosen(const Row& row) {
  RunningSequence& sequence = *row.sequence;
  const bool is_wanted = sequence.wants_token(row.place, row.last_read);
  try {
    const ChosenTokens::Token token = rows_.choosing()->take(row.slot, row.place);
    if (is_wanted) sequence.take(token);
  } catch (const Error& error) {
    if (error.status() != Status::numeric) throw;
    if (is_wanted) sequence.end(Finish::failed, error.what());
  }
  if (is_wanted) ++taken_.tokens, ++taken_.by_plan;
}

}  // namespace smelt
