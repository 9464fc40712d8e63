#include "runtime/plan/step_places.h"

#include "runtime/plan/plan_fields.h"

namespace smelt {
namespace {

class OperandFields {
 public:
  std::vector<StepPlace> places;

  template <typename Member, std::invocable MakeRole>
  void operator()(std::string_view name, const Member& member, const MakeRole& role) {
    visit_refs(member, [&](const BufferRef& ref) { places.push_back({role(), name, &ref}); });
  }
  template <typename Member, typename OtherRole>
  void operator()(std::string_view, const Member&, const OtherRole&) {}

 private:
  template <typename Visit>
  static void visit_refs(const BufferRef& ref, const Visit& visit) {
    visit(ref);
  }
  template <typename Part, typename Visit>
    requires requires(Part part) { part.base; }
  static void visit_refs(const Part& part, const Visit& visit) {
    visit(part.base);
  }
  template <typename Item, typename Visit>
  static void visit_refs(const std::optional<Item>& item, const Visit& visit) {
    if (item) visit_refs(*item, visit);
  }
  template <typename Item, typename Visit>
  static void visit_refs(const std::vector<Item>& items, const Visit& visit) {
    for (const Item& item : items) visit_refs(item, visit);
  }
};

}  // namespace

std::vector<StepPlace> places(const Step& step) {
  OperandFields operands;
  std::visit([&](const auto& kind) { visit_fields(operands, kind); }, step.what);
  return std::move(operands.places);
}

std::vector<BufferRef> references(const Step& step) {
  std::vector<BufferRef> all;
  for (const StepPlace& place : places(step)) all.push_back(*place.ref);
  return all;
}

AccessBox box_of(const StepPlace& place, const SymbolValues& values) {
  AccessBox box{.begin = place.ref->offset.evaluate(values)};
  for (const Walk& walk : place.walks) {
    const int64_t extent = walk.extent.evaluate(values);
    box.empty |= extent == 0;
    if (extent > 1) box.axes.push_back({extent, walk.stride.evaluate(values)});
  }
  return box;
}

}  // namespace smelt
