#include "frontend/model_checks.h"

#include "frontend/blocks/rotary.h"
#include "frontend/tensor_parallel.h"

#include <fmt/format.h>

#include "llvm/ADT/STLExtras.h"

namespace smelt {

namespace {

int64_t longest_text(const TransformerSpec& spec, const BuildOptions& options) {
  for (const Symbols::Bound& bound : options.bounds)
    if (bound.factors == std::vector<std::string>{"T"}) return bound.upper;
  return spec.max_positions;
}

/// Models whose rows are one document each.
void refuse_segments(const TransformerSpec& spec, const BuildOptions& options,
                     std::vector<SpecProblem>& problems) {
  const auto refuse = [&](bool when, const char* field, const char* text) {
    if (when) problems.push_back({field, fmt::format("segment_ids: {}", text)});
  };
  refuse(has_patches(spec), "embedding.patch_size", "documents are of tokens, not of an image's patches");
  refuse(has_both(spec), "encoder.layers",
         "a decoder that reads an encoder writes one text a row; expected a decoder or an encoder alone");
  const bool pools = spec.head.kind == HeadKind::none && spec.head.pooler;
  const bool by_token = spec.head.kind == HeadKind::lm || spec.head.kind == HeadKind::mlm ||
                        spec.head.kind == HeadKind::token_classes;
  refuse(!has_patches(spec) && (spec.head.kind == HeadKind::none ? pools : !by_token), "head.kind",
         "a row has one label for all of its documents; expected lm, mlm or token_classes");
  refuse(
      longest_text(spec, options) > rotary_limit(spec), "positions.scaling",
      "dynamic and longrope turn all documents by the longest one's angles; expected T <= max_positions for "
      "dynamic, and T <= positions.original_max_positions for longrope");
}

constexpr int64_t kMostPages = int64_t{1} << 26;

}  // namespace

std::vector<SpecProblem> problems_with_caches(const TransformerSpec& spec, const BuildOptions& options) {
  std::vector<SpecProblem> problems;
  const auto refuse = [&](bool wrong, const char* text) {
    if (wrong) problems.push_back({"caches", text});
  };
  refuse(options.training || options.hidden_states,
         "are for generation; expected --mode=infer without hidden states");
  refuse(options.segment_ids || options.position_ids,
         "rows are one text each, whose places are counted; expected neither segment_ids nor position_ids");
  refuse(!has_decoder(spec) || spec.head.kind != HeadKind::lm,
         "nothing is generated without a decoder and its head lm");
  refuse(options.cache_pages < 0 || options.cache_pages > kMostPages,
         "cache_pages: expected 0 to 2^26, since lines of pages are numbered by 32 bits");
  refuse(options.cache_pages > 0 && has_encoder(spec),
         "cache_pages: texts of an encoder-decoder have a source each; expected a decoder alone");
  refuse(spec.positions.counted && !has_both(spec),
         "positions.counted needs all tokens of a row, and a run has the new ones");
  refuse(
      longest_text(spec, options) > rotary_limit(spec),
      "the scalings dynamic and longrope turn all keys anew where a text outgrows max_positions (longrope: "
      "positions.original_max_positions); expected a smaller bound of T, such as --max T=N");
  return problems;
}

std::vector<SpecProblem> unsupported(const TransformerSpec& spec, const BuildOptions& options) {
  std::vector<SpecProblem> problems;
  const auto refuse = [&](bool when, const char* field, const char* text) {
    if (when) problems.push_back({field, text});
  };
  const bool image_head = spec.head.kind == HeadKind::image_classes;
  refuse(has_patches(spec) && has_decoder(spec), "embedding.patch_size",
         "a decoder reads tokens; expected 0");
  refuse(image_head != has_patches(spec) && spec.head.kind != HeadKind::none, "head.kind",
         "image_classes goes with patches, other heads with tokens");
  const bool of_decoder = spec.head.kind == HeadKind::lm || spec.head.kind == HeadKind::none;
  refuse((spec.head.pooler || !of_decoder) && has_decoder(spec), "head.kind",
         "reads an encoder alone; expected lm with a decoder");
  refuse(spec.head.kind == HeadKind::pretraining && !spec.head.pooler, "head.pooler",
         "pretraining reads the pooler; expected true");
  refuse(spec.head.kind == HeadKind::choices && (options.segment_ids || options.position_ids), "head.kind",
         "choices has several texts per record; expected neither segment_ids nor position_ids");
  refuse(spec.head.kind == HeadKind::choices && spec.head.problem != Problem::one_class, "head.problem",
         "one of the choices is right; expected one_class");
  refuse(spec.head.kind == HeadKind::spans && spec.criterion.label_smoothing > 0, "criterion.label_smoothing",
         "is for classes, and not for the tokens of an answer; expected 0");
  refuse(spec.head.kind == HeadKind::lm && !has_decoder(spec), "head.kind", "lm needs a decoder");
  refuse(has_both(spec) && spec.tokens.decoder_start < 0, "tokens.decoder_start",
         "missing; a decoder that reads an encoder needs its first token");
  refuse(has_both(spec) && spec.tokens.pad < 0, "tokens.pad",
         "missing; targets that are ignored are read as it");
  refuse(spec.positions.counted && spec.tokens.pad < 0, "tokens.pad", "missing; positions.counted needs it");
  const bool masked = fills_masks(spec);
  refuse(spec.embedding.width > 0 && !spec.embedding.projected_last && (has_encoder(spec) || masked),
         "embedding.width", "needs a decoder alone, or embedding.projected_last; expected 0");
  refuse(spec.embedding.width > 0 && spec.embedding.projected_last && has_decoder(spec), "embedding.width",
         "with embedding.projected_last needs an encoder alone; expected 0");
  refuse(spec.attention.window > 0 && has_encoder(spec), "attention.window",
         "needs a decoder alone; expected 0");
  refuse(spec.attention.qkv_by_head && !spec.attention.fused_qkv, "attention.qkv_by_head",
         "is an order within the weight of attention.fused_qkv; expected false");
  refuse(spec.positions.kind == PositionKind::alibi && has_encoder(spec), "positions.kind",
         "alibi needs a decoder alone; expected another");
  refuse(spec.positions.counted_by_mask && spec.positions.kind != PositionKind::learned &&
             spec.positions.kind != PositionKind::alibi,
         "positions.counted_by_mask", "is for learned positions and alibi; expected false");
  refuse(spec.criterion.label_smoothing > 0 && has_classes(spec) && spec.head.problem != Problem::one_class,
         "criterion.label_smoothing", "is for targets of one class; expected 0");
  const bool has_slots = options.adapters > 0;
  refuse(has_slots && (has_encoder(spec) || !has_decoder(spec) || spec.head.kind != HeadKind::lm), "adapters",
         "slots for adapters are for decoders that generate text; expected 0");
  refuse(has_slots && !keeps_caches(spec, options), "adapters",
         "slots for adapters are for entries with caches; expected --mode=infer with them, or 0");
  refuse(has_slots && is_tensor_parallel(options.mesh), "adapters",
         "slots for adapters are for one rank; expected 0, or no mesh");
  refuse(has_slots && options.lora.has_value(), "adapters",
         "the model has an adapter of its own; expected --adapter or slots for adapters");
  refuse(has_slots && options.adapter_rank < 1, "adapter_rank", "expected at least 1");
  refuse(options.training && spec.head.kind == HeadKind::none, "head.kind",
         "none has no loss to train; expected a head, or compile with --mode=infer");
  refuse(options.cache_codes != CacheCodes::none && !keeps_caches(spec, options), "cache-type",
         "the model, or this command with it, has no caches whose numbers could be stored as codes; leave "
         "--cache-type out");
  if (options.caches.value_or(false)) llvm::append_range(problems, problems_with_caches(spec, options));
  if (options.segment_ids) refuse_segments(spec, options, problems);
  return problems;
}

}  // namespace smelt
