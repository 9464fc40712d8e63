// The JSON part of a plan file. Bytes (constants, machine code) are stored in blobs, referenced by number.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

struct Manifest {
  nlohmann::json json;
  std::vector<std::span<const std::byte>> blobs;  // into the plan
};
Manifest write_manifest(const Plan& plan);

/// Reads what write_manifest wrote, checking types and ranges of numbers; validate() checks the plan. Throws
/// Error (invalid_file) with the place, such as "entries[2].steps[17].what.m".
Plan read_manifest(const nlohmann::json& json, std::span<const std::span<const std::byte>> blobs,
                   std::string_view file_name);

}  // namespace smelt
