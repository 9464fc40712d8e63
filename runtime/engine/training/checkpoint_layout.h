// Positions of the parameters in the flat states of a checkpoint, so that its weights can be read without the
// plan that trained them.
#pragma once

#include <string>
#include <string_view>

#include "runtime/engine/weights/safetensors.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// JSON, kept in a checkpoint's metadata: name, state, offset (elements), shape and order of every parameter,
/// over all ranks.
std::string parameter_layout(const Plan& plan);

/// Returns the same as segments of one state, which have the names that files give them. Throws Error
/// (invalid_file) naming `file` if the text is broken.
std::vector<Segment> parameter_segments(std::string_view layout, const std::string& file,
                                        std::string_view state);

/// The parameters that `layout` finds in the states of `file`, under the names and in the shapes of the
/// model's own weights. Throws Error (invalid_file) if the layout does not fit the states.
Checkpoint parameters_in(const Checkpoint& file, std::string_view layout);

}  // namespace smelt
