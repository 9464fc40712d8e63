// The manifest of a plan, and what it says of its model.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

// ---- plan_model.cpp
// Plan::model: the description of a plan's model for hosts that read weights, data and tokens.

/// Returns an object whose known members ("vocab_size", "eos_token_id", "spec", ...) have their types, or
/// null for an empty text. Unknown members may hold anything. Throws Error (invalid_file) naming the member.
nlohmann::json read_plan_model(std::string_view text);

// ---- the manifest
// The JSON part of a plan file. Bytes (constants, machine code) are stored in blobs, referenced by number.

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
