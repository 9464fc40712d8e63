#include "codegen/cuda/printers/team_exchange.h"

#include <algorithm>

#include "codegen/kernel_passes/kernel_passes.h"

namespace smelt {

void TeamExchange::print(bool for_first_team) {
  if (c_.teams == 1) return;
  if (c_.lanes < 32) print_shuffles();
  const int groups = exchanging_groups(c_.schedule);
  if (groups > 1) print_exchange(groups, for_first_team);
}

// ---- within warps

void TeamExchange::print_shuffles() {
  const int lanes = std::min(32, c_.schedule.threads);
  const std::string mask = bits_text(lanes == 32 ? 0xffffffffu : (1u << lanes) - 1);
  c_.out.pragma_unroll();
  c_.out.open("for (int d = {}; d >= {}; d /= 2)", lanes / 2, c_.lanes);
  c_.out.open_unrolled("j", c_.width);
  for (const CudaReductionState& state : reductions_.states()) print_shuffle(state, mask);
  c_.out.close();
  c_.out.close();
}

void TeamExchange::print_shuffle(const CudaReductionState& state, const std::string& mask) {
  const std::vector<std::string> others = state.other_names();
  for (size_t i = 0; i < others.size(); ++i)
    c_.out.line("const {} {} = __shfl_xor_sync({}, {}[j], d);", cuda_type(state.reduction.kind(i)), others[i],
                mask, state.names[i]);
  state.reduction.combine(c_.out, state.at("[j]"), others);
}

// ---- between warps

/// Joins the states of `groups` thread groups, each for the columns of a team, in their order, round by
/// round.
void TeamExchange::print_exchange(int groups, bool for_first_team) {
  const States all(reductions_.states());
  const auto round_of = [&](size_t i) { return c_.instruction(all[i].id).exchange_round; };
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && round_of(end) == round_of(begin)) ++end;
    print_round(all.subspan(begin, end - begin), groups, for_first_team);
  }
}

/// Prints the exchange of all of a vector's columns at once, or of as many as the round holds.
void TeamExchange::print_round(States states, int groups, bool for_first_team) {
  const int some = c_.instruction(states.front().id).exchange_columns, columns = some == 0 ? c_.width : some;
  const Round round{place_in_shared_memory(states, int64_t{columns} * groups * c_.lanes), groups, columns,
                    for_first_team};
  if (columns == c_.width) return print_columns(round, "j");
  c_.out.pragma_unroll();
  c_.out.open("for (int j0 = 0; j0 < {}; {})", c_.width, step_text("j0", columns));
  print_columns(round, "j0 + j");
  c_.out.close();
}

/// Each of their scalars takes `words` words, of 64 bits twice as many.
std::vector<TeamExchange::SharedState> TeamExchange::place_in_shared_memory(States states, int64_t words) {
  std::vector<SharedState> all;
  int64_t floats = 0, ints = 0;
  for (const CudaReductionState& state : states) {
    all.push_back({&state, {}});
    for (size_t i = 0; i < state.names.size(); ++i) {
      if (state.reduction.kind(i) == CudaKind::wide) {
        floats += floats % 2;
        all.back().arrays.push_back(fmt::format("((long long*)(shared_floats + {}))[", floats));
        floats += 2 * words;
        continue;
      }
      const bool real = state.reduction.kind(i) == CudaKind::real;
      int64_t& used = real ? floats : ints;
      all.back().arrays.push_back(fmt::format("shared_{}[{} + ", real ? "floats" : "ints", used));
      used += words;
    }
  }
  c_.shared.need_floats(floats), c_.shared.need_ints(ints);
  return all;
}

void TeamExchange::print_columns(const Round& round, const std::string& j) {
  c_.out.line("__syncthreads();");
  write_columns(round, j);
  c_.out.line("__syncthreads();");
  c_.out.open("{}", round.for_first_team ? "if (team == 0)" : "");
  join_columns(round, j);
  c_.out.close();
}

/// Behind an array: the index of column j of a group.
std::string TeamExchange::index_of(const Round& round, const std::string& group) const {
  return fmt::format("(j * {} + {}) * {} + lane]", round.groups, group, c_.lanes);
}

/// Writes the states of each group's columns. If several teams share a warp, the first team has the sums of
/// all.
void TeamExchange::write_columns(const Round& round, const std::string& j) {
  const bool shared_warps = c_.lanes < 32;
  c_.out.open("{}", shared_warps ? fmt::format("if (threadIdx.x % 32 < {})", c_.lanes) : "");
  c_.out.open_unrolled("j", round.columns);
  const std::string index = index_of(round, shared_warps ? "threadIdx.x / 32" : "team");
  for (const SharedState& shared : round.states)
    for (size_t i = 0; i < shared.arrays.size(); ++i)
      c_.out.line("{}{} = {}[{}];", shared.arrays[i], index, shared.state->names[i], j);
  c_.out.close(), c_.out.close();
}

void TeamExchange::join_columns(const Round& round, const std::string& j) {
  c_.out.open_unrolled("j", round.columns);
  for (const SharedState& shared : round.states)
    for (size_t i = 0; i < shared.arrays.size(); ++i)
      c_.out.line("{}[{}] = {}{};", shared.state->names[i], j, shared.arrays[i], index_of(round, "0"));
  c_.out.pragma_unroll();
  c_.out.open("for (int g = 1; g < {}; ++g)", round.groups);
  for (const SharedState& shared : round.states) {
    std::vector<std::string> others;
    for (const std::string& array : shared.arrays) others.push_back(array + index_of(round, "g"));
    shared.state->reduction.combine(c_.out, shared.state->at("[" + j + "]"), others);
  }
  c_.out.close(), c_.out.close();
}

}  // namespace smelt
