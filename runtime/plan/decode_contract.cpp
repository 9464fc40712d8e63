#include "runtime/plan/decode_contract.h"

#include <fmt/ranges.h>

namespace smelt {
namespace {

constexpr std::string_view kExtents[] = {
#define SMELT_DECODE_EXTENT(name) #name,
#include "runtime/plan/decode_contract.def"
};

template <typename Named>
std::vector<const Named*> pointers(std::initializer_list<std::reference_wrapper<const Named>> list) {
  std::vector<const Named*> all;
  for (const Named& each : list) all.push_back(&each);
  return all;
}

}  // namespace

Shape ContractShape::of(const Extents& sizes) const {
  Shape shape;
  for (const ContractExtent& extent : std::span(extents).first(rank))
    shape.push_back(extent.is_named ? sizes.at(extent.name) + extent.number : Dim(extent.number));
  return shape;
}

bool ContractShape::matches(const Shape& shape, Extents& sizes) const {
  if (shape.size() != rank) return false;
  for (size_t i = 0; i < rank; ++i)
    if (extents[i].is_named) sizes.try_emplace(extents[i].name, shape[i] - extents[i].number);
  return shape == of(sizes);
}

std::string ContractShape::str(const Extents& sizes) const {
  Extents all = sizes;
  for (const ContractExtent& extent : std::span(extents).first(rank))
    if (extent.is_named)
      all.try_emplace(extent.name, Dim::symbol(std::string(kExtents[static_cast<size_t>(extent.name)])));
  return smelt::str(of(all));
}

std::span<const EntryContract> decode_contract() {
  static const std::vector<EntryContract> kContract = [] {
    std::vector<EntryContract> all;
#define SMELT_DECODE_ENTRY(NAME, PORTS, STATES)                     \
  all.push_back({#NAME,                                             \
                 [] {                                               \
                   using namespace port;                            \
                   return pointers<DecodePort>(SMELT_LIST PORTS);   \
                 }(),                                               \
                 [] {                                               \
                   using namespace state;                           \
                   return pointers<DecodeState>(SMELT_LIST STATES); \
                 }()});
#include "runtime/plan/decode_contract.def"
    return all;
  }();
  return kContract;
}

}  // namespace smelt
