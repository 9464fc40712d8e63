// Where each parameter lies in the flat states of a checkpoint, so that its weights can be read without the
// plan that trained them.
#pragma once

#include <string>
#include <string_view>

#include "runtime/plan/plan.h"
#include "runtime/weights/safetensors.h"

namespace smelt {

/// JSON, kept in a checkpoint's metadata: name, state, offset (elements), shape and order of every parameter.
std::string parameter_layout(const Plan& plan);

/// The parameters that `layout` finds in the states of `file`, under the names and in the shapes of the
/// model's own weights. Throws Error (invalid_file) where the layout does not fit the states.
Checkpoint parameters_in(const Checkpoint& file, std::string_view layout);

}  // namespace smelt
