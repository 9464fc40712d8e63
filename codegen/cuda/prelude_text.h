// The table of prelude pieces.
#pragma once

#include <span>
#include <string_view>

namespace smelt {

struct PreludePiece {
  std::string_view name;  // the type or function that it defines
  std::string_view text;
};

/// Every piece calls only pieces above it.
std::span<const PreludePiece> prelude_pieces();

}  // namespace smelt
