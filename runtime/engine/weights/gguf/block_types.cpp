#include "runtime/engine/weights/gguf/block_types.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace smelt {
namespace {

constexpr GgufType kGgufTypes[] = {
    {0, "F32", 1, 4, 0, nullptr, DType::f32},    {1, "F16", 1, 2, 0, nullptr, DType::f16},
    {30, "BF16", 1, 2, 0, nullptr, DType::bf16}, {2, "Q4_0", 32, 18, 4, unpack_q4_0},
    {3, "Q4_1", 32, 20, 4, unpack_q4_1},         {6, "Q5_0", 32, 22, 5, unpack_q5_0},
    {7, "Q5_1", 32, 24, 5, unpack_q5_1},         {8, "Q8_0", 32, 34, 8, unpack_q8_0},
    {20, "IQ4_NL", 32, 18, 4, unpack_iq4_nl},    {10, "Q2_K", 256, 84, 2, unpack_q2_k},
    {11, "Q3_K", 256, 110, 3, unpack_q3_k},      {12, "Q4_K", 256, 144, 4, unpack_q4_k},
    {13, "Q5_K", 256, 176, 5, unpack_q5_k},      {14, "Q6_K", 256, 210, 6, unpack_q6_k},
};

constexpr std::pair<uint32_t, std::string_view> kOtherGgufTypes[] = {
    {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"},
    {19, "IQ1_S"}, {21, "IQ3_S"}, {22, "IQ2_S"},   {23, "IQ4_XS"}, {24, "I8"},
    {25, "I16"},   {26, "I32"},   {27, "I64"},     {28, "F64"},    {29, "IQ1_M"},
    {34, "TQ1_0"}, {35, "TQ2_0"}, {39, "MXFP4"},   {40, "NVFP4"},
};

}  // namespace

const GgufType* find_gguf_type(uint32_t id) {
  const auto* found = std::ranges::find(kGgufTypes, id, &GgufType::id);
  return found == std::end(kGgufTypes) ? nullptr : found;
}

std::string gguf_type_name(uint32_t id) {
  if (const GgufType* type = find_gguf_type(id)) return std::string(type->name);
  for (const auto& [other, name] : kOtherGgufTypes)
    if (other == id) return std::string(name);
  return fmt::format("type {}", id);
}

std::string gguf_type_names() {
  std::vector<std::string_view> names;
  for (const GgufType& type : kGgufTypes) names.push_back(type.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace smelt
