// The tables of prelude pieces, by subject.
#pragma once

#include <span>
#include <string_view>

namespace smelt {

struct PreludePiece {
  std::string_view name;  // the type or function that it defines
  std::string_view text;
};

// Every piece calls only pieces before it, and those of the tables before its own.
std::span<const PreludePiece> memory_pieces();
std::span<const PreludePiece> function_pieces();
std::span<const PreludePiece> thread_pieces();

}  // namespace smelt
