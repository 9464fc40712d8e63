// Verification of a model directory against its recorded references (expected values), for `smelt verify` and
// for tests.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "compiler/cli/shared/compile_flags.h"
#include "compiler/cli/shared/model.h"

namespace smelt::cli {

/// The result of a verification.
struct Verified {
  int compared = 0, failed = 0;  // numbers of quantities
  std::string table;             // one row per quantity, for people
};

/// Function that replaces the compiler for tests; it may compile a GPU's kernels for the host, for example.
using PlanMaker = std::function<Plan(const Description&, const CompileOptions&)>;

/// Returns the weights of a directory; for a model with an adapter there, both.
WeightFlags weights_in(const std::filesystem::path& directory);

/// Computes every recorded quantity of training and generation, such as losses and logits, and compares its
/// error with the bound for the precision that the flags select. With int8 weights, training is left out.
/// `make` makes the plans; if it is empty, the compiler does.
Verified verify_directory(const std::filesystem::path& directory, const CompileFlags& flags,
                          const PlanMaker& make = {});

}  // namespace smelt::cli
