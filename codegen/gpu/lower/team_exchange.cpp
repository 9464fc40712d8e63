#include "codegen/gpu/lower/team_exchange.h"

#include <algorithm>

#include "codegen/kernel_passes/kernel_passes.h"

namespace smelt::gpu {
namespace {

/// Returns the column of a vector: the j-th after the first of a round.
Expr column_after(const Expr& first, const Expr& j) { return first ? first + j : j; }

}  // namespace

void TeamExchange::lower(bool for_first_team) {
  if (c_.teams == 1) return;
  if (c_.lanes < 32) shuffle_all();
  const int groups = exchanging_groups(c_.schedule);
  if (groups > 1) exchange(groups, for_first_team);
}

// ---- within warps

void TeamExchange::shuffle_all() {
  const int lanes = std::min(32, c_.schedule.threads);
  const Expr distance = c_.out.open_halving(lanes / 2, c_.lanes, Loop::kWholly);
  const Expr j = c_.out.open_unrolled("j", c_.width);
  for (const RunningReduction& x : reductions_.running()) shuffle(x, c_.mask_of(lanes), distance, j);
  c_.out.close(), c_.out.close();
}

void TeamExchange::shuffle(const RunningReduction& x, const Expr& mask, const Expr& distance, const Expr& j) {
  const std::vector<Expr> others = x.other_state(), own = x.at(j);
  for (size_t i = 0; i < others.size(); ++i)
    c_.out.declare(x.code.type(i), others[i]->name, shuffled(mask, own[i], distance));
  x.code.combine(c_.out, own, others);
}

// ---- between warps

/// Joins the states of `groups` thread groups, each for the columns of a team, in their order, round by
/// round.
void TeamExchange::exchange(int groups, bool for_first_team) {
  const Reductions all(reductions_.running());
  const auto round_of = [&](size_t i) { return c_.instruction(all[i].id).exchange_round; };
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && round_of(end) == round_of(begin)) ++end;
    lower_round(all.subspan(begin, end - begin), groups, for_first_team);
  }
}

/// Appends the exchange of all of a vector's columns at once, or of as many as the round holds.
void TeamExchange::lower_round(Reductions reductions, int groups, bool for_first_team) {
  const int some = c_.instruction(reductions.front().id).exchange_columns,
            columns = some == 0 ? c_.width : some;
  const Round round{place_in_shared_memory(reductions, int64_t{columns} * groups * c_.lanes), groups, columns,
                    for_first_team};
  if (columns == c_.width) return lower_columns(round, {});
  const Expr j0 = c_.out.open_loop(Scalar::int32, "j0", 0, c_.width, columns, Loop::kWholly);
  lower_columns(round, j0);
  c_.out.close();
}

/// Each of their scalars takes `words` words, of 64 bits twice as many.
std::vector<TeamExchange::SharedState> TeamExchange::place_in_shared_memory(Reductions reductions,
                                                                            int64_t words) {
  std::vector<SharedState> all;
  int64_t floats = 0, ints = 0;
  for (const RunningReduction& x : reductions) {
    all.push_back({&x, {}});
    for (size_t i = 0; i < x.state.size(); ++i) {
      if (x.code.type(i) == Scalar::int64) {
        floats += floats % 2;
        all.back().arrays.push_back(
            {cast(c_.shared_floats() + floats, Type(Scalar::int64).pointer_to()), {}});
        floats += 2 * words;
        continue;
      }
      const bool real = x.code.type(i) == Scalar::real;
      int64_t& used = real ? floats : ints;
      all.back().arrays.push_back({real ? c_.shared_floats() : c_.shared_ints(), used});
      used += words;
    }
  }
  c_.shared.need_floats(floats), c_.shared.need_ints(ints);
  return all;
}

void TeamExchange::lower_columns(const Round& round, const Expr& first) {
  c_.out.barrier();
  write_columns(round, first);
  c_.out.barrier();
  c_.out.open_if(round.for_first_team ? c_.team() == 0 : Expr());
  join_columns(round, first);
  c_.out.close();
}

/// Returns the place in an array for column j of a group.
Expr TeamExchange::place_of(const Round& round, const SharedArray& array, const Expr& group,
                            const Expr& j) const {
  const Expr row = (j * round.groups + group) * c_.lanes;
  return element(array.array, (array.first ? array.first + row : row) + variable("lane", Scalar::int32));
}

/// Writes the states of each group's columns. If several teams share a warp, the first team has the sums of
/// all.
void TeamExchange::write_columns(const Round& round, const Expr& first) {
  const bool shared_warps = c_.lanes < 32;
  c_.out.open_if(shared_warps ? thread_number() % 32 < c_.lanes : Expr());
  const Expr j = c_.out.open_unrolled("j", round.columns);
  const Expr group = shared_warps ? thread_number() / 32 : c_.team();
  for (const SharedState& shared : round.states)
    for (size_t i = 0; i < shared.arrays.size(); ++i)
      c_.out.set(place_of(round, shared.arrays[i], group, j),
                 element(shared.running->state[i], column_after(first, j)));
  c_.out.close(), c_.out.close();
}

void TeamExchange::read_first_group(const Round& round, const Expr& j, const Expr& column) {
  for (const SharedState& shared : round.states)
    for (size_t i = 0; i < shared.arrays.size(); ++i)
      c_.out.set(element(shared.running->state[i], column), place_of(round, shared.arrays[i], 0, j));
}

void TeamExchange::join_columns(const Round& round, const Expr& first) {
  const Expr j = c_.out.open_unrolled("j", round.columns), column = column_after(first, j);
  read_first_group(round, j, column);
  const Expr g = c_.out.open_loop(Scalar::int32, "g", 1, round.groups, 1, Loop::kWholly);
  for (const SharedState& shared : round.states) {
    std::vector<Expr> others;
    for (const SharedArray& array : shared.arrays) others.push_back(place_of(round, array, g, j));
    shared.running->code.combine(c_.out, shared.running->at(column), others);
  }
  c_.out.close(), c_.out.close();
}

}  // namespace smelt::gpu
