// Comparison of the modules of small_m_epilogues.h, run by a session, with the float64 evaluator.
#pragma once

#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/small_m_epilogues.h"

namespace smelt::small_m_epilogues {

inline void round_all(Tensors& tensors, DType dtype) {
  for (auto& [name, tensor] : tensors)
    for (double& x : tensor.data) {
      const auto single = static_cast<float>(x);
      x = dtype == DType::bf16 ? from_bf16(to_bf16(single)) : from_f16(to_f16(single));
    }
}

/// Writes the weights to the session, and replaces them in `states` by the values that the session has stored
/// (rounded or quantized).
inline void write_weights(Session& session, Tensors& states) {
  for (const State& state : session.plan().states) {
    if (state.role != Role::parameter || !state.scales_of.empty() || !state.zeros_of.empty()) continue;
    for (const Segment& part : state.segments) {
      std::vector<double>& data = states.at(part.name).data;
      session.write_segment(state.name, part.name, std::vector<float>(data.begin(), data.end()));
      const std::vector<float> back = session.read_segment(state.name, part.name);
      data.assign(back.begin(), back.end());
    }
  }
}

/// Runs the entry "main" with random data for `rows` rows, and expects the results of the evaluator within
/// the error of 16-bit floats, times `looser`.
inline void expect_right(const Module& module, Session& session, int64_t rows, DType storage, uint64_t seed,
                         double looser = 1) {
  const SymbolValues symbols = {{"M", rows}};
  std::unique_ptr<Module> primitive = module.clone();
  Graph& graph = *primitive->graphs.front();
  decompose(graph, {});
  Tensors inputs = testing::random_inputs(graph, seed, symbols),
          states = testing::random_states(graph, seed, symbols);
  round_all(inputs, storage), round_all(states, storage);
  write_weights(session, states);
  const Tensors expected = evaluate(graph, inputs, states, {.symbols = symbols, .philox = {}}).outputs,
                actual = testing::run_entry(session, "main", {}, inputs);
  for (const auto& [name, reference] : expected)
    EXPECT_LE(testing::relative_error(actual.at(name), reference),
              looser * (storage == DType::bf16 ? 1.2e-2 : 2e-3))
        << name << " of " << rows << " rows";
}

}  // namespace smelt::small_m_epilogues
