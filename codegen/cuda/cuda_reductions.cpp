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

std::string CudaEmitter::state_name(int id, size_t scalar) {
  return scalar < 2 ? fmt::format("{}{}", scalar == 0 ? "t" : "q", id) : fmt::format("t{}_{}", id, scalar);
}

std::string CudaEmitter::other_name(int id, size_t scalar) {
  return scalar < 2 ? fmt::format("{}{}", scalar == 0 ? "f" : "g", id) : fmt::format("f{}_{}", id, scalar);
}

const CudaEmitter::State& CudaEmitter::state_of(int reduce) const {
  return *std::find_if(states_.begin(), states_.end(), [&](auto& s) { return s.id == reduce; });
}

void CudaEmitter::declare_state(const State& state) {
  const std::vector<std::string> identity = state.reduction.identity();
  for (size_t i = 0; i < identity.size(); ++i)
    out_.line("{} {} = {};", cuda_type(state.reduction.kind(i)), state.names[i], identity[i]);
}

void CudaEmitter::begin_reductions(const Nest& nest) {
  states_.clear();
  for (int id : nest.block->instructions) {
    const Instruction& x = instruction(id);
    if (x.kind != Kind::reduce) continue;
    const CudaReduction reduction(x.reduce_op, x.dtype, x.form == Form::fast);
    states_.push_back({id, reduction, {}});
    for (size_t i = 0; i < reduction.size(); ++i) states_.back().names.push_back(state_name(id, i));
  }
  if (shape_.is_reduced()) return;  // a state a column: declared where the columns are
  for (const State& state : states_) {
    declare_state(state);
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

/// The number of the element at hand among those that a reduction reduces.
std::string CudaEmitter::place_among_reduced() {
  std::string index;
  for (int axis : shape_.is_reduced() ? shape_.reduced : shape_.columns) {
    std::string along = axis_text_[axis];
    if (k_.axes[axis].begin >= 0)
      along = fmt::format("({} - {})", along, coerce(value_of(k_.axes[axis].begin), CudaKind::integer));
    index = index.empty() ? along : fmt::format("({}) * {} + {}", index, dim(k_.axes[axis].extent), along);
  }
  return fmt::format("(int)({})", index.empty() ? "0" : index);
}

/// One element. Those that are not there are the identity.
void CudaEmitter::emit_reduce(int id) {
  const State& state = state_of(id);
  const CudaReduction& reduction = state.reduction;
  const std::string x = coerce(operand(instruction(id), 0), reduction.kind(0));
  const auto guarded = [&](const std::string& text) {
    return guard_.empty() ? text : fmt::format("({} ? {} : {})", guard_, text, reduction.identity()[0]);
  };
  const bool columns = shape_.is_reduced();  // one state a column
  const std::string j = V_ > 1 ? "[j]" : "[0]";
  if (const int predicate = instruction(id).predicate; predicate >= 0) {
    const std::string condition = conditions({guard_, coerce(value_of(predicate), CudaKind::flag)});
    return out_.line("if ({}) {}{} += {};", condition, state.names[0], columns ? j : "", x);
  }
  if (keeps_exponentials(id)) return out_.line("exps{}[{}]{} = {};", id, slot_, j, guarded(x));
  if (takes_vectors(id)) return out_.line("e{}{} = {};", id, j, guarded(x));
  const std::vector<std::string> to = columns ? elements(state, j) : state.names;
  const auto lifted = reduction.lift(x, reduction.reads_place() ? place_among_reduced() : "");
  if (to.size() == 1) return out_.line("{}", reduction.combine(to, {guarded(lifted[0])}));
  out_.line("{}{}", guard_.empty() ? "" : fmt::format("if ({}) ", guard_), reduction.combine(to, lifted));
}

/// A state's names as those of one element of their arrays.
std::vector<std::string> CudaEmitter::elements(const State& state, const std::string& index) {
  std::vector<std::string> all;
  for (const std::string& name : state.names) all.push_back(name + index);
  return all;
}

void CudaEmitter::finish_reductions() {
  if (states_.empty()) return;
  for (const State& state : states_)
    if (keeps_exponentials(state.id))
      out_.line("const float base{0} = sm_take_exponentials<{3}>({1}, {2}, exps{0});", state.id,
                state.names[0], state.names[1], fast_text(instruction(state.id)));
  if (W_ > 1) shuffle_states();
  if (W_ > 32) exchange_states();
  bind_results();
}

void CudaEmitter::shuffle_states() {
  const std::string mask = W_ > 32 ? "0xffffffffu" : "mask";
  bool others = false;
  for (const State& state : states_) {
    const std::string share = state.reduction.share(state.names, std::min(W_, 32), mask);
    if (share.empty())
      others = true;
    else
      out_.line("{}", share);
  }
  if (!others) return;
  out_.pragma_unroll();
  out_.open("for (int d = {}; d > 0; d /= 2)", std::min(W_, 32) / 2);
  for (const State& state : states_) {
    if (!state.reduction.share(state.names, 1, mask).empty()) continue;
    const auto other = [&](const std::string& name) {
      return fmt::format("__shfl_xor_sync({}, {}, d)", mask, name);
    };
    if (state.names.size() == 1) {
      out_.line("{}", state.reduction.combine(state.names, {other(state.names[0])}));
      continue;
    }
    std::vector<std::string> others_names;
    for (size_t i = 0; i < state.names.size(); ++i) {
      others_names.push_back(other_name(state.id, i));
      out_.line("{} {} = {};", cuda_type(state.reduction.kind(i)), others_names[i], other(state.names[i]));
    }
    out_.line("{}", state.reduction.combine(state.names, others_names));
  }
  out_.close();
}

/// Every warp's state goes to shared memory; every thread reads them all back, in the order of the warps.
/// Places are used once a row, and in a walk over rows by turns, so that one barrier is enough.
void CudaEmitter::exchange_states() {
  const int warps = W_ / 32;
  const auto slot = [&](CudaKind kind) { return kind == CudaKind::real ? float_slots_++ : int_slots_++; };
  struct Place {
    std::string name, shared;
  };
  std::vector<Place> places;
  for (const State& state : states_)
    for (size_t i = 0; i < state.names.size(); ++i) {
      const CudaKind kind = state.reduction.kind(i);
      const bool real = kind == CudaKind::real;
      const int number = slot(kind);
      int64_t& total = real ? shared_floats_ : shared_ints_;
      const int64_t before = (real ? fetched_floats_ : 0) + int64_t{number} * T_ * warps * 2;
      total = std::max<int64_t>(total, before + T_ * warps * 2);
      std::string at = fmt::format("{}", before);
      if (uses_turns_) at += fmt::format(" + turn * {}", T_ * warps);
      if (T_ > 1) at += fmt::format(" + team * {}", warps);
      places.push_back({state.names[i], fmt::format("shared_{}[{} + ", real ? "floats" : "ints", at)});
    }
  out_.open("if (lane % 32 == 0)");
  for (const Place& p : places) out_.line("{}lane / 32] = {};", p.shared, p.name);
  out_.close();
  barrier();
  for (const Place& p : places) out_.line("{} = {}0];", p.name, p.shared);
  out_.open("for (int w = 1; w < {}; ++w)", warps);
  const auto* place = places.data();
  for (const State& state : states_) {
    std::vector<std::string> others;
    for (size_t i = 0; i < state.names.size(); ++i) others.push_back((place++)->shared + "w]");
    out_.line("{}", state.reduction.combine(state.names, others));
  }
  out_.close();
}

/// The names that later code reads; in reduced kernels those of one column.
void CudaEmitter::bind_results() {
  const bool columns = shape_.is_reduced() && shape_.inner >= 0;
  const std::string j = !shape_.is_reduced() ? "" : columns && V_ > 1 ? "[j]" : "[0]";
  for (const State& state : states_) {
    const auto bind = [&](int id, size_t result) {
      values_[id] =
          CudaValue{state.reduction.finish(elements(state, j), result), state.reduction.kind(result)};
    };
    bind(state.id, 0);
    if (keeps_exponentials(state.id))
      out_.line("const float scale{0} = sm_exp<{2}>(base{0} - {1});", state.id, values_[state.id]->text,
                fast_text(instruction(state.id)));
    const size_t results = info(instruction(state.id).reduce_op).results.size();
    for (size_t id = 0; id < k_.instructions.size(); ++id) {
      const Instruction& x = instruction(static_cast<int>(id));
      if (x.kind != Kind::result || x.operands[0] != state.id) continue;
      if (x.slot < 0 || static_cast<size_t>(x.slot) >= results)
        reject(static_cast<int>(id), "is a result that its reduction lacks");
      bind(static_cast<int>(id), static_cast<size_t>(x.slot));
    }
  }
}

}  // namespace smelt
