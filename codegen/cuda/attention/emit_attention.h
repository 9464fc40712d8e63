// The CUDA text of a kernel of attention.
#pragma once

#include <string>

#include "codegen/cuda/attention/attention_hooks.h"
#include "codegen/kernel_passes/mask_intervals.h"
#include "ir/kernel/kernel.h"

namespace smelt {

// ---- emit_attention.cpp
// The CUDA text of a kernel of attention. It consists of the functions of the body (score_mod), the template
// that calls them, and a __global__ function with the parameters that every kernel has (docs/dev/cuda.md).

/// Returns the whole text, with the __global__ function named as the kernel.
std::string emit_attention(const Kernel& kernel);

// ---- print_hooks.cpp
// The body of a kernel of attention as the functions that its template calls (attention_hooks.h).

/// Returns the functions and constants of the body of `kernel`. Requires: `kernel` has an `attention`. The
/// mask is the condition that selects between a score and -inf in the modified score. It is not evaluated in
/// a tile that is known to be unmasked.
AttentionHooks print_hooks(const Kernel& kernel, HookUse use);
/// Returns the same constants as print_hooks, with an empty text. The kernel need not have a schedule.
AttentionHooks hook_facts(const Kernel& kernel, HookUse use);

/// Returns whether the body does not change the scores of pairs that its mask, if any, allows.
bool is_plain_when_unmasked(const Kernel& kernel);

/// Returns the initializers of the struct BodyArguments (attention_hooks.h), which the __global__ function
/// passes to the template. They are names of the parameters of the __global__ function.
std::string body_arguments_text(const Kernel& kernel);

// ---- tile_states.cpp
// The functions of an attention kernel that find the tiles of scores that its mask excludes.

/// Returns the text of these functions: body_tile, and for sm_90a also body_queries and body_keys
/// (attention_hooks.h).
std::string tile_function(const Kernel& kernel, const ScoreMask& mask, HookUse use);

/// Returns declarations of local variables, one for each of the kernel's parameters and sizes whose name
/// occurs in `text`. They are initialized from the members of `body`, a variable of type BodyArguments.
std::string unpacked_names(const Kernel& kernel, const std::string& text);

}  // namespace smelt
