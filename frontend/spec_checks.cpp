// Constraints between the fields of a TransformerSpec, and implied values.
#include <fmt/format.h>

#include "frontend/blocks/rotary.h"
#include "frontend/families/families.h"
#include "frontend/transformer_spec.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// Collects complaints; a check reads as the sentence it enforces.
class Checker {
 public:
  explicit Checker(const TransformerSpec& spec) : spec_(spec) {}
  std::vector<SpecProblem> take() { return std::move(problems_); }

  void check_all() {
    check_family();
    if (spec_.hidden < 1) complain("hidden", "0 or missing, expected the width of the model");
    if (spec_.encoder.layers + spec_.decoder.layers < 1)
      complain("decoder.layers", "0 or missing, expected at least one layer");
    check_stack("encoder", spec_.encoder);
    check_stack("decoder", spec_.decoder);
    check_embedding();
    check_head();
    check_positions();
    check_layers();
    if (problems_.empty()) check_size();
  }

 private:
  void complain(std::string field, std::string text) {
    problems_.push_back({std::move(field), std::move(text)});
  }

  void check_family() {
    if (spec_.family == kPlainFamily || find_family(spec_.family)) return;
    complain("family",
             fmt::format("\"{}\" is not known; known: {}, {}", spec_.family, kPlainFamily, known_families()));
  }

  void check_stack(const std::string& name, const StackSpec& stack) {
    if (stack.layers < 1) return;
    if (stack.heads < 1) return complain(name + ".heads", "0 or missing, expected the number of heads");
    if (stack.head_dim < 1)
      complain(name + ".heads",
               fmt::format("{} does not divide hidden = {}; give head_dim, or another number of heads",
                           stack.heads, spec_.hidden));
    if (stack.kv_heads > 0 && stack.heads % stack.kv_heads != 0)
      complain(name + ".kv_heads", fmt::format("{} does not divide heads = {}", stack.kv_heads, stack.heads));
    if (spec_.attention.fused_qkv && spec_.attention.qkv_by_head && stack.kv_heads != stack.heads)
      complain("attention.qkv_by_head",
               fmt::format("true needs kv_heads = heads, not {} and {}", stack.kv_heads, stack.heads));
    if (spec_.positions.kind == PositionKind::rope) check_rotary_width(name, stack);
  }

  void check_rotary_width(const std::string& name, const StackSpec& stack) {
    const int64_t width = rotary_width(spec_, stack);
    check_divisors("positions.short_factors", spec_.positions.short_factors, width / 2);
    check_divisors("positions.long_factors", spec_.positions.long_factors, width / 2);
    if (width > 0 && width % 2 == 0) return;
    const double fraction = spec_.positions.rotary_fraction;
    if (fraction == 1)
      return complain(name + ".head_dim",
                      fmt::format("{} is odd; rotary positions need pairs", stack.head_dim));
    complain("positions.rotary_fraction",
             fmt::format("{} of head_dim = {} is {}; rotary positions need pairs", fraction, stack.head_dim,
                         width));
  }

  void check_divisors(const char* field, const std::vector<double>& divisors, int64_t pairs) {
    if (!divisors.empty() && std::ssize(divisors) != pairs)
      complain(field, fmt::format("{} numbers, expected one for each of {} pairs of a head", divisors.size(),
                                  pairs));
    if (llvm::is_contained(divisors, 0.0)) complain(field, "has a 0, expected numbers above 0");
  }

  void check_embedding() {
    const auto& e = spec_.embedding;
    const bool patches = e.image_size > 0 || e.patch_size > 0;
    if (!patches && spec_.vocab_size < 1)
      complain("vocab_size", "0 or missing, expected the number of tokens");
    if (patches && (e.patch_size < 1 || e.image_size % e.patch_size != 0))
      complain("embedding.patch_size",
               fmt::format("{} does not divide image_size = {}", e.patch_size, e.image_size));
    if (patches && e.channels < 1)
      complain("embedding.channels", "0 or missing, expected the channels of an image");
    if (spec_.tokenizer == TokenizerKind::bytes && spec_.vocab_size < 256)
      complain("tokenizer", fmt::format("bytes need vocab_size >= 256, not {}", spec_.vocab_size));
  }

  void check_head() {
    if (spec_.head.tied && !spec_.embedding.shared)
      complain("head.tied", "true needs embedding.shared, or which table is it?");
    const HeadKind kind = spec_.head.kind;
    const bool of_rows = kind == HeadKind::sequence_classes || kind == HeadKind::image_classes;
    if ((of_rows || kind == HeadKind::token_classes) && spec_.head.classes < 1)
      complain("head.classes", "0 or missing, expected the number of classes");
    if (spec_.head.dense && !of_rows && kind != HeadKind::choices)
      complain("head.dense", "true needs a head of classes of a row, or of choices");
    if (kind == HeadKind::token_classes && spec_.head.problem != Problem::one_class)
      complain("head.problem", "a token has one class; expected one_class");
  }

  void check_layers() {
    const auto said = static_cast<int64_t>(spec_.attention.layers.size());
    const int64_t layers = spec_.decoder.layers;
    if (layers > 0 && said > layers)
      complain("attention.layers",
               fmt::format("{} entries, expected one for each of {} layers", said, layers));
  }

  void check_positions() {
    const bool table = spec_.positions.kind == PositionKind::learned;
    if (table && spec_.max_positions < 1 && spec_.embedding.patch_size < 1)
      complain("max_positions", "0 or missing; a learned position table needs its length");
    if (table && spec_.positions.counted_by_mask && spec_.positions.offset < 1)
      complain("positions.offset", "0, expected a row for padding: positions.counted_by_mask puts it at -1");
    if (spec_.positions.kind == PositionKind::rope) check_rotary();
    if (spec_.positions.kind == PositionKind::relative_buckets) check_buckets();
    if (spec_.positions.counted && spec_.tokens.pad >= 0 && spec_.positions.offset != spec_.tokens.pad)
      complain("tokens.pad",
               fmt::format("{}, but positions count from positions.offset = {}, the padding's own",
                           spec_.tokens.pad, spec_.positions.offset));
  }

  /// The exact buckets of a side, half of its all, must leave distances for the others. An encoder has two
  /// sides.
  void check_buckets() {
    const auto& p = spec_.positions;
    const int64_t sides = spec_.encoder.layers > 0 ? 2 : 1;
    if (p.buckets < 2 * sides)
      return complain("positions.buckets", fmt::format("{}, expected at least {}", p.buckets, 2 * sides));
    const int64_t exact = spec_.decoder.layers > 0 ? p.buckets / 2 : p.buckets / 4;
    if (p.max_distance <= exact)
      complain("positions.max_distance",
               fmt::format("{}, expected more than {}, the distances with a bucket of their own",
                           p.max_distance, exact));
  }

  void check_rotary() {
    const auto& p = spec_.positions;
    const bool by_lengths = p.scaling == RopeScaling::yarn || p.scaling == RopeScaling::longrope;
    const bool scaled = p.scaling != RopeScaling::none && !by_lengths;
    if (scaled && p.scaling_factor == 0)
      complain("positions.scaling_factor", "0 or missing; this kind of scaling needs it");
    if (p.scaling == RopeScaling::yarn && p.scaling_factor == 0)
      complain("positions.scaling_factor",
               "0 or missing; yarn needs it, or original_max_positions from which it follows");
    if ((scaled || by_lengths) && spec_.max_positions < 1)
      complain("max_positions", "0 or missing; positions.scaling needs the length of training");
    if (p.scaling == RopeScaling::llama3 && !(p.low_freq_factor < p.high_freq_factor))
      complain("positions.high_freq_factor", fmt::format("{}, expected more than low_freq_factor = {}",
                                                         p.high_freq_factor, p.low_freq_factor));
  }

  /// The number of parameters, generously, must fit 2^40: more is a slip of the pen, and every later product
  /// of sizes and element widths is safe below it.
  void check_size() {
    const double hidden = static_cast<double>(spec_.hidden);
    double count =
        hidden * (2.0 * static_cast<double>(spec_.vocab_size) + static_cast<double>(spec_.max_positions) +
                  static_cast<double>(spec_.embedding.token_types));
    for (const StackSpec* stack : {&spec_.encoder, &spec_.decoder}) {
      const double inner = static_cast<double>(stack->heads) * static_cast<double>(stack->head_dim);
      count +=
          static_cast<double>(stack->layers) * hidden * (8 * inner + 3.0 * static_cast<double>(stack->ffn));
    }
    if (count > 0x1p40)
      complain("", fmt::format("about {:.1e} parameters; sizes up to 2^40 are supported", count));
  }

  const TransformerSpec& spec_;
  std::vector<SpecProblem> problems_;
};

/// Returns whether the block has the window where `layers` says nothing.
LayerAttention usual_attention(const TransformerSpec::Attention& attention, int64_t block) {
  const bool full =
      block < attention.window_from || (attention.full_every > 0 && (block + 1) % attention.full_every == 0);
  return full ? LayerAttention::full_attention : LayerAttention::sliding_attention;
}

/// Says of every block whether it has the window; a model without one says nothing.
void complete_layers(TransformerSpec::Attention& attention, int64_t count) {
  auto& layers = attention.layers;
  const auto size = static_cast<size_t>(count);
  if (layers.empty())
    for (int64_t i = 0; i < count; ++i) layers.push_back(usual_attention(attention, i));
  for (size_t i = 0; layers.size() < size; ++i) layers.push_back(layers[i]);
  const bool used = llvm::is_contained(layers, LayerAttention::sliding_attention);
  if (attention.window == 0 || !used)
    attention.window = attention.window_from = attention.full_every = 0, layers.clear();
}

void complete_stack(StackSpec& stack, int64_t hidden) {
  if (stack.layers < 1) return;
  if (stack.kv_heads == 0) stack.kv_heads = stack.heads;
  if (stack.head_dim == 0 && stack.heads > 0 && hidden % stack.heads == 0)
    stack.head_dim = hidden / stack.heads;
  if (stack.ffn == 0) stack.ffn = 4 * hidden;
}

/// YaRN without a factor stretches the original length to max_positions.
void complete_scaling(TransformerSpec& spec) {
  auto& p = spec.positions;
  if (p.scaling != RopeScaling::yarn || p.scaling_factor != 0 || p.original_max_positions == 0) return;
  p.scaling_factor = static_cast<double>(spec.max_positions) / static_cast<double>(p.original_max_positions);
}

}  // namespace

void complete(TransformerSpec& spec) {
  complete_stack(spec.encoder, spec.hidden);
  complete_stack(spec.decoder, spec.hidden);
  complete_layers(spec.attention, spec.decoder.layers);
  if (spec.embedding.width == spec.hidden && !spec.embedding.always_projected) spec.embedding.width = 0;
  complete_scaling(spec);
  const bool of_rows =
      spec.head.kind == HeadKind::sequence_classes || spec.head.kind == HeadKind::image_classes;
  if (of_rows && spec.head.classes == 1 && spec.head.problem == Problem::one_class)
    spec.head.problem = Problem::regression;
  if (spec.tokenizer == TokenizerKind::automatic)
    spec.tokenizer = spec.vocab_size == 256 ? TokenizerKind::bytes : TokenizerKind::none;
}

std::vector<SpecProblem> problems_of(const TransformerSpec& spec) {
  Checker checker(spec);
  checker.check_all();
  return checker.take();
}

}  // namespace smelt
