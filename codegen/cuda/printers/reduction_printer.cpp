#include "codegen/cuda/printers/reduction_printer.h"

#include <algorithm>

#include "codegen/kernel_passes/kernel_passes.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

std::string state_name(int id, size_t scalar) {
  return scalar < 2 ? fmt::format("{}{}", scalar == 0 ? "t" : "q", id) : fmt::format("t{}_{}", id, scalar);
}

std::string other_name(int id, size_t scalar) {
  return scalar < 2 ? fmt::format("{}{}", scalar == 0 ? "f" : "g", id) : fmt::format("f{}_{}", id, scalar);
}

const char* is_fast(const Instruction& x) { return x.form == Form::fast ? "true" : "false"; }

}  // namespace

std::vector<std::string> CudaReductionState::other_names() const {
  std::vector<std::string> all;
  for (size_t i = 0; i < names.size(); ++i) all.push_back(other_name(id, i));
  return all;
}

std::vector<std::string> CudaReductionState::at(const std::string& index) const {
  std::vector<std::string> all;
  for (const std::string& name : names) all.push_back(name + index);
  return all;
}

// ---- the states of a block

void ReductionPrinter::declare_states(const BlockNest& nest) {
  find_states(nest);
  for (const CudaReductionState& state : states_)
    c_.shape.is_reduced() ? declare_column_states(state) : declare_row_state(state);
}

void ReductionPrinter::find_states(const BlockNest& nest) {
  states_.clear();
  for (int id : nest.block->instructions) {
    const Instruction& x = c_.instruction(id);
    if (x.kind != Kind::reduce) continue;
    const CudaReduction reduction(x.reduce_op, x.dtype, x.form == Form::fast);
    states_.push_back({id, reduction, {}});
    for (size_t i = 0; i < reduction.size(); ++i) states_.back().names.push_back(state_name(id, i));
  }
}

void ReductionPrinter::declare_row_state(const CudaReductionState& state) {
  const std::vector<std::string> identity = state.reduction.identity();
  for (size_t i = 0; i < identity.size(); ++i)
    c_.out.line("{} {} = {};", cuda_type(state.reduction.kind(i)), state.names[i], identity[i]);
  if (!keeps_exponentials(state.id)) return;
  c_.out.line("float exps{}[{}][{}];", state.id, c_.vectors, c_.width);
  c_.out.pragma_unroll();
  c_.out.open("for (int i = 0; i < {}; ++i)", c_.vectors * c_.width);
  c_.out.line("exps{0}[i / {1}][i % {1}] = -sm_infinity();", state.id, c_.width);
  c_.out.close();
}

void ReductionPrinter::declare_column_states(const CudaReductionState& state) {
  const std::vector<std::string> identity = state.reduction.identity();
  for (size_t i = 0; i < identity.size(); ++i)
    c_.out.line("{} {}[{}];", cuda_type(state.reduction.kind(i)), state.names[i], c_.width);
  c_.out.open("for (int j = 0; j < {}; ++j)", c_.width);
  for (size_t i = 0; i < identity.size(); ++i) c_.out.line("{}[j] = {};", state.names[i], identity[i]);
  c_.out.close();
}

const CudaReductionState& ReductionPrinter::state_of(int reduce) const {
  return *std::find_if(states_.begin(), states_.end(), [&](auto& state) { return state.id == reduce; });
}

/// A later block wants exp(x - maximum) of elements that stay in registers.
bool ReductionPrinter::keeps_exponentials(int reduce) const {
  for (int id = 0; id < static_cast<int>(c_.kernel.instructions.size()); ++id)
    if (c_.instruction(id).form == Form::kept && reduction_of_kept(c_.kernel, id) == reduce) return true;
  return false;
}

// ---- the share of a thread

/// Returns the position of the current element among those that a reduction reduces.
std::string ReductionPrinter::place_among_reduced() const {
  std::string index;
  for (int axis : c_.shape.is_reduced() ? c_.shape.reduced : c_.shape.columns) {
    std::string along = c_.place.indices[axis];
    if (const int begin = c_.kernel.axes[axis].begin; begin >= 0)
      along =
          fmt::format("{} - {}", operand_text(along), operand_text(c_.value_as(begin, CudaKind::integer)));
    index = index.empty()
                ? along
                : fmt::format("{} * {} + {}", operand_text(index), c_.extent(axis), operand_text(along));
  }
  return index.empty() ? "0" : "(int)" + operand_text(index);
}

/// The identity in place of an element that does not exist.
std::string ReductionPrinter::guarded(const CudaReduction& reduction, const std::string& text) const {
  const std::string& guard = c_.place.lane_guard;
  return guard.empty() ? text : fmt::format("{} ? {} : {}", guard, text, reduction.identity()[0]);
}

void ReductionPrinter::print_element(int id) {
  const CudaReductionState& state = state_of(id);
  const CudaReduction& reduction = state.reduction;
  const std::string& guard = c_.place.lane_guard;
  const std::string x = c_.value_as(c_.instruction(id).operands[0], reduction.kind(0));
  const std::string j = fmt::format("[{}]", c_.element());
  const std::vector<std::string> to = c_.shape.is_reduced() ? state.at(j) : state.names;
  if (const std::string predicate = c_.predicate_of(id); !predicate.empty())
    return c_.out.line_if(conditions({guard, predicate}), fmt::format("{} += {};", to[0], x));
  if (keeps_exponentials(id))
    return c_.out.line("exps{}[{}]{} = {};", id, c_.place.slot, j, guarded(reduction, x));
  if (takes_vectors(id)) return c_.out.line("e{}{} = {};", id, j, guarded(reduction, x));
  const auto lifted = reduction.lift(x, reduction.reads_place() ? place_among_reduced() : "");
  if (to.size() == 1) return reduction.combine(c_.out, to, {guarded(reduction, lifted[0])});
  if (!guard.empty()) c_.out.open("if ({})", guard);
  reduction.combine(c_.out, to, lifted);
  if (!guard.empty()) c_.out.close();
}

bool ReductionPrinter::takes_vectors(int id) const {
  const Instruction& x = c_.instruction(id);
  return x.kind == Kind::reduce && !info(x.reduce_op).cuda_combine_vector.empty() && !c_.shape.is_reduced() &&
         !keeps_exponentials(id);
}

void ReductionPrinter::declare_vector(int id) {
  c_.out.line("{} e{}[{}];", cuda_type(state_of(id).reduction.kind(0)), id, c_.width);
}

void ReductionPrinter::print_vector(int id) {
  const CudaReductionState& state = state_of(id);
  c_.out.line("{}", state.reduction.combine_vector(state.names, fmt::format("e{}", id)));
}

// ---- long sums

std::vector<const CudaReductionState*> ReductionPrinter::long_sums() const {
  std::vector<const CudaReductionState*> sums;
  if (c_.schedule.short_sum == 0) return sums;
  for (const CudaReductionState& state : states_)
    if (c_.instruction(state.id).reduce_op == ReduceOp::add && state.reduction.kind(0) == CudaKind::real)
      sums.push_back(&state);
  return sums;
}

void ReductionPrinter::declare_long_sums() {
  for (const CudaReductionState* sum : long_sums())
    c_.out.line("double wide{}[{}] = {{}};", sum->id, c_.shape.is_reduced() ? c_.width : 1);
}

/// Opens the loop over the columns of a thread, each of which has a sum.
void ReductionPrinter::open_sums() {
  if (c_.shape.is_reduced()) c_.out.open("for (int j = 0; j < {}; ++j)", c_.width);
}

void ReductionPrinter::close_sums() {
  if (c_.shape.is_reduced()) c_.out.close();
}

std::string ReductionPrinter::sum_of_thread(const CudaReductionState& sum) const {
  return c_.shape.is_reduced() ? sum.at("[j]")[0] : sum.names[0];
}

void ReductionPrinter::add_short_sums() {
  for (const CudaReductionState* sum : long_sums()) {
    open_sums();
    c_.out.line("wide{}[{}] += {};", sum->id, place_of_sum(), sum_of_thread(*sum));
    c_.out.line("{} = 0.0f;", sum_of_thread(*sum));
    close_sums();
  }
}

void ReductionPrinter::round_long_sums() {
  for (const CudaReductionState* sum : long_sums()) {
    open_sums();
    c_.out.line("{0} = (float)(wide{1}[{2}] + {0});", sum_of_thread(*sum), sum->id, place_of_sum());
    close_sums();
  }
}

// ---- across a team

void ReductionPrinter::finish_in_team() {
  if (states_.empty()) return;
  for (const CudaReductionState& state : states_)
    if (keeps_exponentials(state.id)) sum_exponentials(state);
  if (c_.lanes > 1) shuffle();
  if (c_.lanes > 32) exchange();
  bind_results();
}

void ReductionPrinter::sum_exponentials(const CudaReductionState& state) {
  c_.out.line("const float base{0} = sm_sum_exponentials<{3}>({1}, {2}, exps{0});", state.id, state.names[0],
              state.names[1], is_fast(c_.instruction(state.id)));
}

/// Within warps: by the table's own statement where it has one, the others together in one loop.
void ReductionPrinter::shuffle() {
  const std::string mask = c_.lanes > 32 ? "0xffffffffu" : "mask";
  std::vector<const CudaReductionState*> others;
  for (const CudaReductionState& state : states_) {
    const std::string statement = state.reduction.combine_lanes(state.names, std::min(c_.lanes, 32), mask);
    if (statement.empty())
      others.push_back(&state);
    else
      c_.out.line("{}", statement);
  }
  if (others.empty()) return;
  c_.out.pragma_unroll();
  c_.out.open("for (int d = {}; d >= 1; d /= 2)", std::min(c_.lanes, 32) / 2);
  for (const CudaReductionState* state : others) shuffle_state(*state, mask);
  c_.out.close();
}

void ReductionPrinter::shuffle_state(const CudaReductionState& state, const std::string& mask) {
  const auto shuffled = [&](const std::string& name) {
    return fmt::format("__shfl_xor_sync({}, {}, d)", mask, name);
  };
  if (state.names.size() == 1)
    return state.reduction.combine(c_.out, state.names, {shuffled(state.names[0])});
  const std::vector<std::string> others = state.other_names();
  for (size_t i = 0; i < others.size(); ++i)
    c_.out.line("{} {} = {};", cuda_type(state.reduction.kind(i)), others[i], shuffled(state.names[i]));
  state.reduction.combine(c_.out, state.names, others);
}

/// Returns, for each scalar of all states, the array, up to the index of a warp, that its warps leave it in.
/// A location is used once per row. A grid-stride loop over rows has two of each that alternate, so that one
/// barrier is enough.
std::vector<std::string> ReductionPrinter::shared_places() {
  const int warps = c_.lanes / 32;
  std::vector<std::string> places;
  for (const CudaReductionState& state : states_)
    for (size_t i = 0; i < state.names.size(); ++i) {
      const CudaKind kind = state.reduction.kind(i);
      const bool wide = kind == CudaKind::wide, real = kind == CudaKind::real;
      int& used = real || wide ? float_places_ : int_places_;
      const int64_t words = int64_t{c_.teams} * warps * 2;
      const int64_t first = (real || wide ? c_.shared.prefetched : 0) + used * words;
      used += wide ? 2 : 1;  // 64 bits are two words
      real || wide ? c_.shared.need_floats(first + (wide ? 2 : 1) * words)
                   : c_.shared.need_ints(first + words);
      std::string at = fmt::format("{}", wide ? 0 : first);
      if (c_.alternates_buffers()) at += fmt::format(" + buffer * {}", c_.teams * warps);
      if (c_.teams > 1) at += fmt::format(" + team * {}", warps);
      const std::string array = wide   ? fmt::format("((long long*)(shared_floats + {}))", first)
                                : real ? "shared_floats"
                                       : "shared_ints";
      places.push_back(fmt::format("{}[{} + ", array, at));
    }
  return places;
}

/// Every warp's state goes to shared memory; every thread reads them all back, in the order of the warps.
void ReductionPrinter::exchange() {
  const std::vector<std::string> places = shared_places();
  const auto each = [&](auto&& print) {
    size_t number = 0;
    for (const CudaReductionState& state : states_)
      for (const std::string& name : state.names) print(places[number++], name);
  };
  c_.out.open("if (lane % 32 == 0)");
  each([&](const auto& place, const auto& name) { c_.out.line("{}lane / 32] = {};", place, name); });
  c_.out.close();
  c_.team_barrier();
  each([&](const auto& place, const auto& name) { c_.out.line("{} = {}0];", name, place); });
  c_.out.open("for (int w = 1; w < {}; ++w)", c_.lanes / 32);
  auto place = places.begin();
  for (const CudaReductionState& state : states_) {
    std::vector<std::string> others;
    for (size_t i = 0; i < state.names.size(); ++i) others.push_back(*place++ + "w]");
    state.reduction.combine(c_.out, state.names, others);
  }
  c_.out.close();
}

// ---- results

void ReductionPrinter::bind_results() {
  for (const CudaReductionState& state : states_) bind_results_of(state);
}

void ReductionPrinter::bind_results_of(const CudaReductionState& state) {
  const std::string j = c_.shape.inner >= 0 ? fmt::format("[{}]", c_.element()) : "[0]";
  const std::vector<std::string> names = c_.shape.is_reduced() ? state.at(j) : state.names;
  const auto bind = [&](int id, size_t result) {
    c_.set_value(id, {state.reduction.finish(names, result), state.reduction.kind(result)});
  };
  bind(state.id, 0);
  const Instruction& reduce = c_.instruction(state.id);
  if (keeps_exponentials(state.id))
    c_.out.line("const float scale{0} = sm_exp<{2}>(base{0} - {1});", state.id,
                operand_text(c_.value_of(state.id).text), is_fast(reduce));
  const size_t results = info(reduce.reduce_op).results.size();
  for (int id = 0; id < static_cast<int>(c_.kernel.instructions.size()); ++id) {
    const Instruction& x = c_.instruction(id);
    if (x.kind != Kind::result || x.operands[0] != state.id) continue;
    if (x.slot < 0 || static_cast<size_t>(x.slot) >= results)
      c_.reject(id, "is a result that its reduction lacks");
    bind(id, static_cast<size_t>(x.slot));
  }
}

}  // namespace smelt
