#include "codegen/cuda/attention/tile_states.h"

#include <fmt/format.h>

#include "codegen/cuda/printers/block_printers.h"

namespace smelt {
namespace {

/// The numbers of a tile's queries or keys: the lanes of a warp look at them together, and all threads of a
/// block call it; or each lane looks at those of a tile of its own, four at a time, which needs few
/// registers.
constexpr const char* kTileRange = R"(struct TileRange {{
  int least, most;
}};
template <typename T>
SM TileRange tile_range(const T* at, long long stride, int count) {{
  int least = 0x7fffffff, most = -0x7fffffff - 1;
{}  for (int i = {}; i < count; i += {}) {{
    const int x = sm_get(at[i * stride]);
    least = min(least, x), most = max(most, x);
  }}
  return {};
}}

)";

std::string range_function(bool by_lane) {
  if (by_lane) return fmt::format(kTileRange, "#pragma unroll 4\n", "0", 1, "{least, most}");
  return fmt::format(kTileRange, "", "threadIdx.x & 31", 32,
                     "{__reduce_min_sync(~0u, least), __reduce_max_sync(~0u, most)}");
}

/// C++ for MaskIntervals over a tile.
class TileCode {
 public:
  using V = std::string;

  explicit TileCode(const Kernel& kernel)
      : kernel_(kernel), context_(kernel, "blockIdx.x"), addresses_(context_) {
    for (size_t i = 0; i < 2; ++i) context_.place.indices[kernel.attention->axes[i]] = i == 0 ? "b" : "h";
  }

  /// Statements that stand before the expression of a state.
  const std::string& statements() const { return statements_; }

  V number(int64_t value) const { return fmt::format("{}", value); }
  Interval<V> places(int dim) const {
    if (dim < 2) return point(dim == 0 ? "b" : "h");
    const char* letter = kLetters[dim];
    return {fmt::format("{}0", letter), fmt::format("({}1 - 1)", letter)};
  }
  Interval<V> load(int id, int dim) {
    if (dim < 0) return point(fmt::format("(int)sm_get({})", addresses_.element(id)));
    const auto axis = static_cast<int>(kernel_.attention->axes[static_cast<size_t>(dim)]);
    const Dim& stride = kernel_.instructions[static_cast<size_t>(id)].access.strides[axis];
    context_.place.indices[axis] = fmt::format("{}0", kLetters[dim]);
    statements_ += fmt::format("  const TileRange range{0} = tile_range(&{1}, {2}, {3}1 - {3}0);\n", id,
                               addresses_.element(id), context_.names.dim(stride), kLetters[dim]);
    context_.place.indices[axis] = "0";
    return {fmt::format("range{}.least", id), fmt::format("range{}.most", id)};
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

 private:
  static constexpr const char* kLetters[] = {"b", "h", "t", "s"};

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
  std::string statements_;
  CudaContext context_;
  AddressPrinter addresses_;
};

}  // namespace

std::string tile_function(const Kernel& kernel, const ScoreMask& mask, bool by_lane) {
  TileCode tile(kernel);
  const std::string state = mask.instruction < 0 ? "2" : MaskIntervals(kernel, tile).state(mask.instruction);
  const std::string code = tile.statements() + "  return " + state + ";\n";
  return (tile.statements().empty() ? "" : range_function(by_lane)) +
         fmt::format(
             "SM int body_tile(const BodyArguments& body, int b, int h, int t0, int t1, int s0, int s1) "
             "{{\n{}{}}}\n\n",
             unpacked_names(kernel, code), code);
}

}  // namespace smelt
