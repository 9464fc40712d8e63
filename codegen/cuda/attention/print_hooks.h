// The body of a kernel of attention as the functions that its template calls (attention_hooks.h).
#pragma once

#include <string>

#include "codegen/cuda/attention/attention_hooks.h"
#include "ir/kernel/kernel.h"

namespace smelt {

/// Prints the instructions of `kernel`, which has an `attention`. The mask is the condition that selects
/// between a score and -inf in the modified score; in a tile that is known to be unmasked it is not
/// evaluated.
AttentionHooks print_hooks(const Kernel& kernel, HookUse use);
/// Returns the hooks without the text, for a kernel that may have no schedule yet.
AttentionHooks hook_facts(const Kernel& kernel, HookUse use);

/// Returns whether the modified score of a tile without a mask is the score itself.
bool is_plain_when_unmasked(const Kernel& kernel);

/// The initializers of BodyArguments in the kernel: its parameters by their names there.
std::string body_arguments_text(const Kernel& kernel);

}  // namespace smelt
