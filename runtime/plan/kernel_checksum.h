// Checksums that tie the description of a kernel in a manifest to its machine code.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// Sets "checksum" of every kernel of a plan in a manifest: of all its fields and its machine code, and of
/// the plan's symbols, target and features, which it was compiled for. `blobs` are the checksums of the
/// blobs.
void set_kernel_checksums(nlohmann::json& plan, const std::vector<std::string>& blobs);

/// Throws Error (invalid_file) with the kernel whose checksum differs. Other faults of the manifest are
/// reported by its reader.
void check_kernel_checksums(const nlohmann::json& plan, const std::vector<std::string>& blobs,
                            std::string_view file);

}  // namespace smelt
