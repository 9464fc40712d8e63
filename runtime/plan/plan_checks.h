// Parts of the validation of a plan (plan_validate.h). All functions that check throw Error (invalid_file) if
// a check fails. `place` describes the step in messages.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

// ---- attention_check.cpp
// Checks of CPU kernels for attention (KernelCode::attention). Each kernel computes one part of an attention
// (AttentionPart): the forward pass, or some of the gradients.

/// Checks that the parameters and the tiles of the kernel fit its AttentionSpec. Checks the sizes of its
/// matrices for each element of `values`; an element has a value for each symbol. Does not check which
/// elements the kernel accesses: check_ranges does that for all kernels.
void check_attention(const KernelCode& kernel, const std::vector<SymbolValues>& values);

// ---- output_check.cpp
// Check that steps do not destroy outputs.

/// Checks, for these values of the symbols, that no step overwrites elements of an output that an earlier
/// step has written. There are three exceptions. A step that also reads the output's buffer may change it in
/// place. Elements that a fill has written may be overwritten. Alternatives of a choice (PlanEntry::choices)
/// may write the same elements. The check is not complete: each access is treated as a strided box of
/// elements, and an overlap of two boxes is found only if a corner of one box is in the other box. Outputs
/// that are states, and accesses by computed indices, are not examined.
///
/// Requires: steps access only elements inside their buffers. Throws Error (invalid_file), which names the
/// output, the steps and the buffer.
void check_outputs(const Plan& plan, const PlanEntry& entry, const SymbolValues& values);

// ---- state_check.cpp
// Checks of the states of a plan, on which sessions rely.

/// Returns whether buffers of this role hold states.
bool is_state(Role role);
/// Returns the largest value that `dim`, a number of elements, has within the symbols' bounds. Throws Error
/// (invalid_file), whose text begins with `what`, in two cases: if the elements, of type `dtype`, need more
/// than kMostBytes bytes; or if `dim` is negative for one of `points`. A point has a value for each symbol.
int64_t most_elements(const Symbols& symbols, std::span<const SymbolValues> points, const Dim& dim,
                      DType dtype, std::string_view what);

/// Checks the roles, sizes, segments and shardings of all states. Checks that rounded copies refer to their
/// originals (State::copy_of), and scales to their weights (State::scales_of). Throws Error (invalid_file).
void check_states(const Plan& plan, std::span<const SymbolValues> points);

// ---- template_check.cpp
// Checks that template kernels (TemplateLaunch) can be launched: every name in their expressions is defined.

/// Checks a kernel with a TemplateLaunch, independently of the steps that launch it. Throws Error
/// (invalid_file).
void check_template(const KernelCode& kernel);

/// Checks the templates of the step (Step::kernels, or the kernel of a KernelStep). Each kernel must be a
/// template for this kind of step, and the step must have the values that the TemplateLaunch of the kernel
/// uses. Some kinds of steps can only be run by templates on a GPU (StepKind::by_template); such a step must
/// have one. Calls check_results. Throws Error (invalid_file) with `place`.
void check_templates(const Plan& plan, const Step& step, const std::string& place);

/// Checks that the kernels with these indices, which are templates, do the whole work of the step. Together
/// they must write all results of the step. A kernel may read a result only if an earlier kernel has written
/// it. Throws Error (invalid_file) with `place`.
void check_results(const Plan& plan, const Step& step, std::span<const int> kernels,
                   const std::string& place);

// ---- tensor_map_check.cpp
// Checks that the tensor maps of a kernel's arguments (TensorMap) are valid for the GPU.

/// Checks the properties that do not depend on sizes. Throws Error (invalid_file).
void check_maps(const Plan& plan, const KernelCode& kernel);

/// Checks the extents, strides and alignment of the maps of a launch, and that the maps are inside their
/// buffers. Throws Error (invalid_file) with `place`.
void check_maps(const Plan& plan, const KernelStep& launch, const SymbolValues& values,
                const std::string& place);

// ---- wait_check.cpp
// Checks of collectives and copies that run concurrently with later steps (CollectiveStep::waited_at).

/// Checks that waited_at of each concurrent step is a later step, or the end of the entry. Then checks the
/// steps between the two: none of their operands may begin in memory that the concurrent step writes, and
/// none of their results in memory that it reads. The symbols have their largest values in this check. Throws
/// Error (invalid_file).
void check_waits(const PlanEntry& entry, const Symbols& symbols);

// ---- index_flow.cpp
// Check that the integers by which kernels index tables are in range. Such integers come from inputs with
// declared bounds (Port::ids), constants, sorts, and results of kernels, all of which guarantee bounds. The
// check follows the integers through copy steps to the kernels that use them as indices.

/// Checks, for these values of the symbols, every kernel argument that holds indices
/// (KernelParameter::indices). The step that last wrote the argument's elements must guarantee bounds that
/// are within the bounds of the parameter. Requires: steps access only elements inside their buffers. Throws
/// Error (invalid_file), which names the step, the argument and the bounds.
void check_indices(const Plan& plan, const PlanEntry& entry, const SymbolValues& values);

// ---- kernel_checksum.cpp
// Checksums that bind the description of a kernel in a manifest (plan_file.h) to its machine code.

/// Sets the member "checksum" of every kernel in `plan`, the JSON of a manifest. The checksum covers all
/// other fields of the kernel, its machine code, and the symbols, target and features of the plan. `blobs`
/// has the checksum of each blob (block of binary data) of the file, such as machine code.
void set_kernel_checksums(nlohmann::json& plan, const std::vector<std::string>& blobs);

/// Checks the checksums that set_kernel_checksums sets. Throws Error (invalid_file) naming `file` and the
/// kernel whose checksum differs. Requires: read_manifest has accepted the manifest.
void check_kernel_checksums(const nlohmann::json& plan, const std::vector<std::string>& blobs,
                            std::string_view file);

}  // namespace smelt
