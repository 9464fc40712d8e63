#include "codegen/cuda/attention/tile_states.h"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "codegen/cuda/printers/block_printers.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

/// The numbers of a tile's queries or keys: the lanes of a warp look at them together, and all threads of a
/// block call it; or each lane looks at those of a tile of its own, in a loop that needs few registers.
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
  if (by_lane) return fmt::format(kTileRange, "#pragma unroll 1\n", "0", 1, "{least, most}");
  return fmt::format(kTileRange, "", "threadIdx.x & 31", 32,
                     "{__reduce_min_sync(~0u, least), __reduce_max_sync(~0u, most)}");
}

/// C++ for the least and the most that a number is in the tile.
struct Interval {
  std::string least, most;
};

/// Prints what a mask is over a tile: 0 false everywhere, 1 unknown or mixed, 2 true everywhere.
class TileStates {
 public:
  explicit TileStates(const Kernel& kernel)
      : kernel_(kernel), context_(kernel, "blockIdx.x"), addresses_(context_) {
    for (size_t i = 0; i < 2; ++i) context_.place.indices[kernel.attention->axes[i]] = i == 0 ? "b" : "h";
  }

  /// Statements that stand before the expression of a state.
  const std::string& statements() const { return statements_; }

  std::string state(int id) {
    const Instruction& x = instruction(id);
    if (x.kind == Kind::constant) return x.number != 0 ? "2" : "0";
    if (x.kind != Kind::scalar) return "1";
    if (x.scalar_op == ScalarOp::logical_and)
      return fmt::format("min({}, {})", state(x.operands[0]), state(x.operands[1]));
    if (x.scalar_op == ScalarOp::logical_or)
      return fmt::format("max({}, {})", state(x.operands[0]), state(x.operands[1]));
    if (x.scalar_op == ScalarOp::logical_not) return fmt::format("(2 - {})", state(x.operands[0]));
    return comparison(x);
  }

 private:
  const Instruction& instruction(int id) const { return kernel_.instructions[static_cast<size_t>(id)]; }

  std::string comparison(const Instruction& x) {
    if (x.operands.size() != 2) return "1";
    const auto a = interval(x.operands[0]), b = interval(x.operands[1]);
    if (!a || !b) return "1";
    const auto states = [](const std::string& always, const std::string& never) {
      return fmt::format("(({}) ? 2 : ({}) ? 0 : 1)", always, never);
    };
    const auto test = [](const std::string& left, const char* op, const std::string& right) {
      return fmt::format("{} {} {}", left, op, right);
    };
    switch (x.scalar_op) {
      case ScalarOp::ge:
        return states(test(a->least, ">=", b->most), test(a->most, "<", b->least));
      case ScalarOp::gt:
        return states(test(a->least, ">", b->most), test(a->most, "<=", b->least));
      case ScalarOp::le:
        return states(test(a->most, "<=", b->least), test(a->least, ">", b->most));
      case ScalarOp::lt:
        return states(test(a->most, "<", b->least), test(a->least, ">=", b->most));
      case ScalarOp::eq:
        return states(
            fmt::format("{0} == {1} && {2} == {3} && {0} == {2}", a->least, a->most, b->least, b->most),
            fmt::format("{} < {} || {} > {}", a->most, b->least, a->least, b->most));
      case ScalarOp::ne:
        return states(
            fmt::format("{} < {} || {} > {}", a->most, b->least, a->least, b->most),
            fmt::format("{0} == {1} && {2} == {3} && {0} == {2}", a->least, a->most, b->least, b->most));
      default:
        return "1";
    }
  }

  /// Of integers made of places, constants and what is read once a head.
  std::optional<Interval> interval(int id) {
    const Instruction& x = instruction(id);
    switch (x.kind) {
      case Kind::constant:
        return point(fmt::format("{}", static_cast<int64_t>(x.number)));
      case Kind::index:
        return of_index(x.axis);
      case Kind::load:
        return of_load(id);
      case Kind::scalar:
        return of_sum(x);
      default:
        return std::nullopt;
    }
  }

  static Interval point(const std::string& text) { return {text, text}; }

  std::optional<Interval> of_index(int axis) const {
    const std::vector<int64_t>& axes = kernel_.attention->axes;
    if (axis == axes[0]) return point("b");
    if (axis == axes[1]) return point("h");
    if (axis == axes[2]) return Interval{"t0", "(t1 - 1)"};
    return Interval{"s0", "(s1 - 1)"};
  }

  std::optional<Interval> of_load(int id) {
    const Instruction& x = instruction(id);
    if (x.access.computed >= 0 || x.predicate >= 0 || x.dtype != DType::i32) return std::nullopt;
    const std::vector<int64_t>& axes = kernel_.attention->axes;
    const Dim &along_t = x.access.strides[axes[2]], &along_s = x.access.strides[axes[3]];
    if (!along_t.is_zero() && !along_s.is_zero()) return std::nullopt;
    if (!along_t.is_zero()) return of_range(id, along_t, axes[2], "t");
    if (!along_s.is_zero()) return of_range(id, along_s, axes[3], "s");
    return point(fmt::format("(int)sm_get({})", addresses_.element(id)));
  }

  /// Of what moves along queries or keys alone.
  Interval of_range(int id, const Dim& stride, int axis, const char* letter) {
    context_.place.indices[axis] = fmt::format("{}0", letter);
    statements_ += fmt::format("  const TileRange range{0} = tile_range(&{1}, {2}, {3}1 - {3}0);\n", id,
                               addresses_.element(id), context_.names.dim(stride), letter);
    context_.place.indices[axis] = "0";
    return {fmt::format("range{}.least", id), fmt::format("range{}.most", id)};
  }

  std::optional<Interval> of_sum(const Instruction& x) {
    if (x.dtype != DType::i32 || (x.scalar_op != ScalarOp::add && x.scalar_op != ScalarOp::sub))
      return std::nullopt;
    const auto a = interval(x.operands[0]), b = interval(x.operands[1]);
    if (!a || !b) return std::nullopt;
    if (x.scalar_op == ScalarOp::add)
      return Interval{fmt::format("({} + {})", a->least, b->least),
                      fmt::format("({} + {})", a->most, b->most)};
    return Interval{fmt::format("({} - {})", a->least, b->most), fmt::format("({} - {})", a->most, b->least)};
  }

  const Kernel& kernel_;
  std::string statements_;
  CudaContext context_;
  AddressPrinter addresses_;
};

bool is_minus_infinity(const Instruction& x) {
  return x.kind == Kind::constant && x.number == -std::numeric_limits<double>::infinity();
}

}  // namespace

ScoreMask score_mask(const Kernel& kernel) {
  const int modified = kernel.attention->returned[0];
  const Instruction& x = kernel.instructions[modified];
  const bool masks = x.kind == Kind::scalar && x.scalar_op == ScalarOp::select &&
                     is_minus_infinity(kernel.instructions[x.operands[2]]);
  return masks ? ScoreMask{x.operands[0], x.operands[1]} : ScoreMask{};
}

std::string tile_function(const Kernel& kernel, const ScoreMask& mask, bool by_lane) {
  TileStates states(kernel);
  const std::string state = mask.instruction < 0 ? "2" : states.state(mask.instruction);
  const std::string code = states.statements() + "  return " + state + ";\n";
  return (states.statements().empty() ? "" : range_function(by_lane)) +
         fmt::format(
             "SM int body_tile(const BodyArguments& body, int b, int h, int t0, int t1, int s0, int s1) "
             "{{\n{}{}}}\n\n",
             unpacked_names(kernel, code), code);
}

}  // namespace smelt
