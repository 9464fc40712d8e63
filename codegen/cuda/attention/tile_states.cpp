#include "codegen/cuda/attention/emit_attention.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/printers/print_expression.h"
#include "codegen/cuda/with_words.h"
#include "codegen/gpu/lower/address_lowering.h"

namespace smelt {
namespace {

/// Returns the number of loads in flight for the numbers of a tile. Few registers are left where wide heads
/// have their gradients in registers.
int loads_in_flight(const Kernel& kernel, HookUse use) {
  const AttentionKernel& attention = *kernel.attention;
  return use == HookUse::wgmma && attention.part == AttentionPart::key_gradients && attention.width > 64 ? 1
                                                                                                         : 4;
}

/// C++ for MaskIntervals over a tile.
class TileCode {
 public:
  using V = std::string;

  TileCode(const Kernel& kernel, HookUse use)
      : kernel_(kernel), use_(use), context_(kernel, gpu::block_number()), addresses_(context_) {
    for (size_t i = 0; i < 2; ++i)
      context_.place.indices[kernel.attention->axes[i]] = gpu::variable(kLetters[i], gpu::Scalar::index);
  }

  /// Ranges of numbers along queries (2) or keys (3), in the order of their first use.
  struct Range {
    int dim;
    std::string name, value;
  };
  const std::vector<Range>& ranges() const { return ranges_; }
  /// Code of the values that are used several times.
  const std::string& kept_values() const { return kept_; }

  V number(int64_t value) const { return fmt::format("{}", value); }
  Interval<V> places(int dim) const {
    if (dim < 2) return point(dim == 0 ? "b" : "h");
    const char* letter = kLetters[dim];
    return {fmt::format("{}0", letter), fmt::format("({}1 - 1)", letter)};
  }
  Interval<V> load(int id, int dim) {
    if (dim < 0) return point(fmt::format("(int)sm_get({})", print(addresses_.element(id))));
    add_range(id, dim);
    const std::string owner = use_ == HookUse::mma ? "" : dim == 2 ? "queries." : "keys.";
    return {fmt::format("{}range{}.least", owner, id), fmt::format("{}range{}.most", owner, id)};
  }
  V sum(const V& a, const V& b) const { return fmt::format("({} + {})", a, b); }
  V difference(const V& a, const V& b) const { return fmt::format("({} - {})", a, b); }

  V test(const V& a, ScalarOp op, const V& b) const { return fmt::format("{} {} {}", a, symbol(op), b); }
  V all(const V& a, const V& b) const { return fmt::format("{} && {}", a, b); }
  V any(const V& a, const V& b) const { return fmt::format("{} || {}", a, b); }

  V state(const V& always, const V& never) const {
    return fmt::format("(({}) ? 2 : ({}) ? 0 : 1)", always, never);
  }
  V least(const V& a, const V& b) const { return fmt::format("min({}, {})", a, b); }
  V most(const V& a, const V& b) const { return fmt::format("max({}, {})", a, b); }
  V opposite(const V& a) const { return fmt::format("(2 - {})", a); }
  V kept(const V& a) {
    const std::string name = fmt::format("kept{}", kept_count_++);
    kept_ += fmt::format("  const int {} = {};\n", name, a);
    return name;
  }
  V choose(const V& which, const V& always, const V& never, const V& mixed) const {
    return fmt::format("({0} == 2 ? {1} : {0} == 0 ? {2} : {3})", which, always, never, mixed);
  }

 private:
  static constexpr const char* kLetters[] = {"b", "h", "t", "s"};

  void add_range(int id, int dim) {
    const std::string name = fmt::format("range{}", id);
    if (std::ranges::find(ranges_, name, &Range::name) != ranges_.end()) return;
    const std::vector<Dim>& strides = kernel_.instructions[static_cast<size_t>(id)].access.strides;
    const auto stride_of = [&](size_t axis) {
      return strides[static_cast<size_t>(kernel_.attention->axes[axis])];
    };
    const auto axis = static_cast<int>(kernel_.attention->axes[static_cast<size_t>(dim)]);
    context_.place.indices[axis] = gpu::variable(fmt::format("{}0", kLetters[dim]), gpu::Scalar::index);
    const std::string function = use_ == HookUse::mma     ? "tile_range"
                                 : stride_of(1).is_zero() ? "lane_range<kByLane>"
                                                          : "lane_range<true>";
    ranges_.push_back({dim, name,
                       fmt::format("{}({}, {}, {}, {}1 - {}0)", function, print(addresses_.array(id)),
                                   print(addresses_.index(id)),
                                   print(context_.names.dim(stride_of(static_cast<size_t>(dim)))),
                                   kLetters[dim], kLetters[dim])});
    context_.place.indices[axis] = 0;
  }

  static Interval<V> point(const V& text) { return {text, text}; }
  static const char* symbol(ScalarOp op) {
    switch (op) {
      case ScalarOp::ge:
        return ">=";
      case ScalarOp::gt:
        return ">";
      case ScalarOp::le:
        return "<=";
      case ScalarOp::lt:
        return "<";
      default:
        return "==";
    }
  }

  const Kernel& kernel_;
  const HookUse use_;
  std::vector<Range> ranges_;
  std::string kept_;
  int kept_count_ = 0;
  gpu::LoweringContext context_;
  gpu::AddressLowering addresses_;
};

/// Returns the function for one tile per call, which all threads of a block, or of warps of it, make.
std::string function_of_block(const Kernel& kernel, const TileCode& tile, const std::string& state) {
  std::string code;
  for (const TileCode::Range& range : tile.ranges())
    code += fmt::format("  const TileRange {} = {};\n", range.name, range.value);
  code += tile.kept_values() + fmt::format("  return {};\n", state);
  return fmt::format(
      "SM int body_tile(const BodyArguments& body, int b, int h, int t0, int t1, int s0, int s1) "
      "{{\n{}{}}}\n\n",
      unpacked_names(kernel, code), code);
}

/// Returns the function that loads the numbers along queries or along keys that a mask needs.
std::string numbers_function(const Kernel& kernel, const TileCode& tile, int dim) {
  std::string members, code;
  for (const TileCode::Range& range : tile.ranges()) {
    if (range.dim != dim) continue;
    members += fmt::format("  TileRange {};\n", range.name);
    code += fmt::format("  numbers.{} = {};\n", range.name, range.value);
  }
  const bool of_queries = dim == 2;
  const char *type = of_queries ? "QueryNumbers" : "KeyNumbers", *letter = of_queries ? "t" : "s";
  return fmt::format(
      "struct {0} {{\n{1}}};\ntemplate <bool kByLane>\n"
      "SM {0} body_{2}(const BodyArguments& body, int b, int h, int {3}0, int {3}1) {{\n{4}  {0} "
      "numbers;\n{5}"
      "  return numbers;\n}}\n",
      type, members, of_queries ? "queries" : "keys", letter, unpacked_names(kernel, code), code);
}

/// Returns the functions in which each lane has a tile of its own, whose numbers the lanes have looked up
/// together.
std::string functions_of_lanes(const Kernel& kernel, const TileCode& tile, const std::string& state) {
  const std::string code = tile.kept_values() + fmt::format("  return {};\n", state);
  return numbers_function(kernel, tile, 2) + numbers_function(kernel, tile, 3) +
         fmt::format(
             "SM int body_tile(const BodyArguments& body, int b, int h, int t0, int t1, int s0, int s1, "
             "const "
             "QueryNumbers& queries, const KeyNumbers& keys) {{\n{}{}}}\n\n",
             unpacked_names(kernel, code), code);
}

}  // namespace

std::string tile_function(const Kernel& kernel, const ScoreMask& mask, HookUse use) {
  TileCode tile(kernel, use);
  const std::string state = mask.instruction < 0 ? "2" : MaskIntervals(kernel, tile).state(mask.instruction);
  std::string text;
  if (!tile.ranges().empty())
    text =
        with_words(device::kAttentionTileRange, {{"LOADS", fmt::format("{}", loads_in_flight(kernel, use))}});
  const std::string looks_up = fmt::format("constexpr bool kLooksUp = {};\n", !tile.ranges().empty());
  if (use == HookUse::mma) return text + looks_up + function_of_block(kernel, tile, state);
  if (!tile.ranges().empty()) text += device::kAttentionLaneRange;
  return text + looks_up + functions_of_lanes(kernel, tile, state);
}

}  // namespace smelt
