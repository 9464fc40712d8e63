// The CUDA text of a kernel of attention.
#pragma once

#include <string>

#include "codegen/cuda/attention/attention_hooks.h"
#include "codegen/kernel_passes/mask_intervals.h"
#include "ir/kernel/kernel.h"

namespace smelt {

// ---- emit_attention.cpp
// The CUDA text of a kernel of attention: its body as functions, the template, and a kernel that takes
// arguments as all others do.

std::string emit_attention(const Kernel& kernel);

// ---- print_hooks.cpp
// The body of a kernel of attention as the functions that its template calls (attention_hooks.h).

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

// ---- tile_states.cpp
// The function of an attention kernel that finds the tiles of scores that its mask excludes.

/// The function body_tile of attention_hooks.h, and for sm_90a those that look numbers up for it.
std::string tile_function(const Kernel& kernel, const ScoreMask& mask, HookUse use);

/// Declares those names of parameters and sizes that `text` uses, from `body`.
std::string unpacked_names(const Kernel& kernel, const std::string& text);

}  // namespace smelt
