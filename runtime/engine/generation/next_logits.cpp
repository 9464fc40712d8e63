#include "runtime/engine/generation/next_logits.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/engine/generation/generation_options.h"
#include "runtime/engine/generation/rank_progress.h"

namespace smelt {
namespace {

const Port& only(std::span<const Port> ports, const char* kind, std::string_view entry, DType dtype,
                 size_t rank) {
  for (const Port& port : ports)
    if (port.dtype == dtype && port.shape.size() == rank && !port.optional) return port;
  fail("entry '{}' has no {} of type {} and rank {}: it cannot generate", entry, kind, name(dtype), rank);
}

const Port* find(std::span<const Port> ports, std::string_view name) {
  const auto port = std::ranges::find(ports, name, &Port::name);
  return port == ports.end() ? nullptr : &*port;
}

void append(std::vector<int32_t>& all, std::span<const int32_t> some) {
  all.insert(all.end(), some.begin(), some.end());
}

}  // namespace

NextLogits::NextLogits(Session& session, const DecodeInterface& decode, std::string entry)
    : session_(session), entry_(std::move(entry)) {
  require_text_writer(session.plan().model);
  if (entry_.empty()) entry_ = decode.in_rows() ? entry::decode : entry::logits;
  const PlanEntry& plan_entry = session_.entry(entry_);
  entry_ == entry::decode ? use_caches(decode) : use_whole(plan_entry);
}

void NextLogits::use_caches(const DecodeInterface& decode) {
  if (!decode.in_rows())
    fail("the plan has no entry '{}': it cannot generate by '{}'", entry::reorder, entry_);
  cached_.emplace(session_, decode);
  reads_source_ = decode.reads_source, takes_mask_ = decode.masks_source;
  vocabulary_ = static_cast<int64_t>(decode.vocabulary), max_batch_ = static_cast<int64_t>(decode.rows);
  max_length_ = static_cast<int64_t>(decode.capacity);
}

void NextLogits::use_whole(const PlanEntry& plan_entry) {
  const Port* decoder = find(plan_entry.inputs, port::decoder_input_ids);
  const Port& first = only(plan_entry.inputs, "input", entry_, DType::i32, 2);
  const Port& ids = decoder ? *decoder : first;
  if (decoder) reads_source_ = true, source_input_ = first.name;
  takes_mask_ = find(plan_entry.inputs, port::attention_mask) != nullptr;
  const Port& logits = only(plan_entry.outputs, "output", entry_, DType::f32, 3);
  const auto vocabulary = logits.shape.back().constant();
  if (!vocabulary)
    fail("entry '{}', output '{}': expected a constant last dimension (the vocabulary), found {}", entry_,
         logits.name, logits.shape.back().str());
  if (ids.ids && ids.ids->below != *vocabulary)
    fail(
        "entry '{}', output '{}': {} scores a token, but the vocabulary of input '{}' has {} tokens: they "
        "are "
        "no scores of a next token; expected a model with a head for tokens",
        entry_, logits.name, *vocabulary, ids.name, ids.ids->below);
  input_ = ids.name, output_ = logits.name, vocabulary_ = *vocabulary;
  max_batch_ = session_.plan().symbols.upper(ids.shape[0]);
  max_length_ = session_.plan().symbols.upper(ids.shape[1]);
}

std::span<const float> NextLogits::run(std::span<const ModelRow> rows) {
  const auto vocabulary = static_cast<size_t>(vocabulary_), most = static_cast<size_t>(max_batch_);
  last_.resize(rows.size() * vocabulary);
  for (size_t begin = 0; begin < rows.size(); begin += most) {
    const size_t count = std::min(rows.size() - begin, most);
    run_batch(rows.subspan(begin, count), std::span(last_).subspan(begin * vocabulary, count * vocabulary));
  }
  return last_;
}

/// Adds the encoder's inputs, and its mask if a row has one.
void NextLogits::add_sources(std::span<const ModelRow> rows, std::vector<InputTensor>& inputs) {
  sources_.clear(), masks_.clear();
  const size_t length = rows[0].source.size();
  for (const ModelRow& row : rows) {
    append(sources_, row.source);
    append(masks_, row.mask);
    masks_.resize(sources_.size(), 1);
  }
  const std::vector<int64_t> shape = {static_cast<int64_t>(rows.size()), static_cast<int64_t>(length)};
  inputs.push_back({source_input_, DType::i32, shape, sources_.data()});
  if (std::ranges::count(masks_, 0) > 0) inputs.push_back(port::attention_mask.tensor(shape, masks_.data()));
}

void NextLogits::run_batch(std::span<const ModelRow> rows, std::span<float> last) {
  if (!cached_) return run_whole(rows, last);
  std::vector<ModelRow> read(rows.begin(), rows.end());
  for (ModelRow& row : read)
    if (const auto all = std::ssize(row.tokens); all > max_length_)
      row.tokens.erase(row.tokens.begin(), row.tokens.begin() + (all - max_length_));
  cached_->run(read, last);
}

void NextLogits::run_whole(std::span<const ModelRow> rows, std::span<float> last) {
  const size_t length = std::min(rows[0].tokens.size(), static_cast<size_t>(max_length_));
  ids_.clear();
  for (const ModelRow& row : rows) append(ids_, std::span(row.tokens).last(length));
  const auto vocabulary = static_cast<size_t>(vocabulary_);
  logits_.resize(ids_.size() * vocabulary);
  std::vector<InputTensor> inputs = {
      {input_, DType::i32, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(length)}, ids_.data()}};
  if (reads_source()) add_sources(rows, inputs);
  const OutputBuffer output{output_, logits_.data(), static_cast<int64_t>(logits_.size() * sizeof(float))};
  tell_progress(session_, entry_);
  session_.run(entry_, inputs, std::span(&output, 1));
  for (size_t row = 0; row < rows.size(); ++row)
    std::ranges::copy(std::span(logits_).subspan(((row + 1) * length - 1) * vocabulary, vocabulary),
                      last.begin() + static_cast<ptrdiff_t>(row * vocabulary));
}

}  // namespace smelt
