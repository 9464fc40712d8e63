#include "runtime/serving/page_rows.h"

#include <algorithm>
#include <utility>

#include "runtime/error.h"
#include "runtime/generation/prompt_lengths.h"

namespace smelt {
namespace {

constexpr auto kPage = static_cast<size_t>(kPageTokens);

size_t pages_of(size_t tokens) { return (tokens + kPage - 1) / kPage; }

const Port& input_of(const PlanEntry& entry, std::string_view name) {
  const auto found = std::ranges::find(entry.inputs, name, &Port::name);
  if (found == entry.inputs.end()) fail("entry '{}' has no input '{}'", entry.name, name);
  return *found;
}

/// The bound that a plan gives its pages' numbers.
size_t pages_of(const PlanEntry& entry) {
  const Port& pages = input_of(entry, "pages");
  if (!pages.ids || pages.ids->below < 1 || pages.shape.size() != 2 || !pages.shape[1].constant())
    fail("entry '{}': its input 'pages' is no list of numbered pages for each row", entry.name);
  return static_cast<size_t>(pages.ids->below);
}

}  // namespace

PageRows::PageRows(Session& session, bool shares_prefixes)
    : session_(session),
      is_cpu_(!session.plan().target.starts_with("sm_")),
      shares_(shares_prefixes),
      pool_(pages_of(session.entry(kStepPages))) {
  const PlanEntry &step = session.entry(kStepPages), &read = session.entry(kReadPages);
  const Symbols& symbols = session.plan().symbols;
  vocabulary_ = *step.outputs[0].shape[1].constant();
  slots_ = static_cast<size_t>(symbols.upper(input_of(step, "input_ids").shape[0]));
  capacity_ = static_cast<size_t>(symbols.upper(input_of(read, "input_ids").shape[1]));
  width_ = static_cast<size_t>(*input_of(step, "pages").shape[1].constant());
  rows_.resize(slots_), table_.resize(slots_ * width_);
}

void PageRows::check(size_t tokens) const {
  const size_t total = pool_.counts().total;
  if (pages_of(tokens) > total)
    fail(
        "{} tokens take {} pages of {}, and the caches have {}; ask for fewer, or give the caches more with "
        "--cache-pages=",
        tokens, pages_of(tokens), kPage, total);
}

/// The longest beginning in full pages that are there; the last token is read in any case, for its logits.
template <typename Take>
PageRows::Found PageRows::find(std::span<const int32_t> prompt, const Take& take) const {
  Found found;
  while (shares_ && (found.pages + 1) * kPage < prompt.size()) {
    const auto page = pool_.find(found.prefix, prompt.subspan(found.pages * kPage, kPage));
    if (!page) break;
    if (pool_.is_kept(*page)) ++found.kept;
    found.prefix = pool_.behind(*page);
    take(found.pages++, *page);
  }
  return found;
}

bool PageRows::has_room(std::span<const int32_t> prompt, size_t tokens) const {
  const Found found = find(prompt, [](size_t, int32_t) {});
  return pages_of(tokens) - found.pages + found.kept <= pool_.available();
}

size_t PageRows::begin(std::span<const int32_t> prompt, size_t tokens) {
  const Found found = find(prompt, [&](size_t number, int32_t page) {
    pool_.share(page);
    list(0)[number] = page;
  });
  const size_t more = pages_of(tokens) - found.pages;
  pool_.reserve(more);
  rows_[0] = {found.pages, more, found.pages, found.prefix};
  return found.pages * kPage;
}

void PageRows::end(size_t row) {
  Row& ended = rows_[row];
  while (ended.count > 0) pool_.release(std::exchange(list(row)[--ended.count], 0));
  pool_.unreserve(ended.reserved);
  ended = {};
}

void PageRows::move(size_t from, size_t to, size_t /*length*/) {
  std::copy_n(list(from), width_, list(to));
  std::fill_n(list(from), width_, 0);
  rows_[to] = std::exchange(rows_[from], {});
}

void PageRows::forget() {
  for (size_t row = 0; row < rows_.size(); ++row) end(row);
  pool_.forget();
}

/// Takes the pages of a row's first tokens that it does not have yet.
void PageRows::hold(size_t row, size_t tokens) {
  for (Row& own = rows_[row]; own.count * kPage < tokens; --own.reserved)
    list(row)[own.count++] = pool_.take();
}

/// Full pages of the prompt that were read are there for others.
void PageRows::note(std::span<const int32_t> prompt, size_t held) {
  if (!shares_) return;
  for (Row& row = rows_[0]; (row.noted + 1) * kPage <= held; ++row.noted)
    row.prefix = pool_.note(list(0)[row.noted], row.prefix, prompt.subspan(row.noted * kPage, kPage));
}

void PageRows::run(const char* entry, std::span<const int32_t> tokens, size_t rows,
                   std::span<const int32_t> past, std::span<const int32_t> lengths, size_t first_row,
                   bool gives_logits) {
  const auto count = static_cast<int64_t>(rows);
  std::vector<InputTensor> inputs = {
      {"input_ids", DType::i32, {count, static_cast<int64_t>(tokens.size()) / count}, tokens.data()},
      {"pages", DType::i32, {count, static_cast<int64_t>(width_)}, list(first_row)},
      {"past_length", DType::i32, {count}, past.data()}};
  if (!lengths.empty()) inputs.push_back({"lengths", DType::i32, {count}, lengths.data()});
  if (!gives_logits) return void(session_.run(entry, inputs, std::span<const OutputBuffer>{}));
  const auto words = static_cast<size_t>(vocabulary_);
  logits_.resize((first_row + rows) * words);
  const OutputBuffer output{"logits", logits_.data() + first_row * words,
                            static_cast<int64_t>(rows * words * sizeof(float))};
  session_.run(entry, inputs, {&output, 1});
}

/// Tokens of the next run. On a CPU it ends where a page does.
size_t PageRows::run_length(size_t past, size_t length, size_t chunk) const {
  return std::min(length - past, is_cpu_ ? kPage - past % kPage : chunk);
}

CacheRows::Read PageRows::read(std::span<const int32_t> prompt, size_t past, size_t chunk) {
  const size_t end = past + std::min(chunk, prompt.size() - past);
  size_t at = past;
  do {
    const size_t length = run_length(at, prompt.size(), chunk);
    read_run(prompt, at, length, is_cpu_ ? length : padded_length(length, chunk, capacity_));
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
  const bool is_last = past + length == prompt.size();
  run(is_last ? kDecodePages : kReadPages, padded_, 1, {&before, 1}, {&own, 1}, 0, is_last);
  note(prompt, past + length);
}

std::span<const float> PageRows::read_one_each(std::span<const int32_t> tokens, std::span<const int32_t> past,
                                               bool first_reads_prompt) {
  const size_t first = first_reads_prompt ? 1 : 0, rows = tokens.size();
  for (size_t row = first; row < rows; ++row) hold(row, static_cast<size_t>(past[row]) + 1);
  run(kStepPages, tokens.subspan(first), rows - first, past.subspan(first), {}, first, true);
  return logits_;
}

}  // namespace smelt
