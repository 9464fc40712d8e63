#include "codegen/cuda/attention/emit_attention.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/printers/print_expression.h"
#include "codegen/cuda/printers/print_statements.h"
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

/// Thread IR for MaskIntervals over a tile.
class TileCode {
 public:
  using V = gpu::Expr;

  TileCode(const Kernel& kernel, HookUse use)
      : kernel_(kernel), use_(use), context_(kernel, gpu::block_number()), addresses_(context_) {
    for (size_t i = 0; i < 2; ++i)
      context_.place.indices[kernel.attention->axes[i]] = gpu::variable(kLetters[i], gpu::Scalar::index);
  }

  /// Ranges of numbers along queries (2) or keys (3), in the order of their first use.
  struct Range {
    int dim;
    std::string name;
    V value;
  };
  const std::vector<Range>& ranges() const { return ranges_; }
  /// Code of the values that are used several times.
  const gpu::Body& kept_values() const { return context_.out.body(); }

  V number(int64_t value) const { return value; }
  Interval<V> places(int dim) const {
    if (dim < 2) return point(integer(kLetters[dim]));
    return {first_of(dim), end_of(dim) - 1};
  }
  Interval<V> load(int id, int dim) {
    if (dim < 0) return point(gpu::cast(gpu::load(addresses_.element(id)), gpu::Scalar::int32));
    add_range(id, dim);
    const std::string owner = use_ == HookUse::mma ? "" : dim == 2 ? "queries." : "keys.";
    const std::string range = fmt::format("{}range{}", owner, id);
    return {integer(range + ".least"), integer(range + ".most")};
  }
  V sum(const V& a, const V& b) const { return a + b; }
  V difference(const V& a, const V& b) const { return a - b; }

  V test(const V& a, ScalarOp op, const V& b) const {
    switch (op) {
      case ScalarOp::ge:
        return a >= b;
      case ScalarOp::gt:
        return a > b;
      case ScalarOp::le:
        return a <= b;
      case ScalarOp::lt:
        return a < b;
      default:
        return a == b;
    }
  }
  V all(const V& a, const V& b) const { return a && b; }
  V any(const V& a, const V& b) const { return a || b; }

  V state(const V& always, const V& never) const { return gpu::choice(always, 2, gpu::choice(never, 0, 1)); }
  V least(const V& a, const V& b) const { return gpu::call("min", {a, b}, gpu::Scalar::int32); }
  V most(const V& a, const V& b) const { return gpu::call("max", {a, b}, gpu::Scalar::int32); }
  V opposite(const V& a) const { return 2 - a; }
  V kept(const V& a) {
    return context_.out.declare(gpu::Scalar::int32, fmt::format("kept{}", kept_count_++), a);
  }
  V choose(const V& which, const V& always, const V& never, const V& mixed) const {
    return gpu::choice(which == 2, always, gpu::choice(which == 0, never, mixed));
  }

 private:
  static constexpr const char* kLetters[] = {"b", "h", "t", "s"};

  static V integer(const std::string& name) { return gpu::variable(name, gpu::Scalar::int32); }
  /// Return the bounds of the tile along queries or keys.
  static V first_of(int dim) { return integer(fmt::format("{}0", kLetters[dim])); }
  static V end_of(int dim) { return integer(fmt::format("{}1", kLetters[dim])); }

  void add_range(int id, int dim) {
    const std::string name = fmt::format("range{}", id);
    if (std::ranges::find(ranges_, name, &Range::name) != ranges_.end()) return;
    const std::vector<Dim>& strides = kernel_.instructions[static_cast<size_t>(id)].access.strides;
    const auto stride_of = [&](size_t axis) {
      return strides[static_cast<size_t>(kernel_.attention->axes[axis])];
    };
    const auto axis = static_cast<int>(kernel_.attention->axes[static_cast<size_t>(dim)]);
    context_.place.indices[axis] = first_of(dim);
    const char* const function = use_ == HookUse::mma     ? "tile_range"
                                 : stride_of(1).is_zero() ? "lane_range<kByLane>"
                                                          : "lane_range<true>";
    ranges_.push_back(
        {dim, name,
         gpu::call(function,
                   {addresses_.array(id), addresses_.index(id),
                    context_.names.dim(stride_of(static_cast<size_t>(dim))), end_of(dim) - first_of(dim)},
                   gpu::Scalar::int32)});
    context_.place.indices[axis] = 0;
  }

  static Interval<V> point(const V& value) { return {value, value}; }

  const Kernel& kernel_;
  const HookUse use_;
  std::vector<Range> ranges_;
  int kept_count_ = 0;
  gpu::LoweringContext context_;
  gpu::AddressLowering addresses_;
};

/// Returns the function for one tile per call, which all threads of a block, or of warps of it, make.
std::string function_of_block(const Kernel& kernel, const TileCode& tile, const gpu::Expr& state) {
  std::string code;
  for (const TileCode::Range& range : tile.ranges())
    code += fmt::format("  const TileRange {} = {};\n", range.name, print(range.value));
  code += print(tile.kept_values(), 1) + fmt::format("  return {};\n", print(state));
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
    code += fmt::format("  numbers.{} = {};\n", range.name, print(range.value));
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
std::string functions_of_lanes(const Kernel& kernel, const TileCode& tile, const gpu::Expr& state) {
  const std::string code = print(tile.kept_values(), 1) + fmt::format("  return {};\n", print(state));
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
  const gpu::Expr state =
      mask.instruction < 0 ? gpu::Expr(2) : MaskIntervals(kernel, tile).state(mask.instruction);
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
