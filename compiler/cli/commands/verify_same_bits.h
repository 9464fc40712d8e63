// smelt verify --same-bits: log-probabilities of a text's tokens from training and from generation, compared
// bit by bit.
#pragma once

#include <filesystem>

#include "compiler/cli/commands/verify.h"

namespace smelt::cli {

/// Writes texts of random prompts with the model, and compares the log-probabilities of the tokens, bit by
/// bit,
///   - of all texts written in one batch with those of each text written alone,
///   - with those of texts of which a part is read as the prompt,
///   - for decoders without an encoder, with the losses of the entries evaluate and train_step where one
///     token has a label.
/// A model without weights gets initial values. `make` makes the plans; if it is empty, the compiler does.
/// Throws Error if the model writes no text, or cannot be compiled with these options.
Verified verify_same_bits(const std::filesystem::path& model, const CompileFlags& flags, int threads,
                          const PlanMaker& make = {});

}  // namespace smelt::cli
