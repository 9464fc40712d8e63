// Layout of the parameters in the flat states of a checkpoint. With this layout, the weights can be read
// without the plan of the training run. A flat state is a one-dimensional array that consists of tensors.
#pragma once

#include <string>
#include <string_view>

#include "runtime/engine/weights/safetensors.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Returns the layout as JSON, for the metadata of a checkpoint. For each parameter it has the name, the
/// state, the offset in the state, the shape, and whether weight files have the transposed matrix. Offsets
/// are in elements from the start of the whole state, also if ranks have only parts of the state.
std::string parameter_layout(const Plan& plan);

/// Parses `layout`, a result of parameter_layout, and returns the parameters that are in the flat state
/// `state`, as segments (plan.h). They have the names that weight files use. Throws Error (invalid_file)
/// naming `file` if `layout` cannot be parsed.
std::vector<Segment> parameter_segments(std::string_view layout, const std::string& file,
                                        std::string_view state);

/// Returns the parameters of the checkpoint `file`, with the names and shapes that weight files use.
/// `layout`, a result of parameter_layout, specifies where they are in the file's states. Throws Error
/// (invalid_file) if the layout does not fit the states. If the run averaged parameters (kAverageOffset in
/// runtime/plan/plan.h), returns the averages.
Checkpoint parameters_in(const Checkpoint& file, std::string_view layout);

}  // namespace smelt
