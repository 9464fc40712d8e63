#include "compiler/cli/shared/draft_model.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/cpu/small_m.h"
#include "runtime/plan/decode_interface.h"
#include "runtime/plan/plan_model.h"
#include "runtime/plan/plan_ranks.h"
#include "runtime/tokenizers/tokenizer.h"

namespace smelt::cli {
namespace {

constexpr size_t kDefaultDraftTokens = 4, kMostDraftTokens = 64;

WeightFlags draft_weights(const DraftFlags& flags, WeightFlags weights) {
  weights.weights = flags.weights, weights.adapter = {};
  if (!flags.weights.empty()) weights.from_scratch = false;
  return weights;
}

bool is_bound_of(const Symbols::Bound& bound, std::string_view symbol) {
  return bound.factors.size() == 1 && bound.factors[0] == symbol;
}

int64_t bound_of(const std::vector<Symbols::Bound>& bounds, std::string_view symbol) {
  return std::ranges::find_if(bounds, [&](const Symbols::Bound& b) { return is_bound_of(b, symbol); })->upper;
}

/// Sets the upper bound of a symbol in place of the one that the options have.
void set_bound(std::vector<Symbols::Bound>& bounds, std::string_view symbol, int64_t upper) {
  std::erase_if(bounds, [&](const Symbols::Bound& bound) { return is_bound_of(bound, symbol); });
  default_bound(bounds, symbol, upper);
}

std::optional<Tokenizer> tokenizer_of(const Model& model) {
  if (Tokenizer::files_in(model.path).empty()) return std::nullopt;
  return Tokenizer::load(model.path);
}

}  // namespace

void DraftFlags::add_to(CLI::App& app) {
  app.add_option("--draft", source,
                 "source of drafts, tokens that are read ahead of a text and kept if they would have been "
                 "sampled: a smaller model with the same tokens (its directory, spec or plan), or ngram, "
                 "tokens that followed the same tokens earlier in the text; the texts are the same as "
                 "without drafts; default: none")
      ->type_name("MODEL");
  app.add_option("--draft-weights", weights,
                 "weights of the draft model, a safetensors file, index or directory; default: those in its "
                 "directory");
  app.add_option("--draft-tokens", tokens,
                 "most tokens of a draft; default: 4 with --draft, else 0, which makes no drafts; without "
                 "--draft, drafts are by ngram")
      ->check(CLI::Range(size_t{0}, kMostDraftTokens));
}

void DraftFlags::check() const {
  if (!source.empty() && tokens == size_t{0})
    fail("--draft {} --draft-tokens 0: a draft has at least one token; leave out --draft for none", source);
  if (!weights.empty() && !by_model())
    fail("--draft-weights {}: expected --draft with the model that has these weights", weights);
}

size_t DraftFlags::most_tokens() const { return tokens.value_or(source.empty() ? 0 : kDefaultDraftTokens); }

DraftModel::DraftModel(const DraftFlags& flags, const WeightFlags& weights)
    : weights_(draft_weights(flags, weights)), model_(open_model(flags.source, weights_)) {}

/// A model with fewer positions has shorter rows: longer texts get no drafts.
void DraftModel::compile_like(const Plan& checking, CompileOptions options, const CompileFlags& flags) {
  if (!model_.description) {
    model_.about = read_plan_model(model_.plan->model);
    return require_mesh(*model_.plan, nullptr);
  }
  if (!model_.spec())
    fail("--draft {}: expected a decoder with caches, or a plan of one", model_.path.string());
  const DecodeInterface decode(checking);
  const int64_t positions = model_.spec()->max_positions;
  const auto capacity = static_cast<int64_t>(decode.capacity);
  set_bound(options.build.bounds, "B", static_cast<int64_t>(decode.rows));
  set_bound(options.build.bounds, "T", positions > 0 ? std::min(positions, capacity) : capacity);
  options.build.cache_pages = static_cast<int64_t>(decode.pages);
  options.mode = Mode::infer;
  options.build.has_sampler = true;
  options.build.step_tokens = static_cast<int64_t>(decode.run_tokens);
  options.build.adapters = 0, options.build.adapter_targets.clear();  // drafts are of the model itself
  options.entries = generation_entries(model_, options);
  compile_model(model_, options, flags);
}

void DraftModel::require_same_tokens(const Model& checking) const {
  const std::string draft = model_.path.string(), other = checking.path.string();
  if (!DecodeInterface(*model_.plan).mixes_rows)
    fail(
        "--draft {}: its plan has no runs of several tokens per row; expected a decoder compiled with "
        "--cache-pages=, --sampler and --step-tokens=",
        draft);
  const size_t words = DecodeInterface(*checking.plan).vocabulary;
  if (const size_t own = DecodeInterface(*model_.plan).vocabulary; own != words)
    fail("--draft {}: it has a vocabulary of {} tokens, and {} has {}; expected a model with the same tokens",
         draft, own, other, words);
  const std::optional<Tokenizer> mine = tokenizer_of(model_), theirs = tokenizer_of(checking);
  if (!mine || !theirs) return;
  for (size_t id = 0; id < words; ++id) {
    const auto token = static_cast<int32_t>(id);
    if (mine->id_to_token(token) == theirs->id_to_token(token)) continue;
    fail("--draft {}: its token {} is '{}', and that of {} is '{}'; expected a model with the same tokens",
         draft, id, mine->id_to_token(token).value_or(""), other, theirs->id_to_token(token).value_or(""));
  }
}

Session& DraftModel::open(const Model& checking, CompileOptions options, CompileFlags flags) {
  const bool says_memory = std::exchange(flags.says_memory, false);
  compile_like(*checking.plan, std::move(options), flags);
  require_same_tokens(checking);
  if (!model_.weights && !weights_.from_scratch)
    fail("--draft {}: there are no weights beside it; name them with --draft-weights", model_.path.string());
  if (says_memory) fmt::print(stderr, "draft model: {}\n", planned_memory_text(*model_.plan));
  session_ = open_session(model_, weights_);
  return *session_;
}

int64_t add_draft_rows(const Model& model, CompileOptions& options, size_t tokens) {
  if (options.build.cache_pages == 0)
    fail(
        "--draft: {} has no caches in pages, which drafts need; expected a decoder, and neither "
        "--no-kv-cache "
        "nor --cache-pages=0",
        model.path.string());
  const bool is_cpu = !resolved_target(options).can.launches;
  if (is_cpu && !options.build.step_tokens) options.build.step_tokens = SmallM::kMostRows;
  options.build.has_sampler = true;
  const int64_t texts = bound_of(options.build.bounds, "B");
  const int64_t rows = texts * static_cast<int64_t>(1 + tokens);
  const int64_t most = std::max<int64_t>(texts, SmallM::kMostRows);
  set_bound(options.build.bounds, "B", is_cpu ? std::min(rows, most) : rows);
  return texts;
}

size_t texts_of_rows(size_t rows, size_t tokens) { return std::max<size_t>(1, rows / (1 + tokens)); }

}  // namespace smelt::cli
