#include "compiler/cli/shared/evaluation_flags.h"

#include <algorithm>

#include "compiler/cli/shared/generation_flags.h"
#include "frontend/model_checks.h"
#include "runtime/base/error.h"
#include "runtime/engine/training/bleu.h"

namespace smelt::cli {
namespace {

/// Returns the tokens of an input of a batch of one row, without labels that are ignored.
Generator::Tokens tokens_of(const Batch& batch, const char* name) {
  const HostTensor* tensor = batch.find(name);
  if (!tensor || tensor->dtype != DType::i32 || tensor->shape.size() != 2)
    fail("--translations: the data have no {} of tokens; expected pairs of texts (docs/guides/data.md)",
         name);
  Generator::Tokens tokens;
  for (const int32_t token : tensor->as<int32_t>())
    if (token >= 0) tokens.push_back(token);
  return tokens;
}

}  // namespace

void EvaluationFlags::add_to(CLI::App& command) {
  command.add_flag("--token-accuracy", token_accuracy,
                   "metric: share of targets whose most probable token is the label");
  command
      .add_option("--translations", translations,
                  "pairs that are translated per evaluation for the metric bleu; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

std::optional<TokenTargets> EvaluationFlags::token_targets(const Model& model, const Session& session,
                                                           bool packs) const {
  if (!token_accuracy) return std::nullopt;
  require_token_logits(session);
  if (packs) fail("--token-accuracy: not of packed rows, whose documents follow each other");
  const TransformerSpec* spec = model.spec();
  if (!spec) fail("--token-accuracy: {} does not tell which label a position is about", model.path.string());
  const bool same = fills_masks(*spec) || spec->head.kind == HeadKind::token_classes;
  return same ? TokenTargets::same : TokenTargets::next;
}

TranslationScore::TranslationScore(Session& session, const Model& model, const DataPart& pairs, int64_t count)
    : session_(session),
      texts_(model, Generator(session).vocabulary(), true),
      options_(GenerationFlags{}.options(model.about, 0)) {
  if (!Generator(session).reads_source())
    fail("--translations: {} has no encoder; expected a model that translates", model.path.string());
  if (!texts_.known()) fail("--translations: {} has no tokenizer", model.path.string());
  options_.do_sample = false, options_.num_return_sequences = 1;
  options_.max_new_tokens = std::min(options_.new_tokens(1), model.longest_labels() - 1);  // after the start
  options_.max_length.reset();
  const auto list = make_list(pairs, {.batch = 1}, count);
  Batch batch;
  for (int64_t i = 0; i < list->size(); ++i) {
    list->fill(i, batch);
    sources_.push_back(tokens_of(batch, "input_ids"));
    references_.push_back(texts_.decode(tokens_of(batch, "labels")));
  }
}

Metric TranslationScore::score() const {
  Generator generator(session_);
  Bleu bleu;
  for (size_t i = 0; i < sources_.size(); ++i)
    bleu.add(texts_.decode(generator.generate(std::span(&sources_[i], 1), options_)[0]), references_[i]);
  return {"bleu", bleu.score()};
}

}  // namespace smelt::cli
