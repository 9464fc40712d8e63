// The sources of drafts of `smelt generate` and `smelt serve` (runtime/engine/serving/drafter.h): the text
// itself, or a smaller model with the same tokens.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "compiler/cli/shared/model.h"

namespace smelt::cli {

/// The flags --draft, --draft-weights and --draft-tokens.
struct DraftFlags {
  std::string source;            // "ngram", or the path of a model or a plan; empty: not given
  std::string weights;           // of the draft model; empty: those in its directory
  std::optional<size_t> tokens;  // most tokens of a draft, as given

  void add_to(CLI::App& app);
  /// Throws Error if the flags contradict each other.
  void check() const;
  bool by_model() const { return !source.empty() && source != "ngram"; }
  /// Returns the most tokens of a draft; 0: no drafts are made.
  size_t most_tokens() const;
};

/// The model that makes drafts for another model, which checks them.
class DraftModel {
 public:
  /// Reads the description, or loads the plan, that flags.by_model() names. `weights` are the flags of the
  /// checking model, whose --from-scratch, --threads and --seed hold for both models.
  DraftModel(const DraftFlags& flags, const WeightFlags& weights);

  const Model& model() const { return model_; }
  /// Compiles the model, unless it is a plan, with `options`, but with the rows, tokens and pages of
  /// `checking`, which must be compiled. Then opens the session. Throws Error if the two models have
  /// different vocabularies, or tokenizers that give an id to different tokens.
  Session& open(const Model& checking, CompileOptions options, CompileFlags flags);

 private:
  void compile_like(const Plan& checking, CompileOptions options, const CompileFlags& flags);
  void require_same_tokens(const Model& checking) const;

  WeightFlags weights_;
  Model model_;
  std::unique_ptr<Session> session_;
};

/// Changes the options of a plan of `model` for as many texts as the bound of B says, so that its runs read
/// drafts of `tokens` tokens after each of them: runs read several tokens per row, and B, the number of rows,
/// has a row for each token. On a CPU there are at most as many rows as have the same bits as alone. Returns
/// the number of texts. Throws Error if the caches have no pages. Requires: B has a bound.
int64_t add_draft_rows(const Model& model, CompileOptions& options, size_t tokens);
/// Returns the number of texts that such a plan of `rows` rows is for, at least 1.
size_t texts_of_rows(size_t rows, size_t tokens);

}  // namespace smelt::cli
