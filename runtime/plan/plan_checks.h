// Parts of the validation of a plan.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

// ---- attention_check.cpp
// Checks of a CPU kernel that is a part of attention, before it runs.

/// Throws Error (invalid_file) if the parameters, the tiles or, at one of these `values`, the sizes do not
/// fit together. The elements that the part touches are among the accesses of its parameters.
void check_attention(const KernelCode& kernel, const std::vector<SymbolValues>& values);

// ---- output_check.cpp
// Proof that an entry returns its outputs as they were made.

/// Checks at these values of the symbols that no step writes over elements of an output that an earlier step
/// has written, unless it also reads the output's buffer and so changes it in place. Elements written by a
/// fill may be overwritten. Elements that computed indices reach are not examined.
///
/// Requires: steps are inside their buffers. Throws Error (invalid_file) with the output, the steps and the
/// buffer.
void check_outputs(const Plan& plan, const PlanEntry& entry, const SymbolValues& values);

// ---- state_check.cpp
// Checks of the states of a plan, on which sessions rely.

bool is_state(Role role);
/// Returns a size at the symbols' bounds, between 0 and the memory of any machine. `points`: values at which
/// sizes are extreme. Throws Error (invalid_file) that begins with `what`.
int64_t most_elements(const Symbols& symbols, std::span<const SymbolValues> points, const Dim& dim,
                      DType dtype, std::string_view what);

/// Checks roles, sizes, segments, sharding, copies and scales of all states. Throws Error (invalid_file).
void check_states(const Plan& plan, std::span<const SymbolValues> points);

// ---- template_check.cpp
// Checks that template kernels can be launched: every name in their expressions is defined.

/// Checks a kernel with a TemplateLaunch, independently of the steps that launch it. Throws Error
/// (invalid_file).
void check_template(const KernelCode& kernel);

/// Checks that the step has all values that its templates (Step::kernels, or the kernel of a KernelStep) are
/// launched with. Throws Error (invalid_file) with `place`.
void check_templates(const Plan& plan, const Step& step, const std::string& place);

/// Checks that the templates of a step replace all of it: each launched template reads only those results
/// that a template before it has written. Throws Error (invalid_file) with `place`.
void check_results(const Plan& plan, const Step& step, std::span<const int> kernels,
                   const std::string& place);

// ---- tensor_map_check.cpp
// Checks that the tensor maps of a kernel's arguments are valid for the copy engine.

/// Checks the properties that do not depend on sizes. Throws Error (invalid_file).
void check_maps(const Plan& plan, const KernelCode& kernel);

/// Checks sizes, strides and begins of a launch's maps, which must be inside their buffers. Throws Error
/// (invalid_file) with `place`.
void check_maps(const Plan& plan, const KernelStep& launch, const SymbolValues& values,
                const std::string& place);

// ---- wait_check.cpp

/// Checks that a later step waits for each collective or copy that runs concurrently with later steps
/// (waited_at), and that no step before that one points into the memory that it writes, or writes where it
/// reads. The extent of a step's accesses is not examined; sizes of concurrent steps count as their bounds.
/// Throws Error (invalid_file).
void check_waits(const PlanEntry& entry, const Symbols& symbols);

// ---- index_flow.cpp
// Proof that the integers by which kernels index tables are in range. The bounds originate in the steps that
// write the integers (inputs with ids, constants, sorts, kernels with KernelParameter::indices) and pass
// through copies to the kernels that rely on them.

/// Checks at these values of the symbols that every index which a kernel of the entry relies on
/// (KernelParameter::indices) has been written, last by a step that guarantees its bounds. Requires: steps
/// are inside their buffers. Throws Error (invalid_file) with the step, the argument and the numbers.
void check_indices(const Plan& plan, const PlanEntry& entry, const SymbolValues& values);

// ---- kernel_checksum.cpp
// Checksums that tie the description of a kernel in a manifest to its machine code.

/// Sets "checksum" of every kernel of a plan in a manifest: of all its fields and its machine code, and of
/// the plan's symbols, target and features, which it was compiled for. `blobs` are the checksums of the
/// blobs.
void set_kernel_checksums(nlohmann::json& plan, const std::vector<std::string>& blobs);

/// Throws Error (invalid_file) with the kernel whose checksum differs. Other faults of the manifest are
/// reported by its reader.
void check_kernel_checksums(const nlohmann::json& plan, const std::vector<std::string>& blobs,
                            std::string_view file);

}  // namespace smelt
