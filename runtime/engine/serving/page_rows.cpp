#include "runtime/engine/serving/page_rows.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/engine/generation/prompt_lengths.h"
#include "runtime/engine/serving/cleared_caches.h"
#include "runtime/plan/device_kind.h"

namespace smelt {
namespace {

constexpr auto kPage = static_cast<size_t>(kPageTokens);

size_t pages_for(size_t tokens) { return (tokens + kPage - 1) / kPage; }

}  // namespace

PageRows::PageRows(Session& session, const DecodeInterface& decode, bool shares_prefixes)
    : CacheRows(decode),
      session_(session),
      captures_(device_kind(session.plan().target).captures_runs),
      shares_(shares_prefixes),
      pool_(decode.pages),
      width_(decode.row_pages),
      rows_(slots_),
      table_(slots_ * width_) {}

void PageRows::check(size_t tokens, size_t rows) const {
  if (rows > 1 && !session_.has_entry(entry::copy_pages))
    fail("num_beams {}: the plan has no entry '{}'; compile the model again", rows, entry::copy_pages);
  const size_t total = pool_.counts().total, pages = rows * pages_for(tokens);
  if (pages <= total) return;
  const std::string texts =
      rows > 1 ? fmt::format("{} beams of {} tokens", rows, tokens) : fmt::format("{} tokens", tokens);
  fail(
      "{} take {} pages of {}, and the caches have {}; ask for fewer, or give the caches more with "
      "--cache-memory= or --cache-pages=",
      texts, pages, kPage, total);
}

/// Returns the longest beginning in full pages that are there; the last token is read in any case, for its
/// logits.
template <typename Take>
PageRows::Found PageRows::find(std::span<const int32_t> prompt, uint64_t adapter, const Take& take) const {
  Found found{.prefix = PagePool::root(adapter)};
  while (shares_ && (found.pages + 1) * kPage < prompt.size()) {
    const auto page = pool_.find(found.prefix, prompt.subspan(found.pages * kPage, kPage));
    if (!page) break;
    if (pool_.is_kept(*page)) ++found.kept;
    found.prefix = pool_.behind(*page);
    take(found.pages++, *page);
  }
  return found;
}

bool PageRows::has_room(std::span<const int32_t> prompt, size_t tokens, size_t rows,
                        RowAdapter adapter) const {
  const Found found = find(prompt, adapter.number, [](size_t, int32_t) {});
  return rows * pages_for(tokens) - found.pages + found.kept <= pool_.available();
}

size_t PageRows::begin(size_t row, std::span<const int32_t> prompt, size_t tokens, size_t rows,
                       RowAdapter adapter) {
  const Found found = find(prompt, adapter.number, [&](size_t number, int32_t page) {
    pool_.share(page);
    list(row)[number] = page;
  });
  const size_t most = pages_for(tokens), of_copies = (rows - 1) * most;
  pool_.reserve(most - found.pages + of_copies);
  rows_[row] = {.count = found.pages,
                .most = most,
                .of_copies = of_copies,
                .noted = found.pages,
                .prefix = found.prefix,
                .adapter = adapter.slot};
  pad(row);
  return found.pages * kPage;
}

void PageRows::pad(size_t row) {
  const size_t count = rows_[row].count;
  std::fill_n(list(row) + count, width_ - count, count == 0 ? 0 : list(row)[0]);
}

/// Releases the pages of a row, and reserves as many again.
void PageRows::free_pages(size_t row) {
  Row& own = rows_[row];
  const size_t count = own.count;
  while (own.count > 0) pool_.release(list(row)[--own.count]);
  pad(row);
  pool_.reserve(count);
}

/// Later prompts do not find the pages.
void PageRows::clear(size_t row, size_t begin) {
  for (size_t i = begin / kPage; i < rows_[row].count; ++i) {
    const int32_t page = list(row)[i];
    if (!pool_.drop(page)) continue;
    clear_caches(session_, CacheKind::tokens, static_cast<size_t>(page), 1);
  }
}

void PageRows::end(size_t row) {
  free_pages(row);
  pool_.unreserve(rows_[row].most + rows_[row].of_copies);
  rows_[row] = {};
}

/// Gives row `to`, which has no pages, the first pages of row `from`.
void PageRows::share_pages(size_t from, size_t to, size_t pages) {
  for (size_t i = 0; i < pages; ++i) pool_.join(list(from)[i]), list(to)[i] = list(from)[i];
  pool_.unreserve(pages);
  const Row& source = rows_[from];
  Row& target = rows_[to];
  target.count = pages, target.noted = source.noted;
  target.prefix = source.prefix, target.is_old = source.is_old;
  target.adapter = source.adapter;
  pad(to);
}

/// A row has as many reserved pages as before, less those that it shares, so there are enough.
void PageRows::copy(std::span<const RowCopy> copies) {
  std::vector<int32_t> from, to;
  for (const RowCopy& each : copies) {
    Row &source = rows_[each.from], &target = rows_[each.to];
    if (each.begins) target.most = source.most, source.of_copies -= source.most;
    free_pages(each.to);
    const size_t full = each.length / kPage;
    share_pages(each.from, each.to, full);
    if (each.length % kPage == 0) continue;
    hold(each.to, each.length);
    from.push_back(list(each.from)[full]), to.push_back(list(each.to)[full]);
  }
  if (!from.empty()) copy_pages(std::move(from), std::move(to));
}

/// If runs have one of a few sizes, the last copy is repeated.
void PageRows::copy_pages(std::vector<int32_t> from, std::vector<int32_t> to) {
  const size_t count = captures_ ? padded_size(from.size(), slots_) : from.size();
  from.resize(count, from.back()), to.resize(count, to.back());
  const InputTensor inputs[] = {port::from_pages.tensor({std::ssize(from)}, from.data()),
                                port::to_pages.tensor({std::ssize(to)}, to.data())};
  session_.run(entry::copy_pages, inputs, {});
}

void PageRows::move(std::span<const RowMove> moves) {
  for (const RowMove& each : moves) {
    std::copy_n(list(each.from), width_, list(each.to));
    std::fill_n(list(each.from), width_, 0);
    rows_[each.to] = std::exchange(rows_[each.from], {});
  }
}

void PageRows::forget_prefixes() {
  pool_.forget();
  for (Row& row : rows_) row.is_old = true;
}

void PageRows::forget() {
  for (size_t row = 0; row < rows_.size(); ++row) end(row);
  pool_.forget();
}

void PageRows::hold(size_t row, size_t tokens) {
  Row& own = rows_[row];
  const bool was_empty = own.count == 0;
  while (own.count * kPage < tokens) list(row)[own.count++] = pool_.take();
  if (was_empty) pad(row);
}

void PageRows::note(size_t row, std::span<const int32_t> prompt, size_t held) {
  if (!shares_ || rows_[row].is_old) return;
  for (Row& own = rows_[row]; (own.noted + 1) * kPage <= held; ++own.noted)
    own.prefix = pool_.note(list(row)[own.noted], own.prefix, prompt.subspan(own.noted * kPage, kPage));
}

std::span<const float> PageRows::run(const char* entry, std::span<const InputTensor> inputs, size_t rows) {
  logits_.resize(rows * static_cast<size_t>(vocabulary_));
  const OutputBuffer output = port::logits.buffer(logits_);
  session_.run(entry, inputs, {&output, 1});
  return logits_;
}

/// Returns the number of tokens of the next run, which ends where a page does unless the device captures
/// runs.
size_t PageRows::run_length(size_t past, size_t length, size_t chunk) const {
  return std::min(length - past, captures_ ? chunk : kPage - past % kPage);
}

CacheRows::Read PageRows::read(std::span<const int32_t> prompt, size_t past, size_t chunk) {
  const size_t end = past + std::min(chunk, prompt.size() - past);
  size_t at = past;
  do {
    const size_t length = run_length(at, prompt.size(), chunk);
    read_run(prompt, at, length, captures_ ? padded_length(length, chunk, capacity_) : length);
    at += length;
  } while (at < end && at + run_length(at, prompt.size(), chunk) <= end);
  return {at - past, at == prompt.size() ? std::span<const float>(logits_) : std::span<const float>()};
}

/// The last run of a prompt gives logits.
void PageRows::read_run(std::span<const int32_t> prompt, size_t past, size_t length, size_t padded) {
  hold(0, past + length);
  const auto own = static_cast<int32_t>(length), before = static_cast<int32_t>(past);
  padded_.assign(padded, 0);
  std::ranges::copy(prompt.subspan(past, length), padded_.begin());
  std::vector<InputTensor> inputs = {port::input_ids.tensor({1, std::ssize(padded_)}, padded_.data()),
                                     port::pages.tensor({1, static_cast<int64_t>(width_)}, list(0)),
                                     port::past_length.tensor({1}, &before), port::lengths.tensor({1}, &own)};
  if (has_adapters_) inputs.push_back(port::adapters.tensor({1}, &rows_[0].adapter));
  if (past + length == prompt.size())
    run(entry::decode_pages, inputs, 1);
  else
    session_.run(entry::read_pages, inputs, std::span<const OutputBuffer>{});
  note(0, prompt, past + length);
}

std::vector<InputTensor> PageRows::StepInputs::tensors() const {
  const auto rows = std::ssize(tokens);
  std::vector<InputTensor> all = {port::input_ids.tensor({rows, 1}, tokens.data()),
                                  port::pages.tensor({rows, std::ssize(pages) / rows}, pages.data()),
                                  port::past_length.tensor({rows}, past.data())};
  if (!adapters.empty()) all.push_back(port::adapters.tensor({rows}, adapters.data()));
  return all;
}

PageRows::StepInputs PageRows::inputs_of(std::span<const RowStep> steps) {
  StepInputs inputs;
  for (const RowStep& step : steps) {
    hold(step.row, step.past + 1);
    inputs.tokens.push_back(step.tokens[0]);
    inputs.pages.insert(inputs.pages.end(), list(step.row), list(step.row) + width_);
    inputs.past.push_back(static_cast<int32_t>(step.past));
    if (has_adapters_) inputs.adapters.push_back(adapter_of(step.row));
  }
  return inputs;
}

std::span<const float> PageRows::run(std::span<const RowStep> steps) {
  const StepInputs inputs = inputs_of(steps);
  return run(entry::step_pages, inputs.tensors(), steps.size());
}

}  // namespace smelt
