// The body of a kernel of attention as the functions that its template calls (attention_hooks.h).
#pragma once

#include <string>

#include "codegen/cuda/attention/attention_hooks.h"
#include "ir/kernel.h"

namespace smelt {

/// The instructions of `kernel`, which has an `attention`. A mask is what decides between a score and -inf in
/// the modified score: where a tile is known to be unmasked it is not asked.
AttentionHooks print_hooks(const Kernel& kernel, HookUse use);
/// Without the text, of a kernel that may have no schedule yet.
AttentionHooks hook_facts(const Kernel& kernel, HookUse use);

/// Whether the modified score of a tile without a mask is the score itself.
bool is_plain_when_unmasked(const Kernel& kernel);

/// The initializers of BodyArguments in the kernel: its parameters by their names there.
std::string body_arguments_text(const Kernel& kernel);

}  // namespace smelt
