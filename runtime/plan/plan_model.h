// Plan::model: what a plan says about its model to hosts that read weights, data and tokens.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace smelt {

/// An object whose known members ("vocab_size", "eos_token_id", "spec", ...) are of their types, or null for
/// an empty text; members that are not known may hold anything. Throws Error (invalid_file) naming the
/// member.
nlohmann::json read_plan_model(std::string_view text);

}  // namespace smelt
