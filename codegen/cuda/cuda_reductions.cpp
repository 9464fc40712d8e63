// Reductions of a block, all at once: each thread's own share, then across the lanes of a warp by shuffles,
// then across the warps of a team through shared memory. The order depends on the schedule alone, and all
// lanes end with the same bits.
#include <algorithm>

#include "codegen/cuda/cuda_emitter.h"
#include "codegen/kernel_passes/keep_exponentials.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

}  // namespace

void CudaEmitter::begin_reductions(const Nest& nest) {
  states_.clear();
  for (int id : nest.block->instructions) {
    const Instruction& x = instruction(id);
    if (x.kind != Kind::reduce) continue;
    State state;
    state.id = id, state.op = x.reduce_op;
    state.kind = std::max(cuda_kind(x.dtype), CudaKind::integer);
    if (x.reduce_op == ReduceOp::max_sumexp) state.kind = CudaKind::real;
    state.first = fmt::format("t{}", id);
    if (info(x.reduce_op).results == 2 || x.reduce_op == ReduceOp::first)
      state.second = fmt::format("q{}", id);
    state.second_kind = x.reduce_op == ReduceOp::max_sumexp ? CudaKind::real : CudaKind::integer;
    states_.push_back(state);
  }
  if (shape_.is_reduced()) return;  // a state a column: declared where the columns are
  for (const State& state : states_) {
    out_.line("{} {} = {};", cuda_type(state.kind), state.first, identity(state));
    if (!state.second.empty())
      out_.line("{} {} = {};", cuda_type(state.second_kind), state.second, second_identity(state));
    if (!keeps_exponentials(state.id)) continue;
    out_.line("float exps{}[{}][{}];", state.id, K_, V_);
    out_.pragma_unroll();
    out_.line("for (int i = 0; i < {0}; ++i) exps{1}[i / {2}][i % {2}] = -sm_infinity();", K_ * V_, state.id,
              V_);
  }
}

/// A later block wants exp(x - maximum) of elements that stay in registers.
bool CudaEmitter::keeps_exponentials(int reduce) const {
  for (int id = 0; id < static_cast<int>(k_.instructions.size()); ++id)
    if (instruction(id).form == Form::kept && reduction_of_kept(k_, id) == reduce) return true;
  return false;
}

std::string CudaEmitter::identity(const State& state) const {
  const bool real = state.kind == CudaKind::real;
  switch (state.op) {
    case ReduceOp::add:
    case ReduceOp::first:
    case ReduceOp::pivot:
      return real ? "0.0f" : "0";
    case ReduceOp::min:
      return real ? "sm_infinity()" : "2147483647";
    case ReduceOp::max:
    case ReduceOp::argmax:
    case ReduceOp::max_sumexp:
      return real ? "-sm_infinity()" : "-2147483647 - 1";
  }
  return "";
}

std::string CudaEmitter::second_identity(const State& state) const {
  return state.op == ReduceOp::max_sumexp ? "0.0f" : "-1";
}

/// A statement that joins another state to this one.
std::string CudaEmitter::join_into(const State& state, const std::string& to, const std::string& to_second,
                                   const std::string& first, const std::string& second) const {
  switch (state.op) {
    case ReduceOp::add:
    case ReduceOp::pivot:  // lowered to loads
      return fmt::format("{} += {};", to, first);
    case ReduceOp::max:
      return fmt::format("{0} = sm_max({0}, {1});", to, first);
    case ReduceOp::min:
      return fmt::format("{0} = sm_min({0}, {1});", to, first);
    case ReduceOp::max_sumexp:
      return fmt::format("sm_join_max_sumexp<{}>({}, {}, {}, {});", fast_text(instruction(state.id)), to,
                         to_second, first, second);
    case ReduceOp::argmax:
    case ReduceOp::first:
      return fmt::format("sm_join_{}({}, {}, {}, {});", name(state.op), to, to_second, first, second);
  }
  return "";
}

std::string CudaEmitter::join(const State& state, const std::string& first, const std::string& second) const {
  return join_into(state, state.first, state.second, first, second);
}

/// One element. Those that are not there are the identity.
void CudaEmitter::emit_reduce(int id) {
  const State& state = *std::find_if(states_.begin(), states_.end(), [&](auto& s) { return s.id == id; });
  const std::string x = coerce(operand(instruction(id), 0), state.kind);
  const std::string guarded = guard_.empty() ? x : fmt::format("({} ? {} : {})", guard_, x, identity(state));
  const bool columns = shape_.is_reduced();  // one state a column
  const std::string j = V_ > 1 ? "[j]" : "[0]";
  if (const int predicate = instruction(id).predicate; predicate >= 0) {
    const std::string condition = conditions({guard_, coerce(value_of(predicate), CudaKind::flag)});
    return out_.line("if ({}) {}{} += {};", condition, state.first, columns ? j : "", x);
  }
  if (keeps_exponentials(id)) return out_.line("exps{}[{}]{} = {};", id, slot_, j, guarded);
  if (state.op == ReduceOp::max_sumexp && !columns) return out_.line("e{}{} = {};", id, j, guarded);
  const std::string to = state.first + (columns ? j : ""), to_second = state.second + (columns ? j : "");
  if (state.second.empty()) return out_.line("{}", join_into(state, to, "", guarded, ""));
  if (state.op == ReduceOp::max_sumexp)
    return out_.line("{}", join_into(state, to, to_second, guarded,
                                     fmt::format("{} == -sm_infinity() ? 0.0f : 1.0f", guarded)));
  std::string index;
  for (int axis : columns ? shape_.reduced : shape_.columns) {
    std::string along = axis_text_[axis];
    if (k_.axes[axis].begin >= 0)
      along = fmt::format("({} - {})", along, coerce(value_of(k_.axes[axis].begin), CudaKind::integer));
    index = index.empty() ? along : fmt::format("({}) * {} + {}", index, dim(k_.axes[axis].extent), along);
  }
  out_.line("{}{}", guard_.empty() ? "" : fmt::format("if ({}) ", guard_),
            join_into(state, to, to_second, x, fmt::format("(int)({})", index.empty() ? "0" : index)));
}

void CudaEmitter::finish_reductions() {
  if (states_.empty()) return;
  for (const State& state : states_)
    if (keeps_exponentials(state.id))
      out_.line("const float base{0} = sm_take_exponentials<{3}>({1}, {2}, exps{0});", state.id, state.first,
                state.second, fast_text(instruction(state.id)));
  if (W_ > 1) shuffle_states();
  if (W_ > 32) exchange_states();
  bind_results();
}

void CudaEmitter::shuffle_states() {
  const std::string mask = W_ > 32 ? "0xffffffffu" : "mask";
  bool others = false;
  for (const State& state : states_)
    if (state.op == ReduceOp::max_sumexp)
      out_.line("sm_share_max_sumexp<{}, {}>({}, {}, {});", fast_text(instruction(state.id)),
                std::min(W_, 32), state.first, state.second, mask);
    else
      others = true;
  if (!others) return;
  out_.pragma_unroll();
  out_.open("for (int d = {}; d > 0; d /= 2)", std::min(W_, 32) / 2);
  for (const State& state : states_) {
    if (state.op == ReduceOp::max_sumexp) continue;
    const auto other = [&](const std::string& name) {
      return fmt::format("__shfl_xor_sync({}, {}, d)", mask, name);
    };
    if (state.second.empty()) {
      out_.line("{}", join(state, other(state.first), ""));
      continue;
    }
    out_.line("{} f{} = {};", cuda_type(state.kind), state.id, other(state.first));
    out_.line("{} g{} = {};", cuda_type(state.second_kind), state.id, other(state.second));
    out_.line("{}", join(state, fmt::format("f{}", state.id), fmt::format("g{}", state.id)));
  }
  out_.close();
}

/// Every warp's state goes to shared memory; every thread reads them all back, in the order of the warps.
/// Places are used once a row, and in a walk over rows by turns, so that one barrier is enough.
void CudaEmitter::exchange_states() {
  const int warps = W_ / 32;
  const auto slot = [&](CudaKind kind) { return kind == CudaKind::real ? float_slots_++ : int_slots_++; };
  struct Place {
    const State* state;
    std::string name, shared;
  };
  std::vector<Place> places;
  for (const State& state : states_)
    for (const bool second : {false, true}) {
      const std::string& name = second ? state.second : state.first;
      if (name.empty()) continue;
      const CudaKind kind = second ? state.second_kind : state.kind;
      const bool real = kind == CudaKind::real;
      const int number = slot(kind);
      int64_t& total = real ? shared_floats_ : shared_ints_;
      const int64_t before = (real ? fetched_floats_ : 0) + int64_t{number} * T_ * warps * 2;
      total = std::max<int64_t>(total, before + T_ * warps * 2);
      std::string at = fmt::format("{}", before);
      if (uses_turns_) at += fmt::format(" + turn * {}", T_ * warps);
      if (T_ > 1) at += fmt::format(" + team * {}", warps);
      places.push_back({&state, name, fmt::format("shared_{}[{} + ", real ? "floats" : "ints", at)});
    }
  out_.open("if (lane % 32 == 0)");
  for (const Place& p : places) out_.line("{}lane / 32] = {};", p.shared, p.name);
  out_.close();
  barrier();
  for (const Place& p : places) out_.line("{} = {}0];", p.name, p.shared);
  out_.open("for (int w = 1; w < {}; ++w)", warps);
  for (size_t i = 0; i < places.size(); ++i) {
    const State& state = *places[i].state;
    const bool pair = !state.second.empty();
    out_.line("{}", join(state, places[i].shared + "w]", pair ? places[i + 1].shared + "w]" : ""));
    i += pair;
  }
  out_.close();
}

/// The `result` instruction that reads the second scalar of a reduction, or -1.
int CudaEmitter::result_id(int reduce) const {
  for (size_t id = 0; id < k_.instructions.size(); ++id)
    if (instruction(id).kind == Kind::result && instruction(id).operands[0] == reduce &&
        instruction(id).slot == 1)
      return static_cast<int>(id);
  return -1;
}

/// The names that later code reads; in reduced kernels those of one column.
void CudaEmitter::bind_results() {
  const bool columns = shape_.is_reduced() && shape_.inner >= 0;
  const std::string j = !shape_.is_reduced() ? "" : columns && V_ > 1 ? "[j]" : "[0]";
  for (const State& state : states_) {
    const int second = result_id(state.id);
    const std::string first_text = state.first + j, second_text = state.second + j;
    values_[state.id] = CudaValue{state.op == ReduceOp::max_sumexp
                                      ? fmt::format("({1} != {1} ? {1} : {0})", first_text, second_text)
                                      : first_text,
                                  state.kind};
    if (keeps_exponentials(state.id))
      out_.line("const float scale{0} = sm_exp<{2}>(base{0} - {1});", state.id, values_[state.id]->text,
                fast_text(instruction(state.id)));
    if (second < 0) continue;
    values_[second] = CudaValue{
        state.op == ReduceOp::argmax ? fmt::format("({0} < 0 ? 0 : {0})", second_text) : second_text,
        state.second_kind};
  }
}

}  // namespace smelt
