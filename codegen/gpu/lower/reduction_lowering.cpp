#include "codegen/gpu/lower/reduction_lowering.h"

#include <algorithm>
#include <limits>

#include "codegen/kernel_passes/kernel_passes.h"

namespace smelt::gpu {
namespace {

using Kind = Instruction::Kind;

/// Names of the scalars of a state: `first`, `second`, and with their numbers those after.
std::string scalar_name(int id, size_t scalar, char first, char second) {
  return scalar < 2 ? fmt::format("{}{}", scalar == 0 ? first : second, id)
                    : fmt::format("{}{}_{}", first, id, scalar);
}

}  // namespace

std::vector<Expr> RunningReduction::other_state() const {
  std::vector<Expr> all;
  for (size_t i = 0; i < state.size(); ++i)
    all.push_back(variable(scalar_name(id, i, 'f', 'g'), code.type(i)));
  return all;
}

std::vector<Expr> RunningReduction::at(const Expr& index) const {
  std::vector<Expr> all;
  for (const Expr& scalar : state) all.push_back(element(scalar, index));
  return all;
}

// ---- the states of a block

void ReductionLowering::declare_states(const BlockNest& nest) {
  find_states(nest);
  for (const RunningReduction& x : running_)
    c_.shape.is_reduced() ? declare_column_states(x) : declare_row_state(x);
}

void ReductionLowering::find_states(const BlockNest& nest) {
  running_.clear();
  for (int id : nest.block->instructions) {
    const Instruction& x = c_.instruction(id);
    if (x.kind != Kind::reduce) continue;
    const StateCode code(x.reduce_op, x.dtype, x.form == Form::fast);
    running_.push_back({id, code, {}});
    for (size_t i = 0; i < code.size(); ++i)
      running_.back().state.push_back(
          variable(scalar_name(id, i, 't', 'q'), Type(code.type(i)).array(c_.shape.is_reduced() ? 1 : 0)));
  }
}

void ReductionLowering::declare_row_state(const RunningReduction& x) {
  const std::vector<Expr> identity = x.code.identity();
  for (size_t i = 0; i < identity.size(); ++i)
    c_.out.declare_changing(x.code.type(i), x.state[i]->name, identity[i]);
  if (!keeps_exponentials(x.id)) return;
  const Expr exps = c_.out.declare_array(Scalar::real, fmt::format("exps{}", x.id), {c_.vectors, c_.width});
  const Expr i = c_.out.open_unrolled("i", c_.vectors * c_.width);
  c_.out.set(element(element(exps, i / c_.width), i % c_.width),
             real_number(-std::numeric_limits<double>::infinity()));
  c_.out.close();
}

void ReductionLowering::declare_column_states(const RunningReduction& x) {
  const std::vector<Expr> identity = x.code.identity();
  for (size_t i = 0; i < identity.size(); ++i)
    c_.out.declare_array(x.code.type(i), x.state[i]->name, {c_.width});
  const Expr j = c_.out.open_loop(Scalar::int32, "j", 0, c_.width, 1);
  for (size_t i = 0; i < identity.size(); ++i) c_.out.set(element(x.state[i], j), identity[i]);
  c_.out.close();
}

const RunningReduction& ReductionLowering::running_of(int reduce) const {
  return *std::find_if(running_.begin(), running_.end(), [&](auto& x) { return x.id == reduce; });
}

/// A later block wants exp(x - maximum) of elements that stay in registers.
bool ReductionLowering::keeps_exponentials(int reduce) const {
  for (int id = 0; id < static_cast<int>(c_.kernel.instructions.size()); ++id)
    if (c_.instruction(id).form == Form::kept && reduction_of_kept(c_.kernel, id) == reduce) return true;
  return false;
}

Expr ReductionLowering::exponentials(int reduce) const {
  return variable_of("exps", reduce, Type(Scalar::real).array(2));
}

Expr ReductionLowering::flag_of_fast(int reduce) const {
  return number(c_.instruction(reduce).form == Form::fast ? 1 : 0, Scalar::flag);
}

// ---- the share of a thread

/// Returns the position of the current element among those that a reduction reduces.
Expr ReductionLowering::place_among_reduced() const {
  Expr index;
  for (int axis : c_.shape.is_reduced() ? c_.shape.reduced : c_.shape.columns) {
    Expr along = c_.place.indices[axis];
    if (const int begin = c_.kernel.axes[axis].begin; begin >= 0)
      along = along - c_.value_as(begin, Scalar::int32);
    index = index ? index * c_.extent(axis) + along : along;
  }
  return index ? cast(index, Scalar::int32) : Expr(0);
}

/// The identity in place of an element that does not exist.
Expr ReductionLowering::guarded(const StateCode& code, const Expr& value) const {
  const Expr& guard = c_.place.lane_guard;
  return guard ? choice(guard, value, code.identity()[0]) : value;
}

void ReductionLowering::lower_element(int id) {
  const RunningReduction& x = running_of(id);
  const Expr value = c_.value_as(c_.instruction(id).operands[0], x.code.type(0)), j = c_.element();
  const std::vector<Expr> to = c_.shape.is_reduced() ? x.at(j) : x.state;
  if (const Expr predicate = c_.predicate_of(id))
    return c_.out.where(c_.place.lane_guard && predicate, [&] { c_.out.add_to(to[0], value); });
  if (keeps_exponentials(id))
    return c_.out.set(element(element(exponentials(id), c_.place.slot), j), guarded(x.code, value));
  if (takes_vectors(id))
    return c_.out.set(element(variable_of("e", id, Type(x.code.type(0)).array(1)), j),
                      guarded(x.code, value));
  combine_element(x, to, value);
}

void ReductionLowering::combine_element(const RunningReduction& x, const std::vector<Expr>& to,
                                        const Expr& element) {
  const auto lifted = x.code.lift(element, x.code.reads_place() ? place_among_reduced() : Expr());
  if (to.size() == 1) return x.code.combine(c_.out, to, {guarded(x.code, lifted[0])});
  c_.out.where(c_.place.lane_guard, [&] { x.code.combine(c_.out, to, lifted); });
}

bool ReductionLowering::takes_vectors(int id) const {
  return c_.instruction(id).kind == Kind::reduce && !c_.shape.is_reduced() &&
         running_of(id).code.takes_vectors() && !keeps_exponentials(id);
}

void ReductionLowering::declare_vector(int id) {
  c_.out.declare_array(running_of(id).code.type(0), fmt::format("e{}", id), {c_.width});
}

void ReductionLowering::lower_vector(int id) {
  const RunningReduction& x = running_of(id);
  x.code.combine_vector(c_.out, x.state, variable_of("e", id, Type(x.code.type(0)).array(1)));
}

// ---- long sums

std::vector<const RunningReduction*> ReductionLowering::long_sums() const {
  std::vector<const RunningReduction*> sums;
  if (c_.schedule.short_sum == 0) return sums;
  for (const RunningReduction& x : running_)
    if (c_.instruction(x.id).reduce_op == ReduceOp::add && x.code.type(0) == Scalar::real) sums.push_back(&x);
  return sums;
}

void ReductionLowering::declare_long_sums() {
  for (const RunningReduction* sum : long_sums())
    c_.out.declare_array(Scalar::wide_real, fmt::format("wide{}", sum->id),
                         {c_.shape.is_reduced() ? c_.width : 1}, true);
}

/// Opens the loop over the columns of a thread, each of which has a sum.
void ReductionLowering::open_sums() {
  if (c_.shape.is_reduced()) c_.out.open_loop(Scalar::int32, "j", 0, c_.width, 1);
}

void ReductionLowering::close_sums() {
  if (c_.shape.is_reduced()) c_.out.close();
}

Expr ReductionLowering::column_of_sums() const {
  return c_.shape.is_reduced() ? variable("j", Scalar::int32) : Expr(0);
}

Expr ReductionLowering::wide_sum(const RunningReduction& sum) const {
  return element(variable_of("wide", sum.id, Type(Scalar::wide_real).array(1)), column_of_sums());
}

Expr ReductionLowering::short_sum(const RunningReduction& sum) const {
  return c_.shape.is_reduced() ? sum.at(column_of_sums())[0] : sum.state[0];
}

void ReductionLowering::add_short_sums() {
  for (const RunningReduction* sum : long_sums()) {
    open_sums();
    c_.out.add_to(wide_sum(*sum), short_sum(*sum));
    c_.out.set(short_sum(*sum), real_number(0));
    close_sums();
  }
}

void ReductionLowering::round_long_sums() {
  for (const RunningReduction* sum : long_sums()) {
    open_sums();
    c_.out.set(short_sum(*sum), cast(wide_sum(*sum) + short_sum(*sum), Scalar::real));
    close_sums();
  }
}

// ---- across a team

void ReductionLowering::finish_in_team() {
  if (running_.empty()) return;
  for (const RunningReduction& x : running_)
    if (keeps_exponentials(x.id)) sum_exponentials(x);
  if (c_.lanes > 1) shuffle();
  if (c_.lanes > 32) exchange();
  bind_results();
}

void ReductionLowering::sum_exponentials(const RunningReduction& x) {
  c_.out.declare(Scalar::real, fmt::format("base{}", x.id),
                 call("sm_sum_exponentials", {x.state[0], x.state[1], exponentials(x.id)}, Scalar::real,
                      {flag_of_fast(x.id)}));
}

/// Within warps: by the table's own statement where it has one, the others together in one loop.
void ReductionLowering::shuffle() {
  const Expr mask = c_.lanes > 32 ? c_.mask_of(32) : variable("mask", Scalar::bits);
  const int lanes = std::min(c_.lanes, 32);
  std::vector<const RunningReduction*> others;
  for (const RunningReduction& x : running_) {
    if (x.code.combines_lanes())
      x.code.combine_lanes(c_.out, x.state, lanes, mask);
    else
      others.push_back(&x);
  }
  if (others.empty()) return;
  const Expr distance = c_.out.open_halving(lanes / 2, 1, Loop::kWholly);
  for (const RunningReduction* x : others) shuffle_state(*x, mask, distance);
  c_.out.close();
}

void ReductionLowering::shuffle_state(const RunningReduction& x, const Expr& mask, const Expr& distance) {
  if (x.state.size() == 1) return x.code.combine(c_.out, x.state, {shuffled(mask, x.state[0], distance)});
  const std::vector<Expr> others = x.other_state();
  for (size_t i = 0; i < others.size(); ++i)
    c_.out.declare_changing(x.code.type(i), others[i]->name, shuffled(mask, x.state[i], distance));
  x.code.combine(c_.out, x.state, others);
}

/// A location is used once per row. A grid-stride loop over rows has two of each that alternate, so that one
/// barrier is enough.
ReductionLowering::SharedPlace ReductionLowering::shared_place(Scalar type) {
  const int warps = c_.lanes / 32;
  const bool wide = type == Scalar::int64, floats = wide || type == Scalar::real;
  int& used = floats ? float_places_ : int_places_;
  const int64_t words = int64_t{c_.teams} * warps * 2;
  const int64_t first = (floats ? c_.shared.prefetched : 0) + used * words;
  used += wide ? 2 : 1;  // 64 bits are two words
  floats ? c_.shared.need_floats(first + (wide ? 2 : 1) * words) : c_.shared.need_ints(first + words);
  Expr at = wide ? 0 : first;
  if (c_.alternates_buffers()) at = at + variable("buffer", Scalar::int32) * (c_.teams * warps);
  if (c_.teams > 1) at = at + c_.team() * warps;
  if (wide) return {cast(c_.shared_floats() + first, Type(Scalar::int64).pointer_to()), at};
  return {floats ? c_.shared_floats() : c_.shared_ints(), at};
}

/// Returns a place for each scalar of all states.
std::vector<ReductionLowering::SharedPlace> ReductionLowering::shared_places() {
  std::vector<SharedPlace> places;
  for (const RunningReduction& x : running_)
    for (size_t i = 0; i < x.state.size(); ++i) places.push_back(shared_place(x.code.type(i)));
  return places;
}

/// Every warp's state goes to shared memory; every thread reads them all back, in the order of the warps.
void ReductionLowering::exchange() {
  const std::vector<SharedPlace> places = shared_places();
  leave_states(places);
  c_.team_barrier();
  join_states(places);
}

void ReductionLowering::leave_states(const std::vector<SharedPlace>& places) {
  auto place = places.begin();
  c_.out.open_if(c_.lane() % 32 == 0);
  for (const RunningReduction& x : running_)
    for (const Expr& scalar : x.state) {
      c_.out.set(element(place->array, place->first + c_.lane() / 32), scalar);
      ++place;
    }
  c_.out.close();
}

void ReductionLowering::join_states(const std::vector<SharedPlace>& places) {
  auto place = places.begin();
  for (const RunningReduction& x : running_)
    for (const Expr& scalar : x.state) {
      c_.out.set(scalar, element(place->array, place->first + 0));
      ++place;
    }
  const Expr w = c_.out.open_loop(Scalar::int32, "w", 1, c_.lanes / 32, 1);
  place = places.begin();
  for (const RunningReduction& x : running_) {
    std::vector<Expr> others;
    for (size_t i = 0; i < x.state.size(); ++i, ++place)
      others.push_back(element(place->array, place->first + w));
    x.code.combine(c_.out, x.state, others);
  }
  c_.out.close();
}

// ---- results

void ReductionLowering::bind_results() {
  for (const RunningReduction& x : running_) bind_results_of(x);
}

void ReductionLowering::bind_results_of(const RunningReduction& x) {
  const std::vector<Expr> state =
      c_.shape.is_reduced() ? x.at(c_.shape.inner >= 0 ? c_.element() : 0) : x.state;
  c_.set_value(x.id, x.code.finish(state, 0));
  if (keeps_exponentials(x.id)) scale_exponentials(x);
  const size_t results = info(c_.instruction(x.id).reduce_op).results.size();
  for (int id = 0; id < static_cast<int>(c_.kernel.instructions.size()); ++id) {
    const Instruction& result = c_.instruction(id);
    if (result.kind != Kind::result || result.operands[0] != x.id) continue;
    if (result.slot < 0 || static_cast<size_t>(result.slot) >= results)
      c_.reject(id, "is a result that its reduction lacks");
    c_.set_value(id, x.code.finish(state, static_cast<size_t>(result.slot)));
  }
}

void ReductionLowering::scale_exponentials(const RunningReduction& x) {
  const Expr base = variable_of("base", x.id, Scalar::real);
  c_.out.declare(Scalar::real, fmt::format("scale{}", x.id),
                 call("sm_exp", {base - c_.value_of(x.id)}, Scalar::real, {flag_of_fast(x.id)}));
}

}  // namespace smelt::gpu
